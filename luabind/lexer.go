package luabind

import (
	"strings"
)

// token is a piece of Lua source as it is typed, complete or not.
type token struct {
	kind       tokenKind
	start, end int
	text       string
	open       bool // a string or comment that the end of the source cuts off
}

type tokenKind uint8

const (
	tokenName tokenKind = iota
	tokenKeyword
	tokenString
	tokenNumber
	tokenComment
	tokenSymbol
)

// content is what a string token holds, but for its escapes; the end may be missing.
func (t token) content() string {
	if t.text[0] != '[' {
		text := t.text[1:]
		if !t.open {
			text = strings.TrimSuffix(text, t.text[:1])
		}
		return text
	}
	mark := strings.IndexByte(t.text[1:], '[') + 2
	text := t.text[mark:]
	if !t.open {
		text = text[:len(text)-mark]
	}
	return text
}

// keywords of Lua 5.1 with goto, in order.
var keywords = []string{"and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local", "nil", "not", "or",
	"repeat", "return", "then", "true", "until", "while"}

var isKeyword = func() map[string]bool {
	m := make(map[string]bool)
	for _, k := range keywords {
		m[k] = true
	}
	return m
}()

func isNameStart(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool     { return c >= '0' && c <= '9' }
func isNamePart(c byte) bool  { return isNameStart(c) || isDigit(c) }

// isName reports whether s can stand behind a dot.
func isName(s string) bool {
	if s == "" || !isNameStart(s[0]) || isKeyword[s] {
		return false
	}
	for i := range len(s) {
		if !isNamePart(s[i]) {
			return false
		}
	}
	return true
}

// tokens divides source. It never fails: what is no Lua is a symbol.
func tokens(source string) []token {
	var list []token
	for i := 0; i < len(source); {
		c := source[i]
		if c == ' ' || c >= '\t' && c <= '\r' {
			i++
			continue
		}
		t := token{kind: tokenSymbol, start: i}
		switch {
		case isNameStart(c):
			t.kind, t.end = tokenName, i+1
			for t.end < len(source) && isNamePart(source[t.end]) {
				t.end++
			}
			if isKeyword[source[i:t.end]] {
				t.kind = tokenKeyword
			}
		case isDigit(c), c == '.' && i+1 < len(source) && isDigit(source[i+1]):
			t.kind, t.end = tokenNumber, numberEnd(source, i)
		case c == '"', c == '\'':
			t.kind = tokenString
			t.end, t.open = quotedEnd(source, i)
		case strings.HasPrefix(source[i:], "--"):
			t.kind = tokenComment
			if end, open, ok := longEnd(source, i+2); ok {
				t.end, t.open = end, open
			} else if n := strings.IndexByte(source[i:], '\n'); n >= 0 {
				t.end = i + n
			} else {
				t.end, t.open = len(source), true
			}
		case c == '[':
			if end, open, ok := longEnd(source, i); ok {
				t.kind, t.end, t.open = tokenString, end, open
				break
			}
			t.end = i + 1
		default:
			t.end = i + 1
			for _, s := range []string{"...", "..", "==", "~=", "<=", ">="} {
				if strings.HasPrefix(source[i:], s) {
					t.end = i + len(s)
					break
				}
			}
		}
		t.text = source[i:t.end]
		list = append(list, t)
		i = t.end
	}
	return list
}

// numberEnd is the end of the numeral at i.
func numberEnd(s string, i int) int {
	for i++; i < len(s); i++ {
		c := s[i]
		sign := (c == '+' || c == '-') && s[i-1]|0x20 == 'e'
		if !isNamePart(c) && c != '.' && !sign || c == '.' && strings.HasPrefix(s[i:], "..") {
			break
		}
	}
	return i
}

// quotedEnd is the end of the string at i, which ends with its line.
func quotedEnd(s string, i int) (end int, open bool) {
	for j := i + 1; j < len(s); j++ {
		switch s[j] {
		case '\\':
			j++
		case '\n':
			return j, false
		case s[i]:
			return j + 1, false
		}
	}
	return len(s), true
}

// longEnd is the end of the long bracket that begins at i; ok is false where none does.
func longEnd(s string, i int) (end int, open, ok bool) {
	j := i + 1
	if i >= len(s) || s[i] != '[' {
		return 0, false, false
	}
	for j < len(s) && s[j] == '=' {
		j++
	}
	if j >= len(s) || s[j] != '[' {
		return 0, false, false
	}
	mark := "]" + s[i+1:j] + "]"
	if n := strings.Index(s[j:], mark); n >= 0 {
		return j + n + len(mark), false, true
	}
	return len(s), true, true
}
