package display

import (
	"fmt"
	"strings"
	"time"
)

const (
	paintEvery  = 100 * time.Millisecond // bars are painted no more often than that
	partialWait = time.Second            // how long bars wait for the end of a line that a script has begun
)

// area is what the terminal shows of bars: lines, with the cursor below them.
type area struct {
	lines   []string
	columns int // of the terminal then
	painted time.Time
}

// wanted reports whether it is time to paint.
func (a *area) wanted() bool { return time.Since(a.painted) >= paintEvery }

// erase returns codes that lead to the first line, and erase from there.
func (a *area) erase(columns int) string {
	up := 0
	for _, line := range a.lines {
		rows := 1
		if columns < a.columns { // a terminal made narrower breaks the lines anew
			rows = max(1, (width(line)+columns-1)/columns)
		}
		up += rows
	}
	a.lines = nil
	if up == 0 {
		return ""
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", up)
}

// above makes room for text: it returns codes that erase the bars, and the lines of those that have ended. It is called
// with d.writing held.
func (d *Display) above() string {
	if d.tty() == nil {
		return ""
	}
	columns, _ := size(d.tty())
	code := d.area.erase(columns)
	final, _ := d.compose(columns, 0)
	if len(final) > 0 && d.partial {
		code, d.partial = code+"\r\n", false
	}
	return code + joined(final)
}

func joined(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\r\n") + "\r\n"
}

// paint shows the bars as they are. It is called with d.writing held. now: a line that has not ended is not waited for.
func (d *Display) paint(now bool) {
	if d.open != nil || d.lent > 0 || d.partial && !now && time.Since(d.since) < partialWait {
		return
	}
	columns, rows := size(d.tty())
	final, lines := d.compose(columns, rows-1)
	a := &d.area
	if len(final) == 0 && columns == a.columns && strings.Join(lines, "\n") == strings.Join(a.lines, "\n") {
		return
	}
	code := a.erase(columns)
	if len(final)+len(lines) > 0 && d.partial {
		code, d.partial = code+"\r\n", false
	}
	a.lines, a.columns, a.painted = lines, columns, time.Now()
	_, _ = d.tty().WriteString(code + joined(final) + joined(lines)) // who cannot see bars misses nothing
}

// compose returns lines of bars that stay for good, which are gone from the display then, and of those that go on, no
// more than rows.
func (d *Display) compose(columns, rows int) (final, lines []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := layOut(d.bars, columns)
	rest, ahead := d.bars[:0], true
	for _, b := range d.bars {
		switch {
		case b.o.Tell != nil:
			rest = append(rest, b)
		case b.over() && ahead:
			final = append(final, b.line(l))
			b.listed = false
		default:
			ahead = ahead && b.over()
			rest = append(rest, b)
			lines = append(lines, b.line(l))
		}
	}
	clear(d.bars[len(rest):])
	d.bars = rest
	if len(lines) > rows {
		n := len(lines) - max(0, rows-1)
		lines = append(lines[:max(0, rows-1)], clip(fmt.Sprintf("and %d more", n), columns-1, false))
	}
	if rows < 1 {
		lines = nil
	}
	return final, lines
}

// tick has bars shown until none is left. It is called with d.mu held.
func (d *Display) tick() {
	if d.ticks != nil || d.ended {
		return
	}
	stop := make(chan struct{})
	d.ticks = stop
	go d.keepPainting(stop)
}

// forget ends the painting where there is nothing to paint any more. all: also where it could not be painted. It is called
// with d.mu held.
func (d *Display) forget(all bool) {
	live := d.bars[:0]
	for _, b := range d.bars {
		if b.listed = !all && (b.o.Tell == nil || !b.over()); b.listed {
			live = append(live, b)
		}
	}
	clear(d.bars[len(live):])
	d.bars = live
	if len(live) == 0 && d.ticks != nil {
		close(d.ticks)
		d.ticks = nil
	}
}

func (d *Display) keepPainting(stop chan struct{}) {
	ticker := time.NewTicker(paintEvery)
	defer ticker.Stop()
	continued, unwatch := watchContinue()
	defer unwatch()
	for {
		select {
		case <-stop:
			return
		case <-continued: // a shell has written meanwhile
			d.writing.Lock()
			d.area.lines = nil
			d.writing.Unlock()
			continue
		case <-ticker.C:
		}
		if d.tty() != nil {
			d.writing.Lock()
			if d.area.wanted() {
				d.paint(false)
			}
			d.writing.Unlock()
		}
		for _, tell := range d.overdue() {
			tell()
		}
		d.mu.Lock()
		if d.ticks == stop {
			d.forget(false)
		}
		d.mu.Unlock()
	}
}
