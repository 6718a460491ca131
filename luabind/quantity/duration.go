package quantity

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// timeUnits are the units of durations, the longest first. A unit is times/parts seconds, so that decimal fractions
// stay as exact as they can be.
var timeUnits = []struct {
	name         string
	times, parts float64
}{{"w", 7 * 86400, 1}, {"d", 86400, 1}, {"h", 3600, 1}, {"m", 60, 1}, {"s", 1, 1}, {"ms", 1, 1e3}, {"us", 1, 1e6}, {"ns", 1, 1e9}}

// TimeUnits are the names of the units of durations, for messages.
const TimeUnits = "w, d, h, m, s, ms, us, ns"

// The first and last unit that a duration for people has above a second: weeks read worse than days.
const days, seconds = 1, 4

// blanks may stand around the parts of a duration.
const blanks = " \t\r\n"

// Digits is the unsigned decimal number that text starts with, "12" or "1.5"; "" where it starts with none.
func Digits(text string) string {
	n := 0
	for point := false; n < len(text) && (text[n] >= '0' && text[n] <= '9' || text[n] == '.' && !point); n++ {
		point = point || text[n] == '.'
	}
	if text[:n] == "." {
		return ""
	}
	return text[:n]
}

// ParseDuration reads "1h30m", "1m 30s" or "-250ms", in seconds: numbers with units, the longer units first, each at most
// once; blanks may stand around the parts, and one minus before all. It is the one grammar of durations. An error says
// what is wrong with the text, which it does not name.
func ParseDuration(text string) (float64, error) {
	rest, negative := strings.CutPrefix(strings.Trim(text, blanks), "-")
	if rest == "" {
		return 0, fmt.Errorf("a number with a unit is missing, as in 1h30m")
	}
	sum, next := 0.0, 0
	for rest != "" {
		number := Digits(rest)
		n, err := strconv.ParseFloat(number, 64)
		if number == "" || err != nil {
			return 0, fmt.Errorf("a number is missing before %q", clip(rest))
		}
		rest = rest[len(number):]
		name := rest
		if end := strings.IndexAny(rest, "0123456789.-"+blanks); end >= 0 {
			name = rest[:end]
		}
		rest = strings.TrimLeft(rest[len(name):], blanks)
		unit := findUnit(name)
		switch {
		case name == "":
			return 0, fmt.Errorf("a number has no unit (%s)", TimeUnits)
		case unit < 0:
			return 0, fmt.Errorf("%q is no unit (%s)", clip(name), TimeUnits)
		case unit < next:
			return 0, fmt.Errorf("%q is not smaller than the unit before it", name)
		}
		next = unit + 1
		sum += n * timeUnits[unit].times / timeUnits[unit].parts
	}
	if math.IsInf(sum, 0) {
		return 0, fmt.Errorf("it is beyond the range of numbers")
	}
	if negative && sum != 0 {
		sum = -sum
	}
	return sum, nil
}

// ParseSeconds reads a number, which is of seconds, or a duration.
func ParseSeconds(text string) (float64, error) {
	if number := Digits(text); number != "" && number == text {
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f, nil
		}
	}
	return ParseDuration(text)
}

// clip is text that is not too long for a message.
func clip(text string) string {
	if len(text) > 40 {
		return strings.ToValidUTF8(text[:37], "") + "..."
	}
	return text
}

func findUnit(name string) int {
	switch name {
	case "µs", "μs":
		name = "us"
	}
	for i, u := range timeUnits {
		if u.name == name {
			return i
		}
	}
	return -1
}

// Duration is a finite number of seconds for people, which ParseDuration reads: "1m 30s", to the second from one minute
// on, three digits below: "1.5s", "12.3ms".
func Duration(seconds float64) string {
	if seconds < 0 {
		if text := Duration(-seconds); text != "0s" {
			return "-" + text
		}
		return "0s"
	}
	if short := rounded(seconds); short < 60 {
		return shortDuration(short)
	}
	return strings.Join(parts(math.Round(seconds)), " ")
}

// ExactDuration is a number of seconds, from 0, that ParseDuration reads as the same number: "1m30s", "0.5s".
func ExactDuration(f float64) string {
	if text := strings.Join(parts(f), ""); text != "" {
		if again, err := ParseDuration(text); err == nil && again == f {
			return text
		}
	}
	return strconv.FormatFloat(f, 'f', -1, 64) + "s"
}

// parts are the whole days, hours, minutes and seconds of f.
func parts(f float64) (list []string) {
	for _, u := range timeUnits[days : seconds+1] {
		if n := math.Floor(f / u.times); n > 0 {
			list = append(list, strconv.FormatFloat(n, 'f', -1, 64)+u.name)
			f -= n * u.times
		}
	}
	return list
}

// Took is a time that was measured, with three digits below a second and two decimals above: "12.3 us", "1.51 s".
func Took(d time.Duration) string {
	switch {
	case d == 0:
		return "0 s"
	case d < time.Millisecond:
		return fmt.Sprintf("%.3g us", float64(d)/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", float64(d)/1e6)
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", d.Seconds()), "0"), ".") + " s"
}

// rounded is f with three digits.
func rounded(f float64) float64 {
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'e', 2, 64), 64)
	return f
}

// shortDuration is a duration below a minute.
func shortDuration(f float64) string {
	for _, u := range timeUnits[seconds:] {
		if n := f * u.parts; n >= 1 || u.parts == 1e9 && n >= 1e-3 {
			return strconv.FormatFloat(rounded(n), 'f', -1, 64) + u.name // the product is not exact
		}
	}
	return "0s"
}
