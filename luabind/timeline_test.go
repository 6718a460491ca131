package luabind

import (
	"strings"
	"testing"
	"time"

	"npulua/npu"
)

const overlapped = `
	dev = npu.device(0)
	n = 1e6
	h = npu.host("float32", n)
	ctx = dev:create_context()
	x, y = dev.context:alloc("float32", n), ctx:alloc("float32", n)
	s1, s2 = dev.context:create_stream(), ctx:create_stream()
	begin = npu.time()
	s1:copy(x, h)
	s1:launch(npu.kernel "spin", 1, 0.0002)
	e = s1:record()
	s2:launch(npu.kernel "spin", 1, 0.0001)
	s2:fill(y, 1)
	s2:wait(e)
	s2:copy(y, x)
	s1:copy(h, x)
	s1:callback(function() end)
	s1:synchronize() s2:synchronize()`

func TestTimeline(t *testing.T) {
	s := openSession(t, npu.Options{})
	if got := s.in.Timeline(0, 80); got != "no stream has done anything" {
		t.Errorf("before: %s", got)
	}
	if got := s.eval(overlapped); got != "" {
		t.Fatal(got)
	}
	for width, want := range map[int]string{
		80: `
npu0 stream 1      |[<<<<<<<<<<<<[KKKKKKKKKKKKspinKKKKKKKKKKKK[>>>>>>>>>>>>[CCC|
npu0/ctx1 stream 1 | [KKKKKspinKKKKKF                         ==               |
                    ^ 1.5 s                                         +418.7 us ^
< copy to the device   > copy to the host   = copy among devices   F fill
K kernel   C callback`,
		40: `
0/0/1 |[<<<<<<[KKKKKspinKKKKKK[>>>>>>CC|
0/1/1 |[KKspinKKF            ==        |
       ^ 1.5 s              +418.7 us ^
< copy to the device
> copy to the host
= copy among devices   F fill   K kernel
C callback`,
	} {
		if got := "\n" + s.in.Timeline(0, width); got != want {
			t.Errorf("%d columns:%s\nwant:%s", width, got, want)
		}
	}
	s.eval(`x:close() npu.sleep(0.5)`)
	since := s.Now()
	s.eval(`s3 = ctx:create_stream() s3:launch(npu.kernel "spin", 1, 10) npu.sleep(1)`)
	if got := s.in.Timeline(since, 60); strings.Count(got, "|") != 2 || !strings.Contains(got, "npu0/ctx1 stream 2 |[K") {
		t.Errorf("of the last chunk:\n%s", got)
	}
	for width := range 200 {
		for _, line := range strings.Split(s.in.Timeline(0, width), "\n") {
			if most := max(width, minTimeline); width > 0 && len(line) > most {
				t.Fatalf("%d columns: %q has %d", width, line, len(line))
			}
		}
	}
	if got := s.in.Timeline(time.Hour, 80); got != "no stream has done anything" {
		t.Errorf("later: %s", got)
	}
}

// Streams that a scope has closed are part of what happened.
func TestTimelineShowsClosedStreams(t *testing.T) {
	s := openSession(t, npu.Options{})
	s.eval(`npu.device(0) npu.scope(function()
		local ctx = npu.current_device():create_context()
		for i = 1, 2 do local s = ctx:create_stream() s:launch(npu.kernel "spin", 1, 0.001) end
	end)`)
	got := s.in.Timeline(0, 60)
	if strings.Count(got, "npu0/ctx1 stream ") != 2 || strings.Index(got, "stream 1") > strings.Index(got, "stream 2") {
		t.Errorf("got\n%s", got)
	}
	if got := s.Streams(); got != "no streams" {
		t.Errorf("got %s", got)
	}
	s.eval(`npu.scope(function() for i = 1, 200 do npu.current_context():create_stream():fill(npu.current_context():alloc("int8", 8), 1) end end)`)
	if got := s.in.Timeline(0, 60); strings.Count(got, "\n") > maxRows+5 || !strings.Contains(got, "more streams") {
		t.Errorf("got\n%s", got)
	}
}

func TestTimelineShowsFailures(t *testing.T) {
	s := openSession(t, npu.Options{})
	s.eval(`s = npu.device(0).context:create_stream()
		s:launch(npu.kernel{name = "k", signature = "int32 n", sim = function() error("no") end}, 1, 1)
		pcall(s.synchronize, s)`)
	if got := s.in.Timeline(0, 60); !strings.Contains(got, "XX") || !strings.HasSuffix(got, "X failed") {
		t.Errorf("got\n%s", got)
	}
}

