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
+---------------------------------+------+--------+--------------------------+-------------------------------------+
| Stream                          | Left | Failed | Last                     | Now                                 |
+---------------------------------+------+--------+--------------------------+-------------------------------------+
| stream(1, context 0, device 0)  | 2    | 0      | fill at input 1:3, done  | launch spin at input 1:3, running   |
| stream(2, context 0, device 0)  | 0    | 0      | -                        | -                                   |
+---------------------------------+------+--------+--------------------------+-------------------------------------+`},
		{"memory", s.Memory(), `
+-----+--------+---------------+-----------+
| NPU | Used   | Free          | Total     |
+-----+--------+---------------+-----------+
| 0   | 4128 B | 68719472608 B | 65536 MiB |
+-----+--------+---------------+-----------+
+---------------+-------------------------+-----------+--------+
| Buffers       | Elements                | Made at   | Number |
+---------------+-------------------------+-----------+--------+
| device memory | float32 x 1024 (4096 B) | input 1:2 | 1      |
+---------------+-------------------------+-----------+--------+`},
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
