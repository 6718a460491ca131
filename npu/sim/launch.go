package sim

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
	"npulua/npu/sim/kernel"
)

// loadedKernel is a kernel made usable in a device: one of the simulator's own, or a function of
// the host.
type loadedKernel struct {
	dev   *device
	name  string
	sig   *driver.Signature
	types []dtype.DType
	own   *kernel.Kernel
	run   func(l *driver.HostLaunch) error
}

// launch is the part of a task that only launches have.
type launch struct {
	own kernel.Launch // also the arguments of a host function
	mem []memArg      // one a parameter; empty for scalars
}

// memArg is a pointer argument with the block it points into.
type memArg struct {
	o    operand
	size int64
}

// LoadKernel implements driver.Loader.
func (d *Driver) LoadKernel(src driver.KernelSource) (driver.Kernel, error) {
	const call = "aclrtBinaryGetFunction"
	ctx, err := d.needContext(call)
	if err != nil {
		return 0, err
	}
	k := &loadedKernel{dev: ctx.dev, name: src.Name, sig: src.Signature, types: src.Types, run: src.Run}
	if src.Run == nil {
		own, ok := kernel.Find(src.Name)
		if !ok {
			return 0, driver.Errorf(driver.CodeRtParamInvalid, call, "the simulator has no kernel %q", src.Name)
		}
		k.own = own
		if k.sig, err = driver.ParseSignature(own.Signature); err != nil {
			return 0, driver.Errorf(driver.CodeInternal, call, "%s: %v", own.Name, err)
		}
		if len(k.sig.TypeVars) != 0 && !supports(own, src.Types) {
			return 0, driver.Errorf(driver.CodeRtParamInvalid, call, "kernel %q does not work on %v", src.Name, src.Types)
		}
	}
	h := driver.Kernel(d.newHandle())
	d.kernels[h] = k
	return h, nil
}

func supports(k *kernel.Kernel, types []dtype.DType) bool {
	return slices.ContainsFunc(k.Types, func(row []dtype.DType) bool { return slices.Equal(row, types) })
}

// UnloadKernel implements driver.Loader.
func (d *Driver) UnloadKernel(h driver.Kernel) error {
	if d.kernels[h] == nil {
		return driver.Errorf(driver.CodeInvalidHandle, "aclrtBinaryUnLoad", "%#x is no loaded kernel", uintptr(h))
	}
	delete(d.kernels, h)
	return nil
}

// prepareLaunch checks what the runtime checks at submission; what only the kernel can tell is a
// fault of the launch.
func (d *Driver) prepareLaunch(t *task, call string) (bool, error) {
	c := &t.cmd
	k := d.kernels[c.Kernel]
	switch {
	case c.Kernel == 0:
		return false, driver.Errorf(driver.CodeInvalidParam, call, "kernel is NULL")
	case k == nil:
		return false, driver.Errorf(driver.CodeInvalidHandle, call, "%#x is no loaded kernel", uintptr(c.Kernel))
	case k.dev != t.s.ctx.dev:
		return false, driver.Errorf(driver.CodeRtParamInvalid, call, "the kernel was loaded on device %d, the stream is of device %d", k.dev.id, t.s.ctx.dev.id)
	case c.Blocks == 0:
		return false, driver.Errorf(driver.CodeRtParamInvalid, call, "block dim is 0")
	case len(c.Args) != k.sig.Words():
		return false, driver.Errorf(driver.CodeRtParamInvalid, call, "%d argument words, the signature has %d", len(c.Args), k.sig.Words())
	}
	t.kernel = k
	return true, nil
}

// startLaunch plans the work, which gives its time, and asks for cores.
func (d *Driver) startLaunch(t *task) {
	k, c := t.kernel, &t.cmd
	dev := t.s.ctx.dev
	var cost kernel.Cost
	t.fault = d.bind(t)
	if t.fault == nil && k.own != nil {
		if t.fault = d.planOwn(t); t.fault == nil {
			cost = t.launch.own.Cost // a launch that is refused takes no more than its start
		}
	} else if t.fault == nil {
		for _, m := range t.launch.mem {
			cost.Bytes += float64(m.size)
			cost.Flops += float64(m.size)
		}
	}
	pool := dev.cores(cost.Unit)
	t.dur = dev.profile.launchTime(cost, int(c.Blocks), pool.total)
	d.requestCores(pool, t, int(c.Blocks))
}

