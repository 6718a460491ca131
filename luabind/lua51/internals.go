package lua51

import (
	"fmt"
	"reflect"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// What gopher-lua keeps to itself and this package needs is reached in place. Where a field lies is looked up by its
// name, and its kind is checked, when the program starts: another version of the library is refused then.
var (
	stateType     = reflect.TypeFor[lua.LState]()
	loopOffset    = fieldOffset(stateType, "mainLoop", reflect.Func)
	stackType     = field(stateType, "stack", reflect.Interface).Type
	stackOffset   = fieldOffset(stateType, "stack", reflect.Interface)
	valuesOffset  = fieldOffset(stateType, "reg", reflect.Pointer)
	openOffset    = fieldOffset(stateType, "uvcache", reflect.Pointer)
	nextOffset    = fieldOffset(reflect.TypeFor[lua.Upvalue](), "next", reflect.Pointer)
	keepOffset    = fieldOffset(stateType, "hasErrorFunc", reflect.Bool)
	registryArray = fieldOffset(field(stateType, "reg", reflect.Pointer).Type.Elem(), "array", reflect.Slice)
)

func field(t reflect.Type, name string, kind reflect.Kind) reflect.StructField {
	f, ok := t.FieldByName(name)
	if !ok || f.Type.Kind() != kind {
		panic(fmt.Sprintf("lua51: %v has no %v %s in this version of gopher-lua", t, kind, name))
	}
	return f
}

func fieldOffset(t reflect.Type, name string, kind reflect.Kind) uintptr {
	return field(t, name, kind).Offset
}

// inState is the field of L that lies at offset and is a T.
func inState[T any](L *lua.LState, offset uintptr) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(L), offset))
}

// loop is the function by which Go runs what was called last on a thread. base is the frame of that, nil where the
// thread is resumed.
type loop func(L *lua.LState, base *frame)

// mainLoop is where L keeps its loop.
func mainLoop(L *lua.LState) *loop { return inState[loop](L, loopOffset) }

// frameStack is what L keeps its frames in.
type frameStack interface {
	Sp() int
	SetSp(int)
}

func frameStackOf(L *lua.LState) frameStack {
	return reflect.NewAt(stackType, unsafe.Add(unsafe.Pointer(L), stackOffset)).Elem().Interface().(frameStack)
}

// dropFrames removes the innermost n frames of L, or all of them, and the values of what runs then.
func dropFrames(L *lua.LState, n int) {
	f := currentFrame(L)
	for ; n > 0 && f != nil; n-- {
		f = f.parent
	}
	stack := frameStackOf(L)
	if f == nil {
		stack.SetSp(0)
	} else {
		stack.SetSp(f.index + 1)
	}
	*inState[*frame](L, frameOffset) = f
	L.SetTop(0)
}

// valuesOf is the stack of L, in which the functions that run have their registers.
func valuesOf(L *lua.LState) []lua.LValue {
	registry := *inState[unsafe.Pointer](L, valuesOffset)
	return *(*[]lua.LValue)(unsafe.Add(registry, registryArray))
}

// keepUpvalues has errors on L leave the variables that closures share alone: the library would look for them in every
// frame, all of them each time. Whoever catches an error on L calls closeUpvalues.
func keepUpvalues(L *lua.LState) { *inState[bool](L, keepOffset) = true }

// closeUpvalues gives the closures that were made on L their variables, before the frames of a failed call go.
func closeUpvalues(L *lua.LState) {
	list := inState[*lua.Upvalue](L, openOffset)
	for *list != nil {
		u := *list
		next := (**lua.Upvalue)(unsafe.Add(unsafe.Pointer(u), nextOffset))
		*list, *next = *next, nil
		u.Close()
	}
}
