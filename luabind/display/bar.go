package display

import (
	"math"
	"time"
)

// BarOptions of NewBar.
type BarOptions struct {
	Title string
	Total float64 // what Value of the bar goes to; seconds of the session where Timed
	Unit  string  // what Total counts; "bytes" is shown in KiB, MiB and so on
	Timed bool    // the bar goes with the session's time

	// Virtual says that the session's time is not that of the machine: Timed bars go on when they are told of it, and
	// the others say that they have the machine's.
	Virtual bool

	Owner any // who Settle is called for
	// Tell writes a line where no terminal is: the bar is told of in lines then. nil: it is painted.
	Tell func(line string)
}

const (
	tellPercent = 10               // a bar in lines has one whenever that much is done
	tellEvery   = 10 * time.Second // and at least as often as that
)

// Bar is a progress bar. Its methods return the line that Tell of its options should write now, "" for none.
type Bar struct {
	d     *Display
	o     BarOptions
	start time.Time

	// Under d.mu:
	title, note string
	value       float64
	ended       bool // by Done: it does not change any more
	parked      bool // by Settle: it does not go on unless it is changed
	stopped     bool // its owner has ended
	listed      bool // in d.bars
	stop        time.Time
	told        int // percent of the last line, -1: none
	toldText    string
	toldAt      time.Time
}

// NewBar shows a bar. Total must be finite and not less than 0. Where most bars have not ended it returns nil.
func (d *Display) NewBar(o BarOptions, most int) (*Bar, string) {
	if d.count() >= most {
		return nil, ""
	}
	o.Unit = clean(o.Unit, false)
	b := &Bar{d: d, o: o, start: time.Now(), title: clean(o.Title, false), told: -1}
	return b, b.change(func() {})
}

func (d *Display) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.bars)
}

// change calls f with the lock held, and has what it did shown.
func (b *Bar) change(f func()) (line string) {
	d := b.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if b.ended {
		return ""
	}
	f()
	b.parked, b.stopped = false, false
	if d.ended {
		return ""
	}
	if !b.listed {
		b.listed = true
		d.bars = append(d.bars, b)
		d.tick()
	}
	if b.o.Tell == nil {
		return ""
	}
	if percent := b.percent(); b.ended || b.told < 0 || percent/tellPercent > b.told/tellPercent {
		return b.tell(false)
	}
	return ""
}

// tell is the line of the bar, "" where the last one said the same but for the times, unless those matter.
func (b *Bar) tell(times bool) string {
	what := b.sentence("")
	if what == b.toldText && !times {
		return ""
	}
	b.told, b.toldText, b.toldAt = b.percent(), what, time.Now()
	return b.sentence(b.times())
}

// overdue are the lines of bars that have not been told of for long.
func (d *Display) overdue() (tell []func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, b := range d.bars {
		if b.o.Tell == nil || b.over() || time.Since(b.toldAt) < tellEvery {
			continue
		}
		line := b.tell(true)
		tell = append(tell, func() { b.o.Tell(line) })
	}
	return tell
}

// Set gives the bar a value. It must be finite and not less than 0.
func (b *Bar) Set(value float64) string { return b.change(func() { b.value = value }) }

// Advance is Set for a Timed bar, which does not go back.
func (b *Bar) Advance(t time.Duration) string {
	return b.change(func() { b.value = max(b.value, min(b.o.Total, t.Seconds())) })
}

// Title gives the bar another title.
func (b *Bar) Title(text string) string { return b.change(func() { b.title = clean(text, false) }) }

// Note gives the bar another text behind it.
func (b *Bar) Note(text string) string { return b.change(func() { b.note = clean(text, false) }) }

// Done ends the bar, which stays as it is.
func (b *Bar) Done() string {
	return b.change(func() { b.value, b.stop, b.ended = b.now(), time.Now(), true })
}

// Ended reports whether Done was called.
func (b *Bar) Ended() bool {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	return b.ended
}

// Value is how far the bar is.
func (b *Bar) Value() float64 {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	return b.now()
}

// Left is how much time is left: of a Timed bar exactly, of others as far as the pace so far can tell; ok is false
// where it cannot.
func (b *Bar) Left() (left time.Duration, ok bool) {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	return b.left()
}

func (b *Bar) over() bool { return b.ended || b.parked }

// now is the value at this moment.
func (b *Bar) now() float64 {
	if b.o.Timed && !b.o.Virtual && !b.ended {
		return min(b.o.Total, time.Since(b.start).Seconds())
	}
	return b.value
}

// elapsed is how long the bar has been there, on the clock that it goes by.
func (b *Bar) elapsed() time.Duration {
	switch {
	case b.o.Timed:
		return seconds(b.now())
	case b.ended:
		return b.stop.Sub(b.start)
	}
	return time.Since(b.start)
}

func (b *Bar) left() (time.Duration, bool) {
	value := b.now()
	switch {
	case value >= b.o.Total:
		return 0, true
	case b.o.Timed:
		return seconds(b.o.Total - value), true
	case value == 0:
		return 0, false
	}
	return seconds(b.elapsed().Seconds() * (b.o.Total - value) / value), true
}

func seconds(f float64) time.Duration {
	if ns := f * 1e9; ns < math.MaxInt64 {
		return time.Duration(ns)
	}
	return math.MaxInt64
}

// percent is how much is done, in whole percent that are over.
func (b *Bar) percent() int {
	if value := b.now(); value < b.o.Total {
		return int(100 * (value / b.o.Total))
	}
	return 100
}
