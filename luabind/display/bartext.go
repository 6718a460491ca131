package display

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// Columns that a bar takes.
const (
	minBar  = 12
	keepBar = 24 // a note is cut before the bar gets shorter
	maxBar  = 40
)

// fillSteps is how finely a value is told to the library, which counts in whole numbers.
const fillSteps = 1 << 20

// layout is how bars that are painted one below the other share the columns.
type layout struct {
	columns int // of the terminal
	titles  int
	fill    int
}

// layOut finds a layout for bars. It is called with d.mu held.
func layOut(bars []*Bar, columns int) layout {
	l := layout{columns: columns, fill: maxBar}
	for _, b := range bars {
		if b.o.Tell == nil {
			l.titles = max(l.titles, width(b.title))
		}
	}
	l.titles = min(l.titles, columns/3)
	for _, b := range bars {
		if b.o.Tell == nil {
			room := l.room(b)
			l.fill = min(l.fill, max(room-width(b.behind()), min(room, keepBar)))
		}
	}
	l.fill = max(minBar, l.fill)
	return l
}

// room is what the bar proper of b may take, without a note.
func (l layout) room(b *Bar) int {
	room := l.columns - 1 - 2 - width(b.after())
	if l.titles > 0 {
		room -= l.titles + 2
	}
	return room
}

// line is the bar on a terminal, narrower than that.
func (b *Bar) line(l layout) string {
	text := ""
	if l.titles > 0 {
		text = clip(b.title, l.titles, true) + "  "
	}
	if l.room(b) >= l.fill {
		text += b.fill(l.fill) + "  "
	}
	return clip(text+b.after()+b.behind(), l.columns-1, false)
}

// after is what stands behind the bar proper, and behind its note.
func (b *Bar) after() string {
	text := fmt.Sprintf("%3d %%  %s", b.percent(), b.amount())
	for _, more := range []string{b.times(), b.state()} {
		if more != "" {
			text += "  " + more
		}
	}
	return text
}

func (b *Bar) behind() string {
	if b.note == "" {
		return ""
	}
	return "  " + b.note
}

// fill is the bar proper.
func (b *Bar) fill(columns int) string {
	var text strings.Builder
	done := 1.0
	if value := b.now(); value < b.o.Total {
		done = value / b.o.Total
	}
	stat := decor.Statistics{AvailableWidth: columns, RequestedWidth: columns, Total: fillSteps, Current: int64(done * fillSteps), Completed: done == 1}
	if err := mpb.BarStyle().Build().Fill(&text, stat); err != nil { // which a builder does not give
		return ""
	}
	return text.String()
}

// sentence is the bar in a line of its own, with times in it.
func (b *Bar) sentence(times string) string {
	text := fmt.Sprintf("%d %% (%s)", b.percent(), b.amount())
	if b.title != "" {
		text = b.title + ": " + text
	}
	if times != "" {
		text += ", " + times
	}
	if state := b.state(); state != "" {
		text += ", " + state
	}
	if b.note != "" {
		text += "; " + b.note
	}
	return text
}

// state says of a bar that is not full why it does not go on.
func (b *Bar) state() string {
	switch {
	case b.now() >= b.o.Total:
	case b.ended:
		return "ended"
	case b.stopped:
		return "stopped"
	}
	return ""
}

// amount is how much is done, of how much.
func (b *Bar) amount() string {
	switch {
	case b.o.Timed && b.o.Virtual:
		return fmt.Sprintf("%s of %s, virtual time", clock(b.now()), clock(b.o.Total))
	case b.o.Timed:
		return fmt.Sprintf("%s of %s", clock(b.now()), clock(b.o.Total))
	case b.o.Unit == "bytes":
		return sizeText(b.value) + "/" + sizeText(b.o.Total)
	}
	text := count(b.value) + "/" + count(b.o.Total)
	if b.o.Unit != "" {
		text += " " + b.o.Unit
	}
	return text
}

// times are how long it has taken and what is left, once there is something to tell.
func (b *Bar) times() string {
	elapsed := b.elapsed()
	left, known := b.left()
	unfinished := !b.over() && left > 0
	if b.o.Timed {
		if unfinished {
			return clock(left.Seconds()) + " left"
		}
		return ""
	}
	if elapsed < time.Second {
		return ""
	}
	text := clock(elapsed.Seconds())
	if known && unfinished {
		text += ", " + clock(left.Seconds()) + " left"
	}
	if b.o.Virtual {
		text += ", real time"
	}
	return text
}

// slack is what a sum of times may lack of a whole tenth.
const slack = 1e-6

// clock is a time as people read it: 0.25 s, 2.5 s, 12 s, 3:05, 1:02:03.
func clock(s float64) string {
	switch {
	case s < 1:
		return strconv.FormatFloat(math.Floor(s*100+slack)/100, 'g', -1, 64) + " s"
	case s < 10:
		return strconv.FormatFloat(math.Floor(s*10+slack)/10, 'g', -1, 64) + " s"
	case s < 60:
		return fmt.Sprintf("%d s", int(s))
	case s < 3600:
		return fmt.Sprintf("%d:%02d", int(s)/60, int(s)%60)
	case s < 1e9:
		return fmt.Sprintf("%d:%02d:%02d", int(s)/3600, int(s)/60%60, int(s)%60)
	}
	return fmt.Sprintf("%.3g s", s)
}

// sizeText is a size in binary units.
func sizeText(n float64) string {
	if n >= math.MaxInt64 {
		return count(n) + " B"
	}
	size := decor.SizeB1024(n)
	if size < 1024 {
		return fmt.Sprintf("%d B", int64(size))
	}
	return fmt.Sprintf("% .1f", size)
}

func count(n float64) string {
	if n < 1e15 {
		return strconv.FormatFloat(math.Round(n*1000)/1000, 'f', -1, 64)
	}
	return strconv.FormatFloat(n, 'g', 4, 64)
}
