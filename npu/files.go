package npu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"npulua/internal/whole"
	"npulua/npu/internal/dtype"
	"npulua/npu/internal/hostfile"
)

// hinter is an error of a WriteFS, or of a File's FS, that knows what to do about it.
type hinter interface {
	error
	Hint() string
}

// fileError gives a failure to read a file its code.
func fileError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, hostfile.ErrFormat) {
		return hinted(errorf(ErrParseFile, "%v", err), "the file is damaged, or not of the kind that is read here")
	}
	e := errorf(ErrInvalidFile, "%v", err)
	if h, ok := errors.AsType[hinter](err); ok {
		e.Hint = h.Hint()
	} else if errors.Is(err, fs.ErrNotExist) {
		e.Hint = "check the path; relative ones start at the working directory"
	}
	return e
}

// File is a file to read: its name for messages, and where it is read from.
type File struct {
	Name string
	FS   fs.FS // nil: the file system of the host
}

// LoadOptions say how a file becomes host memory.
type LoadOptions struct {
	Pinned   bool
	MaxBytes int64 // of the elements; a file that holds more is refused before memory is taken. 0: DefaultMaxArray, DefaultMaxImage
}

// What a file may hold where LoadOptions do not say.
const (
	DefaultMaxArray = 64 << 30
	DefaultMaxImage = 256 << 20
)

// LoadNPY reads a .npy file into host memory of its type; Shape tells its shape.
func (t *Thread) LoadNPY(file File, o LoadOptions) (*Buffer, error) {
	return t.load(file, o, DefaultMaxArray, func(r io.Reader, size int64, sink *loading) error {
		return hostfile.LoadNPY(r, size, sink)
	})
}

// LoadImage reads a PNG or JPEG file into host memory: uint8, height x width x channels, with 1
// (gray), 3 (colour) or 4 (with transparency) channels.
func (t *Thread) LoadImage(file File, o LoadOptions) (*Buffer, error) {
	return t.load(file, o, DefaultMaxImage, func(r io.Reader, _ int64, sink *loading) error {
		_, err := hostfile.LoadImage(r, sink)
		return err
	})
}

// load reads a file into a buffer that is made when its header has been read.
func (t *Thread) load(file File, o LoadOptions, most int64, read func(r io.Reader, size int64, sink *loading) error) (*Buffer, error) {
	sink := &loading{t: t, file: file, pinned: o.Pinned, most: cmp.Or(o.MaxBytes, most)}
	err := file.open(t, func(r io.Reader, size int64) error { return read(r, size, sink) })
	switch {
	case err == nil:
		return sink.b, nil
	case sink.b != nil:
		_ = sink.b.Close(t) // nobody saw it
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return nil, e
	}
	if ended := sink.Ended(); ended != nil {
		return nil, ended
	}
	return nil, fileError(err)
}

// open calls read with the open file and its size in bytes, negative where that is unknown.
func (f File) open(t *Thread, read func(r io.Reader, size int64) error) error {
	if f.FS == nil {
		wait := func(fn func(context.Context) error) error { return t.Outside(fmt.Sprintf("the file %q", f.Name), fn) }
		return hostfile.Open(f.Name, wait, read)
	}
	r, err := f.FS.Open(f.Name)
	if err != nil {
		return err
	}
	defer r.Close()
	size := int64(-1)
	if info, err := r.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	return read(r, size)
}

// loading is the hostfile.Sink that makes a buffer.
type loading struct {
	t      *Thread
	file   File
	pinned bool
	most   int64
	b      *Buffer
}

// Holds implements hostfile.Sink.
func (l *loading) Holds(n, besides int64) error {
	if n == 0 {
		return errorf(ErrParseFile, "%s holds no elements", l.file.Name)
	}
	if n > l.most {
		return hinted(errorf(ErrInvalidFile, "%s holds %d B, at most %d B are read", l.file.Name, n, l.most), "the option max_bytes takes more")
	}
	if err := l.t.s.memory().Room(n + besides); err != nil {
		return noHostMemory("%s: %v", l.file.Name, err)
	}
	return nil
}

// Fill implements hostfile.Sink.
func (l *loading) Fill(typ dtype.DType, shape []int, fill func(dst []byte) error) error {
	count := int64(1)
	for _, n := range shape {
		count *= int64(n)
	}
	b, err := l.t.Host(typ, count, l.pinned)
	if err != nil {
		return err
	}
	b.shape = shape
	l.b = b
	return b.Write(fill)
}

