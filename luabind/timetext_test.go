package luabind

import (
	"math"
	"testing"
	"time"
)

func TestDurationText(t *testing.T) {
	for _, test := range []struct {
		seconds float64
		want    string
	}{
		{0, "0s"}, {1.5, "1.5s"}, {59.94, "59.9s"}, {59.96, "1m"}, {90, "1m 30s"}, {3661, "1h 1m 1s"}, {259205, "3d 5s"}, {89.6, "1m 30s"},
		{0.012345, "12.3ms"}, {0.9996, "1s"}, {1e-9, "1ns"}, {1e-13, "0s"}, {-90, "-1m 30s"}, {-1e-13, "0s"}, {math.Copysign(0, -1), "0s"},
	} {
		if got := durationText(test.seconds); got != test.want {
			t.Errorf("durationText(%g) = %q, want %q", test.seconds, got, test.want)
		}
	}
}

func TestParseTime(t *testing.T) {
	berlin := time.FixedZone("", 3600)
	for _, test := range []struct {
		text string
		zone *time.Location
		want int64 // 0: an error
	}{
		{"2026-11-30T20:19:38+01:00", nil, 1796066378},
		{"2026-11-30 20:19:38z", nil, 1796069978},
		{"2026-11-30T20:19:38Z", berlin, 1796069978},
		{"2026-11-30 20:19:38", berlin, 1796066378},
		{"2026-11-30", time.UTC, 1795996800},
		{"2026-11-30", nil, 0},
		{"2026-02-29T00:00:00Z", nil, 0},
		{"2026-11-30T20:19:38", nil, 0},
		{"30.11.2026", time.UTC, 0},
		{"", time.UTC, 0},
	} {
		got, err := parseTime(test.text, test.zone)
		if err == nil && got.Unix() != test.want || err != nil && test.want != 0 {
			t.Errorf("parseTime(%q, %v) = %d, %v, want %d", test.text, test.zone, got.Unix(), err, test.want)
		}
	}
}

// FuzzDuration reads durations, and what they are written as is read as nearly the same.
func FuzzDuration(f *testing.F) {
	for _, s := range []string{"1h30m", "1m 30s", "-250ms", "1.5h", "90", "1m1h", "", "9e9s", "0.5us", "1w 2d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		seconds, err := parseDuration(text)
		if err != nil {
			return
		}
		written := durationText(seconds)
		again, err := parseDuration(written)
		if err != nil {
			t.Fatalf("%q is %g s, written as %q: %v", text, seconds, written, err)
		}
		if diff := math.Abs(again - seconds); diff > 0.01*math.Abs(seconds)+1e-12 {
			t.Fatalf("%q is %g s, written as %q, which is %g s", text, seconds, written, again)
		}
	})
}
