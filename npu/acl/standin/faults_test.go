package standin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ebitengine/purego"
)

// message takes the text of the last error of the thread.
func (l *library) message() string {
	var f func() string
	purego.RegisterFunc(&f, l.symbol("aclGetRecentErrMsg"))
	return f()
}

// A kernel fails on a stream, with work and a record behind it: what each call answers then, in both failure modes.
func TestFailureModes(t *testing.T) {
	const fault = 507035
	for mode, after := range []int{0, fault} { // after: what calls of the context answer once a wait has told
		t.Run([]string{"continue", "stop"}[mode], func(t *testing.T) {
			l := device(t)
			main := l.make("aclrtGetCurrentContext")
			ctx := l.make("aclrtCreateContext", 0)
			s, other := l.make("aclrtCreateStream"), l.make("aclrtCreateStream")
			e, p := l.make("aclrtCreateEventExWithFlag", 1), l.floats(0, 0)
			h, _ := l.host(8)
			l.ok("aclrtSetStreamFailureMode", s, uintptr(mode))
			_, f := l.binary("fault")
			l.launch(f[0], s, fault)
			l.ok("aclrtMemsetAsync", p, 8, 1, 8, s)
			l.ok("aclrtRecordEvent", e, s)
			status := make([]int32, 1)
			for range 20 {
				time.Sleep(time.Millisecond)
				l.ok("aclrtStreamQuery", s, address(status))
				if status[0] != 1 {
					t.Fatal("the stream is ready before anybody waited for it")
				}
				l.ok("aclrtQueryEventStatus", e, address(status))
				if status[0] != 0 {
					t.Fatal("the event is complete before anybody waited")
				}
			}
			l.want(fault, "aclrtSynchronizeStream", s)
			if got := l.message(); !strings.HasPrefix(got, "EZ9999: Internal error!\n[PID: ") || !strings.Contains(got, "aivec error") {
				t.Errorf("message %q", got)
			}
			l.want(after, "aclrtSynchronizeStream", s)
			if got := l.message(); mode == 1 && (!strings.HasPrefix(got, "EE9999: Internal error!\n[PID: ") || !strings.Contains(got, "reason=vector core exception[FUNC:")) {
				t.Errorf("second message %q", got)
			}
			l.want(after, "aclrtStreamQuery", s, address(status))
			if mode == 0 && status[0] != 0 {
				t.Error("the stream is not ready")
			}
			l.want(after, "aclrtQueryEventStatus", e, address(status))
			l.want(after, "aclrtMemsetAsync", p, 8, 1, 8, s)
			l.want(after, "aclrtMemcpyAsync", p, 8, h, 8, kinds, s)
			l.want(after, "aclrtSynchronizeEvent", e)
			l.want(after, "aclrtRecordEvent", e, s)
			l.want(after, "aclrtMemsetAsync", p, 8, 1, 8, other)
			l.want(after, "aclrtSynchronizeStream", other)
			l.ok("aclrtMemset", p, 8, 0, 8)
			l.ok("aclrtMemcpy", p, 8, h, 8, kinds)
			l.want(after, "aclrtSynchronizeDevice")
			l.ok("aclrtFree", l.make("aclrtMalloc", 64, 0))
			late := l.make("aclrtCreateStream")
			l.want(after, "aclrtMemsetAsync", p, 8, 1, 8, late)
			l.ok("aclrtDestroyEvent", e)
			timing := l.make("aclrtCreateEventExWithFlag", 8)
			l.want(207000, "aclrtStreamWaitEvent", late, timing)
			l.ok("aclrtDestroyEvent", timing)
			l.ok("aclrtDestroyStream", s)
			l.binary("spin")

			l.ok("aclrtSetCurrentContext", main)
			l.ok("aclrtMemsetAsync", p, 8, 1, 8, 0)
			l.ok("aclrtSynchronizeStream", 0)
			l.ok("aclrtDestroyContext", ctx)
		})
	}
}

// The way back from stop to continue is closed for the stream alone; the context stays as it is.
func TestContinueAfterStop(t *testing.T) {
	l := device(t)
	s, other := l.make("aclrtCreateStream"), l.make("aclrtCreateStream")
	l.ok("aclrtSetStreamFailureMode", s, 1)
	l.want(207000, "aclrtSetStreamFailureMode", s, 0)
	l.ok("aclrtSetStreamFailureMode", other, 0)
	_, f := l.binary("fault")
	l.launch(f[0], other, 507035)
	for range 2 {
		l.want(507035, "aclrtSynchronizeStream", other)
	}
}

