package lua51

import (
	"bufio"
	"errors"
	"io"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// numberReader collects the bytes that scanf("%lf") takes for a number. What was taken before
// a failure is gone.
type numberReader struct {
	r    *bufio.Reader
	text []byte
	err  error
}

// peek is the next byte in lower case; 0 at the end.
func (s *numberReader) peek() byte {
	b, err := s.r.Peek(1)
	if err != nil {
		s.err = err
		return 0
	}
	return lower(b[0])
}

// accept takes the next byte if it is one of set.
func (s *numberReader) accept(set string) bool {
	c := s.peek()
	if c == 0 || strings.IndexByte(set, c) < 0 {
		return false
	}
	s.text = append(s.text, c)
	s.r.Discard(1)
	return true
}

// word takes as much of w as is there, and the first byte that differs; it reports whether none does.
func (s *numberReader) word(w string) bool {
	for i := range len(w) {
		if !s.accept(w[i : i+1]) {
			s.r.Discard(1)
			return false
		}
	}
	return true
}

func (s *numberReader) run(set string) (found bool) {
	for s.accept(set) {
		found = true
	}
	return found
}

// scan reports whether the bytes taken start with a number.
func (s *numberReader) scan() bool {
	for isSpace(s.peek()) {
		s.r.Discard(1)
	}
	s.accept("+-")
	switch s.peek() {
	case 'n':
		return s.word("nan")
	case 'i':
		return s.word("inf") && (s.peek() != 'i' || s.word("inity"))
	}
	digits, exponent := "0123456789", "e"
	found := s.accept("0")
	if found && s.accept("x") {
		digits, exponent, found = "0123456789abcdef", "p", false
	}
	found = s.run(digits) || found
	point := s.accept(".")
	found = point && s.run(digits) || found
	if found && s.accept(exponent) {
		s.accept("+-")
		s.run("0123456789")
	}
	return found || point && exponent == "p" // of "0x." the zero counts
}

// readNumber is the format *n.
func readNumber(r *bufio.Reader) (lua.LValue, error) {
	s := numberReader{r: r}
	ok := s.scan()
	if s.err != nil && !errors.Is(s.err, io.EOF) {
		return lua.LNil, s.err
	}
	if !ok {
		return lua.LNil, nil
	}
	n, _ := scanNumber(string(s.text)) // an exponent without digits counts for nothing
	return lua.LNumber(n), nil
}

func lower(c byte) byte {
	if isUpper(c) {
		c |= 0x20
	}
	return c
}
