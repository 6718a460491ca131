package kernel

import (
	"math"

	"npulua/npu/internal/dtype"
)

func resizeRef(in [][]float64, s []float64, t dtype.DType) []float64 {
	inH, inW, outH, outW, channels := int(s[0]), int(s[1]), int(s[2]), int(s[3]), int(s[4])
	at := func(i, n, m int) (a, b int, w float64) {
		p := math.Min(math.Max((float64(i)+0.5)*(float64(n)/float64(m))-0.5, 0), float64(n-1))
		a = int(p)
		return a, min(a+1, n-1), p - float64(a)
	}
	return mapped(in[0], func(i int, _ float64) float64 {
		c := i % channels
		y0, y1, wy := at(i/channels/outW, inH, outH)
		x0, x1, wx := at(i/channels%outW, inW, outW)
		p := func(y, x int) float64 { return in[1][(y*inW+x)*channels+c] }
		v := (1-wy)*((1-wx)*p(y0, x0)+wx*p(y0, x1)) + wy*((1-wx)*p(y1, x0)+wx*p(y1, x1))
		if t == dtype.Uint8 {
			return math.RoundToEven(v)
		}
		return v
	})
}

func normalizeRef(in [][]float64, s []float64, _ dtype.DType) []float64 {
	channels, mean, std := int(s[2]), s[3], s[4]
	pixels := int(s[0] * s[1])
	return mapped(in[0], func(i int, _ float64) float64 {
		return (in[1][i%pixels*channels+i/pixels]/255 - mean) / std
	})
}

func grayRef(in [][]float64, s []float64, _ dtype.DType) []float64 {
	channels := int(s[2])
	return mapped(in[0], func(i int, _ float64) float64 {
		p := in[1][i*channels:]
		if channels == 1 {
			return p[0]
		}
		return math.Floor((299*p[0]+587*p[1]+114*p[2])/1000 + 0.5)
	})
}

func sobelRef(in [][]float64, s []float64, _ dtype.DType) []float64 {
	height, width := int(s[0]), int(s[1])
	return mapped(in[0], func(i int, _ float64) float64 {
		var gx, gy float64
		for dy := -1; dy <= 1; dy++ {
			for dx := -1; dx <= 1; dx++ {
				y, x := min(max(i/width+dy, 0), height-1), min(max(i%width+dx, 0), width-1)
				v := in[1][y*width+x]
				gx += float64(dx*(2-dy*dy)) * v
				gy += float64(dy*(2-dx*dx)) * v
			}
		}
		return math.Min(math.Round(math.Hypot(gx, gy)), 255)
	})
}
