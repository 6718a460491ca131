package luabind

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"npulua/npu"
)

func TestStateTables(t *testing.T) {
	s := openSession(t, npu.Options{Sim: "910b:2"})
	if got := s.Streams(); got != "no streams" {
		t.Errorf("got %s", got)
	}
	if got := s.Memory(); got != "no device is in use" {
		t.Errorf("got %s", got)
	}
	if got := s.Devices(); strings.Count(got, "not in use") != 2 {
		t.Errorf("got %s", got)
	}
	if got := s.eval("dev = npu.device(0)\ns = dev.context:create_stream() idle = dev.context:create_stream() x = dev.context:alloc('float32', 1024)\n" +
		"s:fill(x, 1) s:launch(npu.kernel 'spin', 1, 10)\ns:fill(x, 2) npu.sleep(1)"); got != "" {
		t.Fatal(got)
	}
	before := s.Now()
	for _, c := range []struct{ name, got, want string }{
		{"streams", s.Streams(), `
+---------------+---------+--------+-------------------+--------------------------+
| Stream        | Pending | Failed | Last              | At                       |
+---------------+---------+--------+-------------------+--------------------------+
| npu0 stream 1 | 2       | 0      | fill at input 1:3 | launch spin at input 1:3 |
| npu0 stream 2 | 0       | 0      | -                 | -                        |
+---------------+---------+--------+-------------------+--------------------------+`},
		{"memory", s.Memory(), `
+-----+----------+--------+--------+
| NPU | Used     | Free   | Total  |
+-----+----------+--------+--------+
| 0   | 4.03 KiB | 64 GiB | 64 GiB |
+-----+----------+--------+--------+
+---------------+------------------------+-----------+--------+
| Buffers       | Elements               | Made at   | Number |
+---------------+------------------------+-----------+--------+
| device memory | float32 x 1024 (4 KiB) | input 1:2 | 1      |
+---------------+------------------------+-----------+--------+`},
	} {
		if squeeze(c.got) != squeeze(c.want) {
			t.Errorf("%s:\n%s\nwant%s", c.name, c.got, c.want)
		}
	}
	s.Timeline(0, 80)
	s.Devices()
	if after := s.Now(); after-before > time.Millisecond {
		t.Errorf("looking took %v", after-before)
	}
}

// squeeze leaves out how wide the columns are.
func squeeze(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "-", "")), " ")
}

func TestNotices(t *testing.T) {
	s := openSession(t, npu.Options{})
	s.eval(`t = npu.spawn(error, "gone") npu.sleep(0)`)
	if got := s.Notices(); len(got) != 1 || !strings.Contains(got[0], "task 1 (spawned at input 1:1) failed, and nobody joined it: gone") {
		t.Errorf("got %q", got)
	}
	if got := s.Notices(); got != nil {
		t.Errorf("again %q", got)
	}
}

// A worker fails at any time; it is told once, and not where somebody joins it.
func TestNoticesOfWorkers(t *testing.T) {
	s := openSession(t, npu.Options{})
	s.eval(`w = npu.worker(function() error "lost" end)`)
	s.eval(`while w.status == "running" do npu.sleep(0.001) end`)
	if got := s.Notices(); len(got) != 1 || !strings.Contains(got[0], "worker 1 (started at input 1:1) failed, and nobody joined it: ") || !strings.Contains(got[0], "lost") {
		t.Errorf("got %q", got)
	}
	if got := s.Notices(); got != nil {
		t.Errorf("again %q", got)
	}
	s.eval(`w = npu.worker(function() error "caught" end) print(pcall(w.join, w))`)
	if got := s.Notices(); got != nil {
		t.Errorf("joined: %q", got)
	}
}

