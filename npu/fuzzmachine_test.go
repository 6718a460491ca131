package npu_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"npulua/npu"
)

// machine runs a program of bytes: one byte an operation, then its operands, which pick handles by
// number, closed ones included. It notes every result and the time after it.
type machine struct {
	t    *testing.T
	code []byte
	s    *npu.Session
	th   *npu.Thread

	devs    []*npu.Device
	ctxs    []*npu.Context
	streams []*npu.Stream
	events  []*npu.Event
	bufs    []*npu.Buffer
	kernels []*npu.Kernel

	depth int // of scopes
	trace bytes.Buffer
}

// maxHandles bounds each kind, maxTouched the bytes of a buffer that is read or written.
const (
	maxHandles = 12
	maxTouched = 1 << 20
)

func (m *machine) next() int {
	if len(m.code) == 0 {
		return 0
	}
	b := m.code[0]
	m.code = m.code[1:]
	return int(b)
}

// pick takes one of list; false where it is empty.
func pick[T any](m *machine, list []T) (T, bool) {
	var none T
	n := m.next()
	if len(list) == 0 {
		return none, false
	}
	return list[n%len(list)], true
}

func add[T any](list *[]T, v T, err error) error {
	if err == nil {
		if len(*list) == maxHandles {
			*list = slices.Delete(*list, 0, 1)
		}
		*list = append(*list, v)
	}
	return err
}

// some is one of the values that operand lists name.
func some[T any](m *machine, list ...T) T { return list[m.next()%len(list)] }

// note checks an error and writes it down.
func (m *machine) note(op string, err error) {
	now, e := m.th.Now()
	if e != nil {
		if !m.th.Inside() {
			m.t.Errorf("Now: %v", e)
		}
		now = -1
	}
	fmt.Fprintf(&m.trace, "%v %s: %v\n", now, op, err)
	m.named(op, err)
}

// named checks that err is made of *npu.Error with codes that have names.
func (m *machine) named(op string, err error) {
	if err == nil {
		return
	}
	if e, ok := err.(*npu.Error); ok {
		if e.Code.Name() == "" || e.Error() == "" {
			m.t.Errorf("%s: %#v has no name", op, e)
		}
		return
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range j.Unwrap() {
			m.named(op, e)
		}
		return
	}
	m.t.Errorf("%s: %T is no *npu.Error: %v", op, err, err)
}

func small(bufs ...*npu.Buffer) bool {
	for _, b := range bufs {
		if b.Bytes() > maxTouched {
			return false
		}
	}
	return true
}

func (m *machine) timeout() time.Duration {
	return some(m, -1, 0, time.Nanosecond, 10*time.Microsecond, time.Millisecond, time.Hour, 1<<63-1)
}

func (m *machine) count() int64 {
	return some(m, int64(16), 1, 7, 1000, 1<<16, 0, -1, 1<<31, 1<<32+3, 1<<60, -1<<63)
}

func (m *machine) number() float64 {
	zero := 0.0
	return some(m, 1, 0, -1, 0.5, 255, 16, 1e300, 1/zero, zero/zero)
}

var fuzzTypes = []string{"float32", "int8", "float16", "uint64", "float32"}

