package npu

import (
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

// LoadNPY reads a .npy file into host memory of its type; Shape tells its shape.
func (t *Thread) LoadNPY(file File, pinned bool) (*Buffer, error) {
	a, err := readFile(file, hostfile.ReadNPY, func(r io.Reader) (hostfile.Array, error) { return hostfile.DecodeNPY(r, -1) })
	if err != nil {
		return nil, fileError(err)
	}
	return t.fromFile(file, a.Type, a.Data, a.Shape, pinned)
}

// LoadImage reads a PNG or JPEG file into host memory: uint8, height x width x channels, with 1
// (gray), 3 (colour) or 4 (with transparency) channels.
func (t *Thread) LoadImage(file File, pinned bool) (*Buffer, error) {
	im, err := readFile(file, hostfile.ReadImage, hostfile.DecodeImage)
	if err != nil {
		return nil, fileError(err)
	}
	return t.fromFile(file, dtype.Uint8, im.Pix, []int{im.Height, im.Width, im.Channels}, pinned)
}

func readFile[T any](f File, read func(path string) (T, error), decode func(io.Reader) (T, error)) (T, error) {
	if f.FS == nil {
		return read(f.Name)
	}
	var none T
	r, err := f.FS.Open(f.Name)
	if err != nil {
		return none, err
	}
	defer r.Close()
	return decode(r)
}

func (t *Thread) fromFile(file File, typ DType, data []byte, shape []int, pinned bool) (*Buffer, error) {
	if len(data) == 0 {
		return nil, errorf(ErrParseFile, "%s holds no elements", file.Name)
	}
	b, err := t.Host(typ, int64(len(data)/typ.Size()), pinned)
	if err != nil {
		return nil, err
	}
	b.shape = shape
	return b, b.Write(func(to []byte) error {
		copy(to, data)
		return nil
	})
}

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
