// Package printable makes text of others fit for a terminal or a log: of scripts, files, drivers and the environment.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is s as text of which a terminal obeys nothing but line ends and tabs: other control characters, and what is
// no UTF-8, are written as Lua escapes.
func Text(s string) string {
	return Escape(s, func(r rune) bool { return r == '\n' || r == '\t' || unicode.IsGraphic(r) })
}

// Line is Text in one line: line ends and tabs are escapes, too.
func Line(s string) string { return Escape(s, unicode.IsGraphic) }

var escapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

// Escape writes the characters of s that are not plain as a Lua string has them.
func Escape(s string, plain func(rune) bool) string {
	begin := 0 // of what has to be looked at: most text is plain, and stays as it is
	for begin < len(s) && s[begin] < utf8.RuneSelf && plain(rune(s[begin])) {
		begin++
	}
	if begin == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:begin])
	for i := begin; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch broken := r == utf8.RuneError && size == 1; {
		case !broken && plain(r):
			b.WriteRune(r)
		case escapes[r] != "":
			b.WriteString(escapes[r])
		default:
			for _, c := range []byte(s[i : i+size]) {
				fmt.Fprintf(&b, `\%03d`, c)
			}
		}
		i += size
	}
	return b.String()
}

// JSON is a JSON document with the control characters that JSON lets stand as they are, DEL and those of C1, written
// as JSON escapes. It means the same.
func JSON(document []byte) []byte {
	const hex = "0123456789abcdef"
	var out []byte // nil: nothing was changed yet
	for i := 0; i < len(document); i++ {
		c, size := document[i], 0
		switch {
		case c == 0x7f:
			size = 1
		case c == 0xc2 && i+1 < len(document) && document[i+1] >= 0x80 && document[i+1] < 0xa0:
			c, size = document[i+1], 2
		}
		switch {
		case size == 0 && out == nil:
			continue
		case size == 0:
			out = append(out, c)
			continue
		case out == nil:
			out = append(make([]byte, 0, len(document)+64), document[:i]...)
		}
		out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		i += size - 1
	}
	if out == nil {
		return document
	}
	return out
}
