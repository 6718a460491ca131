package lua51

import (
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// textBuffer is a result that is written piece by piece. It refuses a piece that makes it too long
// before it takes memory for it, and does not grow beyond the limit.
type textBuffer struct {
	L   *lua.LState
	buf []byte
}

// room makes room for n more bytes.
func (b *textBuffer) room(n int) {
	size := len(b.buf) + n
	if size <= cap(b.buf) {
		return
	}
	checkResult(b.L, size)
	more := max(size, min(2*cap(b.buf), maxResult), 64)
	room(b.L, more)
	grown := make([]byte, len(b.buf), more)
	copy(grown, b.buf)
	b.buf = grown
}

// String ends the use of the buffer, whose bytes it becomes.
func (b *textBuffer) String() string { return unsafe.String(unsafe.SliceData(b.buf), len(b.buf)) }

func (b *textBuffer) byte(c byte) {
	b.room(1)
	b.buf = append(b.buf, c)
}

func (b *textBuffer) text(s string) {
	b.room(len(s))
	b.buf = append(b.buf, s...)
}

// value writes a string, or the text of a number.
func (b *textBuffer) value(v lua.LValue) {
	switch v := v.(type) {
	case lua.LString:
		b.text(string(v))
	case lua.LNumber:
		var digits [numberRoom]byte
		number := appendNumber(digits[:0], float64(v))
		b.room(len(number))
		b.buf = append(b.buf, number...)
	}
}
