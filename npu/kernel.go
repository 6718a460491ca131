package npu

import (
	"runtime"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
	"npulua/npu/sim/kernel"
)

// Signature is a kernel's parsed parameter list.
type Signature = driver.Signature

// HostLaunch is a launch as KernelOptions.Sim sees it.
type HostLaunch = driver.HostLaunch

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

// TypeNames is Types in words: "float32/int8" for a binding of two variables.
func (k KernelInfo) TypeNames() []string {
	var names []string
	for _, row := range k.Types {
		names = append(names, typeList(row))
	}
	return names
}

// Parse reads the signature.
func (k KernelInfo) Parse() (*Signature, error) { return driver.ParseSignature(k.Signature) }

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

// Param is one parameter of a kernel.
type Param = driver.Param

// Dir says what a kernel does with the memory of a pointer parameter.
type Dir = driver.Dir

// The directions: only read, only written, or both.
const (
	DirIn    = driver.DirIn
	DirOut   = driver.DirOut
	DirInOut = driver.DirInOut
)

// Share is the half-open range of n items that belongs to block of blocks.
func Share(n int64, block, blocks int) (first, last int64) { return kernel.Share(n, block, blocks) }
