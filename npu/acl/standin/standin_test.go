//go:build linux

package standin

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
)

// library is the stand-in in this process. Calls of a test come from one thread.
type library struct {
	*testing.T
	handles []uintptr
}

func open(t *testing.T) *library {
	t.Helper()
	return openDir(t, Build(t))
}

func openDir(t *testing.T, dir string) *library {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	l := &library{T: t}
	for _, lib := range libraries {
		h, err := purego.Dlopen(filepath.Join(dir, "lib"+lib.name+".so"), purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err != nil {
			t.Fatal(err)
		}
		l.handles = append(l.handles, h)
	}
	l.set("restart", 1)
	l.set("strict", 1)
	return l
}

func (l *library) symbol(name string) uintptr {
	for _, h := range l.handles {
		if p, err := purego.Dlsym(h, name); err == nil {
			return p
		}
	}
	return 0
}

// raw calls a function with words.
func (l *library) raw(name string, args ...uintptr) uintptr {
	l.Helper()
	p := l.symbol(name)
	if p == 0 {
		l.Fatalf("no symbol %s", name)
	}
	r, _, _ := purego.SyscallN(p, args...)
	return r
}

// call is raw for a function that returns a code.
func (l *library) call(name string, args ...uintptr) int { return int(int32(l.raw(name, args...))) }

func (l *library) ok(name string, args ...uintptr) {
	l.Helper()
	l.want(0, name, args...)
}

func (l *library) want(code int, name string, args ...uintptr) {
	l.Helper()
	if got := l.call(name, args...); got != code {
		l.Fatalf("%s%v = %d, want %d", name, args, got, code)
	}
}

// make is a handle or an address that a function stores behind its first argument.
func (l *library) make(name string, args ...uintptr) uintptr {
	l.Helper()
	out, at := cell[uintptr]()
	l.ok(name, append([]uintptr{at}, args...)...)
	return *out
}

func (l *library) set(key string, value int) {
	l.Helper()
	k := append([]byte(key), 0)
	if l.call("standin_set", address(k), uintptr(value)) != 0 {
		l.Fatalf("no key %s", key)
	}
}

func (l *library) get(key string) int {
	k := append([]byte(key), 0)
	return int(l.raw("standin_get", address(k)))
}

// kept is memory that C was given the address of: on the heap, where it does not move, until the end.
var kept []any

func address[E any](s []E) uintptr {
	kept = append(kept, s)
	return uintptr(unsafe.Pointer(unsafe.SliceData(s)))
}

// cell is memory for one result.
func cell[E any]() (p *E, at uintptr) {
	s := make([]E, 1)
	return &s[0], address(s)
}

// host is pinned memory, as bytes too.
func (l *library) host(size int) (uintptr, []byte) {
	l.Helper()
	p := l.make("aclrtMallocHost", uintptr(size))
	l.Cleanup(func() { l.call("aclrtFreeHost", p) })
	return p, unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&p))), size)
}

// device is open with device 0 set; it is reset at the end.
func device(t *testing.T) *library {
	t.Helper()
	l := open(t)
	l.ok("aclrtSetDevice", 0)
	t.Cleanup(func() {
		l.call("aclrtResetDeviceForce", 0)
		if n := l.get("live:memory"); n != 0 {
			t.Errorf("%d B of device memory are left", n)
		}
	})
	return l
}

const kinds = 4 // aclrtMemcpyKind: the default

func TestCopies(t *testing.T) {
	l := device(t)
	p, s := l.make("aclrtMalloc", 64, 0), l.make("aclrtCreateStream")
	h, b := l.host(64)
	for i := range b {
		b[i] = byte(i)
	}
	want := bytes.Clone(b)
	l.ok("aclrtMemcpyAsync", p, 64, h, 64, 1, s)
	l.ok("aclrtSynchronizeStream", s)
	clear(b)
	l.ok("aclrtMemcpy", h, 64, p, 64, kinds)
	if !bytes.Equal(b, want) {
		t.Errorf("got %v", b)
	}
	l.ok("aclrtMemsetAsync", p, 64, 7, 64, s)
	l.ok("aclrtMemcpyAsync", h, 64, p, 64, 2, s)
	l.ok("aclrtSynchronizeStream", s)
	if !bytes.Equal(b, bytes.Repeat([]byte{7}, 64)) {
		t.Errorf("got %v", b)
	}
	l.ok("aclrtFree", p)
	l.ok("aclrtDestroyStream", s)
}

