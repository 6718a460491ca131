package doctor

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"npulua/npu"
)

// tester tests one device.
type tester struct {
	s        *npu.Session
	t        *npu.Thread
	id       int
	deadline time.Duration // of the backend's clock

	ctx          *npu.Context
	stream       *npu.Stream
	sent, got    *npu.Buffer // pinned
	first, other *npu.Buffer // on the device
}

// elements of a buffer: 1 MiB of float32.
const elements = 1 << 18

// steps of the self-test, in order. The first one opens the device; the others together have a limit.
var steps = []struct {
	name string
	run  func(*tester) (detail string, err error)
}{
	{"set device", (*tester).open},
	{"allocate", (*tester).allocate},
	{"copy", (*tester).copy},
	{"fill", (*tester).fill},
	{"event", (*tester).event},
	{"kernel", (*tester).kernel},
}

// now is the time of the backend's clock.
func (t *tester) now() time.Duration {
	stats, err := t.s.Stats(t.t)
	if err != nil {
		return t.deadline
	}
	return stats.Time
}

// wait waits for what was queued until the deadline.
func (t *tester) wait() error {
	return t.stream.Synchronize(t.t, max(t.deadline-t.now(), time.Millisecond))
}

func (t *tester) open() (string, error) {
	dev, err := t.t.Device(t.id)
	if err != nil {
		return "", err
	}
	t.ctx = dev.DefaultContext()
	free, total, err := dev.Memory(t.t)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d of %d MiB free", free>>20, total>>20), nil
}

func (t *tester) allocate() (_ string, err error) {
	if t.stream, err = t.ctx.CreateStream(t.t, npu.StreamOptions{}); err != nil {
		return "", err
	}
	typ, _ := npu.ParseDType("float32")
	for _, b := range []**npu.Buffer{&t.sent, &t.got} {
		if *b, err = t.t.Host(typ, elements, true); err != nil {
			return "", err
		}
	}
	for _, b := range []**npu.Buffer{&t.first, &t.other} {
		if *b, err = t.ctx.Alloc(t.t, typ, elements, ""); err != nil {
			return "", err
		}
	}
	return "", t.sent.Write(func(data []byte) error {
		for i := range elements {
			binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(i%65536)))
		}
		return nil
	})
}

// copy sends a pattern there and gets it back.
func (t *tester) copy() (string, error) {
	for _, pair := range [][2]*npu.Buffer{{t.first, t.sent}, {t.other, t.first}, {t.got, t.other}} {
		if err := t.stream.Copy(t.t, pair[0], pair[1]); err != nil {
			return "", err
		}
	}
	return "", t.compare(func(i int) float32 { return float32(i % 65536) })
}

func (t *tester) fill() (string, error) {
	if err := t.stream.Fill(t.t, t.other, 0); err != nil {
		return "", err
	}
	if err := t.stream.Copy(t.t, t.got, t.other); err != nil {
		return "", err
	}
	return "", t.compare(func(int) float32 { return 0 })
}

// event measures a copy on the device's clock.
func (t *tester) event() (string, error) {
	var events [2]*npu.Event
	for i := range events {
		var err error
		if events[i], err = t.ctx.CreateEvent(t.t, true); err != nil {
			return "", err
		}
		if i == 1 {
			if err := t.stream.Copy(t.t, t.first, t.sent); err != nil {
				return "", err
			}
		}
		if err := t.stream.Record(t.t, events[i]); err != nil {
			return "", err
		}
	}
	if err := t.wait(); err != nil {
		return "", err
	}
	took, err := npu.Elapsed(t.t, events[0], events[1])
	if err != nil {
		return "", err
	}
	if took < 0 {
		return "", fmt.Errorf("the time between two events is %v", took)
	}
	return fmt.Sprintf("1 MiB to the device in %.1f us", took.Seconds()*1e6), nil
}

// kernel computes on the device.
func (t *tester) kernel() (string, error) {
	const name = "vector_add"
	add, err := t.s.Kernel(name)
	if err != nil {
		return "", err
	}
	args := []npu.Arg{{Buffer: t.other}, {Buffer: t.first}, {Buffer: t.first}, {Number: elements}}
	if err := t.stream.Launch(t.t, add, 8, args); err != nil {
		return "", err
	}
	if err := t.stream.Copy(t.t, t.got, t.other); err != nil {
		return "", err
	}
	return name, t.compare(func(i int) float32 { return 2 * float32(i%65536) })
}

// compare waits, and compares what came back.
func (t *tester) compare(want func(i int) float32) error {
	if err := t.wait(); err != nil {
		return err
	}
	return t.got.Read(func(data []byte) error {
		for i := range elements {
			if got := math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])); got != want(i) {
				return fmt.Errorf("element %d of what came back is %v, not %v", i, got, want(i))
			}
		}
		return nil
	})
}
