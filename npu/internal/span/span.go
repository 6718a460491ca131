// Package span holds the addresses of memory, and gives one only to what uses it at once: a command in a claimed place of
// the queue, a function on the executor's thread, or a function that the host calls while the memory is held. Nobody
// can keep an address over a wait, in which the memory may be given back.
package span

import (
	"sync/atomic"
	"unsafe"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
)

// Block is one allocation. It lives as long as somebody holds it: handles, values on their way between goroutines,
// functions that use its bytes.
type Block struct {
	ptr     driver.Ptr
	data    []byte // nil: memory of a device
	last    func() // gives it back, from any goroutine; nil: it needs no giving back
	holders atomic.Int64
}

// Device makes the block of device memory at p, held once.
func Device(p driver.Ptr) *Block { return hold(&Block{ptr: p}) }

// Host makes the block of data, held once: memory of Go's, or the driver's, whom last tells when the last Release has come.
func Host(data []byte, last func()) *Block {
	return hold(&Block{ptr: addressOf(data), data: data, last: last})
}

// At makes the block of n bytes of the driver's at p, held once; see Host.
func At(p driver.Ptr, n int64, last func()) *Block {
	addr := uintptr(p)
	return hold(&Block{ptr: p, data: unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), n), last: last})
}

func hold(b *Block) *Block {
	b.holders.Store(1)
	return b
}

// Hold counts one holder more; false where there is none left, and the memory is gone.
func (b *Block) Hold() bool {
	for {
		n := b.holders.Load()
		if n <= 0 {
			return false
		}
		if b.holders.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Drop ends a hold. It reports whether that was the last one: then the caller gives the memory back.
func (b *Block) Drop() (last bool) {
	n := b.holders.Add(-1)
	if n < 0 {
		panic("span: a hold ended twice")
	}
	return n == 0
}

// Release ends a hold, and has the memory given back where that was the last one.
func (b *Block) Release() {
	if b.Drop() && b.last != nil {
		b.last()
	}
}

// Span is a part of a block.
type Span struct {
	b      *Block
	off, n int64
}

// Whole is the first n bytes of b.
func Whole(b *Block, n int64) Span { return Span{b, 0, n} }

// Slice is n bytes of s from off on, which must be inside.
func (s Span) Slice(off, n int64) Span { return Span{s.b, s.off + off, n} }

// Block is what s is a part of.
func (s Span) Block() *Block { return s.b }

// Overlaps reports whether s and o share bytes.
func (s Span) Overlaps(o Span) bool { return s.b == o.b && s.off < o.off+o.n && o.off < s.off+s.n }

// Queued is the address for a command in the claimed place.
func (s Span) Queued(executor.Pending) driver.Ptr { return s.b.ptr + driver.Ptr(s.off) }

// On is the address for a call of d, on the executor's thread.
func (s Span) On(driver.Driver) driver.Ptr { return s.b.ptr + driver.Ptr(s.off) }

// Bytes calls fn with the bytes of host memory, which are there until fn returns. It reports false, and does not call
// it, where the memory is gone.
func (s Span) Bytes(fn func(data []byte) error) (ok bool, err error) {
	if !s.b.Hold() {
		return false, nil
	}
	defer s.b.Release()
	return true, fn(s.b.data[s.off : s.off+s.n : s.off+s.n])
}

func addressOf(data []byte) driver.Ptr {
	return driver.Ptr(uintptr(unsafe.Pointer(unsafe.SliceData(data))))
}
