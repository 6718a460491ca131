package npu_test

import (
	"errors"
	"strings"
	"testing"

	"npulua/npu"
)

// The arguments of an operator are the parameters of its kernel, but for one number of elements at the end.
func TestOperatorsFitTheirKernels(t *testing.T) {
	kernels := make(map[string]npu.KernelInfo)
	for _, k := range npu.Kernels() {
		kernels[k.Name] = k
	}
	for _, o := range npu.Operators() {
		k, ok := kernels[o.Kernel]
		if !ok {
			t.Errorf("%s: there is no kernel %s", o.Name, o.Kernel)
			continue
		}
		sig, err := k.Parse()
		if err != nil {
			t.Fatal(err)
		}
		names, params := o.Names(), sig.Params
		if len(params) == len(names)+1 && params[len(names)].Name == "n" {
			params = params[:len(names)]
		}
		if len(params) != len(names) {
			t.Errorf("%s(%s) does not fit %s(%s)", o.Name, o.Args, k.Name, k.Signature)
			continue
		}
		for i, p := range params {
			if buffer := strings.Contains(o.Args, names[i]+"["); buffer != p.Pointer || !buffer && names[i] != p.Name {
				t.Errorf("%s: argument %s stands for parameter %s", o.Name, names[i], p.Name)
			}
		}
		if len(o.Types) == 0 || !strings.HasSuffix(o.Doc, ".") {
			t.Errorf("%s has no types or no sentence", o.Name)
		}
	}
}

func TestOperate(t *testing.T) {
	r := newRig(t)
	s, x, h := r.stream(), r.alloc(8), r.host(8)
	add, err := r.Operator("add")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Fill(r.t, x, 3); err != nil {
		t.Fatal(err)
	}
	arg := npu.Arg{Buffer: x}
	if err := s.Operate(r.t, add, []npu.Arg{arg, arg, arg}); err != nil {
		t.Fatal(err)
	}
	if err := npu.Copy(r.t, h, x); err != nil {
		t.Fatal(err)
	}
	if sum, err := h.Sum(); err != nil || sum != 48 {
		t.Errorf("the sum is %v, %v, want 48", sum, err)
	}
	if _, err := r.Operator("addd"); !errors.Is(err, npu.ErrParamInvalid) {
		t.Errorf("an unknown operator gives %v", err)
	}
	other, err := r.t.Device(1)
	if err != nil {
		t.Fatal(err)
	}
	y, err := other.DefaultContext().Alloc(r.t, x.Type(), 8, "")
	if err != nil {
		t.Fatal(err)
	}
	err = s.Operate(r.t, add, []npu.Arg{arg, arg, {Buffer: y}})
	if !errors.Is(err, npu.ErrStreamContext) || !strings.Contains(err.Error(), "b: the buffer is on device 1") {
		t.Errorf("a buffer of another device gives %v", err)
	}
}