// The rows of a table of calls that were observed, in order.
func TestObservedCodes(t *testing.T) {
	l := open(t)
	l.set("strict", 0)
	for _, c := range []struct {
		code int
		name string
		args []uintptr
	}{
		{107002, "aclrtGetCurrentContext", []uintptr{address(make([]uintptr, 1))}},
		{107002, "aclrtCreateStream", []uintptr{address(make([]uintptr, 1))}},
		{107002, "aclrtMalloc", []uintptr{address(make([]uintptr, 1)), 64, 0}},
		{107002, "aclrtMallocHost", []uintptr{address(make([]uintptr, 1)), 64}},
		{107002, "aclrtCreateEvent", []uintptr{address(make([]uintptr, 1))}},
		{107002, "aclrtSynchronizeStream", []uintptr{0}},
		{107002, "aclrtSynchronizeDevice", nil},
		{100000, "aclrtSetCurrentContext", []uintptr{0}},
		{100000, "aclrtDestroyStream", []uintptr{0}},
		{100000, "aclrtMalloc", []uintptr{0, 64, 0}},
		{100000, "aclrtFree", []uintptr{0}},
		{100000, "aclrtDestroyEvent", []uintptr{0}},
		{107001, "aclrtSetDevice", []uintptr{^uintptr(0)}},
		{107001, "aclrtSetDevice", []uintptr{99}},
		{107001, "aclrtResetDevice", []uintptr{99}},
		{507007, "aclrtResetDevice", []uintptr{0}},
		{507007, "aclrtResetDeviceForce", []uintptr{0}},
		{107002, "aclrtDestroyContext", []uintptr{12345}},
		{107000, "aclrtSetCurrentContext", []uintptr{12345}},
		{107017, "aclrtSynchronizeStream", []uintptr{12345}},
		{0, "aclFinalize", nil},
		{100037, "aclFinalize", nil},
		{0, "aclInit", []uintptr{0}},
		{100002, "aclInit", []uintptr{0}},
		{0, "aclFinalize", nil},
	} {
		if got := l.call(c.name, c.args...); got != c.code {
			t.Errorf("%s%v = %d, want %d", c.name, c.args, got, c.code)
		}
	}
}

