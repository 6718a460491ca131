package kernel

import "npulua/npu/internal/dtype"

var linear = []*Kernel{
	{
		Name:      "matmul",
		Signature: "out T* c, in T* a, in T* b, uint32 m, uint32 n, uint32 k",
		Types:     each(floats...),
		Doc:       "c[m,n] = a[m,k] times b[k,n], all row-major, accumulated in float32 in order of k; c must not overlap a or b.",
		Plan:      planMatmul,
		Block:     matmul,
	},
	{
		Name:      "matmul_int8",
		Signature: "out int32* c, in int8* a, in int8* b, uint32 m, uint32 n, uint32 k",
		Doc:       "c[m,n] = a[m,k] times b[k,n], all row-major, exact but for int32 wrapping around; c must not overlap a or b.",
		Plan:      planMatmul,
		Block:     matmulInt8,
	},
	{
		Name:      "transpose",
		Signature: "out T* y, in T* x, uint32 rows, uint32 cols",
		Types:     each(dtype.All()...),
		Doc:       "y[cols,rows] = the transpose of x[rows,cols], both row-major; y must not overlap x.",
		Plan:      planTranspose,
		Block:     transpose,
	},
	{
		Name:      "bias_add",
		Signature: "out T* y, in T* x, in T* b, uint32 rows, uint32 cols",
		Types:     each(floats...),
		Doc:       "y[r,c] = x[r,c] + b[c], row by row of x[rows,cols], computed in float32; y may be x itself.",
		Plan:      planBiasAdd,
		Block:     biasAdd,
	},
	{
		Name: "conv2d",
		Signature: "out T* y, in T* x, in T* w, in T* bias, uint32 batch, uint32 c_in, uint32 height, uint32 width, " +
			"uint32 c_out, uint32 kernel_h, uint32 kernel_w, uint32 stride, uint32 pad",
		Types: each(floats...),
		Doc: "y[batch,c_out,oh,ow] = x[batch,c_in,height,width] correlated with w[c_out,c_in,kernel_h,kernel_w], plus bias[c_out]; " +
			"oh = floor((height + 2*pad - kernel_h) / stride) + 1, ow alike, pad in zeros on each side, accumulated in float32; " +
			"y must not overlap the inputs; refuses a zero stride or kernel and a kernel larger than the padded image.",
		Plan:  planConv2d,
		Block: conv2d,
	},
}

func planMatmul(l *Launch) error {
	d := l.ints(3, 3)
	m, n, k := d[0], d[1], d[2]
	elems, err := volumes([]int64{m, n}, []int64{m, k}, []int64{k, n})
	if err != nil {
		return err
	}
	l.plan(Cube, 2*float64(m)*float64(n)*float64(k), elems...)
	return nil
}

// matmulArea is the part of c[m,n] that belongs to block: rows, or columns where c has more of them.
func matmulArea(l *Launch, block int) area {
	m, n := l.Args[3].Int(), l.Args[4].Int()
	if l.Elems[0] == 0 {
		return area{}
	}
	if m < n {
		j0, j1 := Share(n, block, l.Blocks)
		return area{0, m, j0, j1}
	}
	i0, i1 := Share(m, block, l.Blocks)
	return area{i0, i1, 0, n}
}

func matmul(l *Launch, block int) {
	n, k := l.Args[4].Int(), l.Args[5].Int()
	a, b := matrix[float32](&l.Args[1], k), matrix[float32](&l.Args[2], n)
	gemm(matmulArea(l, block), k, a, b, func(c []float32, t area) {
		w := t.j1 - t.j0
		for i := t.i0; i < t.i1; i++ {
			encode(&l.Args[0], i*n+t.j0, c[(i-t.i0)*w:][:w])
		}
	})
}

// matmulInt8 accumulates in float64, which is exact for all k that memory can hold.
func matmulInt8(l *Launch, block int) {
	n, k := l.Args[4].Int(), l.Args[5].Int()
	a, b := matrix[float64](&l.Args[1], k), matrix[float64](&l.Args[2], n)
	gemm(matmulArea(l, block), k, a, b, func(c []float64, t area) {
		w := t.j1 - t.j0
		row := make([]int32, w)
		for i := t.i0; i < t.i1; i++ {
			for j, v := range c[(i-t.i0)*w:][:w] {
				row[j] = int32(int64(v))
			}
			encode(&l.Args[0], i*n+t.j0, row)
		}
	})
}

// matrix reads a row-major matrix with cols columns.
func matrix[E accumulator](a *Arg, cols int64) reader[E] {
	return func(dst []E, i0, i1, j0, j1 int64) {
		w := j1 - j0
		for i := i0; i < i1; i++ {
			decode(a, i*cols+j0, 1, dst[(i-i0)*w:][:w])
		}
	}
}

func planBiasAdd(l *Launch) error {
	rows, cols := l.Args[3].Int(), l.Args[4].Int()
	n, err := volume(rows, cols)
	if err != nil {
		return err
	}
	l.plan(Vector, float64(n), n, n, cols)
	return nil
}

func biasAdd(l *Launch, block int) {
	rows, cols := l.Args[3].Int(), l.Args[4].Int()
	first, last := Share(rows, block, l.Blocks)
	if l.Elems[0] == 0 || first == last {
		return
	}
	row, b := make([]float32, cols), make([]float32, cols)
	decode(&l.Args[2], 0, 1, b)
	for r := first; r < last; r++ {
		decode(&l.Args[1], r*cols, 1, row)
		for c := range row {
			row[c] += b[c]
		}
		encode(&l.Args[0], r*cols, row)
	}
}

func planTranspose(l *Launch) error {
	n, err := volume(l.ints(2, 2)...)
	if err != nil {
		return err
	}
	l.plan(Vector, 0, n, n)
	return nil
}

// transpose moves elements as bytes, which need no alignment.
func transpose(l *Launch, block int) {
	switch l.T().Size() {
	case 1:
		transposeAs[[1]byte](l, block)
	case 2:
		transposeAs[[2]byte](l, block)
	case 4:
		transposeAs[[4]byte](l, block)
	case 8:
		transposeAs[[8]byte](l, block)
	}
}

func transposeAs[E any](l *Launch, block int) {
	const side = 32 // of the squares that are moved at a time: both fit in the first cache
	rows, cols := l.Args[2].Int(), l.Args[3].Int()
	if l.Elems[0] == 0 {
		return
	}
	y, _ := view[E](l.Args[0].Mem)
	x, _ := view[E](l.Args[1].Mem)
	first, last := Share(cols, block, l.Blocks)
	for c0 := first; c0 < last; c0 += side {
		c1 := min(c0+side, last)
		for r0 := int64(0); r0 < rows; r0 += side {
			r1 := min(r0+side, rows)
			for c := c0; c < c1; c++ {
				for r := r0; r < r1; r++ {
					y[c*rows+r] = x[r*cols+c]
				}
			}
		}
	}
}
