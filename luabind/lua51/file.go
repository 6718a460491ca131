package lua51

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"
)

// file is what a FILE* userdata holds.
type file struct {
	in    *input  // nil: not open for reading
	out   *Output // nil: not open for writing
	seek  io.Seeker
	end   io.Closer
	child *process // at the other end of a pipe of io.popen
	std   bool     // one of the three that scripts cannot close

	once   sync.Once // guards the closing, which the garbage collector may do
	closed bool      // as scripts see it
}

// reader prepares for reading: what was written goes out first.
func (f *file) reader(ctx context.Context) (*input, error) {
	if f.in == nil {
		return nil, syscall.EBADF
	}
	if f.out != nil {
		if err := f.out.Flush(ctx); err != nil {
			return nil, err
		}
	}
	f.in.during(ctx)
	return f.in, nil
}

// writer prepares for writing: the file's position goes back to where the script has read to.
func (f *file) writer() (*Output, error) {
	if f.out == nil {
		return nil, syscall.EBADF
	}
	return f.out, f.unread()
}

// unread gives up what was read ahead.
func (f *file) unread() error {
	if f.in == nil || f.in.Buffered()+len(f.in.src.rest) == 0 {
		return nil
	}
	if f.seek == nil {
		return nil
	}
	_, err := f.seek.Seek(-int64(f.in.Buffered()+len(f.in.src.rest)), io.SeekCurrent)
	if err == nil {
		f.in.src.rest = nil
		f.in.Reset(f.in.src)
	}
	return err
}

// moveTo is fseek and ftell.
func (f *file) moveTo(ctx context.Context, offset int64, whence int) (int64, error) {
	if f.out != nil {
		if err := f.out.Flush(ctx); err != nil {
			return 0, err
		}
	}
	if f.seek == nil {
		return 0, syscall.ESPIPE
	}
	if err := f.unread(); err != nil {
		return 0, err
	}
	return f.seek.Seek(offset, whence)
}

// close writes what is left, and waits for a child to end until ctx does; what is left for a disk is
// written even then. Closing again is no error.
func (f *file) close(ctx context.Context) (err error) {
	f.once.Do(func() {
		if f.out != nil {
			writing := ctx
			if f.out.prompt {
				writing = context.WithoutCancel(ctx)
			}
			err = f.out.Flush(writing)
		}
		if f.end != nil {
			err = errors.Join(err, f.end.Close())
		}
		if f.child != nil {
			err = f.child.wait(ctx)
		}
	})
	return err
}
