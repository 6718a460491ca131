package luabind

import (
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

// Values go from one machine to another packed: numbers, strings, booleans and nil as they are, tables as
// copies, channels, devices and host memory by reference, functions of the library and built-in kernels by
// name.

type packedTable struct {
	pairs   [][2]any
	isError bool // an error object
	isArray bool // marked by json.array
}

// packedFunction is the function that a worker runs, or one that it uses.
type packedFunction struct {
	proto    *lua.FunctionProto
	upvalues []*packedUpvalue
}

type packedUpvalue struct{ value any }

// packedName is a function or table of the library, "string.format".
type packedName string

// packedKernel is a built-in kernel.
type packedKernel string

// maxNesting bounds tables in tables on their way, maxDepth everything that is in something else.
const (
	maxNesting = 200
	maxDepth   = 10_000
)

// packer packs values of one machine; what occurs twice stays one.
type packer struct {
	in        *Interp
	functions bool // functions may go along
	seen      map[any]any
	held      []*npu.Shared
	nesting   int // of tables
	depth     int
}

func (in *Interp) newPacker(functions bool) *packer {
	return &packer{in: in, functions: functions, seen: make(map[any]any)}
}

// parcel is a packed value on its way, with the memory that it holds until it is dropped. Whoever receives it makes handles
// of its own before.
type parcel struct {
	value any
	held  []*npu.Shared
}

// drop gives up what nobody will unpack any more.
func (x *parcel) drop() {
	for _, s := range x.held {
		s.Drop()
	}
}

// drop gives back what was packed, where it does not go on its way.
func (p *packer) drop() { (&parcel{held: p.held}).drop() }

// parcel packs one value; it refers to none of the packer's own.
func (in *Interp) parcel(v lua.LValue) (*parcel, error) {
	p := in.newPacker(false)
	value, err := p.pack(v)
	if err != nil {
		p.drop()
		return nil, err
	}
	return &parcel{value, p.held}, nil
}

// cannot is the refusal of a value.
func cannot(what string) error {
	return &npu.Error{Code: npu.ErrInvalidParam, Detail: what + " cannot go to another worker",
		Hint: "numbers, strings, booleans, tables of them, channels, devices and host buffers can; make the rest there"}
}

func (p *packer) pack(v lua.LValue) (any, error) {
	lua51.Charge(p.in.threads.Current(), 1)
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return nil, cannot("a value that is nested too deeply")
	}
	switch x := v.(type) {
	case *lua.LNilType, lua.LBool, lua.LNumber, lua.LString:
		return x, nil
	case *lua.LTable:
		if name, ok := p.in.library[x]; ok {
			return packedName(name), nil
		}
		return p.table(x)
	case *lua.LFunction:
		if name, ok := p.in.library[x]; ok {
			return packedName(name), nil
		}
		return p.function(x)
	case *lua.LUserData:
		if name, ok := p.in.library[x]; ok {
			return packedName(name), nil
		}
		return p.handle(x)
	}
	return nil, cannot(typeName(v))
}

func (p *packer) handle(ud *lua.LUserData) (any, error) {
	if was, ok := p.seen[ud]; ok {
		return was, nil
	}
	switch x := ud.Value.(type) {
	case *npu.Channel:
		p.seen[ud] = x // before its contents, which may hold it
		return x, p.share(x)
	case *npu.Device:
		return x, nil
	case *npu.Kernel:
		if p.in.builtins[x.Name()] == x {
			return packedKernel(x.Name()), nil
		}
	case *npu.Buffer:
		s, err := x.Share()
		if err != nil {
			return nil, err
		}
		p.seen[ud] = s
		p.held = append(p.held, s)
		return s, nil
	}
	return nil, cannot(typeName(ud))
}

func (p *packer) table(tb *lua.LTable) (any, error) {
	if was, ok := p.seen[tb]; ok {
		return was, nil
	}
	out := &packedTable{isError: isErrorObject(tb), isArray: p.in.arrayMeta != nil && tb.Metatable == p.in.arrayMeta}
	if tb.Metatable != lua.LNil && !out.isError && !out.isArray {
		return nil, cannot("a table with a metatable")
	}
	p.nesting++
	defer func() { p.nesting-- }()
	if p.nesting > maxNesting {
		return nil, cannot("a table that is nested too deeply")
	}
	p.seen[tb] = out
	var bad error
	tb.ForEach(func(k, v lua.LValue) {
		if bad != nil {
			return
		}
		key, err := p.pack(k)
		if err != nil {
			bad = err
			return
		}
		value, err := p.pack(v)
		if err != nil {
			if !out.isError { // it says what it can
				bad = err
			}
			return
		}
		out.pairs = append(out.pairs, [2]any{key, value})
	})
	return out, bad
}

func (p *packer) function(fn *lua.LFunction) (any, error) {
	if was, ok := p.seen[fn]; ok {
		return was, nil
	}
	switch {
	case !p.functions:
		return nil, cannot("a function")
	case fn.IsG:
		return nil, cannot("a function of the program")
	case fn.Env != p.in.L.Env:
		return nil, cannot("a function with an environment of its own")
	}
	out := &packedFunction{proto: fn.Proto, upvalues: make([]*packedUpvalue, len(fn.Upvalues))}
	p.seen[fn] = out
	for i, uv := range fn.Upvalues {
		if was, ok := p.seen[uv]; ok {
			out.upvalues[i] = was.(*packedUpvalue)
			continue
		}
		packed := new(packedUpvalue)
		p.seen[uv], out.upvalues[i] = packed, packed
		var err error
		if packed.value, err = p.pack(uv.Value()); err != nil {
			if e, ok := err.(*npu.Error); ok && i < len(fn.Proto.DbgUpvalues) {
				e.Detail = fmt.Sprintf("local %q, which the function uses: %s", fn.Proto.DbgUpvalues[i], e.Detail)
			}
			return nil, err
		}
	}
	return out, nil
}