// step runs one operation; false ends the program.
func (m *machine) step() bool {
	if len(m.code) == 0 {
		return false
	}
	switch op := m.next(); op % 34 {
	case 0, 1:
		dev, err := m.th.Device(some(m, 0, 1, 0, 1, 2, -1, 1<<30))
		if err == nil && !slices.Contains(m.devs, dev) {
			_ = add(&m.devs, dev, nil)
			_ = add(&m.ctxs, dev.DefaultContext(), nil)
			_ = add(&m.streams, dev.DefaultContext().DefaultStream(), nil)
		}
		m.note("device", err)
	case 2:
		if dev, ok := pick(m, m.devs); ok {
			c, err := dev.CreateContext(m.th)
			if err = add(&m.ctxs, c, err); err == nil {
				_ = add(&m.streams, c.DefaultStream(), nil)
			}
			m.note("context", err)
		}
	case 3, 4:
		if c, ok := pick(m, m.ctxs); ok {
			s, err := c.CreateStream(m.th, npu.StreamOptions{Priority: some(m, 0, 3, 7, 8, -1), Failure: some(m, "", "continue", "", "stop", "x")})
			m.note("stream", add(&m.streams, s, err))
		}
	case 5:
		if c, ok := pick(m, m.ctxs); ok {
			e, err := c.CreateEvent(m.th, some(m, true, false))
			m.note("event", add(&m.events, e, err))
		}
	case 6, 7:
		if c, ok := pick(m, m.ctxs); ok {
			typ, _ := npu.ParseDType(some(m, fuzzTypes...))
			b, err := c.Alloc(m.th, typ, m.count(), some(m, "", "huge_only", "normal_only", "x"))
			m.note("alloc", add(&m.bufs, b, err))
		}
	case 8, 9:
		typ, _ := npu.ParseDType(some(m, fuzzTypes...))
		n := m.count()
		if n > 1<<30 && n < 1<<50 {
			n = 3 // what the system gives differs
		}
		b, err := m.th.Host(typ, n, some(m, true, true, false))
		m.note("host", add(&m.bufs, b, err))
	case 10:
		if b, ok := pick(m, m.bufs); ok {
			s, err := b.Slice(some(m, int64(0), 1, 8, -1, 1<<31, 1<<62), some(m, int64(1), 8, 0, -5, 1<<32, 1<<62))
			m.note("slice", add(&m.bufs, s, err))
		}
	case 11, 12, 13:
		s, ok1 := pick(m, m.streams)
		dst, ok2 := pick(m, m.bufs)
		src, ok3 := pick(m, m.bufs)
		if ok1 && ok2 && ok3 && small(dst, src) {
			m.note("copy", s.Copy(m.th, dst, src))
		}
	case 14:
		dst, ok1 := pick(m, m.bufs)
		src, ok2 := pick(m, m.bufs)
		if ok1 && ok2 && small(dst, src) {
			m.note("blocking copy", npu.Copy(m.th, dst, src))
		}
	case 15:
		s, ok1 := pick(m, m.streams)
		b, ok2 := pick(m, m.bufs)
		if ok1 && ok2 && small(b) {
			m.note("fill", s.Fill(m.th, b, m.number()))
		}
	case 16, 17, 18:
		m.launch()
	case 19:
		s, ok1 := pick(m, m.streams)
		e, ok2 := pick(m, m.events)
		if ok1 && ok2 {
			m.note("record", s.Record(m.th, e))
		}
	case 20:
		s, ok1 := pick(m, m.streams)
		e, ok2 := pick(m, m.events)
		if ok1 && ok2 {
			m.note("wait", s.Wait(m.th, e))
		}
	case 21:
		if s, ok := pick(m, m.streams); ok {
			m.note("synchronize", s.Synchronize(m.th, m.timeout()))
		}
	case 22:
		if e, ok := pick(m, m.events); ok {
			m.note("event synchronize", e.Synchronize(m.th, m.timeout()))
		}
	case 23:
		if c, ok := pick(m, m.ctxs); ok {
			m.note("context synchronize", c.Synchronize(m.th, m.timeout()))
		}
	case 24:
		if d, ok := pick(m, m.devs); ok {
			m.note("device synchronize", d.Synchronize(m.th, m.timeout()))
		}
	case 25:
		if s, ok := pick(m, m.streams); ok {
			done, err := s.Query(m.th)
			m.note(fmt.Sprint("query ", done), err)
		}
		if e, ok := pick(m, m.events); ok {
			done, err := e.Query(m.th)
			m.note(fmt.Sprint("event query ", done), err)
		}
	case 26:
		a, ok1 := pick(m, m.events)
		b, ok2 := pick(m, m.events)
		if ok1 && ok2 {
			d, err := npu.Elapsed(m.th, a, b)
			m.note(fmt.Sprint("elapsed ", d), err)
		}
	case 27:
		m.callback()
	case 28:
		if m.depth < 4 {
			m.depth++
			steps := m.next() % 16
			m.note("scope", m.th.Scope(func() error {
				for range steps {
					if !m.step() {
						break
					}
				}
				if b, ok := pick(m, m.bufs); ok {
					m.th.Keep(b)
				}
				return nil
			}))
			m.depth--
		}
	case 29:
		m.close()
	case 30:
		if d, ok := pick(m, m.devs); ok {
			if some(m, true, false) {
				m.note("device close", d.Close(m.th))
			} else {
				m.note("reset", d.Reset(m.th))
			}
		}
	case 31:
		if b, ok := pick(m, m.bufs); ok && small(b) {
			v, err := b.Element(some(m, int64(0), 1, 1<<40, -1))
			m.note(fmt.Sprint("element ", v), err)
			m.note("set element", b.SetElement(0, m.number()))
		}
	case 32:
		a, ok1 := pick(m, m.devs)
		b, ok2 := pick(m, m.devs)
		if ok1 && ok2 {
			m.note("peers", a.EnablePeerAccess(m.th, b))
		}
	case 33:
		if c, ok := pick(m, m.ctxs); ok {
			m.note("set current", c.SetCurrent(m.th))
		}
		m.note("busy", m.th.Busy(some(m, time.Duration(0), time.Microsecond, time.Second)))
	}
	return true
}

