package luabind

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

// class describes the Lua side of one handle type: rows of methods and fields, and what indexing,
// length and text mean where the type has them.
type class[T comparable] struct {
	name    string // "stream"; messages and help say it
	text    string // what the type is
	methods []method[T]
	fields  []field[T]
	str     func(self T) string
	index   func(c *call, self T, i int64) (lua.LValue, error) // self[i]
	assign  func(c *call, self T, i int64, v lua.LValue) error // self[i] = v
	length  func(self T) int64
	call    *method[T] // self(...): as the iterator of a for loop
	// direct gives every object a method table of its own, so that a method call is one table
	// look-up: for types whose calls are hot and whose objects are few.
	direct bool
	plain  bool // of a module: errors are text
}

// method is one row: what Lua calls, and the function that does it.
type method[T any] struct {
	name    string
	doc     doc
	options []option // keys of the options table that ends its arguments
	fn      func(c *call, self T) error
}

// field is one row of what can be read without a call.
type field[T any] struct {
	name string
	doc  doc
	get  func(c *call, self T) (lua.LValue, error)
}

// call is one call from Lua: where it came from, its arguments and its results.
type call struct {
	in      *Interp
	L       *lua.LState
	t       *npu.Thread
	owner   string // "stream" or "npu", for messages
	name    string // of the function
	options []option
	site    npu.Site
	skip    int  // arguments before the first one of the function: 1 for self
	plain   bool // errors are text
	nret    int
	weighed bool // operands and results count: see charges.go
}

// qualified is the name of the function as scripts write it.
func (c *call) qualified() string {
	if c.skip > 0 {
		return c.owner + ":" + c.name
	}
	return c.owner + "." + c.name
}

// push adds a result.
func (c *call) push(v lua.LValue) {
	c.L.Push(v)
	c.nret++
}

// enter starts a call on L.
func (in *Interp) enter(L *lua.LState) *call {
	n := len(in.calls) - 1
	var c *call
	if n >= 0 {
		c = in.calls[n]
		in.calls = in.calls[:n]
	} else {
		c = new(call)
	}
	c.in, c.L, c.t, c.nret, c.plain, c.weighed = in, L, in.thread, 0, false, false
	c.site = in.sites.here(L)
	if c.site == 0 { // a Go function is all that a task runs
		c.site = in.sched.Current().SpawnSite()
	}
	c.t.Site = c.site
	in.threads.Spend(callInstructions)
	if !c.t.Inside() {
		in.sched.Spend(in.computed())
	}
	return c
}

// callInstructions is what a call of ours counts as in the slice of a task, since one that needs an answer
// of the executor takes from 0.2 us to, with one CPU, tens of microseconds.
const callInstructions = 20

// leave ends a call: with an error it raises and does not return.
func (c *call) leave(err error) int {
	in, n := c.in, c.nret
	if err != nil || in.exiting {
		in.raise(c, err)
	}
	if c.weighed {
		c.chargeValues(c.L.GetTop() - n + 1)
	}
	in.calls = append(in.calls, c)
	return n
}

// register makes the metatable of the class.
func register[T comparable](in *Interp, cl *class[T]) *binding[T] {
	b := &binding[T]{in: in, cl: cl, methods: in.L.NewTable(), fields: make(map[string]*field[T])}
	for i := range cl.methods {
		m := &cl.methods[i]
		b.methods.RawSetString(m.name, in.L.NewFunction(b.method(m)))
	}
	for i := range cl.fields {
		b.fields[cl.fields[i].name] = &cl.fields[i]
	}
	b.meta = b.metatable(in.L.NewFunction(b.lookup))
	in.bound = append(in.bound, b)
	return b
}

// boundClass is a binding of whichever class.
type boundClass interface {
	rows() (class string, methods *lua.LTable)
}

func (b *binding[T]) rows() (class string, methods *lua.LTable) { return b.cl.name, b.methods }

// binding is a class made usable in one interpreter.
type binding[T comparable] struct {
	in      *Interp
	cl      *class[T]
	meta    *lua.LTable
	methods *lua.LTable
	fields  map[string]*field[T]
}

func (b *binding[T]) metatable(index lua.LValue) *lua.LTable {
	L, mt := b.in.L, b.in.L.NewTable()
	mt.RawSetString("__index", index)
	mt.RawSetString("__newindex", L.NewFunction(b.store))
	mt.RawSetString("__tostring", L.NewFunction(b.tostring))
	mt.RawSetString("__metatable", lua.LString("npu."+b.cl.name))
	mt.RawSetString("__eq", L.NewFunction(b.equal))
	if b.cl.call != nil {
		mt.RawSetString("__call", L.NewFunction(b.method(b.cl.call)))
	}
	if b.cl.length != nil {
		mt.RawSetString("__len", L.NewFunction(b.len))
	}
	return mt
}

// wrap is the Lua value of a Go handle. It is kept in bound, with the handle, so that one handle is
// one Lua value.
func (b *binding[T]) wrap(self T, bound *any) lua.LValue {
	if ud, ok := (*bound).(*lua.LUserData); ok {
		return ud
	}
	L := b.in.L
	ud := &lua.LUserData{Value: self, Env: L.Env, Metatable: b.meta}
	if b.cl.direct {
		own := L.NewTable()
		b.methods.ForEach(func(k, v lua.LValue) { own.RawSet(k, v) })
		rest := L.NewTable()
		rest.RawSetString("__index", L.NewFunction(func(L *lua.LState) int {
			c := b.in.enter(L)
			return b.property(c, self, L.Get(2))
		}))
		own.Metatable = rest
		ud.Metatable = b.metatable(own)
	}
	*bound = ud
	return ud
}

