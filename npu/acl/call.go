//go:build linux && (amd64 || arm64)

package acl

import (
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"

	"npulua/npu/internal/driver"
)

// call calls f and returns what it answers as an error.
func (d *Driver) call(f *function, args ...uintptr) error {
	d.underWay.Store(f)
	err := d.queue(f, args...)
	d.underWay.Store(nil)
	return err
}

// UnderWay implements driver.Busy.
func (d *Driver) UnderWay() string {
	if f := d.underWay.Load(); f != nil {
		return f.name
	}
	return ""
}

// queue is call for functions that queue a command, of which there are many: it leaves no note of them.
func (d *Driver) queue(f *function, args ...uintptr) error {
	if f.address == 0 {
		return absent(f.name)
	}
	n := copy(d.args[:], args) // which would escape and be allocated
	r, _, _ := purego.SyscallN(f.address, d.args[:n]...)
	if code := driver.Code(int32(r)); code != driver.OK {
		return d.failure(f, code)
	}
	return nil
}

// absent is the error of a call that the library does not have.
func absent(name string) error {
	e := driver.Errorf(driver.CodeNotSupported, name, "the installed CANN has no %s", name)
	if since, _ := driver.Since(name); since != "" {
		e.Detail += ", which came with release " + since
		e.Hint = "install CANN " + since + " or later; npu.has(\"" + name + "\") tells without an error"
	}
	return e
}

// failure is the error for a code that f answered, in the library's own words where it has some.
func (d *Driver) failure(f *function, code driver.Code) error {
	return &driver.Error{Code: code, Call: f.name, Detail: d.message(code)}
}

// goString copies a C string.
func goString(p uintptr) string {
	if p == 0 {
		return ""
	}
	start := pointer(p)
	n := 0
	for *(*byte)(unsafe.Add(start, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(start), n))
}

// pointer is an address of memory that Go's collector knows nothing of.
func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// withCString calls fn with s as a C string, which is valid during the call.
func withCString(s string, fn func(p uintptr) error) error {
	b := append([]byte(s), 0)
	var pin runtime.Pinner // the stack moves when it grows: b must not be there
	pin.Pin(&b[0])
	defer pin.Unpin()
	return fn(uintptr(unsafe.Pointer(&b[0])))
}

// cells are where the library writes what it returns. They belong to the driver, so that no call allocates.
type cells [2]uint64

// at is the address of cell i, cleared.
func (c *cells) at(i int) uintptr {
	c[i] = 0
	return uintptr(unsafe.Pointer(&c[i]))
}

func (c *cells) int32(i int) int32     { return *(*int32)(unsafe.Pointer(&c[i])) }
func (c *cells) float32(i int) float32 { return *(*float32)(unsafe.Pointer(&c[i])) }
