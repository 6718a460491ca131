package display

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// widths tells how many columns a character takes: ambiguous ones one, in every locale, as terminals have them.
var widths = &runewidth.Condition{StrictEmojiNeutral: true}

// width is how many columns a text takes. Colours take none.
func width(text string) (n int) {
	for text != "" {
		if code := colour(text); code > 0 {
			text = text[code:]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		n += widths.RuneWidth(r)
		text = text[size:]
	}
	return n
}

// colour is the length of the code for a colour, or another look of characters, at the begin of text; 0: there is none.
func colour(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
		return 0
	}
	for i := 2; i < len(text) && i < 64; i++ {
		switch c := text[i]; {
		case c == 'm':
			return i + 1
		case c < '0' || c > ';':
			return 0
		}
	}
	return 0
}

// clean is a line that a terminal obeys nothing in, but colours where it has them: what cannot be shown is a question
// mark, white space a blank.
func clean(line string, colours bool) string {
	var b strings.Builder
	for line != "" {
		if code := colour(line); code > 0 {
			if colours {
				b.WriteString(line[:code])
			}
			line = line[code:]
			continue
		}
		r, size := utf8.DecodeRuneInString(line)
		switch {
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case r == utf8.RuneError && size == 1 || !unicode.IsGraphic(r):
			b.WriteByte('?')
		default:
			b.WriteRune(r)
		}
		line = line[size:]
	}
	return b.String()
}

// clip cuts a clean line to so many columns. fill: a shorter one is made as wide.
func clip(line string, columns int, fill bool) string {
	n, at := 0, 0
	for at < len(line) {
		if code := colour(line[at:]); code > 0 {
			at += code
			continue
		}
		r, size := utf8.DecodeRuneInString(line[at:])
		w := widths.RuneWidth(r)
		if n+w > columns {
			break
		}
		n, at = n+w, at+size
	}
	line = line[:at]
	if fill && n < columns {
		line += strings.Repeat(" ", columns-n)
	}
	return line
}
