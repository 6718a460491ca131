package luabind

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/luabind/quantity"
	"npulua/npu"
)

var zoneOption = option{"zone", "`UTC`, `local` (that of the machine), an offset such as `+08:00`, or a name such as `Asia/Shanghai`; UTC", oneOf("UTC", "local")}

var timeModule = &module{
	name: "time",
	text: "Real time, as clocks on the wall show it, for reports, logs and pauses. A point in time is a number: Unix seconds, with a fraction. Texts are in UTC unless the option `zone` says otherwise. " +
		"It has nothing to do with `npu.time` and `npu.sleep`, which are virtual on the simulator: `npu.time` is for measuring what devices do, and `npu.sleep` for pauses between work of theirs.",
	functions: []function{
		{"now", doc{"()", "number", "The time now, in Unix seconds, exact to about a microsecond. It jumps where the clock of the machine is set: `time.monotonic` is for durations.", "", `local t = require("time").now()`}, nil, timeNow},
		{"monotonic", doc{"()", "number", "Seconds of real time since the program began; it never jumps. Workers count from the same time.", "", "local time = require \"time\"\nlocal t0 = time.monotonic()\nprint(time.text(time.monotonic() - t0))"}, nil, timeMonotonic},
		{"sleep", doc{"(seconds)", "", "Waits in real time. In real time other tasks go on meanwhile; virtual time stands still, and no other task of the script runs: `npu.sleep` is for pauses of those.", "less than 0 s", `require("time").sleep(0.2)`}, nil, timeSleep},
		{"iso", doc{"([t [, options]])", "string", "A time, or now, as RFC 3339 has it: `2026-11-30T20:19:38Z`, with as many digits below the second as there are, up to 6.", "times before the year 0 or after 9999; zones that are not known", `print(require("time").iso(0)) -- 1970-01-01T00:00:00Z`},
			[]option{zoneOption, {"digits", "how many digits below the second, 0 to 6; as many as it has", anything}}, timeISO},
		{"format", doc{"(t, layout [, options])", "string", "A time as a layout of strftime says: `%Y-%m-%d %H:%M:%S`. Those of `os.date`, and `%L` for milliseconds, `%f` for microseconds.", "as `time.iso`; conversions that do not exist", "local time = require \"time\"\nprint(time.format(time.now(), \"%F %T.%L\", {zone = \"local\"}))"},
			[]option{zoneOption}, timeFormat},
		{"parse", doc{"(text [, options])", "number", "The time that RFC 3339 text names, in Unix seconds; a leap second, `23:59:60`, is the second after it there. T and Z may be small, and a blank may be in place of the T. With `zone` also text without an offset, to the second, the minute or the day.", "text that is no such time; one without an offset, where `zone` is left out", `print(require("time").parse("2026-11-30T20:19:38+01:00"))`},
			[]option{{"zone", "where the clock is that text without an offset was read from; as for `time.iso`", oneOf("UTC", "local")}}, timeParse},
		{"duration", doc{"(text)", "number", "The seconds of `1h30m`, `1m 30s` or `250ms`: numbers with units, the larger ones first. Units: `w`, `d`, `h`, `m`, `s`, `ms`, `us`, `ns`.", "text that is none", `print(require("time").duration("1h30m")) -- 5400`}, nil, timeDuration},
		{"text", doc{"(seconds)", "string", "A duration for people: `1m 30s` to the second from one minute on, three digits below: `1.5s`, `12.3ms`. `time.duration` reads it.", "infinities and NaN", `print(require("time").text(90)) -- 1m 30s`}, nil, timeText},
		{"offset", doc{"([t])", "number", "How many seconds local time is ahead of UTC, at t or now.", "as `time.iso`", `print(require("time").offset() / 3600)`}, nil, timeOffset},
	},
	fields: []constant{
		{"zone", doc{Text: "Abbreviation of the local time zone when the module was loaded: `UTC`, `CET`, `CST`. Several zones may share one."}, func(*Interp) lua.LValue { return lua.LString(time.Now().Format("MST")) }},
	},
}

// unixSeconds is t as scripts count it.
func unixSeconds(t time.Time) lua.LNumber {
	return lua.LNumber(float64(t.Unix()) + float64(t.Nanosecond())/1e9)
}

func timeNow(c *call) error {
	c.push(unixSeconds(time.Now()))
	return nil
}

func timeMonotonic(c *call) error {
	c.push(lua.LNumber(time.Since(c.in.root().start).Seconds()))
	return nil
}

func timeSleep(c *call) error {
	d, err := c.duration(1)
	if err != nil {
		return err
	}
	return c.t.Outside("the end of "+quantity.Duration(d.Seconds())+" of real time", func(ctx context.Context) error {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		return nil
	})
}

// The first and last second of the years that four digits can have, in UTC.
const firstSecond, lastSecond = -62167219200, 253402300799

// moment reads a time, to the microsecond, since numbers of today's size are not exact to less.
func (c *call) moment(i int) (time.Time, error) {
	f, err := c.number(i, "t")
	if err != nil {
		return time.Time{}, err
	}
	if math.IsNaN(f) || f < firstSecond || f >= lastSecond+1 {
		return time.Time{}, c.errorf("argument %d (t) must be Unix seconds in the years 0 to 9999, got %s", i, number(f))
	}
	seconds := math.Floor(f)
	return time.Unix(int64(seconds), int64(math.Round((f-seconds)*1e6))*1000), nil
}

