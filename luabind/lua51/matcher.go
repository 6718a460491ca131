package lua51

import (
	lua "github.com/yuin/gopher-lua"
)

const (
	// maxCaptures is how many captures a pattern may have.
	maxCaptures = 32
	// maxMatchDepth bounds the recursion of the matcher. It grows with the pattern, not the subject.
	maxMatchDepth = 200_000
	// matchSteps is how many steps the matcher goes between two looks at the context.
	matchSteps = 10_000
	// setSteps is how many characters of a set are looked at in the time of a step, about.
	setSteps = 16
)

// noMatch is what a failed match ends at.
const noMatch = -1

// The lengths of captures that are not text.
const (
	captureOpen     = -1
	capturePosition = -2
)

type capture struct{ start, length int }

// matcher matches one pattern at places of one subject. Positions are offsets into both.
type matcher struct {
	L        *lua.LState
	subject  string
	pattern  string // without anchor; reading at its end gives a zero byte
	level    int    // captures so far, open ones included
	captures [maxCaptures]capture
	depth    int
	steps    int
}

// newMatcher prepares a pattern. As in PUC Lua, it ends at its first zero byte.
func newMatcher(L *lua.LState, subject, pattern string) *matcher {
	return &matcher{L: L, subject: subject, pattern: cString(pattern)}
}

// at matches the whole pattern at s and returns where the match ends.
func (m *matcher) at(s int) int {
	m.level = 0
	m.depth = 0
	return m.match(s, 0)
}

// char is the pattern's byte at p, zero at its end.
func (m *matcher) char(p int) byte {
	if p < len(m.pattern) {
		return m.pattern[p]
	}
	return 0
}

// step counts work and ends it when the context has ended.
func (m *matcher) step() {
	if m.steps++; m.steps >= matchSteps {
		m.steps = 0
		charge(m.L, matchSteps)
	}
}

// settle counts the steps since step did.
func (m *matcher) settle() {
	n := m.steps
	m.steps = 0
	charge(m.L, n)
}

// match matches the pattern from p on at s.
func (m *matcher) match(s, p int) int {
	if m.depth++; m.depth > maxMatchDepth {
		raise(m.L, "pattern too complex")
	}
	end := m.sequence(s, p)
	m.depth--
	return end
}

func (m *matcher) sequence(s, p int) int {
	for p < len(m.pattern) {
		m.step()
		switch m.pattern[p] {
		case '(':
			if m.char(p+1) == ')' {
				return m.open(s, p+2, capturePosition)
			}
			return m.open(s, p+1, captureOpen)
		case ')':
			return m.close(s, p+1)
		case '$':
			if p+1 == len(m.pattern) {
				if s == len(m.subject) {
					return s
				}
				return noMatch
			}
		case '%':
			next := m.char(p + 1)
			ok := true
			switch {
			case next == 'b':
				s, p = m.balance(s, p+2), p+4
			case next == 'f':
				p, ok = m.frontier(s, p+2)
			case isDigit(next):
				s, p = m.repeat(s, next), p+2
			default:
				goto single
			}
			if s == noMatch || !ok {
				return noMatch
			}
			continue
		}
	single:
		after := m.item(p)
		matched := s < len(m.subject) && m.single(m.subject[s], p, after)
		switch m.char(after) {
		case '?':
			if matched {
				if end := m.match(s+1, after+1); end != noMatch {
					return end
				}
			}
			p = after + 1
		case '*':
			return m.longest(s, p, after)
		case '+':
			if !matched {
				return noMatch
			}
			return m.longest(s+1, p, after)
		case '-':
			return m.shortest(s, p, after)
		default:
			if !matched {
				return noMatch
			}
			s, p = s+1, after
		}
	}
	return s
}

// item is where the single-character item at p ends.
func (m *matcher) item(p int) int {
	c, start := m.char(p), p
	p++
	switch c {
	case '%':
		if p >= len(m.pattern) {
			raise(m.L, "malformed pattern (ends with '%%')")
		}
		return p + 1
	case '[':
		if m.char(p) == '^' {
			p++
		}
		for first := true; first || m.char(p) != ']'; first = false { // a ] at the start stands for itself
			if p >= len(m.pattern) {
				raise(m.L, "malformed pattern (missing ']')")
			}
			p++
			if m.pattern[p-1] == '%' && p < len(m.pattern) {
				p++
			}
		}
		m.steps += (p - start) / setSteps
		return p + 1
	}
	return p
}

// single tells whether c is matched by the item from p to end.
func (m *matcher) single(c byte, p, end int) bool {
	switch m.pattern[p] {
	case '.':
		return true
	case '%':
		return inClass(c, m.pattern[p+1])
	case '[':
		m.steps += (end - p) / setSteps
		return inSet(c, m.pattern[p+1:end-1])
	}
	return m.pattern[p] == c
}

