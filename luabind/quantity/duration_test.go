package quantity_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"npulua/luabind/quantity"
)

func TestParseDuration(t *testing.T) {
	for _, test := range []struct {
		text string
		want float64 // NaN: refused
		says string
	}{
		{"1h30m", 5400, ""}, {"1m 30s", 90, ""}, {" 250ms\n", 0.25, ""}, {"1.5h", 5400, ""}, {"1w", 604800, ""}, {"1w 2d3h4m5s6ms7us8ns", 788645.0060070081, ""},
		{"5µs", 5e-6, ""}, {"5μs", 5e-6, ""}, {".5s", 0.5, ""}, {"5.s", 5, ""}, {"-5m", -300, ""}, {"-0s", 0, ""}, {"0s", 0, ""}, {"007s", 7, ""},
		{"", math.NaN(), "a number with a unit is missing"}, {"-", math.NaN(), "a number with a unit is missing"}, {" ", math.NaN(), "a number with a unit is missing"},
		{"90", math.NaN(), "a number has no unit"}, {"1m30", math.NaN(), "a number has no unit"}, {"1 s", math.NaN(), "a number has no unit"},
		{"1m1h", math.NaN(), `"h" is not smaller`}, {"1s1s", math.NaN(), `"s" is not smaller`}, {"5x", math.NaN(), `"x" is no unit`}, {"1e3s", math.NaN(), `"e" is no unit`}, {"1S", math.NaN(), `"S" is no unit`},
		{"1..2s", math.NaN(), "a number has no unit"}, {".s", math.NaN(), "a number is missing"}, {"+5s", math.NaN(), "a number is missing"}, {"--5s", math.NaN(), "a number is missing"}, {"- 5s", math.NaN(), "a number is missing"},
		{"1h-3m", math.NaN(), "a number is missing"}, {"1h -3m", math.NaN(), "a number is missing"}, {"m", math.NaN(), "a number is missing"}, {"infs", math.NaN(), "a number is missing"}, {"0x10s", math.NaN(), `"x" is no unit`},
		{"\u0661s", math.NaN(), "a number is missing"}, {"1s\x00", math.NaN(), "is no unit"}, {strings.Repeat("9", 400) + "s", math.NaN(), "a number is missing"}, {strings.Repeat("9", 308) + "w", math.NaN(), "beyond the range"},
	} {
		got, err := quantity.ParseDuration(test.text)
		if math.IsNaN(test.want) {
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("ParseDuration(%q) = %v, %v, want %q", test.text, got, err, test.says)
			}
		} else if err != nil || got != test.want || math.Signbit(got) != math.Signbit(test.want) {
			t.Errorf("ParseDuration(%q) = %v, %v, want %v", test.text, got, err, test.want)
		}
	}
}

func TestTook(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0 s", 40: "0.04 us", 1234567: "1.23 ms", 91200: "91.2 us", 300 * time.Millisecond: "300 ms", 1514 * time.Millisecond: "1.51 s", time.Minute: "60 s", 1500 * time.Millisecond: "1.5 s"} {
		if got := quantity.Took(d); got != want {
			t.Errorf("Took(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for _, test := range []struct {
		seconds float64
		want    string
	}{
		{0, "0s"}, {1.5, "1.5s"}, {59.94, "59.9s"}, {59.96, "1m"}, {90, "1m 30s"}, {3661, "1h 1m 1s"}, {259205, "3d 5s"}, {89.6, "1m 30s"},
		{0.012345, "12.3ms"}, {0.9996, "1s"}, {1e-9, "1ns"}, {1e-13, "0s"}, {-90, "-1m 30s"}, {-1e-13, "0s"}, {math.Copysign(0, -1), "0s"},
	} {
		if got := quantity.Duration(test.seconds); got != test.want {
			t.Errorf("Duration(%g) = %q, want %q", test.seconds, got, test.want)
		}
	}
}

// FuzzDuration reads durations, and what they are written as is read as nearly the same.
func FuzzDuration(f *testing.F) {
	for _, s := range []string{"1h30m", "1m 30s", "-250ms", "1.5h", "90", "1m1h", "", "9e9s", "0.5us", "1w 2d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		seconds, err := quantity.ParseDuration(text)
		if err != nil {
			return
		}
		written := quantity.Duration(seconds)
		again, err := quantity.ParseDuration(written)
		if err != nil {
			t.Fatalf("%q is %g s, written as %q: %v", text, seconds, written, err)
		}
		if diff := math.Abs(again - seconds); diff > 0.01*math.Abs(seconds)+1e-12 {
			t.Fatalf("%q is %g s, written as %q, which is %g s", text, seconds, written, again)
		}
	})
}
