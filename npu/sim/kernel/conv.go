package kernel

import "fmt"

// conv is the shape of one conv2d launch.
type conv struct {
	batch, cIn, height, width int64
	cOut, kh, kw, stride, pad int64
	oh, ow                    int64 // of the result
}

func convOf(l *Launch) (*conv, error) {
	d := l.ints(4, 9)
	s := &conv{batch: d[0], cIn: d[1], height: d[2], width: d[3], cOut: d[4], kh: d[5], kw: d[6], stride: d[7], pad: d[8]}
	for i, name := range []string{"kernel_h", "kernel_w", "stride"} {
		if err := positive(name, d[5+i]); err != nil {
			return nil, err
		}
	}
	ph, pw := s.height+2*s.pad, s.width+2*s.pad
	if s.kh > ph || s.kw > pw {
		return nil, fmt.Errorf("kernel is %d x %d, the padded image %d x %d", s.kh, s.kw, ph, pw)
	}
	s.oh, s.ow = (ph-s.kh)/s.stride+1, (pw-s.kw)/s.stride+1
	return s, nil
}

func planConv2d(l *Launch) error {
	s, err := convOf(l)
	if err != nil {
		return err
	}
	elems, err := volumes(
		[]int64{s.batch, s.cOut, s.oh, s.ow},
		[]int64{s.batch, s.cIn, s.height, s.width},
		[]int64{s.cOut, s.cIn, s.kh, s.kw},
		[]int64{s.cOut},
	)
	if err != nil {
		return err
	}
	terms := float64(s.cIn) * float64(s.kh) * float64(s.kw)
	l.plan(Cube, float64(elems[0])*(2*terms+1), elems...)
	return nil
}

// conv2d is a product: weights[c_out,terms] times patches[terms,pixels], where a pixel is one
// position of the result, counted over the whole batch. Blocks share the pixels.
func conv2d(l *Launch, block int) {
	s, err := convOf(l)
	if err != nil || l.Elems[0] == 0 {
		return
	}
	y, bias := &l.Args[0], &l.Args[3]
	terms, plane := s.cIn*s.kh*s.kw, s.oh*s.ow
	first, last := Share(s.batch*plane, block, l.Blocks)
	weights, patches := matrix[float32](&l.Args[2], terms), s.patches(&l.Args[1])
	offsets := make([]float32, s.cOut)
	decode(bias, 0, 1, offsets)
	gemm(area{0, s.cOut, first, last}, terms, weights, patches, func(c []float32, t area) {
		w := t.j1 - t.j0
		for co := t.i0; co < t.i1; co++ {
			row := c[(co-t.i0)*w:][:w]
			for p := range row {
				row[p] += offsets[co]
			}
			for p := t.j0; p < t.j1; { // piece by piece of each image
				image, at := p/plane, p%plane
				n := min(plane-at, t.j1-p)
				encode(y, (image*s.cOut+co)*plane+at, row[p-t.j0:][:n])
				p += n
			}
		}
	})
}

// patches reads the matrix of the inputs of each pixel: a row for each term of a weight, a column
// for each pixel. It exists only tile by tile.
func (s *conv) patches(x *Arg) reader[float32] {
	return func(dst []float32, i0, i1, j0, j1 int64) {
		for i := i0; i < i1; i++ {
			ci, ky, kx := i/(s.kh*s.kw), i/s.kw%s.kh, i%s.kw
			for p := j0; p < j1; { // piece by piece of each row of the result
				image, oy, ox := p/(s.oh*s.ow), p/s.ow%s.oh, p%s.ow
				n := min(s.ow-ox, j1-p)
				s.line(x, dst[:n], image*s.cIn+ci, oy*s.stride+ky-s.pad, ox*s.stride+kx-s.pad)
				dst = dst[n:]
				p += n
			}
		}
	}
}

// line fills dst from one row of one channel, stride apart from column ix on, zero outside.
func (s *conv) line(x *Arg, dst []float32, channel, iy, ix int64) {
	if iy < 0 || iy >= s.height {
		clear(dst)
		return
	}
	n := int64(len(dst))
	lead := min(n, stepsTo(0, ix, s.stride))
	end := max(lead, min(n, stepsTo(s.width, ix, s.stride)))
	clear(dst[:lead])
	decode(x, (channel*s.height+iy)*s.width+ix+lead*s.stride, s.stride, dst[lead:end])
	clear(dst[end:])
}

// stepsTo is the number of steps from ix until limit is reached or passed.
func stepsTo(limit, ix, stride int64) int64 {
	return max(0, (limit-ix+stride-1)/stride)
}
