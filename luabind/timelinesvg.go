package luabind

import (
	"fmt"
	"html"
	"strings"
	"time"

	"npulua/npu"
)

// Measures of the picture of a timeline, in its own units.
const (
	pictureWidth  = 1000
	pictureLabels = 170 // of the names of streams
	pictureRow    = 24
	pictureBar    = 16
	pictureTicks  = 5
	pictureText   = 12 // height of letters
)

// markColors are the colours of bars, by letter.
var markColors = map[byte]string{
	'<': "#2f7ed8", '>': "#1f9e89", '=': "#7a5fc0", 'F': "#8c8c8c", 'K': "#e08214", 'C': "#b0398b", 'G': "#4d9221", 'M': "#a6611a", 'X': "#d7191c",
}

// TimelineSVG is Timeline as a picture, in SVG, of all that the session has done. It is nil where there is nothing to draw.
func (in *Interp) TimelineSVG() []byte {
	streams, now, err := in.session.History(in.session.Main())
	if err != nil {
		return nil
	}
	rows, first, last, more := timelineRows(streams, 0, now)
	if len(rows) == 0 {
		return nil
	}
	p := &picture{first: first, span: max(last-first, 1)}
	y := 4
	for _, s := range rows {
		p.row(s, y)
		y += pictureRow
	}
	if more > 0 {
		p.text(0, y+pictureText+2, "start", fmt.Sprintf("%d more streams", more))
		y += pictureRow
	}
	p.axis(y)
	y += pictureRow + 4
	p.legend(y)
	y += pictureRow
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="%d" fill="#222">`+
		"\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n%s</svg>\n", pictureWidth, y, pictureText, pictureWidth, y, p.b.String())
}

// picture is one that is being drawn.
type picture struct {
	b           strings.Builder
	first, span time.Duration
	used        []mark
}

func (p *picture) text(x, y int, anchor, text string) {
	fmt.Fprintf(&p.b, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, html.EscapeString(text))
}

// x is where a moment is drawn.
func (p *picture) x(at time.Duration) float64 {
	return pictureLabels + float64(at-p.first)/float64(p.span)*(pictureWidth-pictureLabels-4)
}

// row draws one stream. Bars that are too thin to see beside one that is there already are left out.
func (p *picture) row(s npu.StreamCommands, y int) {
	p.text(pictureLabels-8, y+pictureBar-3, "end", streamLabel(s, pictureWidth))
	fmt.Fprintf(&p.b, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#f1f3f5\"/>\n", pictureLabels, y, pictureWidth-pictureLabels-4, pictureBar)
	const visible = 2 // thinner ones cannot be seen
	var drawn float64
	var letter byte
	for _, c := range s.Commands {
		m, _ := markOf(c)
		from := min(p.x(c.Start), pictureWidth-4-visible)
		to := max(p.x(c.End), from+visible)
		if m.letter == letter && to < drawn+visible {
			continue
		}
		drawn, letter = to, m.letter
		p.note(m)
		fmt.Fprintf(&p.b, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", from, y, to-from, pictureBar, markColors[m.letter])
	}
}

func (p *picture) note(m mark) {
	for _, u := range p.used {
		if u == m {
			return
		}
	}
	p.used = append(p.used, m)
}

func (p *picture) axis(y int) {
	for i := range pictureTicks + 1 {
		at := p.first + p.span*time.Duration(i)/pictureTicks
		anchor := "middle"
		switch i {
		case 0:
			anchor = "start"
		case pictureTicks:
			anchor = "end"
		}
		x := int(p.x(at))
		fmt.Fprintf(&p.b, "<path d=\"M%d 4V%d\" stroke=\"#ccd2d8\"/>\n", x, y)
		label := "+" + shortTime(at-p.first)
		if i == 0 {
			label = "at " + shortTime(at)
		}
		p.text(x, y+pictureText+2, anchor, label)
	}
}

func (p *picture) legend(y int) {
	x := pictureLabels
	const letterWidth = 7 // at most, on average
	for _, m := range p.used {
		fmt.Fprintf(&p.b, "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", x, y, markColors[m.letter])
		p.text(x+17, y+pictureText-2, "start", m.text)
		x += 17 + letterWidth*len(m.text) + 16
	}
}
