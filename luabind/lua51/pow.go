package lua51

import "math"

// Pow is x to the power y, within a unit or two of the last place. math.Pow multiplies rounded
// numbers, and for exponents of some hundreds that shows in the digits which Lua prints.
func Pow(x, y float64) float64 {
	rough := math.Pow(x, y)
	n, fraction := math.Modf(y)
	if size := math.Abs(rough); !(math.Abs(n) >= 2 && math.Abs(n) <= 1<<10) || !(size > 1e-290 && size < 1e290) {
		return rough
	}
	whole := wholePower(x, int(math.Abs(n)))
	if n < 0 {
		whole = whole.inverse()
	}
	if fraction == 0 {
		return whole.high
	}
	return whole.high * math.Pow(x, fraction)
}

// double is a number of twice the precision: the sum of its parts.
type double struct{ high, low float64 }

func (a double) times(b double) double {
	p := a.high * b.high
	rest := math.FMA(a.high, b.high, -p) + (a.high*b.low + a.low*b.high)
	high := p + rest
	return double{high, rest - (high - p)}
}

func (a double) inverse() double {
	q := 1 / a.high
	rest := math.FMA(-q, a.high, 1) - q*a.low
	return double{q + q*rest, 0}
}

func wholePower(x float64, n int) double {
	result, square := double{1, 0}, double{x, 0}
	for {
		if n&1 != 0 {
			result = result.times(square)
		}
		if n >>= 1; n == 0 {
			return result
		}
		square = square.times(square)
	}
}
