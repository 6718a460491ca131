package serve

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAmount(t *testing.T) {
	for _, c := range []struct {
		name  string
		value float64
		want  string
	}{
		{"free_bytes", 68719476736, "64 GiB"}, {"free_bytes", 1023, "1023 B"}, {"free_bytes", -2048, "-2 KiB"}, {"free_bytes", 1 << 62, "4 EiB"},
		{"copy_seconds", 0, "0 s"}, {"copy_seconds", 1.8e-5, "18 us"}, {"copy_seconds", 0.0123, "12.3 ms"}, {"copy_seconds", 2.5, "2.5 s"}, {"copy_seconds", 3600, "1h"}, {"copy_seconds", -1, "-1 s"},
		{"n_total", 123456789, "123456789"}, {"n_total", 0.123456789, "0.123457"}, {"n_total", 1e300, "1e+300"},
	} {
		if got := amount(c.name, c.value); got != c.want {
			t.Errorf("amount(%q, %v) = %q, want %q", c.name, c.value, got, c.want)
		}
	}
}

func TestWorstFirst(t *testing.T) {
	var c checked
	text := `{"tests": [{"name": "a", "result": "pass"}, {"name": "b", "result": "not_run"}, {"name": "c", "result": "error", "reason": "no memory"},
		{"name": "d", "result": "fail", "device": 0, "reason": "device 0: wrong bytes"}, {"name": "e", "result": "warn"}, {"name": "f", "result": "fail", "device": 1}, {"name": "g", "result": "skip"}]}`
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	order := ""
	for _, test := range c.worstFirst() {
		order += test.Name
	}
	if order != "dfcega" {
		t.Errorf("in the order %q", order)
	}
	if got, want := c.blame(), "d: device 0: wrong bytes; and 1 more"; got != want {
		t.Errorf("blame() = %q, want %q", got, want)
	}
	long := c.Tests[3]
	long.Reason = strings.Repeat("漢", 1000)
	if got := (&checked{Tests: []checkedTest{long}}).blame(); len([]rune(got)) != maxBlame+3 || !strings.HasSuffix(got, "漢...") {
		t.Errorf("a long reason gives %q", got)
	}
	c.Tests = c.Tests[:3]
	if got, want := c.blame(), "c: no memory"; got != want {
		t.Errorf("blame() = %q, want %q", got, want)
	}
	c.Tests = c.Tests[:1]
	if got := c.blame(); got != "" {
		t.Errorf("blame() of a pass = %q", got)
	}
}