// The rows that need a device.
func TestObservedCodesWithDevice(t *testing.T) {
	l := device(t)
	l.set("strict", 0)
	p, h := l.make("aclrtMalloc", 64, 0), l.make("aclrtMallocHost", 64)
	s, legacy, never := l.make("aclrtCreateStream"), l.make("aclrtCreateEvent"), l.make("aclrtCreateEvent")
	ex := l.make("aclrtCreateEventExWithFlag", 1)
	plain, out := address(make([]byte, 64)), address(make([]uintptr, 1))
	for _, c := range []struct {
		code int
		name string
		args []uintptr
	}{
		{0, "aclrtMemcpy", []uintptr{0, 0, 0, 0, 77}},
		{100000, "aclrtMemcpy", []uintptr{p, 64, 0, 64, 1}},
		{100000, "aclrtMemcpy", []uintptr{p, 64, h, 64, 77}},
		{107000, "aclrtMemcpy", []uintptr{p, 63, h, 64, 1}},
		{107000, "aclrtMemcpy", []uintptr{p, 65, h, 65, 1}},
		{107000, "aclrtMemcpy", []uintptr{p, 64, plain, 64, 2}},
		{0, "aclrtMemcpy", []uintptr{p, 64, h, 64, 2}},
		{0, "aclrtMemcpy", []uintptr{plain, 64, p, 64, 4}},
		{107000, "aclrtMemset", []uintptr{p, 63, 0, 64}},
		{107000, "aclrtMemcpyAsync", []uintptr{p, 63, h, 64, 1, s}},
		{207000, "aclrtMemcpyAsync", []uintptr{h + 32, 32, h, 32, 0, s}},
		{0, "aclrtMalloc", []uintptr{out, 64, 99}},
		{207001, "aclrtMalloc", []uintptr{out, 1 << 60, 0}},
		{207001, "aclrtMalloc", []uintptr{out, 64<<30 + 1, 0}},
		{107000, "aclrtFree", []uintptr{p + 64}},
		{107000, "aclrtFreeHost", []uintptr{plain}},
		{0, "aclrtFree", []uintptr{h}},
		{0, "aclrtFreeHost", []uintptr{h}},
		{107000, "aclrtFreeHost", []uintptr{h}},
		{0, "aclrtFree", []uintptr{p}},
		{107000, "aclrtFree", []uintptr{p}},
		{100000, "aclrtRecordEvent", []uintptr{0, s}},
		{0, "aclrtSynchronizeEvent", []uintptr{never}},
		{107000, "aclrtStreamWaitEvent", []uintptr{s, never}},
		{0, "aclrtStreamWaitEvent", []uintptr{s, ex}},
		{0, "aclrtRecordEvent", []uintptr{legacy, s}},
		{0, "aclrtSynchronizeStream", []uintptr{s}},
		{507000, "aclrtEventElapsedTime", []uintptr{out, legacy, never}},
		{207000, "aclrtResetEvent", []uintptr{ex, s}},
		{207000, "aclrtQueryEvent", []uintptr{ex, out}},
		{107000, "aclrtCreateEventWithFlag", []uintptr{out, 0}},
		{107000, "aclrtCreateEventExWithFlag", []uintptr{out, 0x20}},
		{107021, "aclrtCtxGetSysParamOpt", []uintptr{0, out}},
		{100000, "aclrtCtxGetSysParamOpt", []uintptr{3, out}},
		{100000, "aclrtDeviceCanAccessPeer", []uintptr{out, 0, 0}},
		{200006, "aclrtDeviceEnablePeerAccess", []uintptr{1, 1}},
		{107000, "aclrtBinaryLoadFromFile", []uintptr{cString("testdata/none"), 0, out}},
		{100000, "aclrtBinaryLoadFromFile", []uintptr{0, 0, out}},
		{107000, "aclrtSynchronizeStreamWithTimeout", []uintptr{s, 0}},
		{0, "aclrtSetDevice", []uintptr{0}},
		{0, "aclrtResetDevice", []uintptr{0}},
		{0, "aclrtSynchronizeStream", []uintptr{s}},
		{0, "aclrtResetDevice", []uintptr{0}},
		{107017, "aclrtSynchronizeStream", []uintptr{s}},
		{107002, "aclrtSynchronizeStream", []uintptr{0}},
		{507007, "aclrtResetDevice", []uintptr{0}},
		{0, "aclrtDestroyEvent", []uintptr{legacy}},
		{0, "aclrtDestroyEvent", []uintptr{never}},
		{0, "aclrtDestroyEvent", []uintptr{ex}},
	} {
		if got := l.call(c.name, c.args...); got != c.code {
			t.Errorf("%s%v = %d, want %d", c.name, c.args, got, c.code)
		}
	}
}

func TestDestroyedHandles(t *testing.T) {
	l := device(t)
	l.set("strict", 0)
	s, e := l.make("aclrtCreateStream"), l.make("aclrtCreateEvent")
	l.ok("aclrtRecordEvent", e, s)
	l.ok("aclrtSynchronizeStream", s)
	l.ok("aclrtDestroyStream", s)
	l.want(107017, "aclrtSynchronizeStream", s)
	l.want(107017, "aclrtDestroyStream", s)
	l.want(107017, "aclrtRecordEvent", e, s)
	l.ok("aclrtDestroyEvent", e)
	l.want(107017, "aclrtDestroyEvent", e)
	before := l.make("aclrtGetCurrentContext")
	c := l.make("aclrtCreateContext", 0)
	s = l.make("aclrtCreateStream")
	l.ok("aclrtSetCurrentContext", before)
	l.ok("aclrtSynchronizeStream", s)
	l.want(107003, "aclrtMemsetAsync", l.make("aclrtMalloc", 64, 0), 64, 0, 64, s)
	l.ok("aclrtDestroyContext", c)
	l.want(107017, "aclrtSynchronizeStream", s)
	l.want(107002, "aclrtDestroyContext", c)
	l.want(107000, "aclrtSetCurrentContext", c)
}

