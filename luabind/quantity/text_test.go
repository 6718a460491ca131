package quantity_test

import (
	"math"
	"testing"

	"npulua/luabind/quantity"
)

func TestText(t *testing.T) {
	for _, tt := range []struct {
		v    float64
		unit string
		want string
	}{
		{0, "s", "0 s"}, {1.5e-9, "s", "1.5 ns"}, {12.0149e-6, "s", "12.01 us"}, {0.99996e-3, "s", "1 ms"}, {0.25, "s", "250 ms"}, {90, "s", "90 s"}, {-0.25, "s", "-250 ms"}, {3e-12, "s", "0.003 ns"},
		{1, "B", "1 B"}, {4096, "B", "4 KiB"}, {1000, "B", "1000 B"}, {1 << 30, "B", "1 GiB"}, {1536 << 10, "B", "1.5 MiB"},
		{23.456e9, "B/s", "23.46 GB/s"}, {1e9, "B/s", "1 GB/s"}, {999, "B/s", "999 B/s"}, {2.5e13, "B/s", "25 TB/s"},
		{1.25e6, "/s", "1.25 M/s"}, {90.5, "W", "90.5 W"}, {41.25, "°C", "41.25 °C"}, {12.5, "%", "12.5%"}, {3, "", "3"}, {1.0 / 3, "", "0.3333"}, {1e-7, "", "1e-07"}, {123456789, "errors", "123456789 errors"},
		{math.NaN(), "s", "NaN s"}, {math.Inf(1), "B/s", "+Inf B/s"},
	} {
		if got := quantity.Text(tt.v, tt.unit); got != tt.want {
			t.Errorf("Text(%v, %q) = %q, want %q", tt.v, tt.unit, got, tt.want)
		}
	}
}

func TestExact(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{{39999999999, "B/s", "3.9999999999e+10 B/s"}, {2.5e-6, "s", "2.5e-06 s"}, {3, "", "3"}} {
		if got := quantity.Exact(c.v, c.unit); got != c.want {
			t.Errorf("Exact(%v, %q) = %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}