// inSet tells whether c is in a set, given without its brackets.
func inSet(c byte, set string) bool {
	found := true
	if set != "" && set[0] == '^' {
		found, set = false, set[1:]
	}
	for i := 0; i < len(set); i++ {
		switch {
		case set[i] == '%' && i+1 < len(set):
			i++
			if inClass(c, set[i]) {
				return found
			}
		case i+2 < len(set) && set[i+1] == '-':
			if set[i] <= c && c <= set[i+2] {
				return found
			}
			i += 2
		case set[i] == c:
			return found
		}
	}
	return !found
}

// inClass tells whether c is in the class named by a letter, or is that character itself.
func inClass(c, class byte) bool {
	var in bool
	switch class | 0x20 {
	case 'a':
		in = isAlpha(c)
	case 'c':
		in = isCntrl(c)
	case 'd':
		in = isDigit(c)
	case 'l':
		in = isLower(c)
	case 'p':
		in = isPunct(c)
	case 's':
		in = isSpace(c)
	case 'u':
		in = isUpper(c)
	case 'w':
		in = isAlnum(c)
	case 'x':
		in = isXDigit(c)
	case 'z':
		in = c == 0
	default:
		return class == c
	}
	if !isAlpha(class) {
		return class == c
	}
	return in == isLower(class)
}

// balance matches %bxy at s; p is where xy stands.
func (m *matcher) balance(s, p int) int {
	if p+1 >= len(m.pattern) {
		raise(m.L, "unbalanced pattern")
	}
	if s >= len(m.subject) || m.subject[s] != m.pattern[p] {
		return noMatch
	}
	open, shut := m.pattern[p], m.pattern[p+1]
	nested := 1
	for s++; s < len(m.subject); s++ {
		m.step()
		switch m.subject[s] {
		case shut:
			if nested--; nested == 0 {
				return s + 1
			}
		case open:
			nested++
		}
	}
	return noMatch
}

// frontier matches %f at s; p is where its set begins, next where the pattern goes on.
func (m *matcher) frontier(s, p int) (next int, ok bool) {
	if m.char(p) != '[' {
		raise(m.L, "missing '[' after '%%f' in pattern")
	}
	next = m.item(p)
	var before, after byte
	if s > 0 {
		before = m.subject[s-1]
	}
	if s < len(m.subject) {
		after = m.subject[s]
	}
	return next, !m.single(before, p, next) && m.single(after, p, next)
}

// longest matches as many characters as it can with the item from p to end, then the rest.
func (m *matcher) longest(s, p, end int) int {
	i := s
	for i < len(m.subject) && m.single(m.subject[i], p, end) {
		m.step()
		i++
	}
	for ; i >= s; i-- {
		m.step()
		if e := m.match(i, end+1); e != noMatch {
			return e
		}
	}
	return noMatch
}

// shortest matches as few characters as it can with the item from p to end, then the rest.
func (m *matcher) shortest(s, p, end int) int {
	for {
		m.step()
		if e := m.match(s, end+1); e != noMatch {
			return e
		}
		if s >= len(m.subject) || !m.single(m.subject[s], p, end) {
			return noMatch
		}
		s++
	}
}

func (m *matcher) open(s, p, length int) int {
	if m.level >= maxCaptures {
		raise(m.L, "too many captures")
	}
	m.captures[m.level] = capture{s, length}
	m.level++
	end := m.match(s, p)
	if end == noMatch {
		m.level--
	}
	return end
}

func (m *matcher) close(s, p int) int {
	i := m.level - 1
	for i >= 0 && m.captures[i].length != captureOpen {
		i--
	}
	if i < 0 {
		raise(m.L, "invalid pattern capture")
	}
	m.captures[i].length = s - m.captures[i].start
	end := m.match(s, p)
	if end == noMatch {
		m.captures[i].length = captureOpen
	}
	return end
}

// repeat matches the text of an earlier capture, named by a digit.
func (m *matcher) repeat(s int, digit byte) int {
	i := int(digit) - '1'
	if i < 0 || i >= m.level || m.captures[i].length == captureOpen {
		raise(m.L, "invalid capture index")
	}
	c := m.captures[i]
	m.steps += max(c.length, 0) / bytesPerInstruction
	if c.length < 0 || len(m.subject)-s < c.length || m.subject[c.start:c.start+c.length] != m.subject[s:s+c.length] {
		return noMatch
	}
	return s + c.length
}

// captured is the value of capture i of a match from s to e. Without captures the match is the
// first.
func (m *matcher) captured(i, s, e int) lua.LValue {
	if i >= m.level {
		if i > 0 {
			raise(m.L, "invalid capture index")
		}
		return lua.LString(m.subject[s:e])
	}
	switch c := m.captures[i]; c.length {
	case captureOpen:
		raise(m.L, "unfinished capture")
		return lua.LNil
	case capturePosition:
		return lua.LNumber(c.start + 1)
	default:
		return lua.LString(m.subject[c.start : c.start+c.length])
	}
}

// push pushes all captures of a match from s to e and returns their number.
func (m *matcher) push(s, e int) int {
	n := max(m.level, 1)
	for i := range n {
		m.L.Push(m.captured(i, s, e))
	}
	return n
}
