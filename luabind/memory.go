package luabind

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

var bufferClass = &class[*npu.Buffer]{
	name: "buffer",
	text: "Typed memory: on a device (`ctx:alloc`) or on the host (`npu.host`). `#b` is the count; `b[i]` reads and `b[i] = v` writes an element of host memory, from 1. " +
		"While queued work writes a host buffer the host may not read it, and while queued work uses it the host may not write it. " +
		"A number goes in and comes out exactly, or is refused with 100000: float types round to the nearest, and to infinity what is finite but too large for them; types of whole numbers take those of their range. " +
		"Lua's numbers are exact up to 2^53: beyond that `int64` and `uint64` take and give the digits as text (`h:text(i)`, `h[i] = \"9007199254740993\"`).",
	methods: []method[*npu.Buffer]{
		{"slice", doc{"(first [, count])", "buffer", "The part from element `first` (from 1) on, `count` elements or up to the end. It shares the memory; closing either closes both.", "107000 where it is not inside", `local tail = x:slice(513, 512)`}, nil, bufferSlice},
		{"upload", doc{"(source)", "", "Blocking copy to device memory: from a host buffer of the same type and count, a table of numbers, or a string of raw little-endian bytes, which must fill it. Waits for queued work that uses the buffer.", "107000 for sizes that differ", `x:upload{1, 2, 3, 4}`}, nil, bufferUpload},
		{"download", doc{"()", "host buffer", "Blocking copy of the buffer to new host memory (pageable). Waits for queued work that writes the buffer.", "", `local h = x:download()`}, nil, bufferDownload},
		{"set", doc{"(source)", "", "Writes host memory from its start: a table of numbers, a string of raw little-endian bytes, or a function that is given each index (from 1) and returns the number. For 64-bit types an element can be the digits of a number as text.", "107000 for more than fits; 100000 for a number that the type cannot hold", `h:set(function(i) return i * i end)`}, nil, bufferSet},
		{"fill", doc{"(value)", "", "Sets every element of host memory.", "100000 for a number that the type cannot hold", `h:fill(0)`}, nil, bufferFill},
		{"to_table", doc{"([options])", "table", "The elements of host memory as a table.", "100000 for one that a number does not hold exactly, beyond 2^53", `local t = h:to_table()`}, []option{
			{"text", "whether the elements are given as text; false", aBoolean},
		}, bufferToTable},
		{"text", doc{"(index)", "string", "An element of host memory as text that stands for it exactly: the digits of a whole number of any size, which `h[i] = text` takes back for 64-bit types; of float types as short as can be, also `inf`, `-inf` and `nan`.", "107000 for an index that is not inside", `print(h:text(1))`}, nil, bufferText},
		{"to_string", doc{"()", "string", "Host memory as raw little-endian bytes.", "", `io.write(h:to_string())`}, nil, bufferToString},
		{"sum", doc{"()", "number", "Sum of the elements of host memory: exact for types of whole numbers.", "100000 where a number does not hold it exactly, beyond 2^53", `print(h:sum())`}, nil, bufferSum},
		{"min", doc{"()", "number", "Smallest element of host memory; nan where an element is nan.", "as `h[i]`", `print(h:min())`}, nil, bufferMin},
		{"max", doc{"()", "number", "Largest element of host memory; nan where an element is nan.", "as `h[i]`", `print(h:max())`}, nil, bufferMax},
		{"close_to", doc{"(other [, tolerance])", "boolean [, index]", "Whether no element differs from that of another host buffer by more than `tolerance` (0 where left out); otherwise also the first index that does. nan is close to nan only.", "107000 where the counts differ", `assert(h:close_to(expected, 1e-6))`}, nil, bufferCloseTo},
		{"reshape", doc{"(...)", "the buffer", "Gives the buffer a shape, for files and pictures; the product must be the count.", "107000 where it is not", `h:reshape(240, 320, 3)`}, nil, bufferReshape},
		{"save_npy", doc{"(path)", "", "Writes host memory as a .npy file with its shape.", "100004 where it cannot be written", `h:save_npy("out.npy")`}, nil, bufferSaveNPY},
		{"save_image", doc{"(path)", "", "Writes host memory (uint8, shape height x width, or height x width x channels) as a picture: .png, .jpg or .jpeg. Reshape a vector first.", "100004 where it cannot be written; 107000 for another type or shape", `h:save_image("out.png")`}, nil, bufferSaveImage},
		{"close", doc{"()", "", "Waits for queued work that uses the memory and gives it back, with all slices. Calling it again does nothing.", "", `x:close()`}, nil, bufferClose},
	},
	fields: []field[*npu.Buffer]{
		{"dtype", doc{Text: "Type of the elements: `float32`, `float16`, `bfloat16`, `float64`, `int8`, `uint8`, `int16`, `uint16`, `int32`, `uint32`, `int64`, `uint64` or `bool`."}, func(c *call, b *npu.Buffer) (lua.LValue, error) { return lua.LString(b.Type().String()), nil }},
		{"count", doc{Text: "Number of elements."}, func(c *call, b *npu.Buffer) (lua.LValue, error) { return lua.LNumber(b.Count()), nil }},
		{"bytes", doc{Text: "Size in bytes."}, func(c *call, b *npu.Buffer) (lua.LValue, error) { return lua.LNumber(b.Bytes()), nil }},
		{"space", doc{Text: "`device`, `pinned host` or `pageable host`."}, func(c *call, b *npu.Buffer) (lua.LValue, error) { return lua.LString(b.Space().String()), nil }},
		{"device", doc{Text: "The device of device memory; nil for host memory."}, bufferDevice},
		{"shape", doc{Text: "Table of sizes: what was read from a file or given to `reshape`, else the count."}, bufferShape},
		{"closed", doc{Text: "Whether the memory was given back."}, func(c *call, b *npu.Buffer) (lua.LValue, error) { return lua.LBool(b.Closed()), nil }},
	},
	str: func(b *npu.Buffer) string {
		size := b.ShapeText()
		if size == "" {
			size = fmt.Sprint(b.Count())
		}
		where := b.Space().String()
		if d := b.Device(); d != nil {
			where = fmt.Sprintf("device %d", d.ID())
		}
		return fmt.Sprintf("buffer(%s x %s, %s%s", b.Type(), size, where, closedMark(b.Closed()))
	},
	index: func(c *call, b *npu.Buffer, i int64) (lua.LValue, error) {
		v, err := b.Element(i - 1)
		return lua.LNumber(v), err
	},
	assign: func(c *call, b *npu.Buffer, i int64, v lua.LValue) error {
		value, err := c.element(b, v, i)
		if err != nil {
			return err
		}
		return b.SetValue(i-1, value)
	},
	length: func(b *npu.Buffer) int64 { return b.Count() },
}

