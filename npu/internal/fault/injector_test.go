package fault_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/fault"
)

// program issues copies, fills and allocations on two devices, and tells what became of each, with the time.
func program(t *testing.T, rules ...string) (log []string, in *fault.Injector, faults []*fault.Fault) {
	t.Helper()
	in = open(t, 2)
	t.Cleanup(func() { _ = in.Close() })
	for _, spec := range rules {
		faults = append(faults, in.Add(parse(t, spec)))
	}
	note := func(what string, err error) {
		code := driver.OK
		if err != nil && !errors.As(err, &code) {
			t.Fatalf("%s: %v has no code", what, err)
		}
		log = append(log, fmt.Sprintf("%s %d", what, code))
	}
	for device := range 2 {
		note("set", in.SetDevice(device))
		s, err := in.CreateStream(driver.StreamConfig{})
		note("stream", err)
		x, err := in.Malloc(1024, driver.MemHugeFirst)
		note("alloc", err)
		h, err := in.MallocHost(1024)
		note("host", err)
		for range 3 {
			note("fill", in.Enqueue(&driver.Command{Op: driver.OpFill, Stream: s, Dst: x, Size: 1024, Value: 1, Width: 1}))
			note("copy", in.Enqueue(&driver.Command{Op: driver.OpCopy, Stream: s, Dst: h, Src: x, Size: 1024}))
			note("sync", in.SynchronizeStream(s, time.Second))
		}
		note("memcpy", in.Memcpy(x, 1024, h, 1024, driver.HostToDevice))
		if h != 0 {
			log = append(log, fmt.Sprint(bytesAt(h, 1024)[510:514], in.Now()))
		}
	}
	return log, in, faults
}

// bytesAt is pinned host memory of a driver.
func bytesAt(p driver.Ptr, n int) []byte {
	addr := uintptr(p)
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), n)
}

func TestRules(t *testing.T) {
	for _, tt := range []struct {
		name  string
		rule  string
		fails []string // the lines of program that are not as without rules, by device, without those of bytes and time
		hits  int64
	}{
		{"the device finds it: at the wait", "op=copy,code=507054", []string{"0 sync 507054"}, 1},
		{"the call returns it: nothing is queued", "op=copy,code=207000", []string{"0 copy 207000"}, 1},
		{"by its number", "op=fill,nth=4,code=507054", []string{"1 sync 507054"}, 1},
		{"several in a row", "op=fill,nth=2,count=2,code=507054", []string{"0 sync 507054", "0 sync 507054"}, 2},
		{"on one device", "op=fill,device=1,code=507054", []string{"1 sync 507054"}, 1},
		{"a blocking copy fails at once", "op=copy,device=0,nth=4,code=507054", []string{"0 memcpy 507054"}, 1},
		{"an allocation", "op=alloc,device=1,nth=2,code=207001", nil, 0},
		{"out of memory, not that much", "size=1025", nil, 0},
		{"any means queued ones of a hang", "hang,device=0,nth=6", []string{"0 sync 507046"}, 1},
		{"delays are no failures", "seconds=0.001,op=copy", nil, 8},
		{"slow", "factor=0.5", nil, 8},
		{"slow, one way", "factor=0.5,direction=h2d", nil, 2},
		{"slow, between devices", "factor=0.5,direction=p2p", nil, 0},
		{"wrong bytes tell nothing", "bytes=1,op=copy,nth=3", nil, 1},
		{"corrected memory errors", "errors=single,count=always", nil, 14},
		{"a memory error", "ecc,device=1,op=fill", []string{"1 sync 507054"}, 1},
		{"lost", "lost,device=1,op=copy,nth=3", []string{"1 copy 507010", "1 sync 507010", "1 memcpy 507010"}, 2},
		{"lost, in a blocking copy", "lost,device=0,op=copy,nth=4", []string{"0 memcpy 507010"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			healthy, _, _ := program(t)
			log, _, faults := program(t, tt.rule)
			var got []string
			for i, line := range log {
				if want := healthy[i]; line != want && !strings.HasPrefix(want, "[") {
					got = append(got, fmt.Sprintf("%d %s", i/(len(log)/2), line))
				}
			}
			if !slices.Equal(got, tt.fails) {
				t.Errorf("%s: not as usual are %q, want %q", tt.rule, got, tt.fails)
			}
			if f := faults[0]; f.Hits != tt.hits {
				t.Errorf("%s: %d hits, want %d", tt.rule, f.Hits, tt.hits)
			}
			again, _, _ := program(t, tt.rule)
			if !slices.Equal(log, again) {
				t.Errorf("%s: two runs differ:\n%q\n%q", tt.rule, log, again)
			}
		})
	}
}

