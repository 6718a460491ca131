package lua51

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// formatFlags are the flags of a conversion.
const formatFlags = "-+ #0"

// longText is from which length on a string is formatted as it is, zero bytes included.
const longText = 100

// conversion is what stands between % and its letter.
type conversion struct {
	minus, plus, space, alt, zero bool
	width                         int
	precision                     int // -1: none
	letter                        byte
}

func stringFormat(L *lua.LState) int {
	format := checkString(L, 1)
	room(L, len(format))
	var out strings.Builder
	arg := 1
	for i := 0; i < len(format); {
		if format[i] != '%' {
			n := strings.IndexByte(format[i:], '%')
			if n < 0 {
				n = len(format) - i
			}
			out.WriteString(format[i : i+n])
			i += n
			continue
		}
		i++
		if i < len(format) && format[i] == '%' {
			out.WriteByte('%')
			i++
			continue
		}
		if arg++; arg > L.GetTop() {
			argError(L, arg, "no value")
		}
		var c conversion
		c, i = parseConversion(L, format, i)
		out.WriteString(c.apply(L, arg, out.Len()))
		checkResult(L, out.Len())
	}
	L.Push(lua.LString(out.String()))
	return 1
}

// parseConversion reads the conversion at i and returns where the format goes on.
func parseConversion(L *lua.LState, format string, i int) (conversion, int) {
	c := conversion{precision: -1}
	start := i
	for ; i < len(format) && strings.IndexByte(formatFlags, format[i]) >= 0; i++ {
		switch format[i] {
		case '-':
			c.minus = true
		case '+':
			c.plus = true
		case ' ':
			c.space = true
		case '#':
			c.alt = true
		case '0':
			c.zero = true
		}
	}
	if i-start > len(formatFlags) {
		raise(L, "invalid format (repeated flags)")
	}
	c.width, i = twoDigits(format, i)
	if i < len(format) && format[i] == '.' {
		c.precision, i = twoDigits(format, i+1)
	}
	if i < len(format) {
		if isDigit(format[i]) {
			raise(L, "invalid format (width or precision too long)")
		}
		c.letter = format[i]
	}
	return c, i + 1
}

// twoDigits reads a number of at most two digits; without any it is 0.
func twoDigits(s string, i int) (n, next int) {
	for end := i + 2; i < len(s) && i < end && isDigit(s[i]); i++ {
		n = n*10 + int(s[i]-'0')
	}
	return n, i
}

// apply formats argument arg; before is the length of the text in front of it.
func (c conversion) apply(L *lua.LState, arg, before int) string {
	switch c.letter {
	case 'c':
		return c.char(checkNumber(L, arg))
	case 'd', 'i':
		return c.signed(truncate(checkNumber(L, arg)))
	case 'o', 'u', 'x', 'X':
		return c.unsigned(truncateUnsigned(checkNumber(L, arg)))
	case 'e', 'E', 'f', 'g', 'G':
		return c.float(checkNumber(L, arg))
	case 'q':
		s := checkString(L, arg)
		checkResult(L, before+len(s)+2)
		room(L, 4*len(s))
		return quote(s)
	case 's':
		s := checkString(L, arg)
		checkResult(L, before+len(s))
		room(L, 2*len(s))
		return c.text(s)
	}
	raise(L, "invalid option '%%%s' to 'format'", cString(string([]byte{c.letter})))
	return ""
}

// truncateUnsigned converts as the processor of PUC Lua's usual platform does: negative numbers
// wrap around, too large ones become 0.
func truncateUnsigned(f float64) uint64 {
	switch {
	case f >= 1<<64:
		return 0
	case f >= 1<<63:
		return uint64(f)
	}
	return uint64(truncate(f))
}

// char formats a byte. The text ends at a zero byte: with code 0 only padding in front is left.
func (c conversion) char(f float64) string {
	code := byte(0)
	if f > math.MinInt32-1 && f < math.MaxInt32+1 {
		code = byte(int32(f))
	}
	return cString(c.pad("", string([]byte{code}), false))
}

// text formats a string. Long strings without a precision are taken whole; others end at their
// first zero byte.
func (c conversion) text(s string) string {
	if c.precision < 0 && len(s) >= longText {
		return s
	}
	s = cString(s)
	if c.precision >= 0 && c.precision < len(s) {
		s = s[:c.precision]
	}
	return c.pad("", s, false)
}

