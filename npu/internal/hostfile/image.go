package hostfile

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"path/filepath"
	"strings"

	"npulua/npu/internal/dtype"
)

// Image is a picture of 8-bit channels: 1 is gray, 3 red, green and blue, 4 these and alpha, by
// which the colours are not multiplied.
type Image struct {
	Height, Width, Channels int
	Pix                     []byte // row by row, the channels of a pixel side by side
}

const (
	maxPixels    = 1 << 28
	maxImageFile = 1 << 30 // bytes
	jpegQuality  = 90      // of 100
)

// The first bytes of the files that are read, and of some that users may expect to be.
const (
	pngMagic  = "\x89PNG\r\n\x1a\n"
	jpegMagic = "\xff\xd8\xff"
)

var otherImages = []struct{ magic, name string }{
	{"GIF8", "a GIF"}, {"BM", "a BMP"}, {"RIFF", "a RIFF (WebP)"}, {"II*\x00", "a TIFF"}, {"MM\x00*", "a TIFF"},
	{npyMagic, "an npy"},
}

// ReadImage reads a PNG or JPEG file, whatever its name. A gray picture has one channel, one with
// a pixel that is not opaque four, any other three. 16-bit channels keep the upper 8 bits. The
// orientation that a camera noted is not applied.
func ReadImage(path string) (Image, error) {
	var img Image
	err := readFile(path, forEver, func(r io.Reader, _ int64) (err error) {
		img, err = DecodeImage(r)
		return err
	})
	return img, err
}

// DecodeImage reads from r what ReadImage reads.
func DecodeImage(r io.Reader) (Image, error) {
	var sink heap
	shape, err := LoadImage(r, &sink)
	if err != nil {
		return Image{}, err
	}
	return Image{Height: shape[0], Width: shape[1], Channels: shape[2], Pix: sink.data}, nil
}

// LoadImage reads what ReadImage reads from r into the memory of sink, and returns height, width and channels.
func LoadImage(r io.Reader, sink Sink) ([]int, error) {
	r = wanted{r, sink}
	head := make([]byte, len(pngMagic))
	n, err := io.ReadFull(r, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	head = head[:n]
	decodeConfig, decode, mostPixels := png.DecodeConfig, png.Decode, pngMostPixels
	switch {
	case bytes.HasPrefix(head, []byte(pngMagic)):
	case bytes.HasPrefix(head, []byte(jpegMagic)):
		decodeConfig, decode, mostPixels = jpeg.DecodeConfig, jpeg.Decode, jpegMostPixels
	default:
		for _, o := range otherImages {
			if bytes.HasPrefix(head, []byte(o.magic)) {
				return nil, formatErrorf("%s file; PNG and JPEG are read", o.name)
			}
		}
		return nil, formatErrorf("neither PNG nor JPEG: it starts with %q", head)
	}
	data, err := io.ReadAll(io.MultiReader(bytes.NewReader(head), io.LimitReader(r, maxImageFile)))
	if err != nil {
		return nil, err
	}
	if len(data) > maxImageFile {
		return nil, formatErrorf("the file is larger than %d B", maxImageFile)
	}
	cfg, err := decodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, contentError(err)
	}
	if err := checkSize(cfg.Height, cfg.Width); err != nil {
		return nil, err
	}
	if int64(cfg.Height)*int64(cfg.Width) > mostPixels(data) {
		return nil, formatErrorf("header says %dx%d pixels, %d B cannot hold them", cfg.Width, cfg.Height, len(data))
	}
	pixels := int64(cfg.Height) * int64(cfg.Width)
	if err := sink.Holds(pixels*mostChannels(cfg.ColorModel), pixels*pixelBytes(cfg.ColorModel)); err != nil {
		return nil, err
	}
	m, err := decode(wanted{bytes.NewReader(data), sink})
	if ended := sink.Ended(); ended != nil {
		return nil, ended
	}
	if err != nil {
		return nil, contentError(err)
	}
	return flatten(m, bytes.HasPrefix(data, []byte(pngMagic)) && pngIsGray(data), sink)
}

// contentError is what a decoder says about bytes in memory.
func contentError(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return formatErrorf("the file ends too early")
	}
	return formatErrorf("%s", strings.TrimSuffix(err.Error(), "."))
}

func checkSize(height, width int) error {
	if height <= 0 || width <= 0 {
		return formatErrorf("%dx%d pixels, want at least one", width, height)
	}
	if width > maxPixels/height {
		return formatErrorf("%dx%d pixels, at most %d", width, height, maxPixels)
	}
	return nil
}

// pngMostPixels is what data can hold at best: deflate makes 1032 bytes of one. data has passed
// png.DecodeConfig.
func pngMostPixels(data []byte) int64 {
	depth, channels := int64(data[24]), int64(1)
	switch data[25] {
	case 2:
		channels = 3
	case 4:
		channels = 2
	case 6:
		channels = 4
	}
	return int64(len(data)) * 1032 * 8 / (depth * channels)
}

// pngIsGray reports a colour type without colour. data has passed png.DecodeConfig.
func pngIsGray(data []byte) bool { return data[25] == 0 || data[25] == 4 }

// jpegMostPixels is what data can hold at best: one bit for a block of 8x8 pixels.
func jpegMostPixels(data []byte) int64 { return int64(len(data)) * 8 * 64 }

