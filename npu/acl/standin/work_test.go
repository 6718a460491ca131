//go:build linux

package standin

import (
	"math"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
)

// binary loads a text with the functions, and returns them in order.
func (l *library) binary(names ...string) (binary uintptr, functions []uintptr) {
	l.Helper()
	text := []byte("standin kernels\n")
	for _, name := range names {
		text = append(text, name+"\n"...)
	}
	binary = l.make2("aclrtBinaryLoadFromData", address(text), uintptr(len(text)), 0)
	for _, name := range names {
		functions = append(functions, l.make2("aclrtBinaryGetFunction", binary, address(append([]byte(name), 0))))
	}
	l.Cleanup(func() { l.call("aclrtBinaryUnLoad", binary) })
	return binary, functions
}

// make2 is make for a function that stores behind its last argument.
func (l *library) make2(name string, args ...uintptr) uintptr {
	l.Helper()
	out, at := cell[uintptr]()
	l.ok(name, append(args, at)...)
	return *out
}

func (l *library) launch(f, stream uintptr, args ...uint64) {
	l.Helper()
	l.ok("aclrtLaunchKernelWithHostArgs", f, 1, stream, 0, address(args), uintptr(8*len(args)), 0, 0)
}

func (l *library) floats(values ...float32) uintptr {
	l.Helper()
	p := l.make("aclrtMalloc", uintptr(4*len(values)), 0)
	l.ok("aclrtMemcpy", p, uintptr(4*len(values)), address(values), uintptr(4*len(values)), kinds)
	return p
}

func (l *library) wantFloats(p uintptr, want ...float32) {
	l.Helper()
	got := make([]float32, len(want))
	l.ok("aclrtMemcpy", address(got), uintptr(4*len(got)), p, uintptr(4*len(got)), kinds)
	if !slices.Equal(got, want) {
		l.Errorf("got %v, want %v", got, want)
	}
}

func seconds(d time.Duration) uint64 { return math.Float64bits(d.Seconds()) }

func TestKernels(t *testing.T) {
	l := device(t)
	s := l.make("aclrtCreateStream")
	_, f := l.binary("vector_add_float32", "spin", "cast_int32_float32", "fault")
	a, b, y := l.floats(1, 2, 3, 4), l.floats(10, 20, 30, 40), l.floats(0, 0, 0, 0)
	l.launch(f[1], s, seconds(20*time.Millisecond))
	l.launch(f[0], s, uint64(y), uint64(a), uint64(b), 4)
	l.want(507046, "aclrtSynchronizeStreamWithTimeout", s, 5)
	l.want(107000, "aclrtSynchronizeStreamWithTimeout", s, 0)
	l.ok("aclrtSynchronizeStream", s)
	l.wantFloats(y, 11, 22, 33, 44)
	l.launch(f[2], s, uint64(y), uint64(a), 4)
	l.ok("aclrtSynchronizeStream", s)
	l.wantFloats(y, math.Float32frombits(1), math.Float32frombits(2), math.Float32frombits(3), math.Float32frombits(4))

	l.launch(f[0], s, uint64(y), uint64(a), uint64(b), 1<<20)
	l.launch(f[0], s, uint64(y), uint64(a), uint64(a), 4)
	l.want(507035, "aclrtSynchronizeStream", s)
	l.ok("aclrtSynchronizeStream", s)
	l.wantFloats(y, 2, 4, 6, 8)
	l.launch(f[3], s, 507014)
	l.want(507014, "aclrtSynchronizeStream", s)
	if l.raw("aclGetRecentErrMsg") == 0 || l.raw("aclGetRecentErrMsg") != 0 {
		t.Error("aclGetRecentErrMsg does not give the messages once")
	}

	l.ok("aclrtSetStreamFailureMode", s, 1)
	l.want(207000, "aclrtSetStreamFailureMode", s, 0)
	l.launch(f[3], s, 507014)
	l.want(507014, "aclrtSynchronizeStream", s)
	l.want(507014, "aclrtSynchronizeStream", s)
	l.want(507014, "aclrtMemsetAsync", y, 16, 0, 16, s)
	l.want(507014, "aclrtPeekAtLastError", 0)
	l.want(507014, "aclrtGetLastError", 0)
	l.want(0, "aclrtGetLastError", 0)
}

