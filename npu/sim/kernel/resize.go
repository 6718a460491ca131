package kernel

import (
	"fmt"
	"math"
)

func planResize(l *Launch) error {
	d := l.ints(2, 5)
	inH, inW, outH, outW, channels := d[0], d[1], d[2], d[3], d[4]
	elems, err := volumes([]int64{outH, outW, channels}, []int64{inH, inW, channels})
	if err != nil {
		return err
	}
	if elems[1] == 0 && elems[0] > 0 {
		return fmt.Errorf("x is %d x %d, want at least 1 x 1", inH, inW)
	}
	l.plan(Vector, 9*float64(elems[0]), elems...)
	return nil
}

// tap is where a result lies between two inputs: at a, or weight of the way from a to b.
type tap struct {
	a, b   int64
	weight float32
}

// tapOf is the tap of result i of out results from in inputs.
func tapOf(i, in, out int64) tap {
	at := (float64(i)+0.5)*(float64(in)/float64(out)) - 0.5
	at = min(max(at, 0), float64(in-1))
	a := math.Floor(at)
	return tap{int64(a), min(int64(a)+1, in-1), float32(at - a)}
}

// between does not touch b at weight 0, so that an infinite b stays out of it.
func between(a, b, weight float32) float32 {
	if weight == 0 {
		return a
	}
	return a + float32((b-a)*weight)
}

// resize makes each row of the result from the two rows of x about it. Blocks share the rows.
func resize(l *Launch, block int) {
	d := l.ints(2, 5)
	inH, inW, outH, outW, channels := d[0], d[1], d[2], d[3], d[4]
	first, last := Share(outH, block, l.Blocks)
	if l.Elems[0] == 0 || first == last {
		return
	}
	taps := make([]tap, outW)
	for i := range taps {
		taps[i] = tapOf(int64(i), inW, outW)
	}
	out := make([]float32, outW*channels)
	width := inW * channels
	upper, lower := make([]float32, width), make([]float32, width)
	at := int64(-1)
	for r := first; r < last; r++ {
		v := tapOf(r, inH, outH)
		if v.a != at {
			decode(&l.Args[1], v.a*width, 1, upper)
			decode(&l.Args[1], v.b*width, 1, lower)
			at = v.a
		}
		o := out
		for _, h := range taps {
			a, b := h.a*channels, h.b*channels
			for c := range channels {
				o[c] = between(
					between(upper[a+c], upper[b+c], h.weight),
					between(lower[a+c], lower[b+c], h.weight), v.weight)
			}
			o = o[channels:]
		}
		encode(&l.Args[0], r*outW*channels, out)
	}
}
