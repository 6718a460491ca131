package luabind

import "slices"

// The keywords that begin a statement, and an expression.
var (
	statementWords  = []string{"break", "do", "for", "function", "goto", "if", "local", "repeat", "return", "while"}
	expressionWords = []string{"false", "function", "nil", "not", "true"}
)

// endWords can come where a statement could begin, by what is open there.
var endWords = map[string][]string{
	"do": {"end"}, "function": {"end"}, "then": {"else", "elseif", "end"}, "else": {"end"}, "repeat": {"until"},
}

// headWords go on behind the expression of an unfinished head.
var headWords = map[string]string{"if": "then", "while": "do", "for": "in"}

// following is the keywords that can stand behind list; names reports whether a name can.
func following(list []token) (names bool, words []string) {
	if len(list) == 0 {
		return true, append(followers(""), expressionWords...)
	}
	last := list[len(list)-1]
	open := nestingOf(list).inner()
	switch {
	case endsOperand(last):
		words = []string{"and", "or"}
		if open == "(" || open == "{" || open == "[" {
			return false, words
		}
		if head, ok := headWords[open]; ok {
			return false, append(words, head)
		}
		return true, append(words, followers(open)...)
	case beginsBlock[last.text], last.text == ";" && open != "{":
		return true, followers(open)
	case last.text == "return":
		return true, append(slices.Clone(expressionWords), endWords[open]...)
	case last.kind == tokenSymbol && !operators[last.text] && len(list) > 1:
		return false, nil // "s.launch?"; "?s.launch" asks for a name
	}
	return true, expressionWords
}

// followers are the keywords that a statement, or an end of what is open, can begin with.
func followers(open string) []string {
	return append(slices.Clone(statementWords), endWords[open]...)
}

// beginsBlock are the keywords behind which a statement can begin.
var beginsBlock = map[string]bool{"do": true, "then": true, "else": true, "repeat": true, "break": true}

// operators are the symbols of Lua behind which an operand can stand.
var operators = map[string]bool{
	"+": true, "-": true, "*": true, "/": true, "%": true, "^": true, "#": true, "..": true, "=": true, "==": true, "~=": true, "<": true,
	">": true, "<=": true, ">=": true, "(": true, "{": true, "[": true, ",": true, ";": true,
}

// endsOperand reports whether an expression can end with t.
func endsOperand(t token) bool {
	switch t.kind {
	case tokenName, tokenNumber, tokenString:
		return true
	}
	switch t.text {
	case ")", "}", "]", "...", "end", "nil", "true", "false":
		return true
	}
	return false
}