func TestECC(t *testing.T) {
	_, in, _ := program(t, "ecc,device=0,nth=2,count=2", "errors=single,device=1,op=fill,count=always")
	if got, want := in.ECC(0), (fault.ECCErrors{Multi: 2}); got != want {
		t.Errorf("ECC(0) = %+v, want %+v", got, want)
	}
	if got, want := in.ECC(1), (fault.ECCErrors{Single: 3}); got != want {
		t.Errorf("ECC(1) = %+v, want %+v", got, want)
	}
}

// A command that found the queue full comes again, and counts once.
func TestQueueFull(t *testing.T) {
	in := open(t, 1)
	defer in.Close()
	if err := in.SetDevice(0); err != nil {
		t.Fatal(err)
	}
	info, err := in.DeviceInfo(0)
	if err != nil {
		t.Fatal(err)
	}
	x, err := in.Malloc(8, driver.MemHugeFirst)
	if err != nil {
		t.Fatal(err)
	}
	f := in.Add(parse(t, "hang,op=fill"))
	for i := range info.QueueDepth + 3 {
		err := in.Enqueue(&driver.Command{Op: driver.OpFill, Dst: x, Size: 8, Width: 1})
		if full := i >= info.QueueDepth; full != (err == driver.CodeQueueFull) {
			t.Fatalf("command %d: %v", i, err)
		}
	}
	in.Remove(f)
	g := in.Add(parse(t, "op=fill,code=507054"))
	if err := in.Enqueue(&driver.Command{Op: driver.OpFill, Dst: x, Size: 8, Width: 1}); err != driver.CodeQueueFull || g.Hits != 0 {
		t.Errorf("Enqueue on a full queue = %v, %d hits, want none", err, g.Hits)
	}
	if _, more := in.Next(); more || !in.Hangs() {
		t.Errorf("Next() = %v, Hangs() = %v, want nothing to happen, and work that hangs", more, in.Hangs())
	}
	if err := in.ResetDevice(0, true); err != nil || in.Hangs() {
		t.Errorf("ResetDevice = %v, Hangs() = %v: it drops what hangs", err, in.Hangs())
	}
}

// A lost device comes back with the end of its rule, and what it was at is over.
func TestLostAndFound(t *testing.T) {
	in := open(t, 2)
	defer in.Close()
	for device := range 2 {
		if err := in.SetDevice(device); err != nil {
			t.Fatal(err)
		}
	}
	f := in.Add(parse(t, "lost,op=create_event"))
	if _, err := in.CreateEvent(driver.EventSync); !errors.Is(err, driver.CodeLostHeartbeat) {
		t.Fatalf("CreateEvent = %v, want that device 1 is lost", err)
	}
	if err := in.SetDevice(1); !errors.Is(err, driver.CodeLostHeartbeat) {
		t.Errorf("SetDevice(1) = %v, want that it is lost", err)
	}
	if err := in.SetDevice(0); err != nil {
		t.Errorf("SetDevice(0) = %v: only device 1 is lost", err)
	}
	if err := in.ResetDevice(1, false); err != nil {
		t.Errorf("ResetDevice(1) = %v: giving back works", err)
	}
	in.Remove(f)
	if err := in.SetDevice(1); err != nil {
		t.Errorf("SetDevice(1) = %v after the fault was removed", err)
	}
}

// Without rules the way through an Injector allocates nothing.
func TestQuietAllocates(t *testing.T) {
	in := open(t, 1)
	defer in.Close()
	if err := in.SetDevice(0); err != nil {
		t.Fatal(err)
	}
	x, err := in.Malloc(8, driver.MemHugeFirst)
	if err != nil {
		t.Fatal(err)
	}
	c := driver.Command{Op: driver.OpFill, Dst: x, Size: 8, Width: 1}
	enqueue := func() {
		if err := in.Enqueue(&c); err != nil {
			t.Fatal(err)
		}
		in.Advance(-1)
	}
	enqueue()
	if n := testing.AllocsPerRun(100, enqueue); n > 0 {
		t.Errorf("a command allocates %v times", n)
	}
}