// The number of a task counts from 0 in each stream, and a command of a graph has a stream of its own.
func TestTaskNumbers(t *testing.T) {
	for _, late := range []int{0, 1} {
		t.Run(fmt.Sprint("told_late=", late), func(t *testing.T) {
			l := device(t)
			l.set("told_late", late)
			defer l.set("told_late", 0)
			var told [][2]int // task, stream
			fn := purego.NewCallback(func(info uintptr) uintptr {
				told = append(told, [2]int{int(uint32(l.raw("aclrtGetTaskIdFromExceptionInfo", info))), int(uint32(l.raw("aclrtGetStreamIdFromExceptionInfo", info)))})
				return 0
			})
			l.ok("aclrtExceptionInfoCallbackRegister", fn)
			defer l.ok("aclrtExceptionInfoCallbackUnregister", fn)
			_, f := l.binary("fault")
			id := make([]int32, 1)
			for range 2 {
				s := l.make("aclrtCreateStream")
				l.launch(f[0], s, 507015)
				l.launch(f[0], s, 0)
				l.want(507015, "aclrtSynchronizeStream", s)
				l.ok("aclrtStreamGetId", s, address(id))
				if want := [2]int{0, int(id[0])}; len(told) != 1 || told[0] != want {
					t.Errorf("told %v, want %v", told, want)
				}
				told = nil
			}
			s := l.make("aclrtCreateStream")
			l.ok("aclmdlRICaptureBegin", s, 0)
			l.launch(f[0], s, 507035)
			g := l.make2("aclmdlRICaptureEnd", s)
			l.ok("aclmdlRIExecuteAsync", g, s)
			l.want(507011, "aclrtSynchronizeStream", s)
			if len(told) != 1 || told[0][1] < 4096 {
				t.Errorf("told %v of a stream that nobody made", told)
			}
			l.ok("aclmdlRIDestroy", g)
		})
	}
}

// A graph of another context is taken, and fails when it runs.
func TestGraphOfAnotherContext(t *testing.T) {
	l := device(t)
	s := l.make("aclrtCreateStream")
	l.ok("aclmdlRICaptureBegin", s, 0)
	g := l.make2("aclmdlRICaptureEnd", s)
	ctx := l.make("aclrtCreateContext", 0)
	l.ok("aclmdlRIExecuteAsync", g, 0)
	l.want(107004, "aclrtSynchronizeStream", 0)
	l.ok("aclmdlRIDestroy", g)
	l.ok("aclrtDestroyContext", ctx)
}

// Destroying a context drops what is queued, and so does the last reset; neither waits.
func TestDestroyDrops(t *testing.T) {
	l := device(t)
	main := l.make("aclrtGetCurrentContext")
	p := l.floats(0, 0)
	ctx := l.make("aclrtCreateContext", 0)
	s := l.make("aclrtCreateStream")
	_, f := l.binary("spin")
	begin := time.Now()
	l.launch(f[0], s, seconds(time.Hour))
	l.ok("aclrtMemsetAsync", p, 8, 1, 8, s)
	l.ok("aclrtDestroyContext", ctx)
	l.ok("aclrtSetCurrentContext", main)
	l.wantFloats(p, 0, 0)
	l.launch(l.function("spin"), 0, seconds(time.Hour))
	l.ok("aclrtResetDevice", 0)
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

// function is a function of a binary of its own.
func (l *library) function(name string) uintptr {
	_, f := l.binary(name)
	return f[0]
}

// The time of a record comes after somebody has asked for it; a wait for the event is a wait for that too.
func TestLateTime(t *testing.T) {
	l := device(t)
	l.set("late_us", 1e9)
	defer l.set("late_us", 200)
	plain, timed := l.make("aclrtCreateEventExWithFlag", 1), l.make("aclrtCreateEventExWithFlag", 9)
	status := make([]int32, 1)
	for e, want := range map[uintptr]int32{plain: 1, timed: 0} {
		l.ok("aclrtRecordEvent", e, 0)
		l.ok("aclrtSynchronizeStream", 0)
		l.ok("aclrtQueryEventStatus", e, address(status))
		if status[0] != want {
			t.Errorf("status %d, want %d", status[0], want)
		}
	}
	ms := make([]float32, 1)
	l.ok("aclrtEventElapsedTime", address(ms), timed, timed) // it reads the time itself
	l.ok("aclrtSynchronizeEvent", timed)
	l.ok("aclrtQueryEventStatus", timed, address(status))
	if status[0] != 1 {
		t.Error("not complete after a wait for the event")
	}
	l.ok("aclrtEventElapsedTime", address(ms), plain, timed) // made without time: a number all the same
	for _, e := range []uintptr{plain, timed} {
		l.ok("aclrtDestroyEvent", e)
	}
}

// Without a context the message of an error is that there is none, also where nothing has failed.
func TestMessageWithoutContext(t *testing.T) {
	l := open(t)
	for range 2 {
		if got := l.message(); !strings.Contains(got, "EE1018") || !strings.Contains(got, "rtGetDevMsg") {
			t.Errorf("message %q", got)
		}
	}
}