// An operand can travel with the arguments: a slot receives the address of its data.
func TestPlaceHolders(t *testing.T) {
	l := device(t)
	_, f := l.binary("vector_add")
	y, a := l.floats(0, 0), l.floats(1, 2)
	two := func(x, y float32) uint64 { return uint64(math.Float32bits(x)) | uint64(math.Float32bits(y))<<32 }
	args := []uint64{uint64(y), uint64(a), 0, 2, two(10, 20)}
	holders := []uint32{16, 32}
	l.ok("aclrtLaunchKernelWithHostArgs", f[0], 1, 0, 0, address(args), 40, address(holders), 1)
	clear(args)
	l.ok("aclrtSynchronizeStream", 0)
	l.wantFloats(y, 11, 22)

	list := l.make2("aclrtKernelArgsInit", f[0])
	word := func(v uint64) { l.make2("aclrtKernelArgsAppend", list, address([]uint64{v}), 8) }
	word(uint64(y))
	word(uint64(a))
	holder := l.make2("aclrtKernelArgsAppendPlaceHolder", list)
	word(2)
	data := l.make2("aclrtKernelArgsGetPlaceHolderBuffer", list, holder, 8)
	**(**uint64)(unsafe.Pointer(&data)) = two(100, 200)
	l.want(107000, "aclrtLaunchKernelWithConfig", f[0], 1, 0, 0, list, 0)
	l.ok("aclrtKernelArgsFinalize", list)
	l.ok("aclrtLaunchKernelWithConfig", f[0], 1, 0, 0, list, 0)
	l.ok("aclrtSynchronizeStream", 0)
	l.wantFloats(y, 101, 202)
}

func TestOrder(t *testing.T) {
	l := device(t)
	slow, fast := l.make("aclrtCreateStream"), l.make("aclrtCreateStream")
	a, b := l.make("aclrtCreateEvent"), l.make("aclrtCreateEventExWithFlag", 9)
	_, f := l.binary("spin")
	p := l.make("aclrtMalloc", 4, 0)
	h, bytes := l.host(4)
	l.want(107000, "aclrtStreamWaitEvent", fast, a)
	l.ok("aclrtStreamWaitEvent", fast, b)
	l.ok("aclrtRecordEvent", b, slow)
	l.launch(f[0], slow, seconds(20*time.Millisecond))
	l.ok("aclrtMemsetAsync", p, 4, 5, 4, slow)
	l.ok("aclrtRecordEvent", a, slow)
	l.ok("aclrtStreamWaitEvent", fast, a)
	l.ok("aclrtMemcpyAsync", h, 4, p, 4, 2, fast)
	ms := make([]float32, 1)
	l.want(107006, "aclrtEventElapsedTime", address(ms), b, a)
	l.want(507047, "aclrtSynchronizeEventWithTimeout", a, 1)
	l.ok("aclrtSynchronizeStream", fast)
	if bytes[3] != 5 {
		t.Error("the copy did not wait for the event")
	}
	l.ok("aclrtEventElapsedTime", address(ms), b, a)
	if ms[0] < 19.9 {
		t.Errorf("elapsed: %v ms, want 20", ms[0])
	}
	var ran []int
	fn := purego.NewCallback(func(i uintptr) uintptr { ran = append(ran, int(i)); return 0 })
	for i := range 10 {
		l.ok("aclrtLaunchHostFunc", fast, fn, uintptr(i))
	}
	l.ok("aclrtSynchronizeDevice")
	if !slices.Equal(ran, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("host functions ran as %v", ran)
	}
	l.ok("aclrtDestroyEvent", a)
	l.ok("aclrtDestroyEvent", b)
}

