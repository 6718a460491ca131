package lua51

import (
	"math"
	"strconv"
	"strings"
)

// NumberText writes n as C's "%.14g" does, with glibc's inf, -inf, nan and -nan.
func NumberText(n float64) string {
	var buf [24]byte
	return string(appendNumber(buf[:0], n))
}

func appendNumber(b []byte, n float64) []byte {
	switch {
	case n == math.Trunc(n) && math.Abs(n) < 1e14 && (n != 0 || !math.Signbit(n)):
		return strconv.AppendInt(b, int64(n), 10)
	case math.IsNaN(n) || math.IsInf(n, 0):
		if math.Signbit(n) {
			b = append(b, '-')
		}
		return append(b, notFinite(n)...)
	}
	return strconv.AppendFloat(b, n, 'g', 14, 64)
}

// notFinite is the text of an infinity or a NaN without its sign.
func notFinite(n float64) string {
	if math.IsNaN(n) {
		return "nan"
	}
	return "inf"
}

// ParseNumber reads a whole string as a number: white space, what C's strtod takes (decimal and
// hexadecimal, inf and nan), white space. As in C, the string ends at its first zero byte.
func ParseNumber(s string) (float64, bool) {
	s = cString(s)
	n, end := scanNumber(s)
	if end == 0 || skipSpace(s, end) != len(s) {
		return 0, false
	}
	return n, true
}

// cString is s up to its first zero byte.
func cString(s string) string {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return s[:i]
	}
	return s
}

func skipSpace(s string, i int) int {
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	return i
}

// skipSign passes over a sign and tells whether it is a minus.
func skipSign(s string, i int) (next int, negative bool) {
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		return i + 1, s[i] == '-'
	}
	return i, false
}

// scanNumber reads the number that s begins with, as strtod does; end is 0 if there is none.
func scanNumber(s string) (n float64, end int) {
	i := skipSpace(s, 0)
	i, negative := skipSign(s, i)
	rest := s[i:]
	switch {
	case hasPrefixFold(rest, "infinity"):
		n, end = math.Inf(1), i+len("infinity")
	case hasPrefixFold(rest, "inf"):
		n, end = math.Inf(1), i+len("inf")
	case hasPrefixFold(rest, "nan"):
		n, end = math.NaN(), i+len("nan")+payload(rest[len("nan"):])
	default:
		size, text := decimal(rest)
		if hasPrefixFold(rest, "0x") {
			if hexSize, hexText := hexadecimal(rest); hexSize > 0 {
				size, text = hexSize, hexText
			}
		}
		if size == 0 {
			return 0, 0
		}
		n, _ = strconv.ParseFloat(text, 64) // out of range: infinity, as C has it
		end = i + size
	}
	if negative {
		n = math.Copysign(n, -1)
	}
	return n, end
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// payload is the length of the "(text)" that may follow nan.
func payload(s string) int {
	if s == "" || s[0] != '(' {
		return 0
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == ')':
			return i + 1
		case !isAlnum(c) && c != '_':
			return 0
		}
	}
	return 0
}

func decimal(s string) (size int, text string) {
	size = mantissa(s, 0, isDigit)
	if size == 0 {
		return 0, ""
	}
	size = exponent(s, size, 'e')
	return size, s[:size]
}

// hexadecimal reads a number after 0x; the text returned has an exponent, which C does not ask for.
func hexadecimal(s string) (size int, text string) {
	size = mantissa(s, 2, isXDigit)
	if size == 2 {
		return 0, ""
	}
	if end := exponent(s, size, 'p'); end > size {
		return end, s[:end]
	}
	return size, s[:size] + "p0"
}

// mantissa passes over digits with at most one point; without a digit it stays at i.
func mantissa(s string, i int, digit func(byte) bool) int {
	start, digits, point := i, 0, false
	for ; i < len(s); i++ {
		switch {
		case digit(s[i]):
			digits++
		case s[i] == '.' && !point:
			point = true
		default:
			if digits == 0 {
				return start
			}
			return i
		}
	}
	if digits == 0 {
		return start
	}
	return i
}

// exponent passes over an exponent that begins with mark; without digits in it, it stays at i.
func exponent(s string, i int, mark byte) int {
	if i >= len(s) || s[i]|0x20 != mark {
		return i
	}
	j, _ := skipSign(s, i+1)
	start := j
	for j < len(s) && isDigit(s[j]) {
		j++
	}
	if j == start {
		return i
	}
	return j
}

// parseBased reads a whole string as an integer in a base from 2 to 36, as C's strtoul does on 64
// bits: a negative one wraps around, and one that is too large becomes the largest.
func parseBased(s string, base int) (float64, bool) {
	s = cString(s)
	i := skipSpace(s, 0)
	i, negative := skipSign(s, i)
	if base == 16 && hasPrefixFold(s[i:], "0x") && i+2 < len(s) && isXDigit(s[i+2]) {
		i += 2
	}
	start := i
	for i < len(s) && digitValue(s[i]) < base {
		i++
	}
	if i == start || skipSpace(s, i) != len(s) {
		return 0, false
	}
	n, err := strconv.ParseUint(s[start:i], base, 64) // out of range: the largest
	if negative && err == nil {
		n = -n
	}
	return float64(n), true
}

func digitValue(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case isAlpha(c):
		return int(c|0x20-'a') + 10
	}
	return math.MaxInt
}
