package drivertest

import (
	"fmt"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
)

// objects are operands for calls, made while a context was current.
type objects struct {
	stream driver.Stream
	event  driver.Event // legacy, recorded and complete
	kernel driver.Kernel
	dst    driver.Ptr // device memory, or plain host memory where there is no context
	src    driver.Ptr // pinned host memory, or plain
}

// objectSize is the size of dst and src in bytes.
const objectSize = 64

// objects makes operands in the current context. stream is zero, its default stream.
func (t *tester) objects() *objects {
	t.Helper()
	o := &objects{event: t.event(driver.EventLegacy), dst: t.filled(objectSize, 0)}
	o.src, _ = t.host(objectSize)
	t.record(0, o.event)
	t.sync(0)
	if t.loader != nil {
		o.kernel = t.kernel("spin")
	}
	return o
}

// plainObjects are what calls can have without any context.
func (t *tester) plainObjects() *objects {
	o := &objects{}
	o.dst, _ = t.plain(objectSize)
	o.src, _ = t.plain(objectSize)
	return o
}

// call is one driver call, for cases that make every call in one situation.
type call struct {
	name  string
	needs need
	// handles says that it needs an event or kernel.
	handles bool
	do      func(t *tester, o *objects) error
}

// syncCalls accept a stream of any context.
var syncCalls = []call{
	{"SynchronizeStream", 0, false, func(t *tester, o *objects) error {
		return t.SynchronizeStream(o.stream, forever)
	}},
	{"SynchronizeStreamWithTimeout", 0, false, func(t *tester, o *objects) error {
		return t.SynchronizeStream(o.stream, time.Second)
	}},
	{"StreamQuery", 0, false, func(t *tester, o *objects) error {
		_, err := t.QueryStream(o.stream)
		return err
	}},
}

// queueCalls want a stream of the current context, the default stream among them.
var queueCalls = []call{
	{"MemcpyAsync", 0, false, func(t *tester, o *objects) error {
		return t.issue(driver.Command{Op: driver.OpCopy, Stream: o.stream, Dst: o.dst, Src: o.src,
			Size: objectSize, Kind: driver.CopyDefault})
	}},
	{"MemsetAsync", 0, false, func(t *tester, o *objects) error {
		return t.issue(fillCommand(o.stream, o.dst, objectSize, 1))
	}},
	{"RecordEvent", 0, true, func(t *tester, o *objects) error {
		return t.issue(driver.Command{Op: driver.OpRecord, Stream: o.stream, Event: o.event})
	}},
	{"StreamWaitEvent", 0, true, func(t *tester, o *objects) error {
		return t.issue(driver.Command{Op: driver.OpWait, Stream: o.stream, Event: o.event})
	}},
	{"ResetEvent", 0, true, func(t *tester, o *objects) error {
		return t.issue(driver.Command{Op: driver.OpResetEvent, Stream: o.stream, Event: o.event})
	}},
	{"LaunchKernel", loader, true, func(t *tester, o *objects) error {
		return t.issue(driver.Command{Op: driver.OpLaunch, Stream: o.stream, Kernel: o.kernel, Blocks: 1,
			Args: []uint64{dtype.Float64.Bits(0)}})
	}},
	{"LaunchHostFunc", 0, false, func(t *tester, o *objects) error {
		return t.issue(driver.Command{Op: driver.OpHostFunc, Stream: o.stream, Func: func() error { return nil }})
	}},
}

// ownerCalls want a stream that somebody created, in the current context.
var ownerCalls = []call{
	{"SetStreamFailureMode", 0, false, func(t *tester, o *objects) error {
		return t.SetStreamFailureMode(o.stream, driver.ContinueOnFailure)
	}},
	{"DestroyStream", 0, false, func(t *tester, o *objects) error { return t.DestroyStream(o.stream, false) }},
	{"DestroyStreamForce", 0, false, func(t *tester, o *objects) error { return t.DestroyStream(o.stream, true) }},
}

var streamIDCall = call{"StreamGetId", prober, false, func(t *tester, o *objects) error {
	_, err := t.prober.StreamID(o.stream)
	return err
}}

// contextCalls need a context and no stream.
var contextCalls = []call{
	{"GetCurrentContext", 0, false, func(t *tester, o *objects) error {
		_, err := t.CurrentContext()
		return err
	}},
	{"GetDevice", 0, false, func(t *tester, o *objects) error {
		_, err := t.Device()
		return err
	}},
	{"CreateStream", 0, false, func(t *tester, o *objects) error {
		_, err := t.CreateStream(driver.StreamConfig{})
		return err
	}},
	{"CreateEvent", 0, false, func(t *tester, o *objects) error {
		_, err := t.CreateEvent(driver.EventLegacy)
		return err
	}},
	{"CreateEventEx", 0, false, func(t *tester, o *objects) error {
		_, err := t.CreateEvent(driver.EventSync)
		return err
	}},
	{"Malloc", 0, false, func(t *tester, o *objects) error {
		_, err := t.Malloc(objectSize, driver.MemHugeFirst)
		return err
	}},
	{"MallocHost", 0, false, func(t *tester, o *objects) error {
		_, err := t.MallocHost(objectSize)
		return err
	}},
	{"Memcpy", 0, false, func(t *tester, o *objects) error {
		return t.Memcpy(o.dst, objectSize, o.src, objectSize, driver.CopyDefault)
	}},
	{"Memset", 0, false, func(t *tester, o *objects) error {
		return t.Memset(o.dst, objectSize, 1, objectSize)
	}},
	{"SynchronizeDevice", 0, false, func(t *tester, o *objects) error {
		return t.SynchronizeDevice(forever)
	}},
	{"CtxSetSysParamOpt", 0, false, func(t *tester, o *objects) error {
		return t.SetContextOption(driver.OptionDeterministic, 1)
	}},
	{"CtxGetSysParamOpt", 0, false, func(t *tester, o *objects) error {
		_, err := t.ContextOption(driver.OptionDeterministic)
		return err
	}},
	{"GetMemInfo", prober, false, func(t *tester, o *objects) error {
		_, _, err := t.prober.MemInfo()
		return err
	}},
	{"GetStreamAvailableNum", prober, false, func(t *tester, o *objects) error {
		_, err := t.prober.StreamsFree()
		return err
	}},
	{"LoadKernel", loader, false, func(t *tester, o *objects) error {
		_, err := t.loader.LoadKernel(t.source("spin"))
		return err
	}},
	{"EnablePeerAccess", peers | twoDevices, false, func(t *tester, o *objects) error {
		return t.peers.EnablePeerAccess(1, 0)
	}},
}

// inSituation makes one case of each call: enter creates the situation and its operands, and the
// call gives want. Where bare is set, enter has no context to make handles in.
func inSituation(situation string, needs need, want driver.Code, calls []call, bare bool, enter func(t *tester) *objects) []testCase {
	var out []testCase
	for _, c := range calls {
		if bare && c.handles {
			continue
		}
		out = append(out, testCase{situationName(situation, c.name, want), needs | c.needs, func(t *tester) {
			o := enter(t)
			t.want(want, c.do(t, o), c.name)
		}})
	}
	return out
}

func situationName(situation, call string, want driver.Code) string {
	return fmt.Sprintf("%s: %s: %d", situation, call, want)
}