// Ended implements hostfile.Sink.
func (l *loading) Ended() error { return l.t.ended() }

// WriteFS is a file system of File to which files can be written, too.
type WriteFS interface {
	fs.FS
	// WriteFile makes the file called name hold what write writes, or leaves everything as it was.
	WriteFile(name string, write func(io.Writer) error) error
}

// save makes f hold what encode writes, or leaves everything as it was.
func (f File) save(encode func(io.Writer) error) error {
	var err error
	switch d := f.FS.(type) {
	case nil:
		err = whole.Write(whole.Host{}, f.Name, whole.Options{Await: true}, encode)
	case WriteFS:
		return d.WriteFile(f.Name, encode)
	default:
		err = fs.ErrPermission
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	if err != nil {
		err = fmt.Errorf("write %s: %w", f.Name, err)
	}
	return err
}

// SaveNPY writes a host buffer as a .npy file, with its shape where it has one.
func (b *Buffer) SaveNPY(path string) error { return b.SaveNPYTo(File{Name: path}) }

// SaveNPYTo is SaveNPY for a file anywhere.
func (b *Buffer) SaveNPYTo(file File) error {
	shape := b.shape
	if shape == nil {
		shape = []int{int(b.count)}
	}
	return b.Read(func(data []byte) error {
		a := hostfile.Array{Type: b.typ, Shape: shape, Data: data}
		return writeError(file.save(func(w io.Writer) error { return hostfile.EncodeNPY(w, a) }))
	})
}

// SaveImage writes a host buffer of uint8 as the kind of picture that the ending of path names:
// height x width x channels.
func (b *Buffer) SaveImage(path string, height, width, channels int64) error {
	return b.SaveImageTo(File{Name: path}, height, width, channels)
}

// SaveImageTo is SaveImage for a file anywhere.
func (b *Buffer) SaveImageTo(file File, height, width, channels int64) error {
	if err := b.Read(func([]byte) error { return nil }); err != nil {
		return err
	}
	if b.typ != dtype.Uint8 {
		return hinted(errorf(ErrParamInvalid, "a picture is uint8, the buffer is %s", b.typ), "use the kernel \"cast\" first")
	}
	if channels != 1 && channels != 3 && channels != 4 {
		return errorf(ErrParamInvalid, "a picture has 1, 3 or 4 channels, got %d", channels)
	}
	if height < 1 || width < 1 || height > b.count || width > b.count || height*width*channels != b.count {
		return errorf(ErrParamInvalid, "%d x %d x %d is not the buffer's %d elements", height, width, channels, b.count)
	}
	return b.Read(func(data []byte) error {
		im := hostfile.Image{Height: int(height), Width: int(width), Channels: int(channels), Pix: data}
		return writeError(file.save(func(w io.Writer) error { return hostfile.EncodeImage(w, filepath.Ext(file.Name), im) }))
	})
}

// writeError gives a failure to write a file its code.
func writeError(err error) error {
	if err == nil {
		return nil
	}
	e := errorf(ErrWriteFile, "%v", err)
	if h, ok := errors.AsType[hinter](err); ok {
		e.Hint = h.Hint()
	} else if errors.Is(err, hostfile.ErrFormat) {
		e.Hint = "check the ending of the name, and what that kind of file can hold"
	}
	return e
}

// Reshape gives a host or device buffer the shape that files and SaveImage use. The product must be
// the count.
func (b *Buffer) Reshape(shape []int) error {
	n := int64(1)
	for _, d := range shape {
		if d < 1 || int64(d) > b.count {
			n = 0
		}
		if n *= int64(d); n < 1 || n > b.count {
			break
		}
	}
	if n != b.count {
		return errorf(ErrParamInvalid, "shape %v is not %d elements", shape, b.count)
	}
	b.shape = append([]int(nil), shape...)
	return nil
}

// ShapeText is "240 x 320 x 3", or "" for a vector.
func (b *Buffer) ShapeText() string {
	text := ""
	for i, d := range b.shape {
		if i > 0 {
			text += " x "
		}
		text += fmt.Sprint(d)
	}
	return text
}