func TestExceptions(t *testing.T) {
	l := device(t)
	s := l.make("aclrtCreateStream")
	_, f := l.binary("fault")
	var seen []int
	fn := purego.NewCallback(func(info uintptr) uintptr {
		for _, name := range []string{"TaskId", "StreamId", "DeviceId", "ErrorCode"} {
			seen = append(seen, l.call("aclrtGet"+name+"FromExceptionInfo", info))
		}
		return 0
	})
	l.ok("aclrtExceptionInfoCallbackRegister", fn)
	l.launch(f[0], s, 507015)
	task, id := make([]int32, 1), make([]int32, 1)
	l.ok("aclrtGetThreadLastTaskId", address(task))
	l.ok("aclrtStreamGetId", s, address(id))
	l.want(507015, "aclrtSynchronizeStream", s)
	if want := []int{int(task[0]), int(id[0]), 0, 507015}; !slices.Equal(seen, want) {
		t.Errorf("told %v, want %v", seen, want)
	}
	l.ok("aclrtExceptionInfoCallbackUnregister", fn)
}

func TestReports(t *testing.T) {
	l := device(t)
	s := l.make("aclrtCreateStream")
	l.want(107015, "aclrtLaunchCallback", 1, 0, 1, s)
	self := l.pthread()
	l.want(107012, "aclrtProcessReport", 1)
	l.ok("aclrtSubscribeReport", self, s)
	l.want(107011, "aclrtSubscribeReport", self, s)
	l.want(507012, "aclrtProcessReport", 1)
	var ran []int
	fn := purego.NewCallback(func(i uintptr) uintptr { ran = append(ran, int(i)); return 0 })
	for i := range 3 {
		l.ok("aclrtLaunchCallback", fn, uintptr(i), 1, s)
	}
	for len(ran) < 3 {
		l.ok("aclrtProcessReport", 1000)
	}
	l.ok("aclrtSynchronizeStream", s)
	if !slices.Equal(ran, []int{0, 1, 2}) {
		t.Errorf("ran %v", ran)
	}
	l.ok("aclrtUnSubscribeReport", self, s)
}

func (l *library) pthread() uintptr {
	p, err := purego.Dlsym(purego.RTLD_DEFAULT, "pthread_self")
	if err != nil {
		l.Skip(err)
	}
	r, _, _ := purego.SyscallN(p)
	return r
}

func TestCapture(t *testing.T) {
	l := device(t)
	s, side := l.make("aclrtCreateStream"), l.make("aclrtCreateStream")
	fork, join := l.make("aclrtCreateEventExWithFlag", 1), l.make("aclrtCreateEventExWithFlag", 1)
	_, f := l.binary("vector_add_float32")
	a, y, z := l.floats(1, 2), l.floats(0, 0), l.floats(0, 0)
	l.want(107031, "aclmdlRICaptureBegin", 0, 0)
	l.want(107029, "aclmdlRICaptureEnd", s, address(make([]uintptr, 1)))
	l.ok("aclmdlRICaptureBegin", s, 0)
	l.want(107027, "aclmdlRICaptureBegin", s, 0)
	l.want(107027, "aclrtSynchronizeStream", s)
	l.want(107030, "aclrtMemset", y, 8, 0, 8)
	l.ok("aclmdlRICaptureTaskGrpBegin", s)
	l.want(107033, "aclmdlRICaptureTaskGrpBegin", s)
	l.launch(f[0], s, uint64(y), uint64(a), uint64(a), 2)
	group := l.make2("aclmdlRICaptureTaskGrpEnd", s)
	l.ok("aclrtRecordEvent", fork, s)
	l.want(107028, "aclrtSynchronizeEvent", fork)
	l.want(107031, "aclrtStreamWaitEvent", 0, fork)
	l.ok("aclrtStreamWaitEvent", side, fork)
	l.launch(f[0], side, uint64(z), uint64(y), uint64(y), 2)
	l.want(107036, "aclmdlRICaptureEnd", side, address(make([]uintptr, 1)))
	l.ok("aclrtRecordEvent", join, side)
	l.ok("aclrtStreamWaitEvent", s, join)
	g := l.make2("aclmdlRICaptureEnd", s)
	l.wantFloats(z, 0, 0)
	l.ok("aclmdlRIExecuteAsync", g, s)
	l.ok("aclrtSynchronizeStream", s)
	l.wantFloats(z, 4, 8)
	l.ok("aclmdlRICaptureTaskUpdateBegin", side, group)
	l.launch(f[0], side, uint64(y), uint64(z), uint64(a), 2)
	l.ok("aclmdlRICaptureTaskUpdateEnd", side)
	l.ok("aclrtSynchronizeStream", side)
	l.ok("aclmdlRIExecuteAsync", g, s)
	l.ok("aclrtSynchronizeStream", s)
	l.wantFloats(z, 10, 20)
	l.ok("aclmdlRIDestroy", g)

	l.ok("aclmdlRICaptureBegin", s, 0)
	l.ok("aclrtRecordEvent", fork, s)
	l.ok("aclrtStreamWaitEvent", side, fork)
	l.launch(f[0], side, uint64(z), uint64(y), uint64(y), 2)
	l.want(107025, "aclmdlRICaptureEnd", s, address(make([]uintptr, 1)))
	l.ok("aclrtRecordEvent", fork, side)
	l.ok("aclmdlRICaptureBegin", s, 0)
	l.want(107024, "aclrtStreamWaitEvent", s, fork)
	l.ok("aclmdlRIDestroy", l.make2("aclmdlRICaptureEnd", s)) // the refusal did no harm
	l.ok("aclrtSynchronizeDevice")

	l.ok("aclmdlRICaptureBegin", s, 0)
	l.ok("aclrtRecordEvent", fork, s)
	l.ok("aclrtRecordEvent", fork, 0) // on a default stream: an ordinary event again, but for the host
	l.want(107028, "aclrtSynchronizeEvent", fork)
	l.ok("aclrtRecordEvent", join, s)
	for _, e := range []uintptr{fork, join} {
		l.ok("aclrtDestroyEvent", e)
	}
	l.ok("aclmdlRIDestroy", l.make2("aclmdlRICaptureEnd", s))
}

