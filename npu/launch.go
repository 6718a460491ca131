package npu

import (
	"fmt"
	"slices"
	"strings"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
)

// MaxBlocks is the largest block dim of a launch.
const MaxBlocks = 65535

// Arg is one argument of a launch: a buffer, or else a number.
type Arg struct {
	Buffer *Buffer
	Number float64
	Text   string // instead of Number, for scalars of int64 and uint64: the digits of a whole number of any size
}

func (a *Arg) value() Value { return Value{Number: a.Number, Text: a.Text} }

// kind is what a is, for messages.
func (a *Arg) kind() string {
	switch {
	case a.Buffer != nil:
		return "a buffer"
	case a.Text != "":
		return fmt.Sprintf("the text %q", a.Text)
	}
	return "a number"
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
	q, err := s.begin(t, driver.OpLaunch)
	if err != nil {
		return err
	}
	for i := range args {
		if b := args[i].Buffer; b != nil && b.root.res.ending.Load() {
			return q.cancel(b.usable())
		}
	}
	q.Kernel, q.calls = h, v.caller != nil
	q.Blocks = uint32(blocks)
	q.Args = k.pack(q.Args[:0], args, &v, q.memory)
	if s.state.recording.Load() != nil {
		return q.note(graphNode{kernel: k, bound: v})
	}
	return q.submit()
}

// pack appends the words of args, which bind checked for v, as driver.Command wants them; address gives that of a buffer
// that the kernel writes or only reads.
func (k *Kernel) pack(words []uint64, args []Arg, v *variant, address func(b *Buffer, write bool) driver.Ptr) []uint64 {
	for i := range args {
		a, par := &args[i], &k.sig.Params[i]
		if b := a.Buffer; b != nil {
			words = append(words, uint64(address(b, par.Dir != driver.DirIn)), uint64(b.bytes))
		} else {
			word, _ := k.typeOf(par, v).Pack(a.value())
			words = append(words, word)
		}
	}
	return words
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
			return k.argError("argument %d (%s) must be a buffer, got %s", i+1, p.Name, a.kind())
		case !p.Pointer && b != nil:
			return k.argError("argument %d (%s) must be a number, got a buffer", i+1, p.Name)
		case !p.Pointer:
			if _, msg := k.typeOf(p, v).Pack(a.value()); msg != "" {
				return k.argError("argument %d (%s): %s", i+1, p.Name, msg)
			}
			continue
		}
		if b.root.res.ending.Load() {
			return b.usable()
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

// typeOf is the type of a parameter, once v has that of the operands before it.
func (k *Kernel) typeOf(p *driver.Param, v *variant) dtype.DType {
	if p.Type == dtype.Invalid {
		return v.types[k.typeVar(p)]
	}
	return p.Type
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
		err := t.callOn(ctx.h, func(driver.Driver) (err error) {
			h, err = k.s.loader.LoadKernel(src)
			return err
		}, ctx.res.usable)
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
		if slices.Equal(row, types) {
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
