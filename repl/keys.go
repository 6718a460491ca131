package repl

import (
	"bytes"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Keys are runes: themselves where they print, control codes, and these for all others. What a
// terminal sends never yields one of them by accident, because clean replaces that plane.
const (
	keyNone rune = firstKey + iota // a key without a meaning
	keyRedraw
	keyText  // several characters at once, in keys.text
	keyPaste // text between the terminal's marks of a paste, in keys.text
	keyEnter
	keyNewline // Enter with Alt: a new line in the entry
	keyInterrupt
	keyEnd  // Ctrl-D
	keyGone // the terminal
	keyUp
	keyDown
	keyLeft
	keyRight
	keyWordLeft
	keyWordRight
	keyHome
	keyEndOfLine
	keyDelete
	keyBackspace
	keyKillWord
	keyKillWordBack
	keyTab
	keyBackTab
	keyCommand // what readline is given in place of a key that we act on

	firstKey rune = 0x100000
)

// controls are the keys behind control codes; the rest mean nothing.
var controls = map[byte]rune{
	1: keyHome, 2: keyLeft, 3: keyInterrupt, 4: keyEnd, 5: keyEndOfLine, 6: keyRight, 7: ctrlG, 8: keyBackspace,
	'\t': keyTab, '\n': keyEnter, 11: ctrlK, 12: ctrlL, '\r': keyEnter, 14: keyDown, 16: keyUp, 18: ctrlR, 19: ctrlS,
	20: ctrlT, 21: ctrlU, 23: keyKillWordBack, 25: ctrlY, 26: ctrlZ, 127: keyBackspace,
}

const (
	ctrlG = 7
	ctrlK = 11
	ctrlL = 12
	ctrlR = 18
	ctrlS = 19
	ctrlT = 20
	ctrlU = 21
	ctrlY = 25
	ctrlZ = 26
)

// sequences are the keys behind ESC [ and ESC O.
var sequences = map[string]rune{
	"A": keyUp, "B": keyDown, "C": keyRight, "D": keyLeft, "H": keyHome, "F": keyEndOfLine, "Z": keyBackTab,
	"1~": keyHome, "7~": keyHome, "4~": keyEndOfLine, "8~": keyEndOfLine, "3~": keyDelete,
	"1;5C": keyWordRight, "1;5D": keyWordLeft, "1;3C": keyWordRight, "1;3D": keyWordLeft, "5C": keyWordRight, "5D": keyWordLeft,
	"3;5~": keyKillWord, "3;3~": keyKillWord, "1;5H": keyHome, "1;5F": keyEndOfLine,
}

// metas are the keys behind ESC and a character.
var metas = map[byte]rune{
	'b': keyWordLeft, 'f': keyWordRight, 'd': keyKillWord, 127: keyKillWordBack, 8: keyKillWordBack,
	'\r': keyNewline, '\n': keyNewline,
}

const (
	escWait   = 100 * time.Millisecond // for what follows ESC, before it is the key Esc
	restWait  = 500 * time.Millisecond // for the rest of a sequence that has begun
	tabWait   = 15 * time.Millisecond  // for what follows a tab that was pasted
	pasteWait = 2 * time.Second        // for the rest of a paste
	maxText   = 4096                   // bytes of one keyText
	maxBurst  = 64 << 10               // and of one that has several lines
)

// keys reads what a terminal sends and tells keys. It reads nothing behind a key, except in a paste,
// so that text typed ahead is left for a chunk that reads it.
type keys struct {
	src   *source
	buf   []byte
	text  string      // of the last keyText or keyPaste
	ended func() bool // reports whether no key is wanted any more; looked at after a wake
	back  rune        // a key that was read and given back; 0: none
}

// fill waits until buf is not empty, or returns what else happened.
func (k *keys) fill(d time.Duration, n int) (int, error) {
	if len(k.buf) > 0 {
		return readable, nil
	}
	if got := k.src.wait(d); got != readable {
		return got, nil
	}
	b := make([]byte, n)
	m, err := k.src.read(b)
	k.buf = append(k.buf, b[:m]...)
	return readable, err
}

// peek returns the next byte if it comes within d. A wake in between is not lost.
func (k *keys) peek(d time.Duration) (byte, bool) {
	end := time.Now().Add(d)
	for {
		got, err := k.fill(max(0, time.Until(end)), 1)
		switch {
		case err != nil || got == timedOut:
			return 0, false
		case got == woken:
			defer k.src.wake()
			if !k.src.pending() {
				return 0, false
			}
			continue
		}
		return k.buf[0], true
	}
}

func (k *keys) take(d time.Duration) (byte, bool) {
	b, ok := k.peek(d)
	if ok {
		k.buf = k.buf[1:]
	}
	return b, ok
}

// next waits for the next key. keyRedraw tells that wake was called.
func (k *keys) next() rune {
	if key := k.back; key != 0 {
		k.back = 0
		return key
	}
	got, err := k.fill(-1, 1)
	switch {
	case err != nil:
		return keyGone
	case got == woken:
		return keyRedraw
	}
	b := k.buf[0]
	k.buf = k.buf[1:]
	switch {
	case b == 0x1b:
		return k.escape()
	case b == '\t' && k.pasted():
		k.text = "\t"
		return keyText
	case b < 0x20 || b == 0x7f:
		if key, ok := controls[b]; ok {
			return key
		}
		return keyNone
	}
	return k.run(b)
}

// burst goes on after text with what is there already, as a paste without marks is: text, and the newlines after
// which more reports that the text goes on. So many lines are one change of the text, not one each.
func (k *keys) burst(text string, more func(text string) bool) rune {
	for len(text) < maxBurst && k.src.pending() {
		key := k.next()
		switch {
		case key == keyText:
			text += k.text
		case key >= 0x20 && key < firstKey:
			text += string(key)
		case key == keyEnter && more(text):
			text += "\n"
		default:
			k.back = key
			k.text = text
			return keyText
		}
	}
	k.text = text
	return keyText
}

// pasted reports whether a tab is part of pasted text: text follows it at once, or a newline and
// more. A tab and then Enter alone may well be two keys.
func (k *keys) pasted() bool {
	b, ok := k.peek(tabWait)
	if !ok || b != '\r' && b != '\n' {
		return ok && b >= 0x20 && b != 0x7f
	}
	k.buf = k.buf[1:]
	_, ok = k.peek(tabWait)
	k.buf = append([]byte{b}, k.buf...)
	return ok
}

// run collects the characters that are there already, b first.
func (k *keys) run(b byte) rune {
	text := []byte{b}
	for len(text) < maxText {
		d := time.Duration(0)
		if !whole(text) {
			d = escWait
		}
		c, ok := k.peek(d)
		if !ok || c < 0x20 || c == 0x7f {
			break
		}
		text = append(text, c)
		k.buf = k.buf[1:]
	}
	k.text = clean(string(text))
	switch r, n := utf8.DecodeRuneInString(k.text); {
	case n == 0:
		return keyNone
	case n == len(k.text) && r < firstKey:
		return r
	}
	return keyText
}

// whole reports whether text does not end within a character.
func whole(text []byte) bool {
	for i := len(text) - 1; i >= 0 && i >= len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			return utf8.FullRune(text[i:])
		}
	}
	return true
}