// method makes the Go function behind a row: check self, call, raise.
func (b *binding[T]) method(m *method[T]) lua.LGFunction {
	in, weighed := b.in, b.in.weighed(b.cl.name, m.name, 1)
	return func(L *lua.LState) int {
		c := in.enter(L)
		c.owner, c.name, c.options, c.skip, c.plain = b.cl.name, m.name, m.options, 1, b.cl.plain
		c.weigh(weighed)
		self, _ := b.self(L)
		return c.leave(invoke(c, self, m.fn, b.cl.name))
	}
}

func invoke[T comparable](c *call, self T, fn func(*call, T) error, class string) error {
	var none T
	if self == none {
		return c.errorf("self must be %s, got %s: call it with a colon, %s:%s(...)", article(class), typeName(c.L.Get(1)), class, c.name)
	}
	return fn(c, self)
}

// lookup is __index of classes without method tables of their own.
func (b *binding[T]) lookup(L *lua.LState) int {
	key := L.Get(2)
	if s, ok := key.(lua.LString); ok {
		if m := b.methods.RawGetString(string(s)); m != lua.LNil {
			L.Push(m)
			return 1
		}
	}
	self, _ := b.self(L)
	return b.property(b.in.enter(L), self, key)
}

// property reads a field or an element.
func (b *binding[T]) property(c *call, self T, key lua.LValue) int {
	c.owner, c.name, c.skip, c.plain = b.cl.name, "index", 0, b.cl.plain
	v, err := b.read(c, self, key)
	if err == nil {
		c.push(v)
	}
	return c.leave(err)
}

func (b *binding[T]) read(c *call, self T, key lua.LValue) (lua.LValue, error) {
	var none T
	if self == none {
		return nil, c.errorf("self must be %s, got %s", article(b.cl.name), typeName(c.L.Get(1)))
	}
	switch k := key.(type) {
	case lua.LNumber:
		if b.cl.index != nil {
			i, err := c.whole("index", k)
			if err != nil {
				return nil, err
			}
			return b.cl.index(c, self, i)
		}
	case lua.LString:
		if f := b.fields[string(k)]; f != nil {
			return f.get(c, self)
		}
		return nil, c.fail(npu.ErrInvalidParam, "%s has no field or method %q%s", article(b.cl.name), string(k), npu.Suggest(string(k), b.names()))
	}
	return nil, c.fail(npu.ErrInvalidParam, "%s cannot be indexed with %s", article(b.cl.name), describe(key))
}

func (b *binding[T]) names() []string {
	var names []string
	for i := range b.cl.methods {
		names = append(names, b.cl.methods[i].name)
	}
	for i := range b.cl.fields {
		names = append(names, b.cl.fields[i].name)
	}
	return names
}

// store is __newindex.
func (b *binding[T]) store(L *lua.LState) int {
	c := b.in.enter(L)
	c.owner, c.name, c.skip, c.plain = b.cl.name, "index", 0, b.cl.plain
	return c.leave(b.write(c))
}

func (b *binding[T]) write(c *call) error {
	self, isSelf := b.self(c.L)
	key := c.L.Get(2)
	if k, ok := key.(lua.LNumber); ok && isSelf && b.cl.assign != nil {
		i, err := c.whole("index", k)
		if err != nil {
			return err
		}
		return b.cl.assign(c, self, i, c.L.Get(3))
	}
	return c.fail(npu.ErrInvalidParam, "%s has no element or field %s that can be set", article(b.cl.name), describe(key))
}

func (b *binding[T]) tostring(L *lua.LState) int {
	text := b.cl.name
	if self, ok := b.self(L); ok {
		text = b.cl.str(self)
	}
	L.Push(lua.LString(text))
	return 1
}

// equal is __eq: two values can stand for one handle.
func (b *binding[T]) equal(L *lua.LState) int {
	x, _ := b.self(L)
	ud, _ := L.Get(2).(*lua.LUserData)
	same := false
	if ud != nil {
		y, ok := ud.Value.(T)
		same = ok && x == y
	}
	L.Push(lua.LBool(same))
	return 1
}

func (b *binding[T]) len(L *lua.LState) int {
	n := int64(0)
	if self, ok := b.self(L); ok {
		n = b.cl.length(self)
	}
	L.Push(lua.LNumber(n))
	return 1
}

// self is the handle that a metamethod was called on; false where a script called it on something
// else, which only the debug library lets it do.
func (b *binding[T]) self(L *lua.LState) (self T, ok bool) {
	if ud, is := L.Get(1).(*lua.LUserData); is {
		self, ok = ud.Value.(T)
	}
	return self, ok
}

// article is the name of a class as messages say it: "an event".
func article(class string) string {
	if class[0] == 'e' {
		return "an " + class
	}
	return "a " + class
}

// closedMark is the end of the text of a handle.
func closedMark(closed bool) string {
	if closed {
		return ", closed)"
	}
	return ")"
}

// describe names a Lua value for a message.
func describe(v lua.LValue) string {
	switch x := v.(type) {
	case lua.LString:
		return fmt.Sprintf("%q", string(x))
	case lua.LNumber:
		return x.String()
	}
	return typeName(v)
}
