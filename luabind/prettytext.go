package luabind

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// textWidth is about how many columns s takes: East Asian characters take two.
func textWidth(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f ||
			r >= 0xff00 && r <= 0xff60 || r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd):
			n += 2
		case unicode.Is(unicode.Mn, r):
		default:
			n++
		}
	}
	return n
}

// quote is s as a Lua string of one line, cut after most bytes.
func quote(s string, most int) string {
	var b strings.Builder
	b.WriteByte('"')
	i := 0
	for i < len(s) && i < most {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == utf8.RuneError && size == 1, !unicode.IsPrint(r):
			for _, c := range []byte(s[i : i+size]) {
				fmt.Fprintf(&b, `\%03d`, c)
			}
		default:
			b.WriteRune(r)
		}
		i += size
	}
	b.WriteByte('"')
	if i < len(s) {
		return b.String() + "... (" + strconv.Itoa(len(s)) + " B)"
	}
	return b.String()
}

// clip cuts text after most bytes, and drops what a terminal would obey.
func clip(s string, most int) string {
	if len(s) > most {
		for most > 0 && !utf8.RuneStart(s[most]) {
			most--
		}
		s = s[:most] + "..."
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// oneLine is s without line ends and control characters.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return '?'
	}, s)
}
