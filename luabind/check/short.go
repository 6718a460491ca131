package check

import (
	"fmt"
	"unicode/utf8"
)

// How much of what scripts say is kept and shown.
const (
	maxMessage = 16 << 10 // bytes of a message
	maxLine    = 300      // characters of a reason, which is one line
	maxCell    = 160      // characters of a reason in a table for people; below it is all of it
	maxLack    = 60       // bytes of a reason that goes with what is missing into one line
	maxName    = 100      // characters of a name where it is in a line with others; JSON and JUnit have all of it
)

// short is a line of at most most characters.
func short(line string, most int) string {
	if utf8.RuneCountInString(line) <= most {
		return line
	}
	const mark = "..."
	runes := []rune(line)
	return string(runes[:most-len(mark)]) + mark
}

// kept is what is kept of a message: its beginning.
func kept(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	end := maxMessage
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s... (%d B more)", text[:end], len(text)-end)
}
