package repl

import (
	"slices"
	"strings"
)

// menu is the candidates shown below the text after a completion that left several.
type menu struct {
	candidates []string
	chosen     int // -1 while none is
	start, end int // of what a candidate replaces
}

const maxCandidates = 1000

// tab completes the word before the cursor: as far as the candidates agree, then one candidate after the
// other. Where only space is before the cursor it indents.
func (t *Terminal) tab(s []rune, pos int) ([]rune, int) {
	if m := t.menu; m != nil {
		return m.choose(s, 1)
	}
	if strings.TrimSpace(string(s[lineStart(s, pos):pos])) == "" {
		return slices.Insert(slices.Clone(s), pos, '\t'), pos + 1
	}
	start, candidates := t.complete(s, pos)
	if len(candidates) == 0 {
		t.screen.bell()
		return s, pos
	}
	common := []rune(candidates[0])
	for _, c := range candidates[1:] {
		n := 0
		for _, r := range c {
			if n == len(common) || common[n] != r {
				break
			}
			n++
		}
		common = common[:n]
	}
	if len(candidates) > 1 && len(common) < pos-start {
		common = s[start:pos] // they do not all begin with what was typed
	}
	text := slices.Replace(slices.Clone(s), start, pos, common...)
	pos = start + len(common)
	if len(candidates) > 1 {
		t.menu = &menu{candidates: candidates, chosen: -1, start: start, end: pos}
	}
	return text, pos
}

func (t *Terminal) backTab(s []rune, pos int) ([]rune, int) {
	if m := t.menu; m != nil {
		return m.choose(s, -1)
	}
	return s, pos
}

// choose replaces the text by the next candidate.
func (m *menu) choose(s []rune, step int) ([]rune, int) {
	n := len(m.candidates)
	if m.chosen < 0 && step < 0 {
		m.chosen = 0
	}
	m.chosen = (m.chosen + step + n) % n
	c := []rune(m.candidates[m.chosen])
	text := slices.Replace(slices.Clone(s), m.start, m.end, c...)
	m.end = m.start + len(c)
	return text, m.end
}

// complete asks the evaluator for candidates, and where in s they begin.
func (t *Terminal) complete(s []rune, pos int) (start int, candidates []string) {
	defer func() {
		if recover() != nil { // no completion is worth the session
			start, candidates = pos, nil
		}
	}()
	text := string(s)
	at := len(string(s[:pos]))
	from, all := t.ev.Complete(text, at)
	if from < 0 || from > at {
		return pos, nil
	}
	for _, c := range all {
		if c = clean(c); c != "" && !slices.Contains(candidates, c) && len(candidates) < maxCandidates {
			candidates = append(candidates, c)
		}
	}
	return len([]rune(text[:from])), candidates
}

// rows lays the candidates out in columns, at most limit rows; the last one tells how many are left out.
func (m *menu) rows(cols, limit int) []string {
	if limit < 1 {
		return nil
	}
	widest := 1
	for _, c := range m.candidates {
		widest = max(widest, textWidth(c))
	}
	widest = min(widest, cols)
	columns := max(1, (cols+1)/(widest+2))
	need := (len(m.candidates) + columns - 1) / columns
	show, first := need, 0
	if need > limit {
		show = max(1, limit-1)
		if m.chosen >= 0 { // the page with the chosen one
			first = m.chosen / columns / show * show
		}
	}
	var rows []string
	for r := first; r < min(need, first+show); r++ {
		var b strings.Builder
		for c := range columns {
			i := r*columns + c
			if i >= len(m.candidates) {
				break
			}
			text := fit(m.candidates[i], widest)
			if i == m.chosen {
				b.WriteString(sgrChosen + text + sgrReset)
			} else {
				b.WriteString(text)
			}
			if c+1 < columns && i+1 < len(m.candidates) {
				b.WriteString(strings.Repeat(" ", widest-textWidth(text)+2))
			}
		}
		rows = append(rows, b.String())
	}
	if left := len(m.candidates) - min(len(m.candidates), (first+show)*columns); need > limit && limit > 1 && left > 0 {
		rows = append(rows, fit("and "+itoa(left)+" more", cols))
	}
	return rows
}
