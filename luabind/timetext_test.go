package luabind

import (
	"strings"
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	ahead := time.FixedZone("", 3600)
	for _, test := range []struct {
		text string
		zone *time.Location
		want string // the time in UTC, or a part of the error
	}{
		{"2026-11-30T20:19:38+01:00", nil, "2026-11-30T19:19:38Z"},
		{"2026-11-30 20:19:38z", nil, "2026-11-30T20:19:38Z"},
		{"2026-11-30t20:19:38z", nil, "2026-11-30T20:19:38Z"},
		{"2026-11-30T20:19:38Z", ahead, "2026-11-30T20:19:38Z"},
		{"2026-11-30 20:19:38", ahead, "2026-11-30T19:19:38Z"},
		{"2026-11-30 20:19", ahead, "2026-11-30T19:19:00Z"},
		{"2026-11-30T20:19:38.5", ahead, "2026-11-30T19:19:38.5Z"},
		{"2026-11-30", time.UTC, "2026-11-30T00:00:00Z"},
		// offsets
		{"2026-01-01T00:00:00+23:59", nil, "2025-12-31T00:01:00Z"},
		{"2026-01-01T00:00:00-23:59", nil, "2026-01-01T23:59:00Z"},
		{"2026-01-01T00:00:00-00:00", nil, "2026-01-01T00:00:00Z"},
		{"2026-01-01T00:00:00+24:00", nil, "hour of the offset out of range"},
		{"2026-01-01T00:00:00-24:00", nil, "hour of the offset out of range"},
		{"2026-01-01T00:00:00+12:60", nil, "minute of the offset out of range"},
		{"2026-01-01T00:00:00+0100", nil, "is no time such as"},
		{"2026-01-01T00:00:00+01", nil, "is no time such as"},
		{"2026-01-01T00:00:00+1:00", nil, "is no time such as"},
		{"2026-01-01T00:00:00+01:00:00", nil, "is no time such as"},
		{"2026-01-01T00:00:00 +01:00", nil, "is no time such as"},
		{"2026-01-01T00:00:00\u221201:00", nil, "is no time such as"},
		{"2026-01-01T00:00:00ZZ", nil, "is no time such as"},
		{"2026-01-01T00:00:00UTC", nil, "is no time such as"},
		{"2026-01-01T00:00Z", nil, "is no time such as"},
		{"2026-01-01Z", nil, "is no time such as"},
		{"2026-01-01T00:00:00", nil, "has no offset from UTC"},
		{"2026-11-30", nil, "has no offset from UTC"},
		// fields of the clock
		{"2026-01-01T23:59:59Z", nil, "2026-01-01T23:59:59Z"},
		{"2026-01-01T24:00:00Z", nil, "hour out of range"},
		{"2026-01-01T23:60:00Z", nil, "minute out of range"},
		{"2026-01-01T23:59:61Z", nil, "second out of range"},
		{"1990-12-31T23:59:60Z", nil, "1991-01-01T00:00:00Z"},
		{"1990-12-31T15:59:60-08:00", nil, "1991-01-01T00:00:00Z"},
		{"2016-12-31T23:59:60.25Z", nil, "2017-01-01T00:00:00.25Z"},
		{"2017-01-01 00:59:60", ahead, "2017-01-01T00:00:00Z"},
		{"2026-11-30T20:19:60Z", nil, "second out of range: leap seconds are at"},
		{"2026-11-29T23:59:60Z", nil, "second out of range: leap seconds are at"},
		{"2026-01-01T5:00:00Z", nil, "is no time such as"},
		{"2026-01-01T05:0:00Z", nil, "is no time such as"},
		{"2026-01-01T-5:00:00Z", nil, "is no time such as"},
		{"2026-01-01T+5:00:00Z", nil, "is no time such as"},
		{"2026-01-01T00:00:0\u0660Z", nil, "is no time such as"},
		// fractions
		{"2026-01-01T00:00:00.1Z", nil, "2026-01-01T00:00:00.1Z"},
		{"2026-01-01T00:00:00.1234567891234567Z", nil, "2026-01-01T00:00:00.123456789Z"},
		{"2026-01-01T00:00:00,5Z", nil, "is no time such as"},
		{"2026-01-01T00:00:00.Z", nil, "is no time such as"},
		{"2026-01-01T00:00:00.-5Z", nil, "is no time such as"},
		{"2026-01-01T00:00.5Z", nil, "is no time such as"},
		// days
		{"0000-01-01T00:00:00Z", nil, "0000-01-01T00:00:00Z"},
		{"9999-12-31T23:59:59.999Z", nil, "9999-12-31T23:59:59.999Z"},
		{"10000-01-01T00:00:00Z", nil, "is no time such as"},
		{"-001-01-01T00:00:00Z", nil, "is no time such as"},
		{"+2026-01-01T00:00:00Z", nil, "is no time such as"},
		{"26-01-01T00:00:00Z", nil, "is no time such as"},
		{"2026-00-01T00:00:00Z", nil, "month out of range"},
		{"2026-13-01T00:00:00Z", nil, "month out of range"},
		{"2026-01-00T00:00:00Z", nil, "day out of range"},
		{"2026-04-31T00:00:00Z", nil, "day out of range"},
		{"2026-02-29T00:00:00Z", nil, "day out of range"},
		{"2024-02-29T00:00:00Z", nil, "2024-02-29T00:00:00Z"},
		{"1900-02-29T00:00:00Z", nil, "day out of range"},
		{"2000-02-29T00:00:00Z", nil, "2000-02-29T00:00:00Z"},
		{"2026-1-01T00:00:00Z", nil, "is no time such as"},
		{"20260101T000000Z", nil, "is no time such as"},
		{"2026-W01-1T00:00:00Z", nil, "is no time such as"},
		// what is around it
		{"2026-01-01_00:00:00Z", nil, "is no time such as"},
		{"2026-01-01  00:00:00Z", nil, "is no time such as"},
		{"2026-01-01T00:00:00Z ", nil, "is no time such as"},
		{" 2026-01-01T00:00:00Z", nil, "is no time such as"},
		{"2026-01-01T00:00:00Z\n", nil, "is no time such as"},
		{"2026-01-01T00:00:00Z\x00", nil, "is no time such as"},
		{"2026-01-01T", time.UTC, "is no time such as"},
		{"30.11.2026", time.UTC, "is no time such as"},
		{"", time.UTC, "is no time such as"},
	} {
		at, err := parseTime(test.text, test.zone)
		got := at.UTC().Format(time.RFC3339Nano)
		if err != nil {
			got = err.Error()
		}
		if got != test.want && (err == nil || !strings.Contains(got, test.want)) {
			t.Errorf("parseTime(%q, %v) = %s, want %s", test.text, test.zone, got, test.want)
		}
	}
}

