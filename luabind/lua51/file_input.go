package lua51

import (
	"bufio"
	"context"
	"io"
	"os"
	"sync"
)

// inputSize is how much is read ahead.
const inputSize = 16 << 10

// input is a buffered reader whose waits end with a context.
type input struct {
	*bufio.Reader
	src *source
}

// source reads in a goroutine wherever a read may have to wait. A read that was given up stays
// behind, until data comes, the file is closed or the process ends; the next read gets its data.
type source struct {
	r      io.Reader
	prompt bool
	before func(context.Context) error // nil: nothing to do before a read
	noted  func() func()               // of the process that is read from; nil: none

	ctx     context.Context // of the call under way
	reading chan chunk      // the read under way; nil: none
	rest    []byte          // read, but too much for the caller's buffer
}

type chunk struct {
	data []byte
	err  error
}

func newInput(r io.Reader) *input {
	src := &source{r: r, ctx: context.Background()}
	if f, ok := r.(*os.File); ok {
		src.prompt = isDisk(f)
	}
	return &input{Reader: bufio.NewReaderSize(src, inputSize), src: src}
}

// during makes ctx the context of the reads that follow.
func (in *input) during(ctx context.Context) *bufio.Reader {
	in.src.ctx = ctx
	return in.Reader
}

func (s *source) Read(p []byte) (int, error) {
	if len(s.rest) > 0 {
		n := copy(p, s.rest)
		s.rest = s.rest[n:]
		return n, nil
	}
	if s.ctx.Err() != nil {
		return 0, interruption{s.ctx.Err()}
	}
	if s.before != nil {
		if err := s.before(s.ctx); isInterruption(err) {
			return 0, err
		}
	}
	if s.reading == nil {
		if s.prompt || s.ctx.Done() == nil {
			return s.r.Read(p)
		}
		s.reading = make(chan chunk, 1)
		go readChunk(s.r, s.reading)
	}
	if s.noted != nil {
		defer s.noted()()
	}
	select {
	case c := <-s.reading:
		s.reading = nil
		n := copy(p, c.data)
		s.rest = c.data[n:]
		if len(s.rest) > 0 {
			return n, nil
		}
		return n, c.err
	case <-s.ctx.Done():
		return 0, interruption{s.ctx.Err()}
	}
}

// chunks holds buffers for readChunk.
var chunks = sync.Pool{New: func() any { return new([inputSize]byte) }}

func readChunk(r io.Reader, to chan<- chunk) {
	buf := chunks.Get().(*[inputSize]byte)
	n, err := r.Read(buf[:])
	c := chunk{append([]byte(nil), buf[:n]...), err}
	chunks.Put(buf)
	to <- c
}
