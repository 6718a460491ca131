package luabind

import "strings"

// Span is a part of a line, from byte Start up to End, that is shown in a colour of its own.
type Span struct {
	Start, End int
	Kind       SpanKind
}

// SpanKind says what a Span is.
type SpanKind uint8

// The kinds.
const (
	SpanKeyword SpanKind = iota
	SpanString
	SpanNumber
	SpanComment
	SpanKnown   // a name that stands for something
	SpanUnknown // one that stands for nothing, as far as that can be told
)

var spanKinds = map[tokenKind]SpanKind{
	tokenKeyword: SpanKeyword, tokenString: SpanString, tokenNumber: SpanNumber, tokenComment: SpanComment,
}

// Highlight is the coloured parts of what is being typed, in order. Names that cannot be told, variables of
// the chunk itself and operators have none, nor has a name at the end that may become
// a known one. A very long text has none at all.
func (e *Evaluator) Highlight(line string) []Span {
	if len(line) > maxTyped {
		return nil
	}
	all := tokens(line)
	list := significant(append([]token(nil), all...))
	own := chunkNames(list)
	var spans []Span
	for i, n := 0, 0; i < len(all); i++ {
		t := all[i]
		if t.kind != tokenComment {
			n++
		}
		if kind, ok := spanKinds[t.kind]; ok {
			spans = append(spans, Span{t.start, t.end, kind})
			continue
		}
		if t.kind != tokenName || n < len(list) && list[n].text == "=" && !e.isField(list, n-1) {
			continue
		}
		switch got, _ := e.expression(list, n-1, own); {
		case got.state == known:
			spans = append(spans, Span{t.start, t.end, SpanKnown})
		case got.state == missing && !(t.end == len(line) && e.begins(list, n-1, own)):
			spans = append(spans, Span{t.start, t.end, SpanUnknown})
		}
	}
	return spans
}

// isField reports whether list[i] stands behind a dot or a colon.
func (e *Evaluator) isField(list []token, i int) bool {
	return i > 0 && (list[i-1].text == "." || list[i-1].text == ":")
}

// begins reports whether the name list[i] is the beginning of a known one.
func (e *Evaluator) begins(list []token, i int, own map[string]bool) bool {
	parent := target{value: e.globals(), state: known}
	if e.isField(list, i) {
		parent, _ = e.expression(list, i-2, own)
	} else {
		for _, k := range keywords {
			if strings.HasPrefix(k, list[i].text) {
				return true
			}
		}
	}
	for _, m := range e.members(parent) {
		if strings.HasPrefix(m.name, list[i].text) {
			return true
		}
	}
	return false
}
