package lua51

import (
	"slices"
	"unicode/utf8"
)

// scanner takes a source apart as PUC Lua does, and fails at the same places in the same words.
type scanner struct {
	source []byte
	at     int // next byte
	line   int // where at is

	kind  token
	text  []byte  // of a string: its value
	value float64 // of a number
	start int     // where the token begins
	raw   []byte  // the token as messages show it: strings with quotes, but without escape sequences
}

// syntaxError is why a source is no chunk. The scanner and the parser panic with it.
type syntaxError struct {
	line    int
	message string
	at      int  // where the token begins that does not fit
	atEnd   bool // more source might make it a chunk
}

func (s *scanner) peek() int {
	if s.at < len(s.source) {
		return int(s.source[s.at])
	}
	return -1
}

// has passes over a byte if it comes next.
func (s *scanner) has(c byte) bool {
	if s.peek() != int(c) {
		return false
	}
	s.at++
	return true
}

func (s *scanner) atNewline() bool { return s.peek() == '\n' || s.peek() == '\r' }

// newline passes over the end of a line, of one or two bytes.
func (s *scanner) newline() {
	first := s.peek()
	s.at++
	if s.atNewline() && s.peek() != first {
		s.at++
	}
	s.line++
}

// fail gives up at the token as it is so far.
func (s *scanner) fail(message, near string) {
	if near != "" {
		message += " near '" + cString(near) + "'"
	}
	panic(syntaxError{s.line, message, s.start, near == tokenEnd.String() && s.at >= len(s.source)})
}

// near is the token at hand as messages show it.
func (s *scanner) near() string {
	switch s.kind {
	case tokenName, tokenNumber, tokenString:
		return string(s.raw)
	}
	return s.kind.String()
}

// next reads a token.
func (s *scanner) next() {
	for {
		s.start = s.at
		switch c := s.peek(); {
		case c < 0:
			s.kind = tokenEnd
			return
		case s.atNewline():
			s.newline()
		case isSpace(byte(c)):
			s.at++
		case c == '-' && s.at+1 < len(s.source) && s.source[s.at+1] == '-':
			s.comment()
		default:
			s.kind = s.word(byte(c))
			return
		}
	}
}

func (s *scanner) comment() {
	s.at += len("--")
	if s.peek() == '[' {
		if level, ok := s.bracket('['); ok {
			s.long(level, "unfinished long comment")
			return
		}
	}
	for s.peek() >= 0 && !s.atNewline() {
		s.at++
	}
}

// word reads a token that begins with c.
func (s *scanner) word(c byte) token {
	switch {
	case isAlpha(c) || c == '_':
		for s.at < len(s.source) && isNamePart(s.source[s.at]) {
			s.at++
		}
		s.raw = s.source[s.start:s.at]
		if word, ok := reserved[string(s.raw)]; ok {
			return word
		}
		return tokenName
	case isDigit(c):
		return s.numeral()
	case c == '"' || c == '\'':
		return s.quoted(c)
	case c == '[':
		level, ok := s.bracket('[')
		switch {
		case ok:
			s.text = s.long(level, "unfinished long string")
			ends := level + 2 // bytes of the brackets on either side; a line end behind the first is no part of the token
			s.raw = slices.Concat(s.source[s.start:s.start+ends], s.text, s.source[s.at-ends:s.at])
			return tokenString
		case level > 0:
			s.fail("invalid long string delimiter", string(s.source[s.start:s.at]))
		}
		return '['
	}
	s.at++
	switch {
	case c == '.' && s.has('.'):
		if s.has('.') {
			return tokenDots
		}
		return tokenConcat
	case c == '.' && s.at < len(s.source) && isDigit(s.source[s.at]):
		return s.numeral()
	case c == '=' && s.has('='):
		return tokenEqual
	case c == '~' && s.has('='):
		return tokenNotEqual
	case c == '<' && s.has('='):
		return tokenLessEqual
	case c == '>' && s.has('='):
		return tokenGreaterEqual
	case c >= utf8.RuneSelf:
		r, size := utf8.DecodeRune(s.source[s.start:])
		if r == utf8.RuneError {
			return foreignByte + token(c)
		}
		s.at = s.start + size
		return token(r)
	}
	return token(c)
}

func isNamePart(c byte) bool { return isAlnum(c) || c == '_' }

// numeral reads all that may belong to a number: 3x and 1..2 are malformed ones.
func (s *scanner) numeral() token {
	for s.at < len(s.source) && (isDigit(s.source[s.at]) || s.source[s.at] == '.') {
		s.at++
	}
	if s.has('e') || s.has('E') {
		_ = s.has('+') || s.has('-')
	}
	for s.at < len(s.source) && isNamePart(s.source[s.at]) {
		s.at++
	}
	s.raw = s.source[s.start:s.at]
	var ok bool
	if s.value, ok = ParseNumber(string(s.raw)); !ok {
		s.fail("malformed number", string(s.raw))
	}
	return tokenNumber
}

// escapes are the letters after a backslash that stand for another byte.
var escapes = map[byte]byte{'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// quoted reads a string up to its closing quote.
func (s *scanner) quoted(quote byte) token {
	s.raw = append([]byte(nil), quote)
	for s.at++; ; {
		switch c := s.peek(); {
		case c < 0:
			s.fail("unfinished string", tokenEnd.String())
		case s.atNewline():
			s.fail("unfinished string", string(s.raw))
		case c == '\\':
			s.escape()
		default:
			s.at++
			s.raw = append(s.raw, byte(c))
			if byte(c) == quote {
				s.text = s.raw[1 : len(s.raw)-1]
				return tokenString
			}
		}
	}
}

// escape reads what a backslash begins.
func (s *scanner) escape() {
	s.at++
	c := s.peek()
	switch {
	case c < 0:
	case s.atNewline():
		s.newline()
		s.raw = append(s.raw, '\n')
	case isDigit(byte(c)):
		n := 0
		for i := 0; i < 3 && s.at < len(s.source) && isDigit(s.source[s.at]); i++ {
			n = 10*n + int(s.source[s.at]-'0')
			s.at++
		}
		if n > 255 {
			s.fail("escape sequence too large", string(s.raw))
		}
		s.raw = append(s.raw, byte(n))
	default:
		s.at++
		if e, ok := escapes[byte(c)]; ok {
			c = int(e)
		}
		s.raw = append(s.raw, byte(c))
	}
}

// bracket passes over the beginning or end of a long string except for its last bracket: '[', and the '=' that
// give its level. It is one where another bracket follows.
func (s *scanner) bracket(c byte) (level int, ok bool) {
	s.at++
	for s.has('=') {
		level++
	}
	return level, s.peek() == int(c)
}

// long reads a long string or comment from its second bracket on; lines in it end with LF.
func (s *scanner) long(level int, unfinished string) []byte {
	s.at++
	if s.atNewline() {
		s.newline()
	}
	var text []byte
	for {
		from := s.at
		switch c := s.peek(); {
		case c < 0:
			s.fail(unfinished, tokenEnd.String())
		case c == '[':
			if n, ok := s.bracket('['); ok && n == 0 && level == 0 {
				s.fail("nesting of [[...]] is deprecated", "[")
			}
			text = append(text, s.source[from:s.at]...)
		case c == ']':
			if n, ok := s.bracket(']'); ok && n == level {
				s.at++
				return text
			}
			text = append(text, s.source[from:s.at]...)
		case s.atNewline():
			s.newline()
			text = append(text, '\n')
		default:
			s.at++
			text = append(text, byte(c))
		}
	}
}
