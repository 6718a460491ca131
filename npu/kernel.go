package npu

import (
	"fmt"
	"runtime"
	"strings"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
	"npulua/npu/internal/executor"
	"npulua/npu/sim/kernel"
)

// Signature is a kernel's parsed parameter list.
type Signature = driver.Signature

// HostLaunch is a launch as KernelOptions.Sim sees it.
type HostLaunch = driver.HostLaunch

// MaxBlocks is the largest block dim of a launch.
const MaxBlocks = 65535

// KernelOptions declare a kernel of the program's own.
type KernelOptions struct {
	Name      string
	Signature string // "out float32* y, in float32* x, float32 a, uint32 n"; see ParseSignature
	Binary    string // file for hardware
	// Sim computes all blocks of a launch on the simulator. It runs on the thread that queued the
	// launch, at a call that waits, and must not make NPU calls.
	Sim func(l *HostLaunch) error
}

// Kernel is a function that devices run. It needs no closing.
type Kernel struct {
	// Bound is free for bindings: what stands for the handle there.
	Bound any

	s      *Session
	name   string
	doc    string
	sig    *Signature
	opts   KernelOptions
	types  [][]DType // supported bindings of the type variables
	loaded map[variant]driver.Kernel
	lastOf variant // what last is
	last   driver.Kernel
}

// variant is a kernel made ready for a device and a binding of its type variables, and for the
// thread that its host function runs on.
type variant struct {
	dev    *Device
	caller *executor.Caller
	types  [4]DType
}

// maxTypeVars bounds the type variables of a signature.
const maxTypeVars = 4

// KernelInfo describes one of the built-in kernels.
type KernelInfo struct {
	Name, Signature, Doc string
	Types                [][]DType // supported bindings of the signature's type variables; nil: it has none
}

// Kernels lists the built-in kernels.
func Kernels() []KernelInfo {
	var out []KernelInfo
	for _, k := range kernel.All() {
		out = append(out, KernelInfo{k.Name, k.Signature, k.Doc, k.Types})
	}
	return out
}

// Kernel returns the built-in kernel called name. ErrParamInvalid where there is none.
func (s *Session) Kernel(name string) (*Kernel, error) {
	k, ok := kernel.Find(name)
	if !ok {
		var names []string
		for _, k := range kernel.All() {
			names = append(names, k.Name)
		}
		return nil, hinted(errorf(ErrParamInvalid, "no kernel %q%s", name, Suggest(name, names)),
			"npu.kernels() lists the built-in ones; npu.kernel{...} declares one of your own")
	}
	sig, err := driver.ParseSignature(k.Signature)
	if err != nil {
		return nil, errorf(ErrInternal, "%v", err)
	}
	return s.newKernel(&Kernel{name: name, doc: k.Doc, sig: sig, types: k.Types, opts: KernelOptions{Name: name}}), nil
}

// NewKernel declares a kernel. ErrInvalidParam for a signature that cannot be read.
func (s *Session) NewKernel(opts KernelOptions) (*Kernel, error) {
	if opts.Name == "" {
		return nil, errorf(ErrInvalidParam, "a kernel needs a name")
	}
	sig, err := driver.ParseSignature(opts.Signature)
	if err != nil {
		return nil, errorf(ErrInvalidParam, "%v", err)
	}
	if len(sig.TypeVars) > maxTypeVars {
		return nil, errorf(ErrInvalidParam, "signature: %d type variables, at most %d", len(sig.TypeVars), maxTypeVars)
	}
	if opts.Sim == nil && opts.Binary == "" {
		return nil, hinted(errorf(ErrInvalidParam, "kernel %q has nothing to run", opts.Name),
			"give it sim = function (for the simulator), binary = file (for hardware), or both")
	}
	return s.newKernel(&Kernel{name: opts.Name, sig: sig, opts: opts}), nil
}

// newKernel lets the driver forget what was loaded of k once nobody can reach k; launches that are
// queued still run.
func (s *Session) newKernel(k *Kernel) *Kernel {
	k.s, k.loaded = s, make(map[variant]driver.Kernel)
	runtime.AddCleanup(k, func(loaded map[variant]driver.Kernel) {
		s.mu.Lock()
		closing := s.closing
		s.mu.Unlock()
		if closing || len(loaded) == 0 {
			return
		}
		s.exec.Release(func(driver.Driver) bool {
			for _, h := range loaded {
				_ = s.loader.UnloadKernel(h) // fails where its device was closed, which forgot it
			}
			return true
		})
	}, k.loaded)
	return k
}

// Name is the kernel's name.
func (k *Kernel) Name() string { return k.name }

// Doc is one sentence on what it computes; "" for kernels of the program's own.
func (k *Kernel) Doc() string { return k.doc }

// Signature is its parameter list.
func (k *Kernel) Signature() *Signature { return k.sig }

// Arg is one argument of a launch: a buffer, or else a number.
type Arg struct {
	Buffer *Buffer
	Number float64
}

