//go:build linux && (amd64 || arm64)

package dcmi

import (
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/loader"
)

// name is the file of the library.
const name = "libdcmi.so"

// folders are where the library is looked for, in order; "" is the loader's own path. The driver's installer puts it
// into the first one that is named, older ones and containers have it in those of the driver.
var folders = []string{"", "/usr/local/dcmi", "/usr/local/Ascend/driver/lib64", "/usr/local/Ascend/driver/lib64/driver", "/usr/local/Ascend/driver/lib64/common"}

// dependencies are files of the driver that the library needs and the loader may not find.
var dependencies = []string{"libc_sec.so", "libmmpa.so", "libslog.so", "libascend_hal.so", "libdrvdsmi_host.so"}

// library is the loaded one.
type library struct {
	api
	path     string
	attempts []loader.Attempt
}

// load opens the library in the first of folders that has it. It calls nothing of it.
func load(folders []string) (*library, error) {
	l := &library{}
	for _, folder := range folders {
		path := filepath.Join(folder, name)
		h, err := openWithDependencies(path)
		a := loader.Attempt{Path: path}
		if err != nil {
			a.Problem = loader.Explain(path, err)
		} else if absent := l.bind(func(f string) uintptr { return loader.Lookup(h, f) }); len(absent) > 0 {
			a.Problem = lacks + strings.Join(absent, ", ")
		}
		l.attempts = append(l.attempts, a)
		if a.Problem == "" {
			l.path = path
			return l, nil
		}
	}
	return nil, &LoadError{l.attempts, hint(l.attempts)}
}

func openWithDependencies(path string) (uintptr, error) {
	h, err := loader.Open(path)
	if err == nil || loader.MissingDependency(path, err) == "" {
		return h, err
	}
	for range 2 { // what has dependencies of its own is tried again
		for _, folder := range folders[1:] {
			for _, f := range dependencies {
				if p := filepath.Join(folder, f); loader.Exists(p) {
					_, _ = loader.Open(p) // the library itself says what is missing
				}
			}
		}
	}
	return loader.Open(path)
}

// open loads the library and starts it. Starting again is harmless.
func open(folders []string) (l *library, err error) {
	loader.AskForNoHandlers()
	err = loader.GuardSignals(func() error {
		if l, err = load(folders); err != nil {
			return err
		}
		return l.call(&l.init)
	})
	if err != nil {
		return l, notAvailable(err)
	}
	return l, nil
}

// notAvailable makes any error one of the driver that says why nothing can be read.
func notAvailable(err error) error {
	e := &driver.Error{Code: driver.CodeNotSupported, Call: "dlopen", Detail: err.Error(), Cause: err}
	switch x := err.(type) {
	case *driver.Error:
		return x
	case *LoadError:
		e.Hint = x.Hint
	case *callError:
		e.Call, e.Hint = x.call, x.code.remedy()
		e.NoAnswer = x.code.broken()
		e.Detail = "not available: " + err.Error()
	default:
		e.Call, e.Hint = name, remedyOfDriver
		e.Detail = "not available: " + err.Error()
	}
	return e
}

// call calls f. Its pointers must be pinned.
func (l *library) call(f *function, args ...uintptr) error {
	if f.address == 0 {
		return missing(f.name)
	}
	r, _, _ := purego.SyscallN(f.address, args...)
	if c := code(int32(r)); c != ok {
		return &callError{f.name, c}
	}
	return nil
}

// ask calls f with args and, behind them, the address of out. The stack moves when it grows, so that out is pinned.
func ask[T any](l *library, f *function, out *T, args ...uintptr) error {
	var pin runtime.Pinner
	pin.Pin(out)
	defer pin.Unpin()
	return l.call(f, append(args, uintptr(unsafe.Pointer(out)))...)
}

// versionText is the version that the library tells of itself, "" where it does not.
func (l *library) versionText() string {
	text := new([64]byte) // it wants 16 at least
	var pin runtime.Pinner
	pin.Pin(text)
	defer pin.Unpin()
	if l.call(&l.version, uintptr(unsafe.Pointer(text)), uintptr(len(text))) != nil {
		return ""
	}
	return cString(text[:])
}

// cString is the text up to the first zero byte.
func cString(b []byte) string {
	text, _, _ := strings.Cut(string(b), "\x00")
	return strings.TrimSpace(text)
}

// Inspect loads and starts the library, if it can, and describes it. It may be called from any goroutine, beside
// readers, too.
func Inspect() (Library, error) {
	l, err := open(folders)
	if l == nil {
		var out Library
		if e, ok := cause(err).(*LoadError); ok {
			out.Attempts = e.Attempts
		}
		for _, s := range new(api).symbols() {
			out.Functions = append(out.Functions, Function{s.name, false})
		}
		return out, err
	}
	out := Library{Attempts: l.attempts, Path: loader.File(l.path)}
	for _, s := range l.symbols() {
		out.Functions = append(out.Functions, Function{s.name, s.f.address != 0})
	}
	if err == nil {
		out.Version = l.versionText()
	}
	return out, err
}

// cause is what made a driver error, or err itself.
func cause(err error) error {
	if e, ok := err.(*driver.Error); ok && e.Cause != nil {
		return e.Cause
	}
	return err
}
