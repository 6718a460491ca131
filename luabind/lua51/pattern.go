package lua51

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// patternSpecials are the characters that make a pattern more than plain text.
const patternSpecials = "^$*+?.([%-"

func stringFind(L *lua.LState) int { return findPattern(L, true) }

func stringMatch(L *lua.LState) int { return findPattern(L, false) }

// findPattern is find, which returns where the match is, or match, which does not.
func findPattern(L *lua.LState, find bool) int {
	subject, pattern := checkString(L, 1), checkString(L, 2)
	from := min(max(position(optInteger(L, 3, 1), len(subject))-1, 0), len(subject))
	if find && (lua.LVAsBool(L.Get(4)) || !strings.ContainsAny(cString(pattern), patternSpecials)) {
		i := strings.Index(subject[from:], pattern)
		if i < 0 {
			chargeBytes(L, len(subject)-from)
		} else {
			chargeBytes(L, i+len(pattern))
		}
		if i < 0 {
			L.Push(lua.LNil)
			return 1
		}
		L.Push(lua.LNumber(from + i + 1))
		L.Push(lua.LNumber(from + i + len(pattern)))
		return 2
	}
	pattern, anchored := strings.CutPrefix(pattern, "^")
	m := newMatcher(L, subject, pattern)
	defer m.settle()
	for s := from; s <= len(subject); s++ {
		if e := m.at(s); e != noMatch {
			if !find {
				return m.push(s, e)
			}
			L.Push(lua.LNumber(s + 1))
			L.Push(lua.LNumber(e))
			if m.level == 0 {
				return 2
			}
			return 2 + m.push(s, e)
		}
		if anchored {
			break
		}
	}
	L.Push(lua.LNil)
	return 1
}

// stringGmatch returns an iterator. A ^ is no anchor in it.
func stringGmatch(L *lua.LState) int {
	m := newMatcher(L, checkString(L, 1), checkString(L, 2))
	from := 0
	L.Push(L.NewFunction(func(L *lua.LState) int {
		m.L = L
		defer m.settle()
		for s := from; s <= len(m.subject); s++ {
			if e := m.at(s); e != noMatch {
				from = e
				if e == s {
					from++
				}
				return m.push(s, e)
			}
		}
		return 0
	}))
	return 1
}

func stringGsub(L *lua.LState) int {
	subject, pattern := checkString(L, 1), checkString(L, 2)
	limit := optInt(L, 4, len(subject)+1)
	pattern, anchored := strings.CutPrefix(pattern, "^")
	m := newMatcher(L, subject, pattern)
	defer m.settle()
	replace := replacer(m, L.Get(3))
	out := textBuffer{L: L}
	s, n := 0, 0
	for n < limit {
		e := m.at(s)
		if e != noMatch {
			n++
			replace(&out, s, e)
		}
		if e != noMatch && e > s {
			s = e
		} else if s < len(subject) {
			out.byte(subject[s])
			s++
		} else {
			break
		}
		if anchored {
			break
		}
	}
	if n == 0 {
		L.Push(lua.LString(subject))
	} else {
		out.text(subject[s:])
		L.Push(lua.LString(out.String()))
	}
	L.Push(lua.LNumber(n))
	return 2
}

// replacer returns what writes the replacement of a match from s to e: by a string with captures, a
// table that is indexed with the first capture, or a function that gets all of them.
func replacer(m *matcher, by lua.LValue) func(out *textBuffer, s, e int) {
	L := m.L
	switch by := by.(type) {
	case lua.LString, lua.LNumber:
		text, _ := toText(by)
		return func(out *textBuffer, s, e int) { m.expand(out, text, s, e) }
	case *lua.LTable:
		return func(out *textBuffer, s, e int) {
			m.writeReplacement(out, L.GetTable(by, m.captured(0, s, e)), s, e)
		}
	case *lua.LFunction:
		return func(out *textBuffer, s, e int) {
			L.Push(by)
			m.writeReplacement(out, callPushed(L, m.push(s, e)), s, e)
		}
	}
	argError(L, 3, "string/function/table expected")
	return nil
}

// expand writes a replacement string, in which %1 to %9 are captures and %0 is the match. A % at the
// very end stands for a zero byte, as in PUC Lua.
func (m *matcher) expand(out *textBuffer, text string, s, e int) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '%' {
			out.byte(c)
			continue
		}
		i++
		switch {
		case i == len(text):
			out.byte(0)
		case text[i] == '0':
			out.text(m.subject[s:e])
		case isDigit(text[i]):
			out.value(m.captured(int(text[i]-'1'), s, e))
		default:
			out.byte(text[i])
		}
	}
}

// writeReplacement writes what a table or function gave; nil and false keep the match.
func (m *matcher) writeReplacement(out *textBuffer, v lua.LValue, s, e int) {
	switch {
	case lua.LVIsFalse(v):
		out.text(m.subject[s:e])
	case isText(v):
		out.value(v)
	default:
		raise(m.L, "invalid replacement value (a %s)", v.Type())
	}
}