// Launch queues k with blocks blocks. args match the signature: buffers on the device of s for
// pointer parameters, numbers for scalars. What only the kernel can tell, such as a count beyond
// an operand, is a fault of the stream.
func (s *Stream) Launch(t *Thread, k *Kernel, blocks int64, args []Arg) error {
	if err := s.check(); err != nil {
		return err
	}
	if blocks < 1 || blocks > MaxBlocks {
		return errorf(ErrParamInvalid, "block dim must be 1 to %d, got %d", MaxBlocks, blocks)
	}
	v := variant{dev: s.ctx.dev}
	if k.opts.Sim != nil {
		v.caller = t.c
	}
	if err := k.bind(s, t, args, &v); err != nil {
		return err
	}
	h := k.last
	if v != k.lastOf || h == 0 {
		var err error
		if h, err = k.load(t, s.ctx, v); err != nil {
			return err
		}
	}
	p, c, err := s.begin(t, driver.OpLaunch)
	if err != nil {
		return err
	}
	c.Kernel = h
	c.Blocks = uint32(blocks)
	words := c.Args[:0]
	for i := range args {
		a, par := &args[i], &k.sig.Params[i]
		if b := a.Buffer; b != nil {
			words = append(words, uint64(b.ptr), uint64(b.bytes))
			b.used(s.state, t.Site, par.Dir != driver.DirIn)
		} else {
			words = append(words, par.Type.Bits(a.Number))
		}
	}
	c.Args = words
	return s.submit(t, p)
}

// bind checks the arguments against the signature and finds the types of its variables.
func (k *Kernel) bind(s *Stream, t *Thread, args []Arg, v *variant) error {
	if len(args) != len(k.sig.Params) {
		return k.argError("takes %d arguments, got %d", len(k.sig.Params), len(args))
	}
	for i := range args {
		a, p := &args[i], &k.sig.Params[i]
		b := a.Buffer
		switch {
		case p.Pointer && b == nil:
			return k.argError("argument %d (%s) must be a buffer, got a number", i+1, p.Name)
		case !p.Pointer && b != nil:
			return k.argError("argument %d (%s) must be a number, got a buffer", i+1, p.Name)
		case !p.Pointer:
			typ := p.Type
			if typ == dtype.Invalid {
				typ = v.types[k.typeVar(p)]
			}
			if msg := typ.Check(a.Number); msg != "" {
				return k.argError("argument %d (%s): %s", i+1, p.Name, msg)
			}
			continue
		}
		if b.root.res.closed {
			return b.check()
		}
		if b.space != DeviceMemory || b.root.dev != s.ctx.dev {
			if err := s.onDevice(t, b); err != nil {
				e := err.(*Error)
				e.Detail = fmt.Sprintf("kernel %q: argument %d (%s): %s", k.name, i+1, p.Name, e.Detail)
				return e
			}
		}
		want := p.Type
		if want == dtype.Invalid {
			j := k.typeVar(p)
			if v.types[j] == dtype.Invalid {
				v.types[j] = b.typ
			}
			want = v.types[j]
		}
		if b.typ != want {
			return k.argError("argument %d (%s) must be %s, got %s", i+1, p.Name, want, b.typ)
		}
	}
	return nil
}

func (k *Kernel) typeVar(p *driver.Param) int {
	for j, name := range k.sig.TypeVars {
		if name == p.TypeVar {
			return j
		}
	}
	return 0
}

func (k *Kernel) argError(format string, args ...any) error {
	e := errorf(ErrParamInvalid, "kernel %q: "+format, append([]any{k.name}, args...)...)
	return hinted(e, fmt.Sprintf("%s(%s)", k.name, k.sig.Text))
}

// load makes the kernel ready for a device and types, once.
func (k *Kernel) load(t *Thread, ctx *Context, v variant) (driver.Kernel, error) {
	h, ok := k.loaded[v]
	if !ok {
		types := append([]DType(nil), v.types[:len(k.sig.TypeVars)]...)
		if err := k.supported(types); err != nil {
			return 0, err
		}
		if err := need(k.s, k.s.loader, "launch kernels"); err != nil {
			return 0, err
		}
		src := driver.KernelSource{Name: k.name, Signature: k.sig, Types: types, Binary: k.opts.Binary}
		if sim := k.opts.Sim; sim != nil && k.s.info.Simulated {
			exec, caller := k.s.exec, t.c
			src.Run = func(l *HostLaunch) error {
				return exec.Upcall(caller, func() error { return sim(l) })
			}
		} else if k.opts.Signature != "" && k.s.info.Simulated {
			return 0, hinted(errorf(ErrNotSupported, "kernel %q has no function for the simulator", k.name), "add sim = function(block, ...) to its declaration")
		}
		err := t.call(ctx.h, func(driver.Driver) (err error) {
			h, err = k.s.loader.LoadKernel(src)
			return err
		})
		if err != nil {
			return 0, err
		}
		k.loaded[v] = h
	}
	k.lastOf, k.last = v, h
	return h, nil
}

func (k *Kernel) supported(types []DType) error {
	if k.types == nil {
		return nil
	}
	var known []string
	for _, row := range k.types {
		same := len(row) == len(types)
		for i := 0; same && i < len(row); i++ {
			same = row[i] == types[i]
		}
		if same {
			return nil
		}
		known = append(known, typeList(row))
	}
	return k.argError("does not work on %s; it does on %s", typeList(types), strings.Join(known, ", "))
}

func typeList(types []DType) string {
	var names []string
	for _, t := range types {
		names = append(names, t.String())
	}
	return strings.Join(names, "/")
}

// DirIn marks a pointer parameter that a kernel only reads.
const DirIn = driver.DirIn

// Share is the half-open range of n items that belongs to block of blocks.
func Share(n int64, block, blocks int) (first, last int64) { return kernel.Share(n, block, blocks) }
