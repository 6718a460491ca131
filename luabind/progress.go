package luabind

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/display"
	"npulua/luabind/lua51"
	"npulua/npu"
)

var progressModule = &module{
	name: "progress",
	text: "Progress bars, as many at once as there is work going on. On a terminal they stand below what the script prints and are painted at most ten times a second; elsewhere a bar writes a line whenever another 10 % are done, " +
		"at least every 10 s of real time, and at its end. With `total` a bar goes as it is told, and its times are those of the machine; with `seconds` it goes by the session's time (`npu.time`). Where that is virtual, bars say which of the two they show. " +
		"The end of the script ends its bars, and the terminal is left with them above the cursor. In a sandbox bars are lines.",
	functions: []function{
		{"new", doc{"(options)", "bar", "A bar, from 0 on.", "neither total nor seconds, or both; what is less than 0 or infinite; more than 1000 bars at once", "local progress = require \"progress\"\nlocal bar = progress.new{total = 20, title = \"copies\"}\nfor _ = 1, 20 do\n  npu.sleep(0.1)\n  bar:add()\nend\nbar:done()"},
			[]option{
				{"total", "what there is to do: a number of things, or of bytes", anything},
				{"seconds", "instead of total: how long the work goes on, in the session's time", anything},
				{"title", "text before the bar", anything},
				{"unit", "what total counts, behind the numbers; `bytes` are shown as KiB, MiB and so on", oneOf("bytes")},
				{"output", "`stderr` or `stdout`; stderr, so that what standard output has stays clean", oneOf(barOutputs...)},
			}, progressNew},
	},
	classes: []func() classHelp{barClass.help},
}

var barOutputs = []string{"stderr", "stdout"}

// mostBars bounds the bars of all machines that have not ended.
const mostBars = 1000

// progressBar is a bar in scripts.
type progressBar struct {
	*display.Bar
	bound any
	out   *lua51.Output // where lines go
	timed bool          // it goes by the session's time
	start time.Duration // of that
	total float64
}

const barErrors = "a bar that has ended"

var barClass = &class[*progressBar]{
	name: "bar", plain: true,
	text: "A progress bar (`progress.new`).",
	methods: []method[*progressBar]{
		{"add", doc{"([n])", "", "Goes on by n, 1 where it is left out; less than 0 goes back.", barErrors + "; one that goes by time; a value below 0, infinite or no number", `bar:add(4096)`}, nil, barAdd},
		{"set", doc{"(value)", "", "Goes to a value. One above the total is shown, at 100 %.", barErrors + "; one that goes by time; a value below 0, infinite or no number", `bar:set(10)`}, nil, barSet},
		{"title", doc{"(text)", "", "Changes the text before the bar.", barErrors, `bar:title("device 0")`}, nil, barText((*display.Bar).Title)},
		{"note", doc{"(text)", "", "Changes the text behind the bar.", barErrors, `bar:note("2 errors")`}, nil, barText((*display.Bar).Note)},
		{"left", doc{"()", "number", "Seconds that are left: exact for a bar that goes by time, so that `while bar:left() > 0 do` is a loop of that length. For others they are what the pace so far promises; nil while there is none.", "", `while bar:left() > 0 do npu.sleep(1) end`}, nil, barLeft},
		{"done", doc{"()", "", "Ends the bar, which stays as it is. A bar that has ended stays so.", "", `bar:done()`}, nil, func(c *call, b *progressBar) error { return c.advance(b, (*display.Bar).Done) }},
	},
	fields: []field[*progressBar]{
		{"value", doc{Text: "How far it is: seconds where it goes by time."}, func(c *call, b *progressBar) (lua.LValue, error) {
			err := c.advance(b, nil)
			return lua.LNumber(b.Value()), err
		}},
		{"total", doc{Text: "Where it ends."}, func(_ *call, b *progressBar) (lua.LValue, error) { return lua.LNumber(b.total), nil }},
	},
	str: func(b *progressBar) string { return fmt.Sprintf("bar(%s of %s)", number(b.Value()), number(b.total)) },
}

