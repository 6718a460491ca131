package hostfile

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func encodePNG(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func encodeJPEG(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 100}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// onePixel sets the only pixel of m.
func onePixel[M interface {
	image.Image
	Set(x, y int, c color.Color)
}](m M, c color.Color) M {
	m.Set(0, 0, c)
	return m
}

// pngChunk is a chunk as it stands in a file.
func pngChunk(kind, data string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	b = append(b, kind+data...)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:])))
}

// pngHeader is a file that ends after its header.
func pngHeader(width, height uint32, depth, colour byte) []byte {
	ihdr := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
	ihdr = append(ihdr, depth, colour, 0, 0, 0)
	return []byte(pngMagic + pngChunk("IHDR", string(ihdr)))
}

func TestDecodeImage(t *testing.T) {
	r := image.Rect(0, 0, 1, 1)
	solid := color.NRGBA{10, 20, 30, 255}
	clear := color.NRGBA{200, 100, 50, 7}
	palette := func(c color.Color) image.Image {
		return image.NewPaletted(r, color.Palette{c, color.NRGBA{}}) // the second is not used
	}
	two := image.NewNRGBA(image.Rect(0, 0, 2, 1))
	two.Set(0, 0, color.NRGBA{255, 1, 2, 255})
	two.Set(1, 0, color.NRGBA{255, 1, 2, 0})
	tests := []struct {
		name string
		in   []byte
		want Image
	}{
		{"gray", encodePNG(t, onePixel(image.NewGray(r), color.Gray{77})), Image{1, 1, 1, []byte{77}}},
		{"gray of 16 bits", encodePNG(t, onePixel(image.NewGray16(r), color.Gray16{0x12ff})), Image{1, 1, 1, []byte{0x12}}},
		{"colour", encodePNG(t, onePixel(image.NewRGBA(r), solid)), Image{1, 1, 3, []byte{10, 20, 30}}},
		{"colour of 16 bits", encodePNG(t, onePixel(image.NewRGBA64(r), color.RGBA64{0x1234, 0x5678, 0x9abc, 0xffff})), Image{1, 1, 3, []byte{0x12, 0x56, 0x9a}}},
		{"alpha", encodePNG(t, onePixel(image.NewNRGBA(r), clear)), Image{1, 1, 4, []byte{200, 100, 50, 7}}},
		{"alpha of 16 bits", encodePNG(t, onePixel(image.NewNRGBA64(r), color.NRGBA64{0xffff, 0x8000, 0x12ff, 0x0100})), Image{1, 1, 4, []byte{0xff, 0x80, 0x12, 1}}},
		{"colour under no alpha", encodePNG(t, two), Image{1, 2, 4, []byte{255, 1, 2, 255, 255, 1, 2, 0}}},
		{"palette", encodePNG(t, palette(solid)), Image{1, 1, 3, []byte{10, 20, 30}}},
		{"palette with alpha", encodePNG(t, palette(clear)), Image{1, 1, 4, []byte{200, 100, 50, 7}}},
		{"gray with opaque alpha", grayAlpha(99, 255), Image{1, 1, 1, []byte{99}}},
		{"gray with alpha", grayAlpha(99, 3), Image{1, 1, 4, []byte{99, 99, 99, 3}}},
		{"gray jpeg", encodeJPEG(t, onePixel(image.NewGray(r), color.Gray{77})), Image{1, 1, 1, []byte{77}}},
		{"bytes after the end", append(encodePNG(t, palette(solid)), "more"...), Image{1, 1, 3, []byte{10, 20, 30}}},
	}
	for _, tt := range tests {
		got, err := DecodeImage(bytes.NewReader(tt.in))
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: DecodeImage = %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

// grayAlpha is a PNG of colour type 4 with one pixel, which package png does not write.
func grayAlpha(y, a byte) []byte {
	raw := []byte{0, y, a}
	// One stored deflate block in zlib's frame.
	z := append([]byte{0x78, 0x01, 0x01, 3, 0, 0xfc, 0xff}, raw...)
	s1, s2 := uint32(1), uint32(0)
	for _, b := range raw {
		s1 += uint32(b)
		s2 += s1
	}
	z = binary.BigEndian.AppendUint32(z, s2<<16|s1)
	return append(pngHeader(1, 1, 8, 4), pngChunk("IDAT", string(z))+pngChunk("IEND", "")...)
}

func TestDecodeImageForeign(t *testing.T) {
	tests := []struct {
		name, in string // base64
		want     Image  // within 3 of each value
	}{
		{"interlaced", interlacedPNG, Image{2, 3, 3, []byte{255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 0, 0, 255, 255, 255, 0, 255}}},
		{"CMYK jpeg", cmykJPEG, Image{1, 1, 3, []byte{200, 100, 50}}},
		{"progressive jpeg", progressiveJPEG, Image{1, 1, 3, []byte{200, 100, 50}}},
	}
	for _, tt := range tests {
		in, err := base64.StdEncoding.DecodeString(tt.in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeImage(bytes.NewReader(in))
		if err != nil || got.Height != tt.want.Height || got.Width != tt.want.Width || !near(got.Pix, tt.want.Pix, 3) {
			t.Errorf("%s: DecodeImage = %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

func near(a, b []byte, most int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if d := int(a[i]) - int(b[i]); d > most || -d > most {
			return false
		}
	}
	return true
}

func TestDecodeImageRefuses(t *testing.T) {
	good := encodePNG(t, image.NewRGBA(image.Rect(0, 0, 50, 50)))
	goodJPEG := encodeJPEG(t, image.NewRGBA(image.Rect(0, 0, 50, 50)))
	flipped := bytes.Clone(good)
	flipped[29] ^= 1 // of the header's
	tests := []struct {
		name string
		in   []byte
		want string
	}{
		{"empty", nil, `neither PNG nor JPEG: it starts with ""`},
		{"text", []byte("hello"), `neither PNG nor JPEG: it starts with "hello"`},
		{"GIF", []byte("GIF89a.."), "a GIF file; PNG and JPEG are read"},
		{"npy", []byte(npyMagic + "\x01\x00"), "an npy file; PNG and JPEG are read"},
		{"only magic", []byte(pngMagic), "the file ends too early"},
		{"only magic, jpeg", []byte(jpegMagic), "the file ends too early"},
		{"half", good[:len(good)/2], "png: invalid format: not enough pixel data"},
		{"half, jpeg", goodJPEG[:len(goodJPEG)*3/4], "the file ends too early"},
		{"bad checksum", flipped, "png: invalid format: invalid checksum"},
		{"too many pixels", pngHeader(1<<20, 1<<20, 8, 2), "1048576x1048576 pixels, at most 268435456"},
		{"more pixels than deflate can pack", pngHeader(16384, 16384, 16, 6), "header says 16384x16384 pixels, 33 B cannot hold them"},
		{"no pixels", pngHeader(0, 5, 8, 2), "png: invalid format: non-positive dimension"},
	}
	for _, tt := range tests {
		_, err := DecodeImage(bytes.NewReader(tt.in))
		if err == nil || err.Error() != tt.want || !errors.Is(err, ErrFormat) {
			t.Errorf("%s: DecodeImage = %v (bad format: %t), want %s", tt.name, err, errors.Is(err, ErrFormat), tt.want)
		}
	}
	broken := errors.New("broken")
	if _, err := DecodeImage(errReader{broken}); err != broken {
		t.Errorf("DecodeImage = %v, want broken", err)
	}
}

func TestImageRoundTrip(t *testing.T) {
	for _, channels := range []int{1, 3, 4} {
		want := Image{5, 7, channels, make([]byte, 5*7*channels)}
		for i := range want.Pix {
			want.Pix[i] = byte(i * 37)
		}
		path := filepath.Join(t.TempDir(), "a.PNG")
		if err := WriteImage(path, want); err != nil {
			t.Fatal(err)
		}
		got, err := ReadImage(path)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ReadImage = %v, %v, want %v", got, err, want)
		}
	}
	for _, channels := range []int{1, 3, 4} {
		want := Image{16, 16, channels, bytes.Repeat([]byte{200, 201, 202, 255}, 64*channels)}
		if channels == 3 {
			want.Pix = bytes.Repeat([]byte{200, 100, 50}, 256)
		}
		if channels == 1 {
			want.Pix = bytes.Repeat([]byte{200}, 256)
		}
		path := filepath.Join(t.TempDir(), "a.jpeg")
		if err := WriteImage(path, want); err != nil {
			t.Fatal(err)
		}
		if channels == 4 { // opaque
			want.Channels, want.Pix = 3, bytes.Repeat([]byte{200, 201, 202}, 256)
		}
		got, err := ReadImage(path)
		if err != nil || got.Channels != want.Channels || !near(got.Pix, want.Pix, 4) {
			t.Errorf("ReadImage = %v, %v, want %v", got, err, want)
		}
	}
}

func TestWriteImageRefuses(t *testing.T) {
	gray := func(h, w int) Image { return Image{h, w, 1, make([]byte, h*w)} }
	tests := []struct {
		name string
		img  Image
		want string
	}{
		{"a.gif", gray(1, 1), `unknown extension ".gif", want .png, .jpg or .jpeg`},
		{"a", gray(1, 1), `unknown extension "", want .png, .jpg or .jpeg`},
		{"a.png", gray(0, 3), "3x0 pixels, want at least one"},
		{"a.png", Image{-1, -1, 1, []byte{1}}, "-1x-1 pixels, want at least one"},
		{"a.png", Image{1 << 40, 1 << 40, 1, nil}, "1099511627776x1099511627776 pixels, at most 268435456"},
		{"a.png", Image{1, 1, 2, []byte{1, 2}}, "2 channels, want 1, 3 or 4"},
		{"a.png", Image{1, 2, 3, []byte{1, 2}}, "2x1 pixels of 3 channels take 6 B, got 2 B"},
		{"a.jpg", Image{1, 1, 4, []byte{1, 2, 3, 4}}, "jpeg has no transparency; write a .png or three channels"},
		{"a.jpg", gray(1, 65536), "65536x1 pixels, jpeg has at most 65535 in each direction"},
	}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), tt.name)
		err := WriteImage(path, tt.img)
		if want := "write " + path + ": " + tt.want; err == nil || err.Error() != want || !errors.Is(err, ErrFormat) {
			t.Errorf("WriteImage = %v, want %s", err, want)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a refused image left a file: %v", tt.name, err)
		}
	}
}

func TestReadImageErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.png")
	_, err := ReadImage(path)
	if want := "read " + path + ": no such file or directory"; err == nil || err.Error() != want || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadImage = %v, want %s", err, want)
	}
	os.WriteFile(path, []byte("hello"), 0o666)
	if _, err := ReadImage(path); !errors.Is(err, ErrFormat) || !strings.HasPrefix(err.Error(), "read "+path+": neither") {
		t.Errorf("ReadImage = %v, want bad format", err)
	}
}

