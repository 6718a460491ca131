package lua51

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// random gives the numbers of glibc's rand: each is the sum of those 3 and 31 before it.
type random struct {
	state [31]uint32
	next  int
}

func newRandom(seed uint32) *random {
	r := &random{next: 3}
	x := int64(int32(max(seed, 1)))
	for i := range r.state {
		r.state[i] = uint32(x)
		if x = x * 16807 % math.MaxInt32; x < 0 {
			x += math.MaxInt32
		}
	}
	for range 310 { // until the seed has spread
		r.draw()
	}
	return r
}

func (r *random) draw() uint32 {
	n := len(r.state)
	x := r.state[r.next] + r.state[(r.next+n-3)%n]
	r.state[r.next] = x
	r.next = (r.next + 1) % n
	return x >> 1
}

// float is a number from 0 to below 1.
func (r *random) float() float64 {
	return float64(r.draw()%math.MaxInt32) / math.MaxInt32
}

func mathRandom(L *lua.LState, source *random) int {
	r := source.float()
	switch L.GetTop() {
	case 0:
	case 1:
		high := checkInt(L, 1)
		if high < 1 {
			argError(L, 1, "interval is empty")
		}
		r = math.Floor(r*float64(high)) + 1
	case 2:
		low, high := checkInt(L, 1), checkInt(L, 2)
		if low > high {
			argError(L, 2, "interval is empty")
		}
		r = math.Floor(r*float64(int32(high-low+1))) + float64(low) // a width beyond 32 bits wraps around
	default:
		raise(L, "wrong number of arguments")
	}
	L.Push(lua.LNumber(r))
	return 1
}