func TestISOTime(t *testing.T) {
	old := time.FixedZone("LMT", 3208) // that of Berlin until 1893
	for _, test := range []struct {
		t      time.Time
		digits int
		want   string
	}{
		{time.Date(1800, 1, 1, 0, 0, 0, 0, time.UTC).In(old), -1, "1800-01-01T00:53:00+00:53"},
		{time.Date(1, 2, 3, 4, 5, 6, 7000, time.UTC), -1, "0001-02-03T04:05:06.000007Z"},
		{time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC), 2, "2026-02-03T04:05:06.00Z"},
		{time.Date(2026, 2, 3, 4, 5, 6, 5e8, time.UTC), 0, "2026-02-03T04:05:06Z"},
	} {
		got := isoTime(test.t, test.digits)
		if got != test.want {
			t.Errorf("isoTime(%v, %d) = %s, want %s", test.t, test.digits, got, test.want)
		}
		if again, err := parseTime(got, nil); err != nil || test.digits < 0 && !again.Equal(test.t) {
			t.Errorf("%s is read as %v, %v, and was %v", got, again, err, test.t)
		}
	}
}

// FuzzTime reads times, and what they are written as is read as the same.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"2026-11-30T20:19:38.123456+23:59", "0000-02-29 00:00:00z", "2016-12-31T23:59:60Z", "2026-11-30"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := parseTime(text, time.UTC)
		if err != nil {
			return
		}
		at = at.Truncate(time.Microsecond)
		again, err := parseTime(isoTime(at, -1), nil)
		if at.Year() <= lastYear && (err != nil || !again.Equal(at)) { // a leap second may lead beyond the last year
			t.Fatalf("%q is %v, written as %q, which is %v, %v", text, at, isoTime(at, -1), again, err)
		}
	})
}
