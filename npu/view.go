package npu

// View makes a host buffer of memory that belongs to somebody else, for a host function; readOnly
// refuses writes. done ends it: the buffer is closed then.
func (t *Thread) View(typ DType, mem []byte, readOnly bool) (b *Buffer, done func()) {
	m := newMemory(nil)
	m.res = &resource{kind: "kernel argument", session: t.s}
	b = &Buffer{root: m, space: PageableMemory, typ: typ, count: int64(len(mem) / typ.Size()), bytes: int64(len(mem)),
		ptr: addressOf(mem), data: mem, readOnly: readOnly}
	site := t.Site
	return b, func() {
		m.res.closedAt, m.res.closedBy = site, "launch"
		m.res.closed.Store(true)
		b.data = nil
	}
}