func TestControl(t *testing.T) {
	l := device(t)
	calls := l.get("calls:aclrtMalloc")
	l.set("fail:aclrtMalloc", 207001)
	l.set("nth:aclrtMalloc", 2)
	out := make([]uintptr, 1)
	for _, want := range []int{0, 207001, 0} {
		l.want(want, "aclrtMalloc", address(out), 64, 0)
	}
	if got := l.get("calls:aclrtMalloc") - calls; got != 3 {
		t.Errorf("%d calls of aclrtMalloc, want 3", got)
	}
	s := l.make("aclrtCreateStream")
	l.set("fault", 507015)
	l.set("nth_task", 2)
	for range 3 {
		l.ok("aclrtMemsetAsync", out[0], 64, 1, 64, s)
	}
	l.want(507015, "aclrtSynchronizeStream", s)
	l.set("hang", 1)
	l.ok("aclrtMemsetAsync", out[0], 64, 1, 64, s)
	l.want(507046, "aclrtSynchronizeStreamWithTimeout", s, 5)
	l.set("hang", 0)
	l.ok("aclrtSynchronizeStream", s)
	if got := l.get("live:streams"); got != 2 {
		t.Errorf("%d streams, want two", got)
	}
	l.set("reuse", 1)
	l.ok("aclrtDestroyStream", s)
	if again := l.make("aclrtCreateStream"); again != s {
		t.Errorf("%#x after %#x, want the same handle again", again, s)
	}
	l.set("reuse", 0)
}

// A process holds one variant: the loader finds a dependency by its name.
func TestVariants(t *testing.T) {
	dir := Build(t, Options{Without: []string{"aclrtMallocHost", "aclnnExp"}, Stub: true})
	if os.Getenv("STANDIN_VARIANT") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestVariants$")
		cmd.Env = append(os.Environ(), "STANDIN_VARIANT=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v, %s", err, out)
		}
		return
	}
	l := openDir(t, dir)
	for name, want := range map[string]bool{"aclrtMallocHost": false, "aclrtMalloc": true, "aclnnExp": false, "aclnnAdd": true} {
		if got := l.symbol(name) != 0; got != want {
			t.Errorf("%s is there: %v", name, got)
		}
	}
	l.want(100039, "aclrtGetDeviceCount", address(make([]uint32, 1)))
	l.want(100039, "aclnnAdd", 0, 0, 0, 0)
	if l.raw("aclmdlCreateDesc") != 0 {
		t.Error("aclmdlCreateDesc gives something")
	}
}
