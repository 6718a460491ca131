package luabind

// nesting is the brackets and blocks that are open somewhere in a chunk, the innermost last. A loop is "for" or
// "while" before its "do", a condition is "if" before its "then".
type nesting []string

var closers = map[string]string{")": "(", "}": "{", "]": "["}

func nestingOf(list []token) nesting {
	var n nesting
	for _, t := range list {
		n = n.with(t)
	}
	return n
}

// inner is the innermost one, "" outside of all.
func (n nesting) inner() string {
	if len(n) == 0 {
		return ""
	}
	return n[len(n)-1]
}

// with is what is open behind t.
func (n nesting) with(t token) nesting {
	if t.kind != tokenSymbol && t.kind != tokenKeyword {
		return n
	}
	inner := n.inner()
	outer := n[:max(len(n)-1, 0)]
	switch t.text {
	case "(", "{", "[", "function", "repeat", "if", "for", "while":
		return append(n, t.text)
	case ")", "}", "]":
		if inner == closers[t.text] {
			return outer
		}
	case "do":
		if inner == "while" {
			return append(outer, "do")
		}
		return append(n, "do")
	case "in", "=":
		if inner == "for" {
			return append(outer, "while")
		}
	case "then":
		if inner == "if" {
			return append(outer, "then")
		}
	case "else":
		if inner == "then" {
			return append(outer, "else")
		}
	case "elseif":
		if inner == "then" {
			return append(outer, "if")
		}
	case "end":
		if inner == "do" || inner == "function" || inner == "then" || inner == "else" {
			return outer
		}
	case "until":
		if inner == "repeat" {
			return outer
		}
	}
	return n
}
