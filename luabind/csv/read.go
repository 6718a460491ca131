// Package csv reads and writes text of separated values as RFC 4180 has it. Lines end with LF, CR LF or CR, also in one
// text. Unlike encoding/csv it keeps ends of lines inside quotes as they are, bounds what a row may take, and says in plain words what is wrong.
package csv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// MaxRow is how many bytes a row may have. What is longer mostly lacks a quote somewhere.
const MaxRow = 16 << 20

// Syntax is how text is written.
type Syntax struct {
	Separator rune
	Quote     rune // 0: there are no quotes
	Comment   rune // lines that begin with it are skipped; 0: none are
}

// Usual is what RFC 4180 has.
var Usual = Syntax{Separator: ',', Quote: '"'}

// Check says what is wrong with a syntax.
func (s Syntax) Check() error {
	for _, c := range []rune{s.Separator, s.Quote, s.Comment} {
		if c == '\n' || c == '\r' || c == utf8.RuneError {
			return fmt.Errorf("%q can be no separator, quote or comment", c)
		}
	}
	switch {
	case s.Separator == 0:
		return errors.New("there is no separator")
	case s.Separator == s.Quote || s.Separator == s.Comment || s.Quote == s.Comment && s.Quote != 0:
		return errors.New("separator, quote and comment must be different characters")
	}
	return nil
}

// Error says where in a text something is wrong. Line and Column count from 1, Column in characters.
type Error struct {
	Line, Column int
	Text         string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Text)
}

// Reader reads row by row.
type Reader struct {
	from       io.Reader
	quote, sep []byte
	comment    []byte
	begun      bool
	line       int    // number of the last one that was read
	row        int    // line where the last row began
	size       int    // bytes of the row so far
	raw        []byte // the line, with its end; both are good until the next one is read
	content    []byte // without

	buf []byte
	at  int   // where in buf what was not read yet begins
	err error // of from, after what buf has
}

// NewReader makes a reader of a syntax that Check has found good.
func NewReader(r io.Reader, s Syntax) *Reader {
	encode := func(c rune) []byte {
		if c == 0 {
			return nil
		}
		return utf8.AppendRune(nil, c)
	}
	return &Reader{from: r, quote: encode(s.Quote), sep: encode(s.Separator), comment: encode(s.Comment)}
}

// Line is where the last row began.
func (r *Reader) Line() int { return r.row }

// Read returns the fields of the next row; io.EOF after the last one. Empty lines are no rows, a byte order mark is
// skipped. Errors in the text are an *Error; after one the reader is of no more use.
func (r *Reader) Read() ([]string, error) {
	if !r.begun {
		r.begun = true
		const mark = "\ufeff"
		for len(r.buf) < len(mark) && r.fill() {
		}
		if bytes.HasPrefix(r.buf, []byte(mark)) {
			r.at = len(mark)
		}
	}
	for {
		r.size = 0
		if err := r.next(); err != nil {
			return nil, err
		}
		if len(r.content) > 0 && (r.comment == nil || !bytes.HasPrefix(r.content, r.comment)) {
			r.row = r.line
			return r.fields()
		}
	}
}

// bufferSize is how much is read at once, at least.
const bufferSize = 64 << 10

// fill reads more into buf; false: there is no more.
func (r *Reader) fill() bool {
	if r.err != nil {
		return false
	}
	if r.at > 0 {
		r.buf = r.buf[:copy(r.buf, r.buf[r.at:])]
		r.at = 0
	}
	r.buf = slices.Grow(r.buf, bufferSize)
	n, err := r.from.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf, r.err = r.buf[:len(r.buf)+n], err
	return true
}

// next reads a line.
func (r *Reader) next() error {
	for n := 0; ; {
		rest := r.buf[r.at:]
		for n < len(rest) && rest[n] != '\n' && rest[n] != '\r' {
			n++
		}
		end := n // of the line's end
		switch {
		case n == len(rest):
		case rest[n] == '\n':
			end++
		case n+1 < len(rest) && rest[n+1] == '\n':
			end += 2
		case n+1 < len(rest) || r.err != nil:
			end++
		}
		done := end > n || errors.Is(r.err, io.EOF) && end > 0
		switch {
		case r.size+end > MaxRow:
			begin := r.row
			if r.size == 0 {
				begin = r.line + 1
			}
			return &Error{begin, 1, fmt.Sprintf("the row that begins here has more than %d B: a quote may be missing", MaxRow)}
		case !done && r.err != nil:
			return r.err
		case done:
			r.line++
			r.size += end
			r.raw, r.content = rest[:end], rest[:n]
			r.at += end
			return nil
		}
		r.fill()
	}
}

// errorf is an error at byte pos of the line.
func (r *Reader) errorf(pos int, text string) error {
	return &Error{r.line, utf8.RuneCount(r.content[:pos]) + 1, text}
}

func (r *Reader) fields() ([]string, error) {
	var fields []string
	for pos := 0; ; pos += len(r.sep) {
		var field string
		var err error
		if r.quote != nil && bytes.HasPrefix(r.content[pos:], r.quote) {
			field, pos, err = r.quoted(pos)
		} else {
			field, pos, err = r.plain(pos)
		}
		if err != nil {
			return nil, err
		}
		fields = append(fields, field)
		switch {
		case pos == len(r.content):
			return fields, nil
		case !bytes.HasPrefix(r.content[pos:], r.sep):
			return nil, r.errorf(pos, "more text after the closing quote of a field (a quote inside of one is written twice)")
		}
	}
}

// plain reads a field without quotes; end is the byte after it.
func (r *Reader) plain(pos int) (field string, end int, err error) {
	end = len(r.content)
	if i := bytes.Index(r.content[pos:], r.sep); i >= 0 {
		end = pos + i
	}
	if r.quote != nil {
		if i := bytes.Index(r.content[pos:end], r.quote); i >= 0 {
			return "", 0, r.errorf(pos+i, "a quote in a field that does not begin with one")
		}
	}
	return string(r.content[pos:end]), end, nil
}

// quoted reads a field in quotes, which may go over several lines.
func (r *Reader) quoted(pos int) (field string, end int, err error) {
	var b []byte
	var open error
	begin := pos
	for pos += len(r.quote); ; {
		i := bytes.Index(r.content[pos:], r.quote)
		if i < 0 {
			if open == nil { // pos is still in the line where the field begins
				open = r.errorf(begin, "the quote that opens this field is never closed")
			}
			b = append(b, r.raw[pos:]...)
			if err := r.next(); errors.Is(err, io.EOF) {
				return "", 0, open
			} else if err != nil {
				return "", 0, err
			}
			pos = 0
			continue
		}
		b = append(b, r.content[pos:pos+i]...)
		pos += i + len(r.quote)
		if !bytes.HasPrefix(r.content[pos:], r.quote) {
			return string(b), pos, nil
		}
		b = append(b, r.quote...)
		pos += len(r.quote)
	}
}
