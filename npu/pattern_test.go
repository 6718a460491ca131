package npu_test

import (
	"testing"

	"npulua/npu"
)

func TestPattern(t *testing.T) {
	s := open(t, npu.Options{Backend: "sim"})
	th := s.Main()
	for _, n := range []int64{1, 7, 8, 9, 64, 1001} {
		h, err := th.Host(mustType(t, "uint8"), n, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.SetPattern(5); err != nil {
			t.Fatal(err)
		}
		if m, err := h.ComparePattern(5); err != nil || m != (npu.Mismatch{}) {
			t.Errorf("%d bytes: %+v, %v", n, m, err)
		}
		if m, err := h.ComparePattern(6); err != nil || m.Bytes == 0 {
			t.Errorf("%d bytes of another seed: %+v, %v", n, m, err)
		}
		was, err := h.Element(n - 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.SetElement(n-1, float64(byte(was)^0x81)); err != nil {
			t.Fatal(err)
		}
		want := npu.Mismatch{Bytes: 1, Bits: 2, First: n - 1, Got: byte(was) ^ 0x81, Want: byte(was)}
		if m, err := h.ComparePattern(5); err != nil || m != want {
			t.Errorf("%d bytes, the last one wrong: %+v, %v, want %+v", n, m, err, want)
		}
	}
}

// A part of a pattern at another place is not taken for it: what went to a wrong address shows.
func TestPatternDoesNotRepeat(t *testing.T) {
	s := open(t, npu.Options{Backend: "sim"})
	h, err := s.Main().Host(mustType(t, "uint64"), 1<<16, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.SetPattern(0); err != nil {
		t.Fatal(err)
	}
	for first := int64(1); first < 1<<15; first *= 2 {
		part, err := h.Slice(first, 1<<15)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := part.ComparePattern(0); err != nil || m.First > 1 || m.Bytes < part.Bytes()*9/10 {
			t.Errorf("from word %d on: %+v, %v", first, m, err)
		}
	}
}

func BenchmarkPattern(b *testing.B) {
	s := open(b, npu.Options{Backend: "sim"})
	h, err := s.Main().Host(mustType(b, "uint8"), 64<<20, false)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(h.Bytes())
	for b.Loop() {
		if err := h.SetPattern(1); err != nil {
			b.Fatal(err)
		}
		if m, err := h.ComparePattern(1); err != nil || m.Bytes != 0 {
			b.Fatal(m, err)
		}
	}
}