// Waiting tells what a long wait is for, while it lasts.
func TestWaiting(t *testing.T) {
	s := openSession(t, npu.Options{Wall: true})
	s.eval(`npu.device(0) npu.sleep(0.001)`)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- s.Eval(ctx, `s = npu.device(0).context:create_stream() s:launch(npu.kernel "spin", 1, 60) s:synchronize()`)
	}()
	var lines []string
	for begin := time.Now(); len(lines) == 0 && time.Since(begin) < 10*time.Second; {
		lines = s.Waiting()
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if len(lines) == 0 || !strings.Contains(lines[len(lines)-1], `stream(1, context 0, device 0): 1 command left; now: launch "spin" (input 2:1)`) {
		t.Errorf("got %q", lines)
	}
}

// The tables fit 80 columns and a screen, whatever there is.
func TestStateTablesFit(t *testing.T) {
	s := openSession(t, npu.Options{Sim: "910b:2"})
	s.Fit(80)
	s.eval(`ctx = npu.device(0):create_context() spin = npu.kernel "spin" list, kept = {}, {} big = ctx:alloc("int8", 5000)
		function all(n, f) for i = 1, n do f(i) end end`)
	s.eval("all(60, function(i) list[i] = ctx:create_stream() list[i]:launch(spin, 1, 0) end) ctx:synchronize()")
	for range 22 {
		s.eval(`kept[#kept + 1] = npu.host("float32", 4096)`)
	}
	s.eval(`e = ctx:create_event() list[7]:launch(spin, 1, 10) list[7]:record(e) list[9]:wait(e) list[9]:fill(big, 1) npu.sleep(1)`)
	for name, text := range map[string]string{"streams": s.Streams(), "memory": s.Memory()} {
		lines := strings.Split(text, "\n")
		for _, line := range lines {
			if len(line) > 80 {
				t.Errorf("%s: %q is too wide", name, line)
			}
		}
		if len(lines) > 32 || !strings.HasPrefix(lines[0], "+--") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	for _, c := range []struct{ text, want string }{
		{s.Streams(), "\n| npu0/ctx1 stream 60 | 0 "},
		{s.Streams(), "\n| npu0/ctx1 stream 7  | 2       | 0      | spin 2:1 | spin 25:1 |\n"},
		{s.Streams(), "\n40 more"},
		{s.Streams(), "\nnpu0/ctx1 stream 9 waits for the record at input 25:1 in stream(7, context 1,\ndevice 0)"},
		{s.Memory(), "| input 9:1  | 1      |\n| pinned memory | float32 x 4096 (16 KiB) | input 10:1 |"},
		{s.Memory(), "\n3 more"},
	} {
		if !strings.Contains(c.text, c.want) {
			t.Errorf("no %q in\n%s", c.want, c.text)
		}
	}
}

// Long places are cut at their beginning.
func TestStateTablesCut(t *testing.T) {
	s := openSession(t, npu.Options{})
	s.Fit(80)
	err := s.Runner(t.Context()).RunString(`ctx = npu.device(0):create_context() x = ctx:alloc("float32", 4096)
		a = ctx:create_stream() a:launch(npu.kernel "spin", 1, 0) a:synchronize() a:launch(npu.kernel "spin", 1, 10)`, "a/very/long/path/to/the/folder/of/a/script/that/does/something.lua")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Streams(); !strings.HasPrefix(got, "+--") || !strings.Contains(got, "ing.lua:2 |") || strings.IndexByte(got, '\n') > 80 {
		t.Errorf("got\n%s", got)
	}
	if got := s.Memory(); !strings.HasPrefix(got, "+--") || !strings.Contains(got, "something.lua:1 |") {
		t.Errorf("got\n%s", got)
	}
	s.Fit(30) // no table is that narrow
	if got := s.Streams(); !strings.HasPrefix(got, "Stream   npu0/ctx1 stream 1\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestSizeText(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1 KiB", 4128: "4.03 KiB", 1 << 20: "1 MiB", 1000 << 10: "0.98 MiB", 999 << 10: "999 KiB",
		4194304: "4 MiB", 68715282432: "64 GiB", 12_500_000_000: "11.6 GiB", 123 << 40: "123 TiB", 5000 << 40: "5000 TiB",
	} {
		if got := sizeText(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}
