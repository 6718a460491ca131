package luabind

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"npulua/internal/printable"
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
	i := 0
	for i < len(s) && i < most {
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	text := `"` + printable.Escape(s[:i], func(r rune) bool { return r != '"' && r != '\\' && unicode.IsPrint(r) }) + `"`
	if i < len(s) {
		return text + "... (" + strconv.Itoa(len(s)) + " B)"
	}
	return text
}

// Quote is s as a Lua string of one line.
func Quote(s string) string { return quote(s, len(s)) }

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
