package display

import "unicode/utf8"

// control codes that have a name.
var controls = map[byte]string{'\r': "enter", '\n': "enter", '\t': "tab", 0x7f: "backspace", '\b': "backspace", 0x04: "ctrl-d", 0x0c: "ctrl-l", 0x1a: keySuspend}

// keySuspend goes to nobody: it stops the process.
const keySuspend = "ctrl-z"

// sequences are the codes behind ESC [ or ESC O of keys that have a name.
var sequences = map[string]string{
	"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end", "Z": "backtab",
	"1~": "home", "4~": "end", "5~": "page_up", "6~": "page_down", "7~": "home", "8~": "end", "2~": "insert", "3~": "delete",
}

// longestKey bounds the code of a key.
const longestKey = 32

// parseKey reads a key at the begin of b: its name, or the character that it types; and how many bytes it took. Both are
// nothing where the rest has not come yet, unless it is final; a code without a meaning is "" and its length.
func parseKey(b []byte, final bool) (key string, n int) {
	if len(b) == 0 {
		return "", 0
	}
	switch c := b[0]; {
	case c == 0x1b:
		return parseEscape(b, final)
	case c < 0x20 || c == 0x7f:
		return controls[c], 1
	case !utf8.FullRune(b) && !final:
		return "", 0
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n == 1 {
		return "", 1
	}
	return string(r), n
}

func parseEscape(b []byte, final bool) (key string, n int) {
	if len(b) == 1 {
		if final {
			return "escape", 1
		}
		return "", 0
	}
	if b[1] != '[' && b[1] != 'O' {
		if b[1] == 0x1b {
			return "escape", 1
		}
		_, n := parseKey(b[1:], final)
		if n == 0 {
			return "", 0
		}
		return "", 1 + n // a key with Alt
	}
	for i := 2; i < len(b) && i < longestKey; i++ {
		if b[i] >= 0x40 && b[i] <= 0x7e {
			return sequences[string(b[2:i+1])], i + 1
		}
	}
	if final || len(b) >= longestKey {
		return "", min(len(b), longestKey)
	}
	return "", 0
}