// The rules end the process: each case runs in one of its own.
var violations = map[string]struct {
	want string
	do   func(l *library)
}{
	"closed": {"aclrtDestroyStream: closed handle", func(l *library) {
		l.ok("aclrtSetDevice", 0)
		s := l.make("aclrtCreateStream")
		l.ok("aclrtDestroyStream", s)
		l.call("aclrtDestroyStream", s)
	}},
	"thread": {"aclrtGetDevice: call on thread", func(l *library) {
		l.ok("aclInit", 0)
		l.ok("aclrtSetDevice", 0)
		done := make(chan bool)
		go func() {
			runtime.LockOSThread()
			l.call("aclrtGetDevice", address(make([]uintptr, 1)))
			close(done)
		}()
		<-done
	}},
	"event": {"aclrtSynchronizeEvent: event", func(l *library) {
		c := l.make("aclrtCreateContext", 0)
		e := l.make("aclrtCreateEvent")
		l.ok("aclrtDestroyContext", c)
		l.call("aclrtSynchronizeEvent", e)
	}},
	"callback": {"aclrtGetDevice: runtime call inside a callback", func(l *library) {
		l.ok("aclrtSetDevice", 0)
		_, out := cell[int32]()
		get := l.symbol("aclrtGetDevice")
		fn := purego.NewCallback(func(uintptr) uintptr { purego.SyscallN(get, out); return 0 })
		l.ok("aclrtLaunchHostFunc", 0, fn, 0)
		l.call("aclrtSynchronizeStream", 0)
	}},
	"struct": {"aclrtLaunchKernelWithHostArgs: 2 argument slots", func(l *library) {
		l.ok("aclrtSetDevice", 0)
		_, f := l.binary("spin")
		l.launch(f[0], 0, 0, 0)
	}},
	"reserved": {"reserved bytes are not zero", func(l *library) {
		l.ok("aclrtSetDevice", 0)
		_, f := l.binary("spin")
		attribute := []uint32{7, 1 << 16, 0, 0, 0} // a timeout of 16 bits
		cfg := []uintptr{address(attribute), 1}
		l.call("aclrtLaunchKernelWithHostArgs", f[0], 1, 0, address(cfg), address([]uint64{0}), 8, 0, 0)
	}},
	"address": {"SIGSEGV", func(l *library) {
		l.ok("aclrtSetDevice", 0)
		p := l.make("aclrtMalloc", 64, 0)
		**(**byte)(unsafe.Pointer(&p)) = 1
	}},
	"environment": {"fault=x is no setting", nil},
	"signal": {"signal 15 came to the library's handler", func(l *library) {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Signal(syscall.SIGTERM)
		}
		time.Sleep(time.Second)
	}},
	"pageable": {"pageable memory in a queued copy", func(l *library) {
		l.ok("aclrtSetDevice", 0)
		l.call("aclrtMemcpyAsync", l.make("aclrtMalloc", 64, 0), 64, address(make([]byte, 64)), 64, 1, 0)
	}},
}

func TestViolations(t *testing.T) {
	if name := os.Getenv("STANDIN_VIOLATION"); name != "" {
		violations[name].do(open(t))
		return
	}
	Build(t)
	for name, v := range violations {
		cmd := exec.Command(os.Args[0], "-test.run=^TestViolations$")
		cmd.Env = append(os.Environ(), "STANDIN_VIOLATION="+name)
		switch name {
		case "environment":
			cmd.Env = append(cmd.Env, "ACL_STANDIN=devices=1,fault=x")
		case "signal":
			cmd.Env = append(cmd.Env, "ACL_STANDIN=soc=310p,fail:aclnnAdd=1,signals=1")
		}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), v.want) {
			t.Errorf("%s: %v, %s", name, err, out)
		}
	}
}