func progressNew(c *call) error {
	if c.arg(1).Type() != lua.LTTable {
		return c.wrongType(1, "options", "a table")
	}
	o, err := c.table(1)
	if err != nil {
		return err
	}
	b := &progressBar{}
	settings := display.BarOptions{Virtual: c.in.session.VirtualTime(), Owner: c.in.root()}
	if c.in.parent != nil {
		settings.Owner = c.in
	}
	total, hasTotal, err := o.amount("total")
	if err != nil {
		return err
	}
	length, timed, err := o.amount("seconds")
	switch {
	case err != nil:
		return err
	case hasTotal && timed:
		return c.errorf("option \"total\" and option \"seconds\" exclude each other")
	case timed:
		total = length
	case !hasTotal:
		return c.errorf("there must be an option \"total\" or \"seconds\"")
	}
	settings.Total, settings.Timed, b.total, b.timed = total, timed, total, timed
	if settings.Title, err = o.string("title"); err != nil {
		return err
	}
	if settings.Unit, err = o.string("unit"); err != nil {
		return err
	}
	if timed && settings.Unit != "" {
		return c.errorf("option \"unit\" goes with total: seconds are seconds")
	}
	w, err := c.in.barOutput(o, b)
	if err != nil {
		return err
	}
	if !c.in.opts.Display.Shows(w) {
		settings.Tell = func(line string) {
			ctx, cancel := context.WithTimeout(context.Background(), flushTime)
			defer cancel()
			_ = b.tell(ctx, line) // the script hears of it when it writes
		}
	}
	if timed {
		if b.start, err = c.t.Now(); err != nil {
			return err
		}
	}
	var line string
	if b.Bar, line = c.in.opts.Display.NewBar(settings, mostBars); b.Bar == nil {
		return c.errorf("there are %d bars that have not ended", mostBars)
	}
	if err := b.tell(c.context(), line); err != nil {
		return c.errorf("%v", err)
	}
	if c.in.barType == nil {
		c.in.barType = register(c.in, barClass)
	}
	c.push(c.in.barType.wrap(b, &b.bound))
	return nil
}

// amount is an option that is a finite number, not less than 0; ok is false where it was left out.
func (o opts) amount(name string) (n float64, ok bool, err error) {
	switch v := o.get(name).(type) {
	case *lua.LNilType:
		return 0, false, nil
	case lua.LNumber:
		n = float64(v)
	default:
		return 0, false, o.wrongType(name, "a number", v)
	}
	if !isAmount(n) {
		return 0, false, o.c.errorf("option %q must be finite and 0 or more, got %s", name, number(n))
	}
	return n, true, nil
}

func isAmount(n float64) bool { return n >= 0 && n <= math.MaxFloat64 }

// barOutput reads where the bar is shown: the stream, and what its lines go to.
func (in *Interp) barOutput(o opts, b *progressBar) (io.Writer, error) {
	name, err := o.string("output")
	if err != nil {
		return nil, err
	}
	switch name {
	case "", "stderr":
		b.out = in.std.Stderr
		return in.opts.Stderr, nil
	case "stdout":
		b.out = in.std.Stdout
		return in.opts.Stdout, nil
	}
	return nil, o.c.errorf("option \"output\" must be stderr or stdout, got %q%s", name, npu.Suggest(name, barOutputs))
}

// tell writes a line.
func (b *progressBar) tell(ctx context.Context, line string) error {
	if line == "" {
		return nil
	}
	if err := b.out.WriteContext(ctx, line+"\n"); err != nil {
		return err
	}
	return b.out.Flush(ctx)
}

// context ends what the call writes.
func (c *call) context() context.Context {
	if ctx := c.L.Context(); ctx != nil {
		return ctx
	}
	return c.in.ctx
}

// advance tells a bar that goes by time how late it is, and calls change, where there is one.
func (c *call) advance(b *progressBar, change func(*display.Bar) string) error {
	var lines []string
	if b.timed && !b.Ended() {
		now, err := c.t.Now()
		if err != nil {
			return err
		}
		lines = append(lines, b.Advance(now-b.start))
	}
	if change != nil {
		lines = append(lines, change(b.Bar))
	}
	for _, line := range lines {
		if err := b.tell(c.context(), line); err != nil {
			return c.errorf("%v", err)
		}
	}
	return nil
}

// unended refuses a bar that does not change any more.
func (c *call) unended(b *progressBar) error {
	if b.Ended() {
		return c.errorf("the bar has ended: done was called")
	}
	return nil
}

func barAdd(c *call, b *progressBar) error {
	n := 1.0
	if c.arg(1) != lua.LNil {
		var err error
		if n, err = c.number(1, "n"); err != nil {
			return err
		}
	}
	return c.goTo(b, b.Value()+n)
}

func barSet(c *call, b *progressBar) error {
	n, err := c.number(1, "value")
	if err != nil {
		return err
	}
	return c.goTo(b, n)
}

func (c *call) goTo(b *progressBar, value float64) error {
	if err := c.unended(b); err != nil {
		return err
	}
	switch {
	case b.timed:
		return c.errorf("the bar goes by time")
	case !isAmount(value):
		return c.errorf("the value must be finite and 0 or more, got %s", number(value))
	}
	return c.advance(b, func(bar *display.Bar) string { return bar.Set(value) })
}

func barText(set func(*display.Bar, string) string) func(*call, *progressBar) error {
	return func(c *call, b *progressBar) error {
		text, err := c.string(1, "text")
		if err != nil {
			return err
		}
		if err := c.unended(b); err != nil {
			return err
		}
		return c.advance(b, func(bar *display.Bar) string { return set(bar, text) })
	}
}

func barLeft(c *call, b *progressBar) error {
	if err := c.advance(b, nil); err != nil {
		return err
	}
	if left, ok := b.Left(); ok {
		c.push(lua.LNumber(left.Seconds()))
	} else {
		c.push(lua.LNil)
	}
	return nil
}