// quote writes a string so that the Lua compiler reads it back.
func quote(s string) string {
	var out strings.Builder
	out.Grow(len(s) + 2)
	out.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"', '\\', '\n':
			out.WriteByte('\\')
			out.WriteByte(s[i])
		case '\r':
			out.WriteString(`\r`)
		case 0:
			out.WriteString(`\000`)
		default:
			out.WriteByte(s[i])
		}
	}
	out.WriteByte('"')
	return out.String()
}

// pad brings a text to the width; zeros go between the prefix and the rest.
func (c conversion) pad(prefix, rest string, zeros bool) string {
	n := c.width - len(prefix) - len(rest)
	switch {
	case n <= 0:
		return prefix + rest
	case c.minus:
		return prefix + rest + strings.Repeat(" ", n)
	case zeros:
		return prefix + strings.Repeat("0", n) + rest
	}
	return strings.Repeat(" ", n) + prefix + rest
}

// sign is what stands in front of a signed number.
func (c conversion) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case c.plus:
		return "+"
	case c.space:
		return " "
	}
	return ""
}

func (c conversion) signed(n int64) string {
	magnitude := uint64(n)
	if n < 0 {
		magnitude = -magnitude
	}
	return c.pad(c.sign(n < 0), c.digits(magnitude, 10), c.zero && c.precision < 0)
}

func (c conversion) unsigned(n uint64) string {
	prefix, base := "", 10
	switch c.letter {
	case 'o':
		base = 8
	case 'x', 'X':
		base = 16
		if c.alt && n != 0 {
			prefix = "0" + string(c.letter)
		}
	}
	digits := c.digits(n, base)
	if c.letter == 'X' {
		digits = strings.ToUpper(digits)
	}
	if c.letter == 'o' && c.alt && !strings.HasPrefix(digits, "0") {
		digits = "0" + digits
	}
	return c.pad(prefix, digits, c.zero && c.precision < 0)
}

// digits writes at least as many digits as the precision tells; for zero that may be none.
func (c conversion) digits(n uint64, base int) string {
	if n == 0 && c.precision == 0 {
		return ""
	}
	s := strconv.FormatUint(n, base)
	if missing := c.precision - len(s); missing > 0 {
		s = strings.Repeat("0", missing) + s
	}
	return s
}

func (c conversion) float(f float64) string {
	sign := c.sign(math.Signbit(f))
	upper := isUpper(c.letter)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return c.pad(sign, upperIf(upper, notFinite(f)), false)
	}
	precision := c.precision
	if precision < 0 {
		precision = 6
	}
	var s string
	if kind := c.letter | 0x20; kind == 'g' {
		s = general(math.Abs(f), max(precision, 1), c.alt)
	} else {
		s = strconv.FormatFloat(math.Abs(f), kind, precision, 64)
		if c.alt && precision == 0 {
			s = addPoint(s)
		}
	}
	return c.pad(sign, upperIf(upper, s), c.zero)
}

func upperIf(upper bool, s string) string {
	if upper {
		return strings.ToUpper(s)
	}
	return s
}

// addPoint puts a decimal point behind digits that have none.
func addPoint(s string) string {
	digits, exponent, found := strings.Cut(s, "e")
	if found {
		exponent = "e" + exponent
	}
	if strings.Contains(digits, ".") {
		return s
	}
	return digits + "." + exponent
}

// general formats as %g: with an exponent if it is below -4 or too large for the precision, which
// counts significant digits; zeros at the end are left out unless keep is set.
func general(f float64, precision int, keep bool) string {
	s := strconv.FormatFloat(f, 'e', precision-1, 64)
	digits, exponentText, _ := strings.Cut(s, "e")
	exponent, _ := strconv.Atoi(exponentText)
	suffix := "e" + exponentText
	if exponent >= -4 && exponent < precision {
		digits, suffix = strconv.FormatFloat(f, 'f', precision-1-exponent, 64), ""
	}
	if keep {
		return addPoint(digits) + suffix
	}
	if strings.Contains(digits, ".") {
		digits = strings.TrimRight(strings.TrimRight(digits, "0"), ".")
	}
	return digits + suffix
}
