package luabind

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// This file reads and writes times and durations; nothing in it knows Lua.

// localLayouts are those of text without an offset from UTC.
var localLayouts = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly}

// parseTime reads RFC 3339 text. Where zone is not nil, it is that of text without an offset.
func parseTime(text string, zone *time.Location) (time.Time, error) {
	s := []byte(text)
	if len(s) > len(time.DateOnly) && (s[len(time.DateOnly)] == ' ' || s[len(time.DateOnly)] == 't') {
		s[len(time.DateOnly)] = 'T'
	}
	if n := len(s) - 1; n > 0 && s[n] == 'z' {
		s[n] = 'Z'
	}
	t, err := time.Parse(time.RFC3339, string(s))
	if err == nil {
		return t, nil
	}
	for _, layout := range localLayouts {
		where := zone
		if where == nil {
			where = time.UTC
		}
		switch t, e := time.ParseInLocation(layout, string(s), where); {
		case e == nil && zone == nil:
			return t, fmt.Errorf("%q has no offset from UTC (Z or +01:00): the option zone says where that was", shortened(text))
		case e == nil:
			return t, nil
		case outOfRange(e) != "":
			err = e
		}
	}
	if why := outOfRange(err); why != "" {
		return t, fmt.Errorf("%q is no time: %s", shortened(text), why)
	}
	return t, fmt.Errorf("%q is no time such as \"2026-11-30T20:19:38Z\"", shortened(text))
}

// outOfRange says which field of a time has a number that it cannot have; "" where that is not what err is.
func outOfRange(err error) string {
	var p *time.ParseError
	if !errors.As(err, &p) || !strings.HasSuffix(p.Message, "out of range") {
		return ""
	}
	return strings.TrimPrefix(p.Message, ": ")
}

// durationUnits are the units of durations, largest first. A unit is times/by seconds, so that decimal fractions stay
// as exact as they can be.
var durationUnits = []struct {
	names     []string
	times, by float64
}{
	{[]string{"w"}, 7 * 86400, 1},
	{[]string{"d"}, 86400, 1},
	{[]string{"h"}, 3600, 1},
	{[]string{"m"}, 60, 1},
	{[]string{"s"}, 1, 1},
	{[]string{"ms"}, 1, 1e3},
	{[]string{"us", "µs", "μs"}, 1, 1e6},
	{[]string{"ns"}, 1, 1e9},
}

// parseDuration reads "1h30m", in seconds.
func parseDuration(text string) (float64, error) {
	rest := strings.TrimSpace(text)
	rest, negative := strings.CutPrefix(rest, "-")
	if rest == "" {
		return 0, fmt.Errorf("%q is no duration such as \"1h30m\"", shortened(text))
	}
	sum, last := 0.0, -1
	for rest != "" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789."))
		n, err := strconv.ParseFloat(rest[:digits], 64)
		if err != nil {
			return 0, fmt.Errorf("%q is no duration such as \"1h30m\": a number is missing before %q", shortened(text), shortened(rest))
		}
		rest = rest[digits:]
		end := strings.IndexAny(rest, "0123456789. ")
		if end < 0 {
			end = len(rest)
		}
		unit := findUnit(rest[:end])
		switch {
		case end == 0:
			return 0, fmt.Errorf("%q is no duration: a number has no unit (w, d, h, m, s, ms, us, ns)", shortened(text))
		case unit < 0:
			return 0, fmt.Errorf("%q is no duration: %q is no unit (w, d, h, m, s, ms, us, ns)", shortened(text), shortened(rest[:end]))
		case unit <= last:
			return 0, fmt.Errorf("%q is no duration: %q is not smaller than the unit before it", shortened(text), rest[:end])
		}
		last = unit
		sum += n * durationUnits[unit].times / durationUnits[unit].by
		rest = strings.TrimLeft(rest[end:], " ")
	}
	if math.IsInf(sum, 0) {
		return 0, fmt.Errorf("%q is beyond the range of numbers", shortened(text))
	}
	if negative {
		sum = -sum
	}
	return sum, nil
}

func findUnit(name string) int {
	for i, u := range durationUnits {
		for _, n := range u.names {
			if n == name {
				return i
			}
		}
	}
	return -1
}

// durationText is a finite duration for people.
func durationText(seconds float64) string {
	if seconds < 0 {
		return strings.Replace("-"+durationText(-seconds), "-0s", "0s", 1)
	}
	if short, _ := strconv.ParseFloat(strconv.FormatFloat(seconds, 'e', 2, 64), 64); short < 60 {
		return shortDuration(short)
	}
	rest := math.Round(seconds)
	var parts []string
	for _, u := range durationUnits[1:5] {
		if n := math.Floor(rest / u.times); n > 0 {
			parts = append(parts, strconv.FormatFloat(n, 'f', -1, 64)+u.names[0])
			rest -= n * u.times
		}
	}
	return strings.Join(parts, " ")
}

// shortDuration is a duration below a minute, which has three digits at most.
func shortDuration(seconds float64) string {
	for _, u := range durationUnits[4:] {
		if n := seconds * u.by; n >= 1 || u.by == 1e9 && n >= 1e-3 {
			n, _ = strconv.ParseFloat(strconv.FormatFloat(n, 'e', 2, 64), 64) // the product is not exact
			return strconv.FormatFloat(n, 'f', -1, 64) + u.names[0]
		}
	}
	return "0s"
}
