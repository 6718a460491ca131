package repl

import (
	"strings"
	"unicode/utf8"
)

// search is what Ctrl-R does: every key changes the query, and the text is the newest entry that has it.
// readline's own search ends the process when it is left with an empty history.
type search struct {
	query  string
	at     int  // index of the entry shown; len(entries) before one is found
	failed bool // no further entry has the query
	text   []rune
	pos    int // text and cursor before the search
}

func (t *Terminal) search(s []rune, pos int) ([]rune, int) {
	t.searching = &search{at: len(t.history.entries), text: s, pos: pos}
	return s, pos
}

// prompt stands in front of the text while it is searched.
func (s *search) prompt() string {
	if s.failed {
		return "(no entry has `" + s.query + "') "
	}
	return "(search `" + s.query + "') "
}

// searchKey acts on a key within a search. done is false where the search ends and the key is still to be
// acted on, with the text that was found.
func (t *Terminal) searchKey(key rune) (act edit, done bool) {
	s := t.searching
	switch {
	case key == ctrlR:
		return s.find(-1, false), true
	case key == ctrlS:
		return s.find(1, false), true
	case key == keyBackspace:
		_, n := utf8.DecodeLastRuneInString(s.query)
		s.query = s.query[:len(s.query)-n]
		s.at = len(t.history.entries)
		return s.find(-1, true), true
	case key == keyText:
		s.query += strings.ReplaceAll(t.text, "\n", " ")
		return s.find(-1, true), true
	case key >= 0x20 && key < firstKey:
		s.query += string(key)
		return s.find(-1, true), true
	case key == keyRedraw:
		return stay, true
	case key == ctrlG: // as it was
		t.searching = nil
		return func(*Terminal, []rune, int) ([]rune, int) { return s.text, s.pos }, true
	}
	if s.at < len(t.history.entries) {
		t.at = s.at
	}
	t.searching = nil
	return nil, false
}

func stay(_ *Terminal, s []rune, pos int) ([]rune, int) { return s, pos }

// find shows the next entry that has the query, in the direction of step; also the one shown where
// the query has changed.
func (s *search) find(step int, changed bool) edit {
	return func(t *Terminal, text []rune, pos int) ([]rune, int) {
		s.failed = false
		if s.query == "" {
			return s.text, s.pos
		}
		entries := t.history.entries
		at := s.at
		if !changed || at == len(entries) {
			at += step
		}
		for ; at >= 0 && at < len(entries); at += step {
			if i := strings.Index(entries[at], s.query); i >= 0 {
				s.at = at
				return []rune(entries[at]), utf8.RuneCountInString(entries[at][:i])
			}
		}
		s.failed = true
		t.screen.bell()
		return text, pos
	}
}
