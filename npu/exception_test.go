package npu_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"npulua/npu"
)

// What fails during a call of the function is told when it has returned, in order.
func TestOnExceptionNests(t *testing.T) {
	r := newRig(t)
	var sites []npu.Site
	depth := 0
	err := r.OnException(r.t, func(x npu.Exception) error {
		depth++
		defer func() { depth-- }()
		if depth > 1 {
			t.Error("called inside of itself")
		}
		if x.Stream != r.s {
			t.Errorf("stream %v, want %v", x.Stream, r.s)
		}
		if sites = append(sites, x.Err.Site); len(sites) == 1 {
			r.fault(r.s, 30)
			if err := r.s.Synchronize(r.t, -1); err == nil {
				t.Error("the wait inside finds no fault")
			}
			r.fault(r.s, 31)
			_ = r.s.Synchronize(r.t, -1)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.fault(r.s, 20)
	r.fault(r.s, 21)
	if err := r.s.Synchronize(r.t, -1); err == nil {
		t.Error("no fault")
	}
	if want := []npu.Site{20, 21, 30, 31}; !slices.Equal(sites, want) {
		t.Errorf("told %v, want %v", sites, want)
	}
}

// An error of the function is that of the call, or is left for Close.
func TestOnExceptionErrors(t *testing.T) {
	r := newRig(t)
	mine := errors.New("mine")
	calls := 0
	if err := r.OnException(r.t, func(npu.Exception) error { calls++; return mine }); err != nil {
		t.Fatal(err)
	}
	r.fault(r.s, 20)
	if err := r.t.Busy(time.Second); !errors.Is(err, mine) {
		t.Errorf("Busy = %v, want the function's error", err)
	}
	var fault *npu.Error
	if err := r.s.Synchronize(r.t, -1); !errors.As(err, &fault) || fault.Site != 20 || errors.Is(err, mine) {
		t.Errorf("Synchronize = %v, want the fault alone", err)
	}
	r.fault(r.s, 21)
	if err := r.s.Synchronize(r.t, -1); errors.Is(err, mine) {
		t.Errorf("Synchronize = %v, want the fault alone", err)
	}
	if err := r.Close(false); !errors.Is(err, mine) {
		t.Errorf("Close = %v, want the function's error", err)
	}
	if calls != 2 {
		t.Errorf("%d calls, want 2", calls)
	}
}

// The null backend runs nothing, so that nothing of it can fail.
func TestOnExceptionUnsupported(t *testing.T) {
	s := open(t, npu.Options{Backend: "null"})
	if err := s.OnException(s.Main(), nil); !errors.Is(err, npu.ErrNotSupported) {
		t.Errorf("OnException = %v, want 207000", err)
	}
}