func bufferDevice(c *call, b *npu.Buffer) (lua.LValue, error) {
	if d := b.Device(); d != nil {
		return c.in.device(d), nil
	}
	return lua.LNil, nil
}

func bufferShape(c *call, b *npu.Buffer) (lua.LValue, error) {
	t := c.in.L.NewTable()
	shape := b.Shape()
	for _, n := range shape {
		t.Append(lua.LNumber(n))
	}
	if len(shape) == 0 {
		t.Append(lua.LNumber(b.Count()))
	}
	return t, nil
}

func bufferSlice(c *call, b *npu.Buffer) error {
	first, err := c.int(1, "first")
	if err != nil {
		return err
	}
	count := b.Count() - first + 1
	if c.arg(2) != lua.LNil {
		if count, err = c.int(2, "count"); err != nil {
			return err
		}
	}
	s, err := b.Slice(first-1, count)
	if err == nil {
		c.push(c.in.buffer(s))
	}
	return err
}

func bufferUpload(c *call, b *npu.Buffer) error {
	var src *npu.Buffer
	switch v := c.arg(1).(type) {
	case *lua.LUserData:
		var err error
		if src, err = c.buffer(1, "source"); err != nil {
			return err
		}
	case *lua.LTable, lua.LString:
		var err error
		if src, err = c.t.Host(b.Type(), b.Count(), false); err != nil {
			return err
		}
		defer src.Close(c.t) // it only carries the data
		n, err := c.setFrom(src, v)
		if err != nil {
			return err
		}
		if n != b.Count() {
			return c.fail(npu.ErrParamInvalid, "%d values for %d elements", n, b.Count())
		}
	default:
		return c.wrongType(1, "source", "a host buffer, a table or a string")
	}
	return npu.Copy(c.t, b, src)
}

func bufferDownload(c *call, b *npu.Buffer) error {
	h, err := c.t.Host(b.Type(), b.Count(), false)
	if err != nil {
		return err
	}
	if err := npu.Copy(c.t, h, b); err != nil {
		return err
	}
	if shape := b.Shape(); shape != nil {
		if err := h.Reshape(shape); err != nil {
			return err
		}
	}
	c.push(c.in.buffer(h))
	return nil
}

func bufferSet(c *call, b *npu.Buffer) error {
	_, err := c.setFrom(b, c.arg(1))
	return err
}

// setFrom writes host memory from a Lua value and returns how many elements.
func (c *call) setFrom(b *npu.Buffer, v lua.LValue) (int64, error) {
	switch v := v.(type) {
	case *lua.LTable:
		n := int64(lua51.Length(v))
		return n, b.SetValues(n, func(i int64) (npu.Value, error) { return c.element(b, lua51.Item(v, int(i+1)), i+1) })
	case lua.LString:
		return int64(len(v)) / int64(b.Type().Size()), b.SetBytes(string(v))
	case *lua.LFunction:
		return b.Count(), b.SetValues(b.Count(), func(i int64) (npu.Value, error) {
			return c.element(b, lua51.Call(c.L, v, lua.LNumber(i+1)), i+1)
		})
	}
	return 0, c.wrongType(1, "source", "a table, a string or a function")
}

