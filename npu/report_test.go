package npu

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
)

func checked[T any](tb testing.TB) func(T, error) T {
	return func(v T, err error) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

func openReport(t *testing.T) (*Session, *Thread) {
	t.Helper()
	s := checked[*Session](t)(Open(t.Context(), Options{Backend: "sim", Sim: "910b:2", Where: func(s Site) string { return fmt.Sprintf("here:%d", s) }}))
	t.Cleanup(func() { _ = s.Close(true) })
	return s, s.Main()
}

// spin queues work of an hour that was issued at site.
func spin(t *testing.T, th *Thread, s *Stream, site Site) {
	t.Helper()
	k := checked[*Kernel](t)(th.s.Kernel("spin"))
	th.Site = site
	if err := s.Launch(th, k, 1, []Arg{{Number: 3600}}); err != nil {
		t.Fatal(err)
	}
}

// All streams with pending work are reported, in a fixed order, whoever made them and whether their
// handles are still there; the current context stays, and no time passes.
func TestPendingReport(t *testing.T) {
	s, th := openReport(t)
	newStream := func(c *Context) *Stream { return checked[*Stream](t)(c.CreateStream(th, StreamOptions{})) }
	dev1 := checked[*Device](t)(th.Device(1))
	dev0 := checked[*Device](t)(th.Device(0))
	ctx := checked[*Context](t)(dev0.CreateContext(th))
	idle, one, two, first := newStream(ctx), newStream(ctx), newStream(ctx), newStream(dev0.deflt)
	e := checked[*Event](t)(ctx.CreateEvent(th, false))
	spin(t, th, dev1.deflt.deflt, 5)
	spin(t, th, one, 1)
	th.Site = 2
	if err := one.Record(th, e); err != nil {
		t.Fatal(err)
	}
	th.Site = 3
	if err := two.Wait(th, e); err != nil {
		t.Fatal(err)
	}
	spin(t, th, two, 4)
	func() { spin(t, th, first, 6); first = nil }()
	for range 3 {
		runtime.GC()
	}
	want := []string{
		`stream(1, context 0, device 0): 1 command left; now: launch "spin" (here:6), running`,
		`stream(2, context 1, device 0): 2 of 2 commands left; now: launch "spin" (here:1), running`,
		`stream(3, context 1, device 0): 2 of 2 commands left; now: wait (here:3), for the record at here:2 in stream(2, context 1, device 0)`,
		`stream(default, context 0, device 1): 1 command left; now: launch "spin" (here:5), running`,
	}
	err := th.call(dev0.deflt.h, func(d driver.Driver) error {
		before := s.exec.Now()
		if got := s.pendingReport(d); !slices.Equal(got, want) {
			t.Errorf("report\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if now := s.exec.Now(); now != before {
			t.Errorf("took %v", now-before)
		}
		if c, err := d.CurrentContext(); c != dev0.deflt.h || err != nil {
			t.Errorf("current context %v, %v, want %v", c, err, dev0.deflt.h)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	runtime.KeepAlive(idle)
}

// Every wait that times out reports the streams that it waited for, and no others; a query does not.
func TestTimeoutReport(t *testing.T) {
	_, th := openReport(t)
	dev := checked[*Device](t)(th.Device(0))
	ctx := checked[*Context](t)(dev.CreateContext(th))
	other := checked[*Context](t)(dev.CreateContext(th))
	s := checked[*Stream](t)(ctx.CreateStream(th, StreamOptions{}))
	e := checked[*Event](t)(ctx.CreateEvent(th, false))
	spin(t, th, s, 1)
	if err := s.Record(th, e); err != nil {
		t.Fatal(err)
	}
	spin(t, th, ctx.deflt, 2)
	spin(t, th, other.deflt, 3)
	for _, c := range []struct {
		name string
		wait func() error
		want []string
	}{
		{"stream", func() error { return s.Synchronize(th, time.Second) }, []string{"stream(1, context 1, device 0)"}},
		{"stream at once", func() error { return s.Synchronize(th, 0) }, []string{"stream(1, context 1, device 0)"}},
		{"event", func() error { return e.Synchronize(th, time.Second) }, []string{"stream(1, context 1, device 0)"}},
		{"context", func() error { return ctx.Synchronize(th, time.Second) },
			[]string{"stream(default, context 1, device 0)", "stream(1, context 1, device 0)"}},
		{"device", func() error { return dev.Synchronize(th, time.Second) },
			[]string{"stream(default, context 1, device 0)", "stream(1, context 1, device 0)", "stream(default, context 2, device 0)"}},
	} {
		var e *Error
		err := c.wait()
		if !errors.As(err, &e) {
			t.Errorf("%s: %v, want an error of ours", c.name, err)
			continue
		}
		var got []string
		for _, line := range e.Report {
			name, _, _ := strings.Cut(line, ":")
			got = append(got, name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: report %q, want lines of %q", c.name, e.Report, c.want)
		}
		if strings.Contains(e.Error(), "\n") {
			t.Errorf("%s: %q is no single line", c.name, e.Error())
		}
	}
	if done, err := s.Query(th); done || err != nil {
		t.Errorf("Query = %v, %v", done, err)
	}
}

// An error lists so many streams, and how many there are besides.
func TestReportIsBounded(t *testing.T) {
	_, th := openReport(t)
	dev := checked[*Device](t)(th.Device(0))
	for range maxReport + 3 {
		spin(t, th, checked[*Stream](t)(dev.deflt.CreateStream(th, StreamOptions{})), 1)
	}
	var e *Error
	if err := dev.Synchronize(th, 0); !errors.As(err, &e) || len(e.Report) != maxReport+1 || e.Report[maxReport] != "and 3 more streams with work left" {
		t.Errorf("%v with report %q", err, e.Report)
	}
}

// A backend that does not tell says so, and its timeouts have no report.
func TestCommandsNotSupported(t *testing.T) {
	s := checked[*Session](t)(Open(context.Background(), Options{Backend: "null"}))
	defer s.Close(true)
	dev := checked[*Device](t)(s.Main().Device(0))
	if _, err := dev.deflt.deflt.Commands(s.Main()); !errors.Is(err, ErrNotSupported) {
		t.Errorf("Commands = %v, want 207000", err)
	}
}

// What holds the first command back is told in words.
func TestCommandsWaitFor(t *testing.T) {
	_, th := openReport(t)
	dev := checked[*Device](t)(th.Device(0))
	ctx := dev.deflt
	stream := func() *Stream { return checked[*Stream](t)(ctx.CreateStream(th, StreamOptions{})) }
	k := checked[*Kernel](t)(th.s.Kernel("spin"))
	x := checked[*Buffer](t)(ctx.Alloc(th, dtype.Float32, 1<<20, ""))
	y := checked[*Buffer](t)(ctx.Alloc(th, dtype.Float32, 1<<20, ""))
	th.Site = 7
	for _, c := range []struct {
		name  string
		queue func(a, b *Stream) error
		want  string
	}{
		{"cores", func(a, b *Stream) error {
			return errors.Join(a.Launch(th, k, MaxBlocks, []Arg{{Number: 1}}), b.Launch(th, k, MaxBlocks, []Arg{{Number: 1}}))
		}, "40 vector cores, of which 0 are free"},
		{"engine", func(a, b *Stream) error { return errors.Join(a.Fill(th, x, 1), b.Fill(th, y, 1)) },
			"the engine for copies inside the device, which is at the command at here:7 in stream(%d, context 0, device 0)"},
		{"callback", func(_, b *Stream) error { return b.Callback(th, func() error { return nil }) }, "its function to run"},
	} {
		a, b := stream(), stream()
		if err := c.queue(a, b); err != nil {
			t.Fatal(err)
		}
		list := checked[[]CommandInfo](t)(b.Commands(th))
		want := c.want
		if strings.Contains(want, "%d") {
			want = fmt.Sprintf(want, a.Number())
		}
		if len(list) != 1 || list[0].State != "queued" || list[0].WaitsFor != want {
			t.Errorf("%s: %+v, want it queued for %q", c.name, list, want)
		}
		if err := dev.Synchronize(th, -1); err != nil {
			t.Error(err)
		}
		if list := checked[[]CommandInfo](t)(b.Commands(th)); list[0].State != "done" || list[0].WaitsFor != "" {
			t.Errorf("%s: %+v, want it done", c.name, list)
		}
	}
}

// A replay of which commands were dropped, because another stream stopped the context, is skipped.
func TestReplayCutShort(t *testing.T) {
	_, th := openReport(t)
	ctx := checked[*Context](t)(checked[*Device](t)(th.Device(0)).CreateContext(th))
	s := checked[*Stream](t)(ctx.CreateStream(th, StreamOptions{Failure: "stop"}))
	bad := checked[*Stream](t)(ctx.CreateStream(th, StreamOptions{}))
	x := checked[*Buffer](t)(ctx.Alloc(th, dtype.Float32, 4, ""))
	g := checked[*Graph](t)(s.Capture(th, func() error {
		spin(t, th, s, 1)
		return s.Fill(th, x, 1)
	}))
	if err := g.Replay(th, s); err != nil {
		t.Fatal(err)
	}
	relu := checked[*Kernel](t)(th.s.Kernel("relu"))
	if err := bad.Launch(th, relu, 1, []Arg{{Buffer: x}, {Buffer: x}, {Number: 100}}); err != nil {
		t.Fatal(err)
	}
	if err := bad.Synchronize(th, -1); err == nil {
		t.Fatal("no fault")
	}
	_ = s.Synchronize(th, -1)
	if list := checked[[]CommandInfo](t)(s.Commands(th)); len(list) != 1 || list[0].Op != "replay" || list[0].State != "skipped" {
		t.Errorf("%+v, want a skipped replay", list)
	}
}
