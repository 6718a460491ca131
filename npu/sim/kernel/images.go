package kernel

import (
	"fmt"
	"math"

	"npulua/npu/internal/dtype"
)

var images = []*Kernel{
	{
		Name:      "resize",
		Signature: "out T* y, in T* x, uint32 in_h, uint32 in_w, uint32 out_h, uint32 out_w, uint32 channels",
		Types:     each(dtype.Uint8, dtype.Float32, dtype.Float16),
		Doc: "y[out_h,out_w,channels] = x[in_h,in_w,channels] resized: bilinear, half-pixel centres, edges clamped, uint8 rounded to nearest; " +
			"y must not overlap x; refuses an empty x where y is not.",
		Plan:  planResize,
		Block: resize,
	},
	{
		Name:      "normalize",
		Signature: "out T* y, in uint8* x, uint32 height, uint32 width, uint32 channels, float32 mean, float32 std",
		Types:     each(dtype.Float32, dtype.Float16),
		Doc:       "y[channels,height,width] = (x[height,width,channels] / 255 - mean) / std; y must not overlap x; refuses std = 0 or NaN.",
		Plan:      planNormalize,
		Block:     normalize,
	},
	{
		Name:      "rgb_to_gray",
		Signature: "out uint8* y, in uint8* x, uint32 height, uint32 width, uint32 channels",
		Doc: "y[height,width] = (299 R + 587 G + 114 B) / 1000 of x[height,width,channels], rounded to nearest; a fourth channel is ignored, " +
			"one channel is copied; y must not overlap x; refuses other numbers of channels.",
		Plan:  planGray,
		Block: gray,
	},
	{
		Name:      "sobel",
		Signature: "out uint8* y, in uint8* x, uint32 height, uint32 width",
		Doc: "y[height,width] = sqrt(gx^2 + gy^2) of the 3 x 3 Sobel gradients of x[height,width], rounded to nearest, at most 255; " +
			"pixels beyond the edge repeat the edge; y must not overlap x.",
		Plan:  planSobel,
		Block: sobel,
	},
}

func planNormalize(l *Launch) error {
	if std := l.Args[6].Float(); std == 0 || std != std {
		return fmt.Errorf("std is %v, want a number other than 0", std)
	}
	n, err := volume(l.ints(2, 3)...)
	if err != nil {
		return err
	}
	l.plan(Vector, 2*float64(n), n, n)
	return nil
}

func normalize(l *Launch, block int) {
	if l.T() == dtype.Float16 {
		normalizeAs[[2]byte](l, block)
	} else {
		normalizeAs[[4]byte](l, block)
	}
}

// normalizeAs looks up each of the 256 results; E is the bytes of one, which need no alignment.
func normalizeAs[E any](l *Launch, block int) {
	mean, std := l.Args[5].Float(), l.Args[6].Float()
	table := Arg{Type: l.T(), Mem: make([]byte, 256*l.T().Size())}
	for v := range int64(256) {
		encode(&table, v, []float64{(float64(v)/255 - mean) / std})
	}
	results, _ := view[E](table.Mem)
	y, _ := view[E](l.Args[0].Mem)
	x, channels := l.Args[1].Mem, l.Args[4].Int()
	if l.Elems[0] == 0 {
		return
	}
	pixels := l.Elems[0] / channels
	first, last := Share(pixels, block, l.Blocks)
	for c := range channels {
		plane := y[c*pixels:][:pixels]
		for p := first; p < last; p++ {
			plane[p] = results[x[p*channels+c]]
		}
	}
}

func planGray(l *Launch) error {
	d := l.ints(2, 3)
	channels := d[2]
	if channels != 1 && channels != 3 && channels != 4 {
		return fmt.Errorf("channels is %d, want 1, 3 or 4", channels)
	}
	elems, err := volumes(d[:2], d)
	if err != nil {
		return err
	}
	l.plan(Vector, 6*float64(elems[0]), elems...)
	return nil
}

func gray(l *Launch, block int) {
	y, x, channels := l.Args[0].Mem, l.Args[1].Mem, l.Args[4].Int()
	first, last := Share(l.Elems[0], block, l.Blocks)
	y = y[first:last]
	x = x[first*channels : last*channels]
	if channels == 1 {
		copy(y, x)
		return
	}
	for i := range y {
		p := x[int64(i)*channels:][:3]
		y[i] = uint8((299*uint32(p[0]) + 587*uint32(p[1]) + 114*uint32(p[2]) + 500) / 1000)
	}
}

func planSobel(l *Launch) error {
	n, err := volume(l.ints(2, 2)...)
	if err != nil {
		return err
	}
	l.plan(Vector, 16*float64(n), n, n)
	return nil
}

func sobel(l *Launch, block int) {
	y, x := l.Args[0].Mem, l.Args[1].Mem
	height, width := l.Args[2].Int(), l.Args[3].Int()
	if l.Elems[0] == 0 {
		return
	}
	row := func(r int64) []uint8 { return x[min(max(r, 0), height-1)*width:][:width] }
	first, last := Share(height, block, l.Blocks)
	for r := first; r < last; r++ {
		above, here, below := row(r-1), row(r), row(r+1)
		out := y[r*width:][:width]
		for c := range out {
			w, e := max(c-1, 0), min(c+1, len(out)-1)
			gx := int(above[e]) + 2*int(here[e]) + int(below[e]) - int(above[w]) - 2*int(here[w]) - int(below[w])
			gy := int(below[w]) + 2*int(below[c]) + int(below[e]) - int(above[w]) - 2*int(above[c]) - int(above[e])
			out[c] = uint8(min(math.Sqrt(float64(gx*gx+gy*gy))+0.5, 255))
		}
	}
}