func (m *machine) launch() {
	s, ok1 := pick(m, m.streams)
	k, ok2 := pick(m, m.kernels)
	if !ok1 || !ok2 {
		return
	}
	var args []npu.Arg
	n := len(k.Signature().Params) + some(m, 0, 0, 0, 0, 1, -1)
	for i := range n {
		if i < len(k.Signature().Params) && k.Signature().Params[i].Pointer && m.next()%16 != 15 {
			if b, ok := pick(m, m.bufs); ok {
				if !small(b) {
					return
				}
				args = append(args, npu.Arg{Buffer: b})
				continue
			}
		}
		v := m.number()
		if k.Name() == "spin" {
			v = some(m, 1e-6, 1e-3, 1, -1, 1e9, 1e300)
		}
		args = append(args, npu.Arg{Number: v})
	}
	m.note("launch "+k.Name(), s.Launch(m.th, k, some(m, int64(1), 2, 65535, 0, -1, 123408), args))
}

func (m *machine) callback() {
	s, ok := pick(m, m.streams)
	if !ok {
		return
	}
	kind, b := m.next()%5, m.next()
	m.note("callback", s.Callback(m.th, func() error {
		fmt.Fprintln(&m.trace, "called", kind)
		switch kind {
		case 1:
			return errors.New("callback")
		case 2:
			return s.Synchronize(m.th, -1)
		case 3:
			if len(m.bufs) > 0 {
				return m.bufs[b%len(m.bufs)].Close(m.th)
			}
		case 4:
			if len(m.bufs) > 0 && small(m.bufs[b%len(m.bufs)]) {
				return m.bufs[b%len(m.bufs)].SetElement(0, 1)
			}
		}
		return nil
	}))
}

func (m *machine) close() {
	var err error
	kind := m.next() % 5
	switch kind {
	case 0, 1:
		if x, ok := pick(m, m.bufs); ok {
			err = x.Close(m.th)
		}
	case 2:
		if x, ok := pick(m, m.streams); ok {
			err = x.Close(m.th)
		}
	case 3:
		if x, ok := pick(m, m.events); ok {
			err = x.Close(m.th)
		}
	case 4:
		if x, ok := pick(m, m.ctxs); ok {
			err = x.Close(m.th)
		}
	}
	m.note(fmt.Sprint("close ", kind), err)
}
