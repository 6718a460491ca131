package lua51

import (
	"sync/atomic"
	"weak"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// The virtual machine takes functions only as handlers of some events, PUC Lua whatever can be called. A handler
// that is none stands in its metatable as a function that calls it. Scripts get it back as they put it in, where
// they read it by its name, with rawget, or from pairs and next.

// machineEvents are the events for which the machine takes functions only.
var machineEvents = []string{"__add", "__sub", "__mul", "__div", "__unm", "__eq", "__lt", "__le"}

var isMachineEvent = func() map[string]bool {
	m := make(map[string]bool)
	for _, e := range machineEvents {
		m[e] = true
	}
	return m
}()

// handlersName is the field of the registry that holds the handlers of a machine.
const handlersName = "\x00handlers"

// handlers are the functions that stand for handlers which are none: always the same for the same handler,
// because the machine compares two operands only where they have one handler in common.
type handlers struct {
	functions map[any]weak.Pointer[lua.LFunction] // by handler, which is not kept
	sweepAt   int                                 // size at which those go that nothing uses
	possible  atomic.Bool                         // code of the machine names __call, without which only functions can be called; workers ask for it, too
}

// handled is what a function that stands for a handler calls.
type handled struct{ handler lua.LValue }

func handlersOf(L *lua.LState) *handlers {
	if ud, ok := L.G.Registry.RawGetString(handlersName).(*lua.LUserData); ok {
		return ud.Value.(*handlers)
	}
	ud := L.NewUserData()
	h := &handlers{functions: make(map[any]weak.Pointer[lua.LFunction]), sweepAt: 64}
	ud.Value = h
	L.G.Registry.RawSetString(handlersName, ud)
	return h
}

// function is the function that stands for v.
func (h *handlers) function(L *lua.LState, v lua.LValue) *lua.LFunction {
	key := any(v)
	switch v := v.(type) {
	case *lua.LTable:
		key = weak.Make(v)
	case *lua.LUserData:
		key = weak.Make(v)
	}
	if fn := h.functions[key].Value(); fn != nil {
		return fn
	}
	if len(h.functions) >= h.sweepAt {
		for k, p := range h.functions {
			if p.Value() == nil {
				delete(h.functions, k)
			}
		}
		h.sweepAt = 2*len(h.functions) + 64
	}
	ud := L.NewUserData()
	ud.Value = handled{v}
	fn := newOperator(L, callHandler)
	fn.Upvalues = L.NewClosure(callHandler, ud).Upvalues
	h.functions[key] = weak.Make(fn)
	return fn
}

func callHandler(L *lua.LState) int {
	handler := L.Get(lua.UpvalueIndex(1)).(*lua.LUserData).Value.(handled).handler
	checkCallable(L, handler)
	return callInPlace(L, handler)
}

// plain is the handler that v stands for, or else v.
func plain(v lua.LValue) lua.LValue {
	if fn, ok := v.(*lua.LFunction); ok && fn.IsG && len(fn.Upvalues) == 1 {
		if ud, ok := fn.Upvalues[0].Value().(*lua.LUserData); ok {
			if h, ok := ud.Value.(handled); ok {
				return h.handler
			}
		}
	}
	return v
}

// useHandlers prepares mt, which becomes a metatable.
func useHandlers(L *lua.LState, mt *lua.LTable) {
	h := handlersOf(L)
	if !h.possible.Load() {
		return
	}
	for _, event := range machineEvents {
		switch v := mt.RawGetString(event); v.Type() {
		case lua.LTNil, lua.LTFunction:
		default:
			mt.RawSetString(event, h.function(L, v))
		}
	}
}

// asHandler is what stands in a table for v, the value of an event there. Only what can be called is taken for
// a handler: not every table with such names is a metatable.
func asHandler(L *lua.LState, v lua.LValue) lua.LValue {
	switch v.Type() {
	case lua.LTTable, lua.LTUserData:
		if metaField(L, v, "__call").Type() == lua.LTFunction {
			return handlersOf(L).function(L, v)
		}
	}
	return v
}

// storedHandler is asHandler and readHandler plain, for code that stores or reads an event by its name.
func storedHandler(L *lua.LState) int {
	L.Push(asHandler(L, L.Get(1)))
	return 1
}

func readHandler(L *lua.LState) int {
	L.Push(plain(L.Get(1)))
	return 1
}

// event is the event that key names, where the machine takes only functions for it.
func event(key ast.Expr) bool {
	s, ok := key.(*ast.StringExpr)
	return ok && isMachineEvent[s.Value]
}

// stored is e as the value of a field with this key.
func (r *rewriter) stored(key, e ast.Expr) ast.Expr {
	if _, ok := e.(*ast.FunctionExpr); ok || isConst(e) || key == nil || !event(key) {
		return e
	}
	at := at{e}
	return at.call(at.ident(storeName), single(e))
}

// read is e, a field that is read.
func (r *rewriter) read(e *ast.AttrGetExpr) ast.Expr {
	if !event(e.Key) {
		return e
	}
	at := at{e}
	return at.call(at.ident(readName), e)
}