// escape reads what follows ESC.
func (k *keys) escape() rune {
	b, ok := k.take(escWait)
	for ok && b == 0x1b {
		b, ok = k.take(escWait)
	}
	switch {
	case !ok:
		return keyNone
	case b == '[' || b == 'O':
		return k.sequence()
	case b == ']' || b == 'P' || b == '_' || b == '^' || b == 'X': // a string, to BEL or ESC \
		for {
			c, ok := k.take(restWait)
			if c == 0x1b {
				k.take(restWait)
				return keyNone
			}
			if !ok || c == 7 {
				return keyNone
			}
		}
	}
	if key, ok := metas[b]; ok {
		return key
	}
	return keyNone
}

func (k *keys) sequence() rune {
	var s []byte
	for {
		b, ok := k.take(restWait)
		if !ok {
			return keyNone
		}
		if b < 0x20 || b == 0x7f { // broken off; what comes now is a key again
			k.buf = append([]byte{b}, k.buf...)
			return keyNone
		}
		s = append(s, b)
		if len(s) == 1 && b == '[' { // a function key of the Linux console
			continue
		}
		if b >= 0x40 && b < 0x7f || len(s) > 64 {
			break
		}
	}
	if string(s) == "200~" {
		return k.paste()
	}
	if string(s) == "M" { // a mouse, which nobody asked for
		for range 3 {
			k.take(restWait)
		}
	}
	if key, ok := sequences[string(s)]; ok {
		return key
	}
	return keyNone
}

// paste reads up to the mark that ends a paste. Should it never come, what came is pasted.
func (k *keys) paste() rune {
	end := []byte("\x1b[201~")
	var text []byte
	for {
		from := max(0, len(text)-len(end))
		text = append(text, k.buf...)
		k.buf = nil
		if i := bytes.Index(text[from:], end); i >= 0 {
			k.buf = append(k.buf, text[from+i+len(end):]...)
			text = text[:from+i]
			break
		}
		got, err := k.fill(pasteWait, 4096)
		if got == woken {
			defer k.src.wake()
			if k.ended() {
				return keyNone
			}
			continue
		}
		if err != nil || got == timedOut {
			break
		}
		if n := len(k.buf); k.buf[n-1] == 3 && !k.src.pending() { // Ctrl-C: the end was lost
			k.buf = nil
			return keyInterrupt
		}
	}
	s := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(text))
	k.text = strings.TrimRight(clean(undouble(s)), "\n")
	return keyPaste
}

// undouble makes one newline of two where all of them are double: the terminal makes that of lines
// that end in CR LF.
func undouble(s string) string {
	runs := 0
	for i := 0; i < len(s); i++ {
		if s[i] != '\n' {
			continue
		}
		n := len(s[i:]) - len(strings.TrimLeft(s[i:], "\n"))
		if n%2 != 0 {
			return s
		}
		runs++
		i += n - 1
	}
	if runs < 2 {
		return s
	}
	return strings.ReplaceAll(s, "\n\n", "\n")
}

// clean removes what must not stand in an entry: control characters except tab and newline, and
// characters that are keys of ours. Bytes that are no characters become U+FFFD.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return r
		case unicode.IsControl(r):
			return -1
		case r >= firstKey:
			return utf8.RuneError
		}
		return r
	}, s)
}

// feed hands keys to readline one at a time: its Stdin. See Terminal.nextKey.
type feed struct{ t *Terminal }

func (f feed) Read(p []byte) (int, error) {
	r, ok := f.t.nextKey()
	if !ok {
		return 0, io.EOF
	}
	return utf8.EncodeRune(p, r), nil
}

func (f feed) Close() error { return nil }