// clock is t in a zone, where its year must have four digits, too.
func (c *call) clock(t time.Time, zone *time.Location) (time.Time, error) {
	if t = t.In(zone); t.Year() < firstYear || t.Year() > lastYear {
		return t, c.errorf("argument 1 (t) is in the year %d there: years are %d to %d", t.Year(), firstYear, lastYear)
	}
	return t, nil
}

// momentOrNow is moment, and now where it was left out.
func (c *call) momentOrNow(i int) (time.Time, error) {
	if c.arg(i) == lua.LNil {
		return time.Now(), nil
	}
	return c.moment(i)
}

// zone is nil where the option was left out.
func (o opts) zone() (*time.Location, error) {
	name, err := o.string("zone")
	if err != nil || o.get("zone") == lua.LNil {
		return nil, err
	}
	zone, err := findZone(name)
	if err != nil {
		err = o.c.errorf("option \"zone\": %v", err)
	}
	return zone, err
}

// zoneOr is the zone of the option, or UTC.
func (o opts) zoneOr() (*time.Location, error) {
	zone, err := o.zone()
	if zone == nil {
		zone = time.UTC
	}
	return zone, err
}

func timeISO(c *call) error {
	t, err := c.momentOrNow(1)
	if err != nil {
		return err
	}
	o, err := c.table(2)
	if err != nil {
		return err
	}
	zone, err := o.zoneOr()
	if err != nil {
		return err
	}
	digits, err := o.int("digits", -1)
	if err != nil {
		return err
	}
	if o.get("digits") != lua.LNil && (digits < 0 || digits > 6) {
		return c.errorf("option \"digits\" must be 0 to 6, got %d", digits)
	}
	if t, err = c.clock(t, zone); err != nil {
		return err
	}
	c.push(lua.LString(isoTime(t, int(digits))))
	return nil
}

func timeFormat(c *call) error {
	t, err := c.moment(1)
	if err != nil {
		return err
	}
	layout, err := c.string(2, "layout")
	if err != nil {
		return err
	}
	o, err := c.table(3)
	if err != nil {
		return err
	}
	zone, err := o.zoneOr()
	if err != nil {
		return err
	}
	if t, err = c.clock(t, zone); err != nil {
		return err
	}
	text, err := formatTime(layout, t)
	if err != nil {
		return c.errorf("%v", err)
	}
	c.push(lua.LString(text))
	return nil
}

func timeParse(c *call) error {
	text, err := c.string(1, "text")
	if err != nil {
		return err
	}
	o, err := c.table(2)
	if err != nil {
		return err
	}
	zone, err := o.zone()
	if err != nil {
		return err
	}
	t, err := parseTime(text, zone)
	if err != nil {
		return c.errorf("%v", err)
	}
	c.push(unixSeconds(t))
	return nil
}

func timeDuration(c *call) error {
	text, err := c.string(1, "text")
	if err != nil {
		return err
	}
	seconds, err := quantity.ParseDuration(text)
	if err != nil {
		return c.errorf("%q is no duration: %v", shortened(text), err)
	}
	c.push(lua.LNumber(seconds))
	return nil
}

func timeText(c *call) error {
	seconds, err := c.number(1, "seconds")
	if err != nil {
		return err
	}
	if math.IsNaN(seconds) || math.IsInf(seconds, 0) {
		return c.errorf("argument 1 (seconds) must be a finite number, got %s", number(seconds))
	}
	c.push(lua.LString(quantity.Duration(seconds)))
	return nil
}

func timeOffset(c *call) error {
	t, err := c.momentOrNow(1)
	if err != nil {
		return err
	}
	_, seconds := t.In(time.Local).Zone()
	c.push(lua.LNumber(seconds))
	return nil
}

// formatTime is t as a layout of strftime says.
func formatTime(layout string, t time.Time) (string, error) {
	var b strings.Builder
	for i := 0; i < len(layout); i++ {
		if layout[i] != '%' {
			b.WriteByte(layout[i])
			continue
		}
		if i++; i == len(layout) {
			return "", fmt.Errorf("the layout %q ends with %%: %%%% is one", shortened(layout))
		}
		switch x := layout[i]; x {
		case 'L':
			fmt.Fprintf(&b, "%03d", t.Nanosecond()/1e6)
		case 'f':
			fmt.Fprintf(&b, "%06d", t.Nanosecond()/1e3)
		case 's':
			b.WriteString(strconv.FormatInt(t.Unix(), 10))
		case 'Z':
			b.WriteString(t.Format("MST"))
		default:
			convert, ok := lua51.DateConversion(x)
			if !ok {
				return "", fmt.Errorf("the layout %q has the unknown conversion %q", shortened(layout), layout[i-1:i+1])
			}
			b.WriteString(convert(t))
		}
	}
	return b.String(), nil
}

// findZone is the time zone that an option names. Of the files of the machine it reads the table of that zone alone;
// names that lead out of the folder of those are not known.
func findZone(name string) (*time.Location, error) {
	switch name {
	case "UTC", "utc":
		return time.UTC, nil
	case "local":
		return time.Local, nil
	case "":
		return nil, fmt.Errorf("the name of a time zone is empty")
	}
	if seconds, ok := parseOffset(name); ok {
		return time.FixedZone(name, seconds), nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("the time zone %q is not known on this machine%s", shortened(name), npu.Suggest(name, []string{"UTC", "local"}))
	}
	return zone, nil
}
