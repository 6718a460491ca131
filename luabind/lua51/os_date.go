package lua51

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// dateBytes is how long the text of a conversion may be, for each of its characters.
const dateBytes = 16

// osDate gives nil for a time whose year is out of range.
func osDate(L *lua.LState) int {
	format := cString(optString(L, 1, "%c"))
	t := time.Now()
	if L.Get(2) != lua.LNil {
		t = time.Unix(checkInteger(L, 2), 0)
	}
	if rest, ok := strings.CutPrefix(format, "!"); ok {
		format, t = rest, t.UTC()
	}
	switch {
	case !fitsDate(t):
		L.Push(lua.LNil)
	case format == "*t":
		L.Push(dateTable(L, t))
	default:
		room(L, dateBytes*len(format))
		L.Push(lua.LString(strftime(format, t)))
	}
	return 1
}

func dateTable(L *lua.LState, t time.Time) *lua.LTable {
	table := L.NewTable()
	for _, f := range []struct {
		name  string
		value int
	}{
		{"sec", t.Second()},
		{"min", t.Minute()},
		{"hour", t.Hour()},
		{"day", t.Day()},
		{"month", int(t.Month())},
		{"year", t.Year()},
		{"wday", int(t.Weekday()) + 1},
		{"yday", t.YearDay()},
	} {
		table.RawSetString(f.name, lua.LNumber(f.value))
	}
	table.RawSetString("isdst", lua.LBool(t.IsDST()))
	return table
}

// conversions are those of glibc's strftime in the C locale.
var conversions = map[byte]func(time.Time) string{
	'A': func(t time.Time) string { return t.Weekday().String() },
	'B': func(t time.Time) string { return t.Month().String() },
	'C': func(t time.Time) string { return two(floorDiv(t.Year(), 100)) },
	'D': layout("01/02/06"),
	'F': func(t time.Time) string { return strconv.Itoa(t.Year()) + t.Format("-01-02") },
	'G': func(t time.Time) string { year, _ := t.ISOWeek(); return strconv.Itoa(year) },
	'H': layout("15"),
	'I': layout("03"),
	'M': layout("04"),
	'P': layout("pm"),
	'R': layout("15:04"),
	'S': layout("05"),
	'T': layout("15:04:05"),
	'U': func(t time.Time) string { return two((t.YearDay() + 6 - int(t.Weekday())) / 7) },
	'V': func(t time.Time) string { _, week := t.ISOWeek(); return two(week) },
	'W': func(t time.Time) string { return two((t.YearDay() + 6 - mondayBased(t)) / 7) },
	'X': layout("15:04:05"),
	'Y': func(t time.Time) string { return strconv.Itoa(t.Year()) },
	'Z': zoneName,
	'a': layout("Mon"),
	'b': layout("Jan"),
	'c': func(t time.Time) string { return t.Format("Mon Jan _2 15:04:05 ") + strconv.Itoa(t.Year()) },
	'd': layout("02"),
	'e': layout("_2"),
	'g': func(t time.Time) string { year, _ := t.ISOWeek(); return two(floorMod(year, 100)) },
	'h': layout("Jan"),
	'j': layout("002"),
	'k': func(t time.Time) string { return fmt.Sprintf("%2d", t.Hour()) },
	'l': func(t time.Time) string { return fmt.Sprintf("%2d", (t.Hour()+11)%12+1) },
	'm': layout("01"),
	'n': func(time.Time) string { return "\n" },
	'p': layout("PM"),
	'r': layout("03:04:05 PM"),
	's': epoch,
	't': func(time.Time) string { return "\t" },
	'u': func(t time.Time) string { return strconv.Itoa(mondayBased(t) + 1) },
	'w': func(t time.Time) string { return strconv.Itoa(int(t.Weekday())) },
	'x': layout("01/02/06"),
	'y': func(t time.Time) string { return two(floorMod(t.Year(), 100)) },
	'z': layout("-0700"),
	'%': func(time.Time) string { return "%" },
}

// DateConversion is what %c stands for in os.date; ok is false where it stands for nothing.
func DateConversion(c byte) (convert func(time.Time) string, ok bool) {
	convert, ok = conversions[c]
	return convert, ok
}

// strftime leaves conversions that it does not know as they are.
func strftime(format string, t time.Time) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		if convert, ok := conversions[format[i]]; ok {
			b.WriteString(convert(t))
		} else {
			b.WriteString(format[i-1 : i+1])
		}
	}
	return b.String()
}

func layout(goLayout string) func(time.Time) string {
	return func(t time.Time) string { return t.Format(goLayout) }
}

func zoneName(t time.Time) string {
	if t.Location() == time.UTC {
		return "GMT"
	}
	return t.Format("MST")
}

// epoch takes the fields of t for local time, as mktime does, even if they are not.
func epoch(t time.Time) string {
	dst := dstOff
	if t.IsDST() {
		dst = dstOn
	}
	s, _ := mktime(t.Year(), int(t.Month()), t.Day(), t.Hour(), t.Minute(), t.Second(), dst)
	return strconv.FormatInt(s, 10)
}

func two(n int) string { return fmt.Sprintf("%02d", n) }

func mondayBased(t time.Time) int { return (int(t.Weekday()) + 6) % 7 }

func floorMod(a, b int) int { return ((a % b) + b) % b }

func floorDiv(a, b int) int { return (a - floorMod(a, b)) / b }
