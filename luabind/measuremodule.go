package luabind

import (
	"fmt"
	"math"
	"slices"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/luabind/quantity"
	"npulua/npu"
)

var measureModule = &module{
	name: "measure",
	text: "What measuring scripts need: data that shows every wrong byte, statistics of samples, and numbers with units for people.",
	functions: []function{
		{"pattern", doc{"(buffer [, seed])", "the buffer", "Writes bytes that look random to a host buffer, whatever its type; `seed`, a whole number (0), chooses them. No eight bytes occur twice, so that data at a wrong place shows as well as data that is wrong.",
			"device memory; a buffer that queued work uses", `local h = require("measure").pattern(npu.host("uint8", 4096, {pinned = false}), 1)`}, nil, measurePattern},
		{"compare", doc{"(buffer [, seed])", "boolean [, text]", "Whether a host buffer holds the pattern of `seed`; otherwise also how it differs: how many bytes and bits, and where the first one is, from 1.",
			"device memory; a buffer that queued work writes", `print(require("measure").compare(h, 1))`}, nil, measureCompare},
		{"stats", doc{"(samples)", "table", "Of a list of numbers `count`, `min`, `max`, `mean`, `median`, `p90`, `p95`, `p99` and `deviation` (of the population). Percentiles are samples: the least that so many percent do not exceed; the median of an even count is the mean of the middle two.",
			"an empty list; what is no finite number", `print(require("measure").stats({3, 1, 2}).median)`}, nil, measureStats},
		{"text", doc{"(value, unit)", "string", "A number for people with four digits and the prefix that suits the unit: `s`, `B`, `B/s`, `/s` and `W` take one, others not. Sizes (`B`) count in 1,024, rates (`B/s`) in 1,000.",
			"", `print(require("measure").text(2.345e10, "B/s"))`}, nil, measureText},
	},
}

// seed reads the argument of a pattern.
func (c *call) seed(i int) (uint64, error) {
	if c.arg(i) == lua.LNil {
		return 0, nil
	}
	n, err := c.int(i, "seed")
	return uint64(n), err
}

func measurePattern(c *call) error {
	b, err := c.buffer(1, "buffer")
	if err != nil {
		return err
	}
	seed, err := c.seed(2)
	if err != nil {
		return err
	}
	if err := b.SetPattern(seed); err != nil {
		return err
	}
	c.push(c.arg(1))
	return nil
}

func measureCompare(c *call) error {
	b, err := c.buffer(1, "buffer")
	if err != nil {
		return err
	}
	seed, err := c.seed(2)
	if err != nil {
		return err
	}
	m, err := b.ComparePattern(seed)
	if err != nil {
		return err
	}
	c.push(lua.LBool(m.Bytes == 0))
	if m.Bytes > 0 {
		c.push(lua.LString(mismatchText(m, b.Bytes())))
	}
	return nil
}

func mismatchText(m npu.Mismatch, of int64) string {
	verb, bits := "are", "bits"
	if m.Bytes == 1 {
		verb = "is"
	}
	if m.Bits == 1 {
		bits = "bit"
	}
	return fmt.Sprintf("%d of %d bytes %s wrong (%d %s), the first at %d: 0x%02x instead of 0x%02x", m.Bytes, of, verb, m.Bits, bits, m.First+1, m.Got, m.Want)
}

// samples reads a list of finite numbers.
func (c *call) samples(i int) ([]float64, error) {
	list, ok := c.arg(i).(*lua.LTable)
	if !ok {
		return nil, c.wrongType(i, "samples", "a table")
	}
	n := list.Len()
	if n == 0 {
		return nil, c.errorf("there are no samples")
	}
	lua51.Room(c.L, 8*n)
	out := make([]float64, n)
	for k := range out {
		v, ok := list.RawGetInt(k + 1).(lua.LNumber)
		if f := float64(v); !ok || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, c.errorf("sample %d must be a finite number, got %s", k+1, list.RawGetInt(k+1).String())
		}
		out[k] = float64(v)
	}
	return out, nil
}

func measureStats(c *call) error {
	x, err := c.samples(1)
	if err != nil {
		return err
	}
	slices.Sort(x)
	n := len(x)
	mean := 0.0
	for i, v := range x {
		mean += (v - mean) / float64(i+1)
	}
	square := 0.0
	for _, v := range x {
		square += (v - mean) * (v - mean)
	}
	rank := func(percent int) float64 { return x[(n*percent+99)/100-1] }
	c.push(c.in.record("count", n, "min", x[0], "max", x[n-1], "mean", mean, "median", x[(n-1)/2]/2+x[n/2]/2,
		"p90", rank(90), "p95", rank(95), "p99", rank(99), "deviation", math.Sqrt(square/float64(n))))
	return nil
}

func measureText(c *call) error {
	v, err := c.number(1, "value")
	if err != nil {
		return err
	}
	unit, ok := c.arg(2).(lua.LString)
	if !ok {
		return c.wrongType(2, "unit", "a string")
	}
	c.push(lua.LString(quantity.Text(v, string(unit))))
	return nil
}
