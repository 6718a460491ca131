package kernel

import (
	"fmt"
	"math/rand"
	"testing"

	"npulua/npu/internal/dtype"
)

// BenchmarkKernels runs one launch of 8 blocks an iteration; MB/s counts Cost.Bytes.
func BenchmarkKernels(b *testing.B) {
	f32, f16 := []dtype.DType{dtype.Float32}, []dtype.DType{dtype.Float16}
	for _, c := range []struct {
		name    string
		types   []dtype.DType
		scalars []float64
	}{
		{"vector_add", f32, []float64{1 << 20}},
		{"vector_add", f16, []float64{1 << 20}},
		{"exp", f32, []float64{1 << 20}},
		{"reduce_sum", f32, []float64{1 << 20}},
		{"matmul", f32, []float64{512, 512, 512}},
		{"matmul", f16, []float64{512, 512, 512}},
		{"matmul_int8", nil, []float64{512, 512, 512}},
		{"conv2d", f32, []float64{1, 64, 56, 56, 64, 3, 3, 1, 1}},
		{"transpose", f32, []float64{1024, 1024}},
		{"resize", []dtype.DType{dtype.Uint8}, []float64{1080, 1920, 640, 640, 3}},
	} {
		b.Run(fmt.Sprint(c.name, c.types), func(b *testing.B) {
			k, _ := Find(c.name)
			l, err := newLaunch(k, 8, c.types, c.scalars)
			if err != nil {
				b.Fatal(err)
			}
			l.allocate(0)
			for i := range l.Args {
				fill(l.Args[i], rand.New(rand.NewSource(1)), 1)
			}
			b.SetBytes(int64(l.Cost.Bytes))
			for b.Loop() {
				k.run(l)
			}
			b.ReportMetric(l.Cost.Flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "gflops")
		})
	}
}
