package check

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"npulua/luabind/quantity"
)

// Number is a number for people: whole ones with all digits, others with six.
func Number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// firstLine is text up to its first line end.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// Reason is why a test did not simply pass, in one line.
func (t *Test) Reason() string {
	var parts []string
	add := func(list []Message, kinds ...Kind) {
		for _, m := range list {
			for _, k := range kinds {
				if m.Kind == k {
					parts = append(parts, short(strings.ReplaceAll(firstLine(m.Text), "\t", " "), maxLine))
				}
			}
		}
	}
	switch t.Result {
	case Fail, Error:
		add(t.Messages, Failed, Errored)
	case Skip, NotRun:
		add(t.Messages, Skipped)
	case Warn:
		add(t.Messages, Warned)
	}
	text := ""
	if len(parts) > 0 {
		text = parts[0]
		if more := len(parts) - 1; more > 0 {
			text += fmt.Sprintf(" (and %d more)", more)
		}
	}
	if n := t.attempted(); n != "" {
		if text != "" {
			text += "; "
		}
		text += n
	}
	return text
}

// attempted says how often a test was run, where that is more than once.
func (t *Test) attempted() string {
	switch {
	case len(t.Earlier) == 0:
		return ""
	case t.Flaky():
		return fmt.Sprintf("passed at attempt %d", t.Attempts())
	}
	return fmt.Sprintf("%d attempts", t.Attempts())
}

// took is the time as tables show it.
func (t *Test) took() string {
	if t.Result == NotRun {
		return "-"
	}
	return quantity.Took(t.Took)
}

// Line is the test in one line, for a terminal while tests run.
func (t *Test) Line() string {
	text := fmt.Sprintf("%-7s %s", t.Result.Label(), t.title())
	if t.Result != NotRun {
		text += "  " + t.took()
	}
	if why := short(t.Reason(), maxCell); why != "" {
		text += ": " + why
	}
	return text
}

// CellReason is how many characters of a reason tables for people show.
const CellReason = maxCell

// Details is what tests that did not pass said, where that is more than the table shows. What several tests lack is told
// once.
func (r *Report) Details() string {
	lacking := make(map[string][]string)
	for _, t := range r.Tests {
		if t.lacks() {
			text := t.details()
			lacking[text] = append(lacking[text], t.title())
		}
	}
	var b strings.Builder
	for _, t := range r.Tests {
		text, title := t.details(), t.title()
		if t.lacks() {
			title = strings.Join(atMost(lacking[text]), ", ")
			if lacking[text] == nil { // it was told
				continue
			}
			delete(lacking, text)
		}
		if text != "" {
			fmt.Fprintf(&b, "%s, %s:\n%s", title, t.Result.Label(), text)
		}
	}
	return b.String()
}

// lacks reports whether all that t said is what the machine lacks.
func (t *Test) lacks() bool {
	return len(t.Messages) == 1 && t.Messages[0].Lack != "" && len(t.Earlier) == 0
}

// details is what t said; "" where it passed at once, or the table shows all.
func (t *Test) details() string {
	switch all := len(t.Earlier) == 0 && len(t.Messages) == 1 && strings.ReplaceAll(t.Messages[0].Text, "\t", " ") == short(t.Reason(), maxCell); {
	case all, t.Result == NotRun, (t.Result == Pass) && len(t.Earlier) == 0:
		return ""
	}
	var b strings.Builder
	attempts := append(append([]Attempt(nil), t.Earlier...), t.Attempt)
	for i, a := range attempts {
		if len(attempts) > 1 {
			fmt.Fprintf(&b, "  attempt %d, %s\n", i+1, a.Result.Label())
		}
		for _, m := range a.Messages {
			fmt.Fprintf(&b, "  %s: %s\n", m.Kind, strings.ReplaceAll(m.Text, "\n", "\n    "))
		}
	}
	return b.String()
}
