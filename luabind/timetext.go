package luabind

import (
	"fmt"
	"strings"
	"time"
)

// This file reads and writes times as RFC 3339 has them; nothing in it knows Lua.

// The years that four digits can have.
const firstYear, lastYear = 0, 9999

// timeScanner reads a time from its begin, field by field.
type timeScanner struct {
	rest  string
	wrong string // the first field with a number that it cannot have; "": none
}

// number reads a field of exactly n digits. ok is false where there is none.
func (s *timeScanner) number(n int, field string, least, most int) (v int, ok bool) {
	if len(s.rest) < n {
		return 0, false
	}
	for _, c := range []byte(s.rest[:n]) {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = 10*v + int(c-'0')
	}
	if s.rest = s.rest[n:]; (v < least || v > most) && s.wrong == "" {
		s.wrong = field
	}
	return v, true
}

// next reads one character of a set.
func (s *timeScanner) next(set string) (byte, bool) {
	if s.rest == "" || strings.IndexByte(set, s.rest[0]) < 0 {
		return 0, false
	}
	c := s.rest[0]
	s.rest = s.rest[1:]
	return c, true
}

// fields reads numbers of two digits each with a character between them.
func (s *timeScanner) fields(between string, list ...scanField) bool {
	for i, f := range list {
		if i > 0 {
			if _, ok := s.next(between); !ok {
				return false
			}
		}
		v, ok := s.number(2, f.name, f.least, f.most)
		if !ok {
			return false
		}
		*f.to = v
	}
	return true
}

type scanField struct {
	to          *int
	name        string
	least, most int
}

// fraction reads the digits below the second, of which nanoseconds are kept.
func (s *timeScanner) fraction() (nanoseconds int, ok bool) {
	if _, ok := s.next("."); !ok {
		return 0, true
	}
	digits := len(s.rest) - len(strings.TrimLeft(s.rest, "0123456789"))
	for i := range 9 {
		nanoseconds *= 10
		if i < digits {
			nanoseconds += int(s.rest[i] - '0')
		}
	}
	s.rest = s.rest[digits:]
	return nanoseconds, digits > 0
}

// offset reads how many seconds a clock is ahead of UTC. A colon between hours and minutes may be left out where
// colon is "".
func (s *timeScanner) offset(colon string) (seconds int, ok bool) {
	sign, ok := s.next("+-")
	if !ok {
		return 0, false
	}
	var hours, minutes int
	if colon == "" && len(s.rest) == len("0700") {
		s.rest = s.rest[:2] + ":" + s.rest[2:]
	}
	if !s.fields(":", scanField{&hours, "hour of the offset", 0, 23}, scanField{&minutes, "minute of the offset", 0, 59}) {
		return 0, false
	}
	if seconds = 3600*hours + 60*minutes; sign == '-' {
		seconds = -seconds
	}
	return seconds, true
}

// parseOffset reads "+08:00" or "+0800".
func parseOffset(text string) (seconds int, ok bool) {
	s := timeScanner{rest: text}
	seconds, ok = s.offset("")
	return seconds, ok && s.rest == "" && s.wrong == ""
}

// parseTime reads RFC 3339 text: letters may be small, a blank may be in place of the T, a second 60 is a leap second,
// which Unix time counts as the one after it. Where zone is not nil, it is that of text without an offset, which may
// end after the day or the minute.
func parseTime(text string, zone *time.Location) (time.Time, error) {
	no := func(why string) (time.Time, error) {
		return time.Time{}, fmt.Errorf("%q is no time%s", shortened(text), why)
	}
	noTime := func() (time.Time, error) { return no(" such as \"2026-11-30T20:19:38Z\"") }
	s := timeScanner{rest: text}
	var month, day, hour, minute, second, nanosecond int
	year, ok := s.number(4, "year", firstYear, lastYear)
	if !ok {
		return noTime()
	}
	if _, ok := s.next("-"); !ok || !s.fields("-", scanField{&month, "month", 1, 12}, scanField{&day, "day", 1, 31}) {
		return noTime()
	}
	if last := time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day(); day > last && s.wrong == "" {
		s.wrong = "day"
	}
	whole := false // to the second
	if s.rest != "" {
		if _, ok := s.next("Tt "); !ok || !s.fields(":", scanField{&hour, "hour", 0, 23}, scanField{&minute, "minute", 0, 59}) {
			return noTime()
		}
		if _, whole = s.next(":"); whole {
			if !s.fields("", scanField{&second, "second", 0, 60}) {
				return noTime()
			}
			if nanosecond, ok = s.fraction(); !ok {
				return noTime()
			}
		}
	}
	where, named := time.UTC, false
	if _, named = s.next("Zz"); !named && s.rest != "" {
		var ahead int
		if ahead, named = s.offset(":"); !named {
			return noTime()
		}
		where = time.FixedZone("", ahead)
	}
	switch {
	case s.rest != "" || named && !whole:
		return noTime()
	case s.wrong != "":
		return no(": " + s.wrong + " out of range")
	case !named && zone == nil:
		return time.Time{}, fmt.Errorf("%q has no offset from UTC (Z or +01:00): the option zone says where that was", shortened(text))
	case !named:
		where = zone
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, nanosecond, where)
	if second == 60 && !endsMonth(t) {
		return no(": second out of range: leap seconds are at 23:59:60 UTC on the last day of a month")
	}
	return t, nil
}

// endsMonth reports whether the second before t was the last one of a month in UTC.
func endsMonth(t time.Time) bool {
	t = t.UTC()
	return t.Day() == 1 && t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0
}

// isoTime is t as RFC 3339 has it, with that many digits below the second; less than 0: as many as there are, up to 6.
// Offsets of old times that are no whole minutes are cut to some that are: the time stays the same.
func isoTime(t time.Time, digits int) string {
	if _, ahead := t.Zone(); ahead%60 != 0 {
		t = t.In(time.FixedZone("", ahead-ahead%60))
	}
	fraction := ".999999"
	if digits >= 0 {
		fraction = strings.TrimSuffix("."+strings.Repeat("0", digits), ".")
	}
	return t.Format("2006-01-02T15:04:05" + fraction + "Z07:00")
}
