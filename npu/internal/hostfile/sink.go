package hostfile

import (
	"io"

	"npulua/npu/internal/dtype"
)

// Sink takes what a file holds. Its methods may fail, and then nothing more is read.
type Sink interface {
	// Holds is told of what the header says, before anything of that size is done: bytes that go to the sink, at most, and
	// bytes that reading it takes besides.
	Holds(bytes, besides int64) error
	// Fill calls fill with the memory that the elements go to: as many bytes as they have. It returns what fill does.
	Fill(typ dtype.DType, shape []int, fill func(dst []byte) error) error
	// Ended fails where nobody wants the file any more.
	Ended() error
}

// heap is a Sink with memory of its own, for files of any size.
type heap struct{ data []byte }

func (h *heap) Holds(int64, int64) error { return nil }
func (h *heap) Ended() error             { return nil }
func (h *heap) Fill(typ dtype.DType, shape []int, fill func(dst []byte) error) error {
	n, _ := dataBytes(typ, shape)
	h.data = make([]byte, n)
	return fill(h.data)
}

// piece is how much is read between two looks at whether the sink has ended.
const piece = 1 << 20

// wanted is a reader that ends with its sink.
type wanted struct {
	r    io.Reader
	sink Sink
}

func (w wanted) Read(p []byte) (int, error) {
	if err := w.sink.Ended(); err != nil {
		return 0, err
	}
	return w.r.Read(p[:min(len(p), piece)])
}

// Open calls load with an open file and its size in bytes, which is negative for what has none: a FIFO, a terminal.
// wait calls what waits for the other end of such a file.
func Open(path string, wait Wait, load func(r io.Reader, size int64) error) error {
	return readFile(path, wait, load)
}