func FuzzReadImage(f *testing.F) {
	r := image.Rect(0, 0, 9, 5)
	f.Add(encodePNG(f, image.NewRGBA(r)))
	f.Add(encodePNG(f, image.NewGray16(r)))
	f.Add(encodePNG(f, image.NewNRGBA64(r)))
	f.Add(encodePNG(f, image.NewPaletted(r, color.Palette{color.Black, color.NRGBA{1, 2, 3, 4}})))
	f.Add(grayAlpha(1, 2))
	f.Add(encodeJPEG(f, image.NewRGBA(r)))
	f.Add(encodeJPEG(f, image.NewGray(r)))
	for _, s := range []string{interlacedPNG, cmykJPEG, progressiveJPEG} {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		img, err := DecodeImage(bytes.NewReader(in))
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("%v: want bad format", err)
			}
			return
		}
		encode, err := imageEncoder(".png", img)
		if err != nil {
			t.Fatalf("%dx%dx%d: %v", img.Height, img.Width, img.Channels, err)
		}
		if len(img.Pix) > 1<<20 {
			return
		}
		var out bytes.Buffer
		if err := encode(&out); err != nil {
			t.Fatal(err)
		}
		again, err := DecodeImage(&out)
		if err != nil {
			t.Fatal(err)
		}
		if img.Channels == 4 && again.Channels == 3 { // 16-bit alpha that was opaque in its upper 8 bits
			return
		}
		if !reflect.DeepEqual(again, img) {
			t.Fatalf("again %dx%dx%d, want %dx%dx%d", again.Height, again.Width, again.Channels, img.Height, img.Width, img.Channels)
		}
	})
}
