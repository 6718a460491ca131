package lua51

import (
	"crypto/rand"
	"math"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// linkMark ends the names of what Link puts in. It differs from process to process, so that no script
// can hold one of the names as a string.
var linkMark = "\x00" + rand.Text()

// Names that rewritten code reads as globals, for Link to replace.
var (
	concatName     = "\x00concat" + linkMark
	concatListName = "\x00concatlist" + linkMark
	powerName      = "\x00power" + linkMark
	modName        = "\x00mod" + linkMark
	lengthName     = "\x00length" + linkMark
	joinName       = "\x00join" + linkMark
	forInitName    = "\x00init" + linkMark
	forLimitName   = "\x00limit" + linkMark
	forStepName    = "\x00step" + linkMark
	storeName      = "\x00store" + linkMark
	readName       = "\x00read" + linkMark
	infinityName   = "\x00infinity" + linkMark
)

// Linker puts functions and other values into compiled chunks, where rewritten code reads them.
type Linker struct {
	values   map[lua.LString]lua.LValue
	names    map[*lua.LFunction]lua.LString // of the functions in values
	handlers *handlers
}

// NewLinker makes the functions for one virtual machine.
func NewLinker(L *lua.LState) *Linker {
	k := &Linker{map[lua.LString]lua.LValue{lua.LString(infinityName): lua.LNumber(math.Inf(1))}, make(map[*lua.LFunction]lua.LString), handlersOf(L)}
	for name, fn := range map[string]lua.LGFunction{
		concatName:     Concat,
		concatListName: concatList,
		powerName:      power,
		modName:        mod,
		lengthName:     length,
		joinName:       join,
		forInitName:    loopBound("initial value"),
		forLimitName:   loopBound("limit"),
		forStepName:    loopBound("step"),
		storeName:      storedHandler,
		readName:       readHandler,
	} {
		operator := newOperator(L, fn)
		k.values[lua.LString(name)], k.names[operator] = operator, lua.LString(name)
	}
	return k
}

// Link resolves the names of rewritten code in proto, once: an instruction that would read a global
// of such a name loads a constant instead, and the constant is the function or value. So scripts cannot see,
// shadow or replace it.
func (k *Linker) Link(proto *lua.FunctionProto) {
	var linked map[int]bool
	for i, c := range proto.Constants {
		name, ok := c.(lua.LString)
		if name == "__call" {
			k.handlers.possible.Store(true)
		}
		if ok && k.values[name] != nil {
			if linked == nil {
				linked = make(map[int]bool)
			}
			linked[i] = true
			proto.Constants[i] = k.values[name]
		}
	}
	if linked != nil {
		for i, code := range proto.Code {
			if in := instruction(code); in.op() == lua.OP_GETGLOBAL && linked[in.bx()] {
				proto.Code[i] = uint32(lua.OP_LOADK)<<26 | code&(1<<26-1)
			}
		}
	}
	for i, c := range proto.DbgCalls {
		if strings.HasSuffix(c.Name, linkMark) {
			proto.DbgCalls[i].Name = "?"
		}
	}
	for _, p := range proto.FunctionPrototypes {
		k.Link(p)
	}
}

// Copy is proto, which from has linked, for the machine of k.
func (k *Linker) Copy(proto *lua.FunctionProto, from *Linker) *lua.FunctionProto {
	p := *proto
	p.Constants = slices.Clone(proto.Constants)
	if from.handlers.possible.Load() {
		k.handlers.possible.Store(true)
	}
	for i, c := range p.Constants {
		if fn, ok := c.(*lua.LFunction); ok {
			p.Constants[i] = k.values[from.names[fn]]
		}
	}
	p.FunctionPrototypes = make([]*lua.FunctionProto, len(proto.FunctionPrototypes))
	for i, inner := range proto.FunctionPrototypes {
		p.FunctionPrototypes[i] = k.Copy(inner, from)
	}
	return &p
}
