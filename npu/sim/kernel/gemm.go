package kernel

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// The sizes of the tiles of a product. Blas starts goroutines of its own from four 64 by 64 pieces
// of a result on; one tile of a result has three, as blocks already run in parallel.
const (
	tileM = 64
	tileN = 192
	tileK = 128
)

// accumulator is a type that products add up in.
type accumulator interface{ float32 | float64 }

// reader fills dst with rows i0 to i1, columns j0 to j1 of a matrix, row after row.
type reader[E accumulator] func(dst []E, i0, i1, j0, j1 int64)

// area is rows i0 to i1, columns j0 to j1 of a product.
type area struct{ i0, i1, j0, j1 int64 }

// gemm computes an area of the product of a and b, with k terms each, and passes it to write tile
// by tile; write may change its c. Each element is the sum of its terms in order of k, so that no
// result depends on how a product is cut into areas and tiles.
func gemm[E accumulator](out area, k int64, a, b reader[E], write func(c []E, t area)) {
	depth := min(tileK, k)
	width := min(tileN, out.j1-out.j0)
	height := min(tileM, out.i1-out.i0)
	left, right := make([]E, height*depth), make([]E, depth*width)
	sum := make([]E, height*width)
	for j := out.j0; j < out.j1; j += tileN {
		for i := out.i0; i < out.i1; i += tileM {
			t := area{i, min(i+tileM, out.i1), j, min(j+tileN, out.j1)}
			m, n := t.i1-t.i0, t.j1-t.j0
			c := sum[:m*n]
			clear(c)
			for l := int64(0); l < k; l += tileK {
				end := min(l+tileK, k)
				ta, tb := left[:m*(end-l)], right[:(end-l)*n]
				a(ta, t.i0, t.i1, l, end)
				b(tb, l, end, t.j0, t.j1)
				multiply(int(m), int(n), int(end-l), ta, tb, c)
			}
			write(c, t)
		}
	}
}

// multiply adds the product of a[m,k] and b[k,n] to c[m,n]. Blas skips the zeros of a, so a zero
// times what is not finite is done here.
func multiply[E accumulator](m, n, k int, a, b, c []E) {
	var impl gonum.Implementation
	switch a := any(a).(type) {
	case []float32:
		impl.Sgemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, a, k, any(b).([]float32), n, 1, any(c).([]float32), n)
	case []float64:
		impl.Dgemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, a, k, any(b).([]float64), n, 1, any(c).([]float64), n)
	}
	for l := range k {
		row := b[l*n : (l+1)*n]
		if finite(row) {
			continue
		}
		for i := range m {
			if v := a[i*k+l]; v == 0 {
				for j := range row {
					c[i*n+j] += v * row[j]
				}
			}
		}
	}
}

func finite[E accumulator](x []E) bool {
	var s E
	for _, v := range x {
		s += v - v
	}
	return s == 0
}
