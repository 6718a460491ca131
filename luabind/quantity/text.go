// Package quantity writes numbers with units for people.
package quantity

import (
	"math"
	"strconv"
)

// prefix is a multiple of a unit.
type prefix struct {
	sign string
	of   float64
}

// Units that take prefixes. Sizes count in powers of 1,024, all else in powers of 1,000.
var units = map[string][]prefix{
	"s":   {{"n", 1e-9}, {"u", 1e-6}, {"m", 1e-3}, {"", 1}},
	"B":   {{"", 1}, {"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}},
	"B/s": {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}},
	"/s":  {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}},
	"W":   {{"m", 1e-3}, {"", 1}, {"k", 1e3}},
}

// Text is v with four digits at most where it is no whole number of its unit, and with the prefix that suits it:
// "23.5 GB/s", "4 KiB", "12.01 us". Other units than s, B, B/s, /s and W take no prefix: "41 °C", "3".
func Text(v float64, unit string) string {
	list := units[unit]
	if v == 0 || len(list) == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return join(digits(v), unit)
	}
	use := list[0]
	for _, p := range list {
		if math.Abs(v) >= p.of*(1-5e-5) { // what rounds to 1000 of the one before
			use = p
		}
	}
	return join(digits(v/use.of), use.sign+unit)
}

// Exact is v with all its digits and no prefix.
func Exact(v float64, unit string) string { return join(strconv.FormatFloat(v, 'g', -1, 64), unit) }

func digits(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	s := strconv.FormatFloat(v, 'g', 4, 64)
	if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) >= 1e-3 && math.Abs(f) < 1e15 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return s
}

func join(number, unit string) string {
	switch unit {
	case "":
		return number
	case "%":
		return number + "%"
	}
	return number + " " + unit
}