// mostChannels is how many channels a picture has that is not opaque, unless it is gray for sure.
func mostChannels(m color.Model) int64 {
	switch m {
	case color.GrayModel, color.Gray16Model:
		return 1
	case color.YCbCrModel, color.RGBAModel, color.RGBA64Model: // of PNG and JPEG: opaque
		return 3
	}
	return 4
}

// pixelBytes is what a decoder takes for a pixel.
func pixelBytes(m color.Model) int64 {
	switch m {
	case color.GrayModel:
		return 1
	case color.Gray16Model:
		return 2
	case color.RGBA64Model, color.NRGBA64Model:
		return 8
	}
	if _, ok := m.(color.Palette); ok {
		return 1
	}
	return 4
}

// flatten converts what a decoder made; gray says that the colours of m are all gray.
func flatten(m image.Image, gray bool, sink Sink) (shape []int, err error) {
	b := m.Bounds()
	shape = []int{b.Dy(), b.Dx(), 3}
	switch m.(type) {
	case *image.Gray, *image.Gray16:
		gray = true
	}
	if o, ok := m.(interface{ Opaque() bool }); ok && !o.Opaque() {
		shape[2] = 4
	} else if gray {
		shape[2] = 1
	}
	err = sink.Fill(dtype.Uint8, shape, func(pix []byte) error {
		// Package draw has fast paths for one row at a time; of an opaque picture RGBA is exact.
		row := image.NewRGBA(image.Rect(0, 0, b.Dx(), 1))
		i := 0
		for y := b.Min.Y; y < b.Max.Y; y++ {
			if err := sink.Ended(); err != nil {
				return err
			}
			if shape[2] == 4 {
				for x := b.Min.X; x < b.Max.X; x++ {
					c := nrgbaAt(m, x, y)
					pix[i], pix[i+1], pix[i+2], pix[i+3] = c.R, c.G, c.B, c.A
					i += 4
				}
				continue
			}
			draw.Draw(row, row.Rect, m, image.Pt(b.Min.X, y), draw.Src)
			for x := 0; x < len(row.Pix); x += 4 {
				i += copy(pix[i:i+shape[2]], row.Pix[x:])
			}
		}
		return nil
	})
	return shape, err
}

// nrgbaAt reads a pixel without going through premultiplied colours, which loses bits, where m
// does not store them so.
func nrgbaAt(m image.Image, x, y int) color.NRGBA {
	switch m := m.(type) {
	case *image.NRGBA:
		return m.NRGBAAt(x, y)
	case *image.NRGBA64:
		c := m.NRGBA64At(x, y)
		return color.NRGBA{R: uint8(c.R >> 8), G: uint8(c.G >> 8), B: uint8(c.B >> 8), A: uint8(c.A >> 8)}
	}
	return color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
}

// WriteImage writes img in the format that the extension of path names: .png, .jpg or .jpeg. JPEG
// loses detail and has no transparency. Four channels that are all opaque are three when read back.
func WriteImage(path string, img Image) error {
	encode, err := imageEncoder(filepath.Ext(path), img)
	if err != nil {
		return pathError("write", path, err)
	}
	return writeFile(path, encode)
}

// EncodeImage writes img to w in the format that the extension ext names.
func EncodeImage(w io.Writer, ext string, img Image) error {
	encode, err := imageEncoder(ext, img)
	if err != nil {
		return err
	}
	return encode(w)
}

// imageEncoder checks everything that can be wrong with img before a file is touched.
func imageEncoder(ext string, img Image) (func(io.Writer) error, error) {
	if err := checkSize(img.Height, img.Width); err != nil {
		return nil, err
	}
	if img.Channels != 1 && img.Channels != 3 && img.Channels != 4 {
		return nil, formatErrorf("%d channels, want 1, 3 or 4", img.Channels)
	}
	if want := img.Height * img.Width * img.Channels; len(img.Pix) != want {
		return nil, formatErrorf("%dx%d pixels of %d channels take %d B, got %d B", img.Width, img.Height, img.Channels, want, len(img.Pix))
	}
	switch strings.ToLower(ext) {
	case ".png":
		return func(w io.Writer) error { return png.Encode(w, img.image()) }, nil
	case ".jpg", ".jpeg":
		if img.Width > 65535 || img.Height > 65535 {
			return nil, formatErrorf("%dx%d pixels, jpeg has at most 65535 in each direction", img.Width, img.Height)
		}
		m := img.image()
		if !m.Opaque() {
			return nil, formatErrorf("jpeg has no transparency; write a .png or three channels")
		}
		return func(w io.Writer) error { return jpeg.Encode(w, m, &jpeg.Options{Quality: jpegQuality}) }, nil
	}
	return nil, formatErrorf("unknown extension %q, want .png, .jpg or .jpeg", ext)
}

// image is img for an encoder; one and four channels share Pix.
func (img Image) image() interface {
	image.Image
	Opaque() bool
} {
	r := image.Rect(0, 0, img.Width, img.Height)
	switch img.Channels {
	case 1:
		return &image.Gray{Pix: img.Pix, Stride: img.Width, Rect: r}
	case 4:
		return &image.NRGBA{Pix: img.Pix, Stride: 4 * img.Width, Rect: r}
	}
	m := image.NewRGBA(r)
	for i, j := 0, 0; i < len(img.Pix); i, j = i+3, j+4 {
		copy(m.Pix[j:j+3], img.Pix[i:])
		m.Pix[j+3] = 255
	}
	return m
}