// element is v as element i, from 1, of b.
func (c *call) element(b *npu.Buffer, v lua.LValue, i int64) (npu.Value, error) {
	if value, ok := elementValue(b.Type(), v); ok {
		return value, nil
	}
	return npu.Value{}, c.errorf("element %d must be a number, got %s", i, typeName(v))
}

// elementValue is v as an element of a type: a number, or the digits of one where the type has numbers that Lua has not.
func elementValue(typ npu.DType, v lua.LValue) (value npu.Value, ok bool) {
	switch x := v.(type) {
	case lua.LNumber:
		return npu.Number(float64(x)), true
	case lua.LString:
		return npu.Value{Text: string(x)}, x != "" && typ.Wide()
	}
	return value, false
}

// elementArg is argument i as an element of b.
func (c *call) elementArg(i int, name string, b *npu.Buffer) (npu.Value, error) {
	if value, ok := elementValue(b.Type(), c.arg(i)); ok {
		return value, nil
	}
	v, err := c.number(i, name)
	return npu.Number(v), err
}

func bufferFill(c *call, b *npu.Buffer) error {
	v, err := c.elementArg(1, "value", b)
	if err != nil {
		return err
	}
	return b.FillHostValue(v)
}

func bufferText(c *call, b *npu.Buffer) error {
	i, err := c.int(1, "index")
	if err != nil {
		return err
	}
	text, err := b.Text(i - 1)
	c.push(lua.LString(text))
	return err
}

// elementRoom is how many bytes a number in a table takes.
const elementRoom = 24

func bufferToTable(c *call, b *npu.Buffer) error {
	o, err := c.table(1)
	if err != nil {
		return err
	}
	text, err := o.bool("text", false)
	if err != nil {
		return err
	}
	return b.Read(func(data []byte) error {
		lua51.Room(c.L, int(b.Count())*elementRoom)
		t := c.L.CreateTable(int(b.Count()), 0)
		switch typ := b.Type(); {
		case text:
			for i := range int(b.Count()) {
				lua51.SetItem(t, i+1, lua.LString(typ.Text(data, i)))
			}
		case typ.Wide():
			for i := range int(b.Count()) {
				v, ok := typ.Read(data, i)
				if !ok {
					return b.Inexact(int64(i), data)
				}
				lua51.SetItem(t, i+1, lua.LNumber(v))
			}
		default:
			n := 0
			typ.Each(data, func(v float64) {
				n++
				lua51.SetItem(t, n, lua.LNumber(v))
			})
		}
		c.push(t)
		return nil
	})
}

func bufferToString(c *call, b *npu.Buffer) error {
	return b.Read(func(data []byte) error {
		lua51.Room(c.L, len(data))
		c.push(lua.LString(data))
		return nil
	})
}

func bufferSum(c *call, b *npu.Buffer) error {
	v, err := b.Sum()
	c.push(lua.LNumber(v))
	return err
}

func bufferMin(c *call, b *npu.Buffer) error {
	lo, err := b.Min()
	c.push(lua.LNumber(lo))
	return err
}

func bufferMax(c *call, b *npu.Buffer) error {
	hi, err := b.Max()
	c.push(lua.LNumber(hi))
	return err
}

func bufferCloseTo(c *call, b *npu.Buffer) error {
	other, err := c.buffer(1, "other")
	if err != nil {
		return err
	}
	tolerance := 0.0
	if c.arg(2) != lua.LNil {
		if tolerance, err = c.number(2, "tolerance"); err != nil {
			return err
		}
		if !(tolerance >= 0) {
			return c.errorf("argument 2 (tolerance) must be 0 or more, got %v", tolerance)
		}
	}
	i, err := npu.Difference(b, other, tolerance)
	if err != nil {
		return err
	}
	c.push(lua.LBool(i < 0))
	if i >= 0 {
		c.push(lua.LNumber(i + 1))
	}
	return nil
}

func bufferReshape(c *call, b *npu.Buffer) error {
	var shape []int
	for i := 1; i <= c.count(); i++ {
		n, err := c.int(i, "size")
		if err != nil {
			return err
		}
		shape = append(shape, int(n))
	}
	if err := b.Reshape(shape); err != nil {
		return err
	}
	c.push(c.L.Get(1))
	return nil
}

func bufferSaveNPY(c *call, b *npu.Buffer) error {
	path, err := c.path(1)
	if err != nil {
		return err
	}
	return b.SaveNPYTo(c.in.target(path))
}

func bufferSaveImage(c *call, b *npu.Buffer) error {
	path, err := c.path(1)
	if err != nil {
		return err
	}
	shape := b.Shape()
	if len(shape) != 2 && len(shape) != 3 {
		return c.fail(npu.ErrParamInvalid, "a picture needs a shape: call h:reshape(height, width, channels) first")
	}
	channels := 1
	if len(shape) == 3 {
		channels = shape[2]
	}
	return b.SaveImageTo(c.in.target(path), int64(shape[0]), int64(shape[1]), int64(channels))
}

func bufferClose(c *call, b *npu.Buffer) error { return b.Close(c.t) }
