package repl

import (
	"slices"
	"unicode"
)

// An edit changes the text of an entry and the place of the cursor. It returns a new slice where the
// text changes.
type edit func(t *Terminal, text []rune, pos int) ([]rune, int)

// edits are what keys do that readline does not do, or not well: its Ctrl-T panics at the end of one
// character, its Ctrl-W takes what is behind the cursor too, its words are ASCII, and it knows no
// lines within an entry.
var edits = map[rune]edit{
	keyUp:        (*Terminal).up,
	keyDown:      (*Terminal).down,
	keyHome:      func(_ *Terminal, s []rune, pos int) ([]rune, int) { return s, lineStart(s, pos) },
	keyEndOfLine: func(_ *Terminal, s []rune, pos int) ([]rune, int) { return s, lineEnd(s, pos) },
	keyWordLeft:  func(_ *Terminal, s []rune, pos int) ([]rune, int) { return s, wordLeft(s, pos) },
	keyWordRight: func(_ *Terminal, s []rune, pos int) ([]rune, int) { return s, wordRight(s, pos) },
	keyDelete:    deleteNext,
	keyNewline: func(_ *Terminal, s []rune, pos int) ([]rune, int) {
		return slices.Insert(slices.Clone(s), pos, '\n'), pos + 1
	},
	keyText:         (*Terminal).insertText,
	keyPaste:        (*Terminal).insertText,
	keyTab:          (*Terminal).tab,
	keyBackTab:      (*Terminal).backTab,
	keyKillWord:     func(t *Terminal, s []rune, pos int) ([]rune, int) { return t.killed(s, pos, wordRight(s, pos)) },
	keyKillWordBack: func(t *Terminal, s []rune, pos int) ([]rune, int) { return t.killed(s, wordLeft(s, pos), pos) },
	ctrlK: func(t *Terminal, s []rune, pos int) ([]rune, int) {
		return t.killed(s, pos, max(lineEnd(s, pos), min(pos+1, len(s))))
	},
	ctrlU: func(t *Terminal, s []rune, pos int) ([]rune, int) { return t.killed(s, lineStart(s, pos), pos) },
	ctrlY: func(t *Terminal, s []rune, pos int) ([]rune, int) {
		return slices.Insert(slices.Clone(s), pos, t.kill...), pos + len(t.kill)
	},
	ctrlT: transpose,
	ctrlL: (*Terminal).clearScreen,
	ctrlR: (*Terminal).search,
}

func lineStart(s []rune, pos int) int {
	for pos > 0 && s[pos-1] != '\n' {
		pos--
	}
	return pos
}

func lineEnd(s []rune, pos int) int {
	for pos < len(s) && s[pos] != '\n' {
		pos++
	}
	return pos
}

func isWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

func wordLeft(s []rune, pos int) int {
	for pos > 0 && !isWord(s[pos-1]) {
		pos--
	}
	for pos > 0 && isWord(s[pos-1]) {
		pos--
	}
	return pos
}

func wordRight(s []rune, pos int) int {
	for pos < len(s) && !isWord(s[pos]) {
		pos++
	}
	for pos < len(s) && isWord(s[pos]) {
		pos++
	}
	return pos
}

func cut(s []rune, from, to int) []rune {
	return slices.Delete(slices.Clone(s), from, to)
}

// killed cuts s[from:to] for Ctrl-Y to bring back.
func (t *Terminal) killed(s []rune, from, to int) ([]rune, int) {
	if from < to {
		t.kill = slices.Clone(s[from:to])
	}
	return cut(s, from, to), from
}

func transpose(_ *Terminal, s []rune, pos int) ([]rune, int) {
	if pos == len(s) {
		pos--
	}
	if pos < 1 {
		return s, max(0, min(pos+1, len(s)))
	}
	s = slices.Clone(s)
	s[pos-1], s[pos] = s[pos], s[pos-1]
	return s, pos + 1
}

func (t *Terminal) insertText(s []rune, pos int) ([]rune, int) {
	text := []rune(t.text)
	return slices.Insert(slices.Clone(s), pos, text...), pos + len(text)
}

func (t *Terminal) clearScreen(s []rune, pos int) ([]rune, int) {
	t.screen.clear()
	return s, pos
}

// up goes to the line above, and from the first line to the entry before.
func (t *Terminal) up(s []rune, pos int) ([]rune, int) {
	start := lineStart(s, pos)
	if start == 0 {
		return t.recall(s, pos, -1)
	}
	above := lineStart(s, start-1)
	return s, min(above+pos-start, start-1)
}

// down goes to the line below, and from the last line to the entry after.
func (t *Terminal) down(s []rune, pos int) ([]rune, int) {
	end := lineEnd(s, pos)
	if end == len(s) {
		return t.recall(s, pos, 1)
	}
	return s, min(end+1+pos-lineStart(s, pos), lineEnd(s, end+1))
}

// recall replaces the text with an earlier or later entry. What was changed in an entry is there again when
// the user comes back to it, until the entry is run.
func (t *Terminal) recall(s []rune, pos, step int) ([]rune, int) {
	at := t.at + step
	if at < 0 || at > len(t.history.entries) {
		t.screen.bell()
		return s, pos
	}
	t.drafts[t.at] = s
	t.at = at
	text, ok := t.drafts[at]
	if !ok && at < len(t.history.entries) {
		text = []rune(t.history.entries[at])
	}
	return slices.Clone(text), len(text)
}

// deleteNext is also Ctrl-D where something is typed, which people may press to leave.
func deleteNext(t *Terminal, s []rune, pos int) ([]rune, int) {
	if pos == len(s) {
		t.screen.bell()
	}
	return cut(s, pos, min(pos+1, len(s))), pos
}