// bind finds the memory of the pointer arguments.
func (d *Driver) bind(t *task) error {
	k, call := t.kernel, t.cmd.Op.Call()
	if t.launch == nil {
		t.launch = new(launch)
	}
	l := t.launch
	l.own = kernel.Launch{Blocks: int(t.cmd.Blocks), Types: k.types, Args: l.own.Args[:0], Elems: l.own.Elems[:0]}
	l.mem = l.mem[:0]
	words := t.cmd.Args
	for i := range k.sig.Params {
		p := &k.sig.Params[i]
		a := kernel.Arg{Type: k.typeOf(p), Word: words[0]}
		words = words[1:]
		var m memArg
		if p.Pointer {
			m.size = int64(words[0])
			words = words[1:]
			var err error
			m.o, err = d.resolve(call, p.Name, driver.Ptr(a.Word), m.size)
			if err != nil || m.size < 0 || m.o.pageable() {
				return driver.Errorf(driver.CodeVectorException, call, "argument %q: %#x is no memory of %d B that the device can reach", p.Name, a.Word, m.size)
			}
			if dev := m.o.block.dev; dev != nil && dev != t.s.ctx.dev && !t.s.ctx.dev.peers[dev.id] {
				return driver.Errorf(driver.CodeVectorException, call, "argument %q: device %d may not reach the memory of device %d", p.Name, t.s.ctx.dev.id, dev.id)
			}
		}
		l.own.Args = append(l.own.Args, a)
		l.mem = append(l.mem, m)
	}
	return nil
}

// typeOf is the type of a parameter, with type variables as they were bound.
func (k *loadedKernel) typeOf(p *driver.Param) dtype.DType {
	if j := slices.Index(k.sig.TypeVars, p.TypeVar); j >= 0 {
		return k.types[j]
	}
	return p.Type
}

// planOwn lets a kernel of ours say what it needs, and checks that the operands hold it.
func (d *Driver) planOwn(t *task) error {
	k, l := t.kernel, t.launch
	call := t.cmd.Op.Call()
	if err := k.own.Plan(&l.own); err != nil {
		return driver.Errorf(driver.CodeVectorException, call, "kernel %q: %v", k.own.Name, err)
	}
	for i := range k.sig.Params {
		p := &k.sig.Params[i]
		if !p.Pointer {
			continue
		}
		need := l.own.Elems[i] * int64(l.own.Args[i].Type.Size())
		if m := &l.mem[i]; need > m.size {
			return driver.Errorf(driver.CodeVectorException, call, "kernel %q: argument %q: out of range: %d B used, the operand has %d B",
				k.own.Name, p.Name, need, m.size)
		}
	}
	return nil
}

// parallelAbove is the work (bytes and operations) from which blocks are spread over CPUs.
const parallelAbove = 1 << 16

// runLaunch computes the launch.
func (d *Driver) runLaunch(t *task) error {
	if t.fault != nil {
		return t.fault
	}
	k, l := t.kernel, t.launch
	for i := range l.mem {
		if m := l.mem[i]; m.o.freed() {
			return driver.Errorf(driver.CodeVectorException, t.cmd.Op.Call(), "argument %q: memory was freed before the kernel ran", k.sig.Params[i].Name)
		}
	}
	if k.own == nil {
		return runHost(t)
	}
	for i := range k.sig.Params {
		if k.sig.Params[i].Pointer {
			n := l.own.Elems[i] * int64(l.own.Args[i].Type.Size())
			l.own.Args[i].Mem = l.mem[i].o.bytes(n, false)
		}
	}
	if k.own.Block != nil {
		d.parallel(&l.own, k.own.Block)
	}
	if k.own.Finish != nil {
		k.own.Finish(&l.own)
	}
	return nil
}

// runHost has a function of the host compute the launch.
func runHost(t *task) error {
	k, l := t.kernel, t.launch
	h := &driver.HostLaunch{Signature: k.sig, Types: k.types, Blocks: l.own.Blocks, Args: make([]driver.HostArg, len(l.mem))}
	for i, a := range l.own.Args {
		h.Args[i] = driver.HostArg{Type: a.Type, Word: a.Word}
		if k.sig.Params[i].Pointer {
			h.Args[i].Mem = l.mem[i].o.bytes(l.mem[i].size, false)
		}
	}
	if err := k.run(h); err != nil {
		return &driver.Error{Code: driver.CodeVectorException, Call: t.cmd.Op.Call(), Detail: err.Error(), Cause: err}
	}
	return nil
}

// parallel calls block for every block, on all CPUs where the work is worth it. A panic of a block
// is one of the caller.
func (d *Driver) parallel(l *kernel.Launch, block func(*kernel.Launch, int)) {
	workers := min(runtime.GOMAXPROCS(0), l.Blocks)
	if workers < 2 || l.Cost.Flops+l.Cost.Bytes < parallelAbove {
		for b := 0; b < l.Blocks && !d.stopped.Load(); b++ {
			block(l, b)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	var failed atomic.Pointer[any]
	loop := func() {
		defer func() {
			if r := recover(); r != nil {
				failed.Store(&r)
			}
		}()
		for b := next.Add(1) - 1; b < int64(l.Blocks) && !d.stopped.Load(); b = next.Add(1) - 1 {
			block(l, int(b))
		}
	}
	for range workers - 1 {
		wg.Go(loop)
	}
	loop() // this thread takes its share
	wg.Wait()
	if r := failed.Load(); r != nil {
		panic(*r)
	}
}