func TestDrawTimeline(t *testing.T) {
	const us = time.Microsecond
	command := func(op, way, state string, start, end time.Duration) npu.CommandInfo {
		return npu.CommandInfo{Op: op, Way: way, State: state, Start: start, End: end}
	}
	streams := []npu.StreamCommands{
		{Device: 0, Commands: []npu.CommandInfo{
			command("copy", "H2D", "done", 0, 50*us),
			command("record", "", "done", 50*us, 50*us),
			command("launch", "", "failed", 50*us, 100*us),
			command("launch", "", "skipped", 0, 0),
			command("launch", "", "queued", 0, 0),
		}},
		{Device: 1, Context: 12, Number: 3, Commands: []npu.CommandInfo{
			command("replay", "", "done", 20*us, 21*us),
			command("launch", "", "running", 70*us, 0),
		}},
		{Device: 2, Commands: []npu.CommandInfo{command("wait", "", "done", 0, 10*us)}},
	}
	const want = `
npu0 stream default |[<<<<<<<<<<<<<<<<<<[XXXXXXXXXXXXXXXXXX|
npu1/ctx12 stream 3 |       G                  [KKKKKKKKKKK|
                     ^ 0 ns                       +100 us ^
< copy to the device   K kernel   G graph   X failed`
	if got := "\n" + drawTimeline(streams, 0, 100*us, 60); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
}

// The smallest terminal is one of 20 columns.
func TestTimelineNarrow(t *testing.T) {
	s := openSession(t, npu.Options{})
	s.eval(`x = npu.device(0):create_context():alloc("float32", 1e6) for i = 1, 120 do s = x.device and npu.current_context():create_stream() end`)
	s.eval(`s:fill(x, 1) s:launch(npu.kernel "relu", 8, x, x, x.count) s:copy(npu.host("float32", 1e6), x) s:synchronize()`)
	text := s.in.Timeline(0, 20)
	if !strings.Contains(text, "|") {
		t.Errorf("got %q", text)
	}
	for _, line := range strings.Split(text, "\n") {
		if len(line) > 20 {
			t.Errorf("too wide: %q", line)
		}
	}
}

// What goes on from earlier chunks is marked where it comes in, and a chunk that did nothing draws nothing.
func TestTimelineOfChunk(t *testing.T) {
	s := openSession(t, npu.Options{})
	s.eval(`ctx = npu.device(0).context s1, s2 = ctx:create_stream(), ctx:create_stream() spin = npu.kernel "spin"`)
	s.eval(`s1:launch(spin, 1, 100) npu.sleep(50)`)
	for _, c := range []struct{ chunk, want string }{
		{`1 + 1`, EmptyTimeline},
		{`npu.sleep(10)`, EmptyTimeline},
		{`s2:launch(spin, 1, 10) s2:synchronize()`, `
0/0/1 |:KKKKKKKKKKKKKKKKKKKKKspinKKKKKKKKKKKKKKKKKKKKK|
0/0/2 |[KKKKKKKKKKKKKKKKKKKKKspinKKKKKKKKKKKKKKKKKKKKK|
       ^ 0 ns into the chunk                   +10 s ^
K kernel   : began earlier`},
		{`npu.sleep(5) s2:launch(spin, 1, 5) s1:synchronize()`, `
0/0/1 |:KKKKKKKKKKKKKKKKKKKKKspinKKKKKKKKKKKKKKKKKKKKK|
0/0/2 |       [KKspinKK                               |
       ^ 0 ns into the chunk                   +30 s ^
K kernel   : began earlier`},
		{`npu.sleep(1e5) s2:launch(spin, 1, 5) s2:synchronize()`, `
0/0/2 |[KKKKKKKKKKKKKKKKKKKKKspinKKKKKKKKKKKKKKKKKKKKK|
       ^ 100000 s into the chunk                +5 s ^
K kernel`},
		{`1 + 1`, EmptyTimeline},
	} {
		since := s.Now()
		s.eval(c.chunk)
		if got := s.in.Timeline(since, 55); got != strings.TrimPrefix(c.want, "\n") {
			t.Errorf("%s: got\n%s\nwant%s", c.chunk, got, c.want)
		}
	}
}
