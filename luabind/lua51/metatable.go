package lua51

import (
	lua "github.com/yuin/gopher-lua"
)

// A type whose values share one metatable (all but tables and userdata) has two here: that of the virtual
// machine, which holds the events of this file, and in it that of scripts, which they see and may set. So the
// machine computes with text and explains errors as PUC Lua does, and scripts find what PUC Lua shows.

// scriptsName is the field of the machine's metatable of a type that holds that of scripts.
const scriptsName = "\x00scripts"

// sharing has a value of each type whose values share a metatable.
var sharing = []lua.LValue{lua.LNil, lua.LTrue, lua.LNumber(0), lua.LString(""), &lua.LFunction{}, &lua.LState{}}

// binaryOperators are the operators of two numbers that the virtual machine computes itself.
var binaryOperators = map[string]func(a, b float64) float64{
	"__add": func(a, b float64) float64 { return a + b },
	"__sub": func(a, b float64) float64 { return a - b },
	"__mul": func(a, b float64) float64 { return a * b },
	"__div": func(a, b float64) float64 { return a / b },
}

// openMetatables gives the types their metatables.
func openMetatables(L *lua.LState, suggest Suggester) {
	for _, v := range sharing {
		mt := L.NewTable()
		mt.RawSetString("__index", newOperator(L, typeIndex))
		mt.RawSetString("__newindex", newOperator(L, typeNewindex))
		mt.RawSetString("__call", newOperator(L, func(L *lua.LState) int { return typeCall(L, suggest) }))
		if v.Type() != lua.LTNumber { // of two operands one is no number, and its type has them
			setArithmetic(L, mt)
		}
		L.SetMetatable(v, mt)
	}
}

func setArithmetic(L *lua.LState, mt *lua.LTable) {
	for event, compute := range binaryOperators {
		mt.RawSetString(event, newOperator(L, func(L *lua.LState) int { return arithmetic(L, event, compute) }))
	}
	mt.RawSetString("__unm", newOperator(L, negate))
}

// metatableOf is the metatable of v that scripts know, or nil.
func metatableOf(L *lua.LState, v lua.LValue) lua.LValue {
	switch v := v.(type) {
	case *lua.LTable:
		return v.Metatable
	case *lua.LUserData:
		return v.Metatable
	}
	if own, ok := L.GetMetatable(v).(*lua.LTable); ok {
		return own.RawGetString(scriptsName)
	}
	return lua.LNil
}

// TypeMetatable is the metatable that scripts know of all values of the type of v, which is none of table and
// userdata.
func TypeMetatable(L *lua.LState, v lua.LValue) (mt *lua.LTable, ok bool) {
	mt, ok = metatableOf(L, v).(*lua.LTable)
	return mt, ok
}

// metaField is the handler of v for an event, or nil.
func metaField(L *lua.LState, v lua.LValue, event string) lua.LValue {
	if mt, ok := metatableOf(L, v).(*lua.LTable); ok {
		return plain(mt.RawGetString(event))
	}
	return lua.LNil
}

// setMetatable gives v, or all values of its type, the metatable mt, which may be nil.
func setMetatable(L *lua.LState, v, mt lua.LValue) {
	if t, ok := mt.(*lua.LTable); ok {
		useHandlers(L, t)
	}
	switch v := v.(type) {
	case *lua.LTable:
		v.Metatable = mt
	case *lua.LUserData:
		v.Metatable = mt
	default:
		own, ok := L.GetMetatable(v).(*lua.LTable)
		if !ok {
			return
		}
		own.RawSetString(scriptsName, mt)
		setArithmetic(L, own)
		own.RawSetString("__lt", newOperator(L, typeLess))
		own.RawSetString("__le", newOperator(L, typeLessEqual))
		watchIndex(L, v)
	}
}

// shareStringMetatable makes library what strings are indexed with. The machine knows it directly until a
// script gets hold of the metatable, which it may then change.
func shareStringMetatable(L *lua.LState, library *lua.LTable) {
	mt := L.NewTable()
	mt.RawSetString("__index", library)
	own := L.GetMetatable(lua.LString("")).(*lua.LTable)
	own.RawSetString(scriptsName, mt)
	own.RawSetString("__index", library)
}

// watchIndex has the machine ask the metatable of scripts at each index operation on a value of the type of v.
func watchIndex(L *lua.LState, v lua.LValue) {
	if own, ok := L.GetMetatable(v).(*lua.LTable); ok {
		own.RawSetString("__index", newOperator(L, typeIndex))
	}
}

// seenMetatable is the metatable of v for a script, which may change it from now on.
func seenMetatable(L *lua.LState, v lua.LValue) lua.LValue {
	if v.Type() == lua.LTString {
		watchIndex(L, v)
	}
	return metatableOf(L, v)
}

func typeIndex(L *lua.LState) int {
	v, key := L.Get(1), L.Get(2)
	switch handler := metaField(L, v, "__index").(type) {
	case *lua.LNilType:
		return cannotIndex(L, v)
	case *lua.LFunction:
		L.Push(call(L, handler, v, key))
	default:
		L.Push(L.GetTable(handler, key))
	}
	return 1
}

func typeNewindex(L *lua.LState) int {
	v, key, value := L.Get(1), L.Get(2), L.Get(3)
	switch handler := metaField(L, v, "__newindex").(type) {
	case *lua.LNilType:
		return cannotIndex(L, v)
	case *lua.LFunction:
		call(L, handler, v, key, value)
	default:
		L.SetTable(handler, key, value)
	}
	return 0
}

func typeCall(L *lua.LState, suggest Suggester) int {
	handler, ok := metaField(L, L.Get(1), "__call").(*lua.LFunction)
	if !ok {
		return cannotCall(L, suggest)
	}
	return callInPlace(L, handler)
}

func typeLess(L *lua.LState) int {
	a, b := L.Get(1), L.Get(2)
	less, ok := ordered(L, a, b, "__lt")
	if !ok {
		cannotCompare(L, a, b)
	}
	L.Push(lua.LBool(less))
	return 1
}

func typeLessEqual(L *lua.LState) int {
	a, b := L.Get(1), L.Get(2)
	result, ok := ordered(L, a, b, "__le")
	if !ok {
		if result, ok = ordered(L, b, a, "__lt"); !ok {
			cannotCompare(L, a, b)
		}
		result = !result
	}
	L.Push(lua.LBool(result))
	return 1
}

// ordered asks the handler that a and b have in common; ok is false where they have none.
func ordered(L *lua.LState, a, b lua.LValue, event string) (result, ok bool) {
	handler := metaField(L, a, event)
	if handler == lua.LNil || handler != metaField(L, b, event) {
		return false, false
	}
	return lua.LVAsBool(call(L, handler, a, b)), true
}