// share makes ch one that several machines use: what waits in it, and what is sent from now on, is packed.
func (p *packer) share(ch *npu.Channel) error {
	var inside []*packer
	err := ch.Share(func(v any) (any, error) {
		value, ok := v.(lua.LValue)
		if !ok {
			return v, nil
		}
		x := p.in.newPacker(false)
		x.depth = p.depth
		inside = append(inside, x)
		packed, err := x.pack(value)
		return &parcel{packed, x.held}, err
	})
	if err == nil {
		return nil
	}
	for _, x := range inside {
		x.drop()
	}
	if e, ok := err.(*npu.Error); ok && !strings.HasPrefix(e.Detail, "a value in ") {
		e.Detail = "a value in " + ch.String() + ": " + e.Detail
	}
	return err
}

// unpacker makes values of a machine. What occurs twice in what one of them unpacks is one value.
type unpacker struct {
	in   *Interp
	from *Interp // of functions
	seen map[any]lua.LValue
	ups  map[*packedUpvalue]*lua.Upvalue
	told bool  // the value is only shown: no handle is made of memory
	err  error // why memory was not received
}

// unpack makes a value of this machine. It may be called again, and makes other handles of memory each time.
func (in *Interp) unpack(v any) (lua.LValue, error) {
	u := in.newUnpacker(nil)
	value := u.unpack(v)
	return value, u.err
}

// receive makes a value of this machine of what came by a channel: a parcel, which goes to nobody else, or a value of
// this machine.
func (in *Interp) receive(v any) (lua.LValue, error) {
	x, ok := v.(*parcel)
	if !ok {
		if v == nil {
			return lua.LNil, nil
		}
		return v.(lua.LValue), nil
	}
	defer x.drop()
	return in.unpack(x.value)
}

func (in *Interp) newUnpacker(from *Interp) *unpacker {
	return &unpacker{in: in, from: from, seen: make(map[any]lua.LValue), ups: make(map[*packedUpvalue]*lua.Upvalue)}
}

func (u *unpacker) unpack(v any) lua.LValue {
	switch x := v.(type) {
	case lua.LValue:
		return x
	case *npu.Channel:
		return u.in.channel(x)
	case *npu.Device:
		return u.in.device(x)
	case packedKernel:
		if k, err := u.in.builtin(string(x)); err == nil { // it was one over there
			return u.in.kernel(k)
		}
		return lua.LNil
	case packedName:
		return u.in.named(string(x))
	}
	if was, ok := u.seen[v]; ok {
		return was
	}
	switch x := v.(type) {
	case nil:
		return lua.LNil
	case *npu.Shared:
		b := u.buffer(x)
		u.seen[v] = b
		return b
	case *packedTable:
		tb := u.in.L.NewTable()
		if x.isError {
			tb.Metatable = u.in.errorMeta
		}
		if x.isArray {
			tb.Metatable = u.in.jsonArrayMeta()
		}
		u.seen[v] = tb
		lua51.Charge(u.in.threads.Current(), len(x.pairs))
		for _, pair := range x.pairs {
			tb.RawSet(u.unpack(pair[0]), u.unpack(pair[1]))
		}
		return tb
	case *packedFunction:
		fn := u.in.L.NewFunctionFromProto(u.in.linker.Copy(x.proto, u.from.linker))
		u.seen[v] = fn
		fn.Upvalues = make([]*lua.Upvalue, len(x.upvalues))
		for i, up := range x.upvalues {
			uv := u.ups[up]
			if uv == nil {
				uv = new(lua.Upvalue)
				u.ups[up] = uv
				uv.SetValue(lua.LNil)
				uv.SetValue(u.unpack(up.value))
			}
			fn.Upvalues[i] = uv
		}
		return fn
	}
	return lua.LNil
}

// buffer makes a handle of memory.
func (u *unpacker) buffer(x *npu.Shared) lua.LValue {
	if u.told {
		return lua.LString("buffer")
	}
	b, err := u.in.thread.Receive(x)
	if err != nil {
		u.err = errors.Join(u.err, err)
		return lua.LNil
	}
	return u.in.buffer(b)
}

// snapshot names the functions and tables of the library, before a script can change them.
func (in *Interp) snapshot() {
	in.library = make(map[lua.LValue]string)
	in.L.Env.ForEach(func(k, v lua.LValue) {
		name := k.String()
		switch x := v.(type) {
		case *lua.LFunction:
			in.library[x] = name
		case *lua.LTable:
			if name == "_G" || name == "arg" {
				return
			}
			in.nameTable(name, x)
			x.ForEach(func(k, v lua.LValue) {
				if part, ok := v.(*lua.LTable); ok && isPart(name+"."+k.String()) {
					in.nameTable(name+"."+k.String(), part)
				}
			})
		}
	})
	in.library[in.L.Env] = "_G"
}

// nameTable names a table of the library and its functions.
func (in *Interp) nameTable(name string, t *lua.LTable) {
	in.library[t] = name
	t.ForEach(func(k, v lua.LValue) {
		if fn, ok := v.(*lua.LFunction); ok {
			in.library[fn] = name + "." + k.String()
		}
	})
}

// named finds what snapshot named, or a part of a module.
func (in *Interp) named(name string) lua.LValue {
	first, _, _ := strings.Cut(name, ".")
	if m := findModuleRows(first); m != nil {
		in.openLibraryModule(m)
	}
	for v, n := range in.library {
		if n == name {
			return v
		}
	}
	return lua.LNil
}
