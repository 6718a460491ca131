//go:build linux && (amd64 || arm64)

package acl

import (
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
	"npulua/npu/internal/loader"
)

// KernelsVariable names a folder with binaries for the kernels that programs know by name alone: NAME.o has the
// functions NAME, or NAME_TYPES for one with type variables, as in vector_add_float32.
const KernelsVariable = "NPULUA_KERNELS"

// kernel is a kernel that was loaded and not unloaded.
type kernel struct {
	name      string // of the function
	signature *driver.Signature
	binary    string    // file; "": an operator
	operator  *operator // nil: a binary
	types     []dtype.DType
	functions map[*ctx]uintptr // each context loads for itself
}

// LoadKernel implements driver.Loader.
func (d *Driver) LoadKernel(src driver.KernelSource) (driver.Kernel, error) {
	if d.current == nil {
		return 0, d.noContext(&d.loadBinary)
	}
	k := &kernel{name: src.Name, signature: src.Signature, binary: src.Binary, types: src.Types, functions: make(map[*ctx]uintptr)}
	if src.Binary == "" {
		if err := d.findKernel(k); err != nil {
			return 0, err
		}
	}
	if len(src.Types) > 0 && k.operator == nil {
		var names []string
		for _, t := range src.Types {
			names = append(names, t.String())
		}
		k.name += "_" + strings.Join(names, "_")
	}
	if k.operator == nil {
		if _, err := d.functionIn(k, d.current); err != nil {
			return 0, err
		}
	}
	h := driver.Kernel(d.handle())
	d.kernels[h] = k
	return h, nil
}

// findKernel finds what stands for a kernel that the program only names: a binary in the folder of
// KernelsVariable, else an operator of the vendor's.
func (d *Driver) findKernel(k *kernel) error {
	folder := os.Getenv(KernelsVariable)
	if folder != "" {
		if p := filepath.Join(folder, k.name+".o"); loader.Exists(p) {
			k.binary = p
			return nil
		}
	}
	op, err := d.operator(k.name, k.signature)
	k.operator = op
	if err != nil {
		return err
	}
	if op != nil {
		return nil
	}
	e := driver.Errorf(driver.CodeRtParamInvalid, d.loadBinary.name, "kernel %q has no binary, and no operator of the vendor's computes it", k.name)
	e.Hint = "declare it with binary = file, or put " + k.name + ".o into the folder that " + KernelsVariable + " names"
	return e
}

// functionIn is the function of k in a context, which is current.
func (d *Driver) functionIn(k *kernel, c *ctx) (uintptr, error) {
	if f := k.functions[c]; f != 0 {
		return f, nil
	}
	bin, ok := c.binaries[k.binary]
	if !ok {
		path, err := filepath.Abs(k.binary)
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			return 0, driver.Errorf(driver.CodeRtParamInvalid, d.loadBinary.name, "kernel %q: the binary cannot be read: %v", k.name, err)
		}
		err = withCString(path, func(p uintptr) error { return d.call(&d.loadBinary, p, 0, d.out.at(0)) })
		if err != nil {
			return 0, err
		}
		bin = uintptr(d.out[0])
		c.binaries[k.binary] = bin
	}
	err := withCString(k.name, func(p uintptr) error { return d.call(&d.getFunction, bin, p, d.out.at(0)) })
	if err != nil {
		return 0, err
	}
	k.functions[c] = uintptr(d.out[0])
	return k.functions[c], nil
}

// UnloadKernel implements driver.Loader. The binary stays until its context goes: launches of it may be queued.
func (d *Driver) UnloadKernel(h driver.Kernel) error {
	if d.kernels[h] == nil {
		return driver.Errorf(driver.CodeInvalidHandle, d.unloadBinary.name, "the kernel is not loaded")
	}
	delete(d.kernels, h)
	return nil
}

func (d *Driver) queueLaunch(s *stream, c *driver.Command) error {
	k := d.kernels[c.Kernel]
	switch {
	case k == nil:
		return driver.Errorf(driver.CodeInvalidHandle, d.launch.name, "the kernel is not loaded")
	case c.Blocks == 0:
		return driver.Errorf(driver.CodeRtParamInvalid, d.launch.name, "a launch has one block at least")
	}
	group := s.capture != nil && d.groupBegin.address != 0
	if group {
		if err := d.call(&d.groupBegin, s.raw); err != nil {
			return err
		}
	}
	w := &s.workspaces
	if s.capture != nil { // it stays for replays, which may run beside other work of the stream
		s.capture.workspaces = new(workspaces)
		w = s.capture.workspaces
	}
	err := d.launchNow(s, w, k, c.Blocks, c.Args)
	if group {
		if e := d.call(&d.groupEnd, s.raw, d.out.at(0)); err == nil {
			err = e
		}
		s.capture.group = uintptr(d.out[0])
	}
	if err != nil && s.capture != nil {
		d.dropWorkspaces(w)
	}
	return err
}

// launchNow hands a launch to the library, which copies the arguments during the call. Operators work in memory
// of w.
func (d *Driver) launchNow(s *stream, w *workspaces, k *kernel, blocks uint32, words []uint64) error {
	if k.operator != nil {
		return d.runOperator(s, w, k, words)
	}
	f, err := d.functionIn(k, s.ctx)
	if err != nil {
		return err
	}
	d.pack = packArguments(d.pack[:0], k.signature, words)
	var args uintptr
	if len(d.pack) > 0 {
		args = uintptr(unsafe.Pointer(&d.pack[0]))
	}
	return d.queue(&d.launch, f, uintptr(blocks), s.raw, 0, args, uintptr(8*len(d.pack)), 0, 0)
}

// packArguments appends a slot of 8 bytes for each parameter: the address of an operand without its length, or a
// scalar. Without a signature all words are scalars.
func packArguments(slots []uint64, sig *driver.Signature, words []uint64) []uint64 {
	if sig == nil {
		return append(slots, words...)
	}
	for _, p := range sig.Params {
		slots = append(slots, words[0])
		words = words[1:]
		if p.Pointer {
			words = words[1:]
		}
	}
	return slots
}
