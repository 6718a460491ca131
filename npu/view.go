package npu

import "npulua/npu/internal/span"

// View makes a host buffer of memory that belongs to somebody else, for a host function; readOnly
// refuses writes. done ends it: the buffer is closed then.
func (t *Thread) View(typ DType, mem []byte, readOnly bool) (b *Buffer, done func()) {
	m := newMemory(nil)
	m.res = &resource{kind: "kernel argument", session: t.s}
	block := span.Host(mem, nil)
	b = &Buffer{root: m, space: PageableMemory, typ: typ, count: int64(len(mem) / typ.Size()), bytes: int64(len(mem)),
		span: span.Whole(block, int64(len(mem))), readOnly: readOnly}
	site := t.Site
	return b, func() {
		t.s.mu.Lock()
		m.res.closedAt, m.res.closedBy = site, "launch"
		m.res.ending.Store(true)
		m.res.closed.Store(true)
		t.s.mu.Unlock()
		block.Release()
	}
}
