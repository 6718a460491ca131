package lua51

import (
	"math"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// dateFields are the fields that os.time reads, in its order. Those without a default must be there.
var dateFields = []struct {
	name     string
	absent   int
	required bool
}{
	{"sec", 0, false},
	{"min", 0, false},
	{"hour", 12, false},
	{"day", 0, true},
	{"month", 0, true},
	{"year", 0, true},
}

// osTime gives nil for a date that is one second before 1970 too: C has no other way to say that a
// date cannot be told.
func osTime(L *lua.LState) int {
	if L.Get(1) == lua.LNil {
		L.Push(lua.LNumber(time.Now().Unix()))
		return 1
	}
	t := checkTable(L, 1)
	var at [6]int
	for i, f := range dateFields {
		n, ok := toNumber(L.GetField(t, f.name))
		if !ok && f.required {
			raise(L, "field '%s' missing in date table", f.name)
		}
		at[i] = f.absent
		if ok {
			at[i] = int(int32(truncate(n)))
		}
	}
	dst := dstUnknown
	if v := L.GetField(t, "isdst"); v != lua.LNil {
		dst = dstOff
		if lua.LVAsBool(v) {
			dst = dstOn
		}
	}
	seconds, ok := mktime(at[5], at[4], at[3], at[2], at[1], at[0], dst)
	if !ok || seconds == -1 {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(lua.LNumber(seconds))
	return 1
}

func osDifftime(L *lua.LState) int {
	from := 0.0
	to := checkNumber(L, 1)
	if L.Get(2) != lua.LNil {
		from = checkNumber(L, 2)
	}
	L.Push(lua.LNumber(float64(truncate(to)) - float64(truncate(from))))
	return 1
}

// daylight is C's tm_isdst.
type daylight int

const (
	dstUnknown daylight = -1
	dstOff     daylight = 0
	dstOn      daylight = 1
)

// zoneAt is the distance of local time from UTC at t, in seconds, and whether it is summer time.
func zoneAt(t int64) (offset int64, dst bool) {
	at := time.Unix(t, 0)
	_, seconds := at.Zone()
	return int64(seconds), at.IsDST()
}

// mktime converts a local date, whose fields may be out of range. A local time that occurs twice, or
// not at all, is resolved as glibc does, by following zone offsets from one guess to the next.
func mktime(year, month, day, hour, minute, second int, dst daylight) (int64, bool) {
	sec := min(max(second, 0), 59)
	want := time.Date(year, time.Month(month), day, hour, minute, sec, 0, time.UTC).Unix()
	t := findLocal(want, dst) + int64(second-sec)
	return t, fitsDate(time.Unix(t, 0))
}

func findLocal(want int64, dst daylight) int64 {
	const probes = 6
	t, last, beforeLast, lastSummer := want, want, want, false
	for range probes {
		offset, summer := zoneAt(t)
		guess := want - offset
		if guess == t {
			return fitDST(t, want, dst)
		}
		if t == beforeLast && t != last { // two offsets contradict each other: the time was skipped
			if dst == dstUnknown && (summer || !lastSummer) || dst != dstUnknown && (dst == dstOn) != summer {
				return t
			}
		}
		last, beforeLast, t, lastSummer = t, last, guess, summer
	}
	return t
}

// fitDST corrects a time whose zone offset is the right one but for dst, by the offset in force at
// the nearest time that dst is right for, or else by an hour.
func fitDST(t, want int64, dst daylight) int64 {
	const stride, reach = 601200, 457243209/2 + 601200 // of glibc
	_, summer := zoneAt(t)
	if dst == dstUnknown || (dst == dstOn) == summer {
		return t
	}
	for delta := int64(stride); delta < reach; delta += stride {
		for _, other := range [...]int64{t - delta, t + delta} {
			if offset, summer := zoneAt(other); summer == (dst == dstOn) {
				return want - offset
			}
		}
	}
	if dst == dstOn {
		return t - 3600
	}
	return t + 3600
}

// fitsDate reports whether C's struct tm can hold the year.
func fitsDate(t time.Time) bool {
	const widest = 70e15 // seconds, beyond any such year, within what Go's dates can do
	if s := float64(t.Unix()); math.Abs(s) > widest {
		return false
	}
	year := t.Year() - 1900
	return year == int(int32(year))
}