// What hangs by a rule is broken off with its stream, also in a replay and in work of other streams that waits for it.
func TestAbortHungStream(t *testing.T) {
	for _, tt := range []struct {
		name, rule string
		queue      func(in *fault.Injector, s, other driver.Stream, x driver.Ptr) error
	}{
		{"a command", "hang,op=fill", func(in *fault.Injector, s, _ driver.Stream, x driver.Ptr) error {
			return in.Enqueue(fillOf(s, x))
		}},
		{"one between others", "hang,op=fill,nth=2", func(in *fault.Injector, s, _ driver.Stream, x driver.Ptr) error {
			return errors.Join(in.Enqueue(fillOf(s, x)), in.Enqueue(fillOf(s, x)), in.Enqueue(fillOf(s, x)))
		}},
		{"a replay", "hang,op=fill,nth=2", func(in *fault.Injector, s, _ driver.Stream, x driver.Ptr) error {
			err := in.BeginCapture(s)
			err = errors.Join(err, in.Enqueue(fillOf(s, x)), in.Enqueue(fillOf(s, x)))
			g, end := in.EndCapture(s)
			replay := driver.Command{Op: driver.OpReplay, Stream: s, Graph: g}
			return errors.Join(err, end, in.Enqueue(&replay), in.Enqueue(&replay))
		}},
		{"what another stream waits for", "hang,op=fill", func(in *fault.Injector, s, other driver.Stream, x driver.Ptr) error {
			e, err := in.CreateEvent(driver.EventSync)
			return errors.Join(err, in.Enqueue(fillOf(s, x)), in.Enqueue(&driver.Command{Op: driver.OpRecord, Stream: s, Event: e}),
				in.Enqueue(&driver.Command{Op: driver.OpWait, Stream: other, Event: e}), in.Enqueue(&driver.Command{Op: driver.OpRecord, Stream: other, Event: e}))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := open(t, 1)
			defer in.Close()
			err := in.SetDevice(0)
			s, e1 := in.CreateStream(driver.StreamConfig{})
			other, e2 := in.CreateStream(driver.StreamConfig{})
			x, e3 := in.Malloc(8, driver.MemHugeFirst)
			h, e4 := in.MallocHost(8)
			if err := errors.Join(err, e1, e2, e3, e4); err != nil {
				t.Fatal(err)
			}
			f := in.Add(parse(t, tt.rule))
			if err := tt.queue(in, s, other, x); err != nil {
				t.Fatal(err)
			}
			for in.Advance(-1) {
			}
			if f.Hits != 1 || !in.Hangs() {
				t.Fatalf("%d commands were made to hang, Hangs() = %v", f.Hits, in.Hangs())
			}
			if err := in.AbortStream(s); err != nil || in.Hangs() {
				t.Errorf("AbortStream = %v, Hangs() = %v, want nothing that hangs", err, in.Hangs())
			}
			in.Remove(f)
			if err := errors.Join(in.Memset(x, 8, 3, 8), in.Enqueue(&driver.Command{Op: driver.OpCopy, Stream: s, Dst: h, Src: x, Size: 8})); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(in.SynchronizeStream(s, time.Second), in.SynchronizeStream(other, time.Second)); err != nil {
				t.Errorf("SynchronizeStream after AbortStream: %v", err)
			}
			if got := bytesAt(h, 8); got[0] != 3 || got[7] != 3 {
				t.Errorf("what was queued after AbortStream brought %v", got)
			}
		})
	}
}

func fillOf(s driver.Stream, x driver.Ptr) *driver.Command {
	return &driver.Command{Op: driver.OpFill, Stream: s, Dst: x, Size: 8, Width: 1}
}

// A leak leaves memory in use, of the devices that the rule is for, until they are reset.
func TestLeak(t *testing.T) {
	const size = 1 << 20
	for _, tt := range []struct {
		rule string
		lost [2]int64 // allocations of each device that are still in use after three of each were given back
		hits int64
	}{
		{"leak,device=1", [2]int64{0, 3}, 3},
		{"leak,nth=2,count=1", [2]int64{1, 0}, 1},
		{"leak", [2]int64{3, 3}, 6},
		{"op=free,code=507899,device=0,count=always", [2]int64{3, 0}, 3},
	} {
		in := open(t, 2)
		f := in.Add(parse(t, tt.rule))
		used := func() int64 {
			free, total, err := in.MemInfo()
			if err != nil {
				t.Fatal(err)
			}
			return total - free
		}
		for device, want := range tt.lost {
			if err := in.SetDevice(device); err != nil {
				t.Fatal(err)
			}
			before := used()
			for range 3 {
				p, err := in.Malloc(size, driver.MemHugeFirst)
				if err != nil {
					t.Fatal(err)
				}
				if err := in.Free(p); err != nil && !strings.HasPrefix(tt.rule, "op=free") {
					t.Errorf("%s: Free = %v, want no error", tt.rule, err)
				}
			}
			if got := used() - before; got < want*size || got >= (want+1)*size {
				t.Errorf("%s: %d B of device %d are in use afterwards, want %d of %d B", tt.rule, got, device, want, size)
			}
		}
		if f.Hits != tt.hits {
			t.Errorf("%s: %d hits, want %d", tt.rule, f.Hits, tt.hits)
		}
		if err := in.Close(); err != nil {
			t.Errorf("%s: Close = %v", tt.rule, err)
		}
	}
}
