package luabind

import (
	"fmt"
	"reflect"
	"sort"
	"sync"
	"unsafe"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

// sites numbers places in scripts: a function prototype owns a range of numbers, one a line, so
// that noting the place of a call is an addition.
type sites struct {
	mu     sync.Mutex // the table is read by whoever formats an error
	bases  map[*lua.FunctionProto]npu.Site
	ranges []siteRange
	next   npu.Site

	// owned by the interpreter's goroutine: the prototype of the last call
	proto *lua.FunctionProto
	base  npu.Site
}

type siteRange struct {
	base npu.Site
	name string
}

func newSites() *sites {
	return &sites{bases: make(map[*lua.FunctionProto]npu.Site), next: 1}
}

// here is the place in a script that called the Go function running on L, 0 where there is none.
func (s *sites) here(L *lua.LState) npu.Site {
	proto, line := callerLine(L)
	if proto == nil {
		return 0
	}
	if proto != s.proto {
		s.proto, s.base = proto, s.baseOf(proto)
	}
	return s.base + npu.Site(line)
}

func (s *sites) baseOf(proto *lua.FunctionProto) npu.Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	base, ok := s.bases[proto]
	if !ok {
		last := 0
		for _, n := range proto.DbgSourcePositions {
			last = max(last, n)
		}
		base = s.next
		s.next += npu.Site(last + 1)
		s.bases[proto] = base
		s.ranges = append(s.ranges, siteRange{base, proto.SourceName})
	}
	return base
}

// text is "script.lua:12".
func (s *sites) text(site npu.Site) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].base > site })
	if site == 0 || i == 0 {
		return ""
	}
	r := s.ranges[i-1]
	return fmt.Sprintf("%s:%d", r.name, site-r.base)
}

// frame mirrors the start of gopher-lua's callFrame. The place of each queued command must cost a
// few nanoseconds, and the library's own way to it formats text and allocates; so the fields are
// read in place, at offsets that are looked up by name when the program starts.
type frame struct {
	_      int
	fn     *lua.LFunction
	parent *frame
	pc     int
}

// frameOffset is where LState keeps its current frame; ok is false where this version of the
// library looks otherwise, and the slow way is used.
var frameOffset, frameKnown = func() (uintptr, bool) {
	f, ok := reflect.TypeOf(lua.LState{}).FieldByName("currentFrame")
	if !ok || f.Type.Kind() != reflect.Pointer {
		return 0, false
	}
	want := reflect.TypeOf(frame{})
	got := f.Type.Elem()
	for i, name := range []string{"Idx", "Fn", "Parent", "Pc"} { // frame has them in this order
		g, ok := got.FieldByName(name)
		if !ok || g.Offset != want.Field(i).Offset || g.Type.Kind() != want.Field(i).Type.Kind() {
			return 0, false
		}
	}
	return f.Offset, true
}()

// callerLine finds the innermost Lua function that runs on L and its current line.
func callerLine(L *lua.LState) (*lua.FunctionProto, int) {
	if !frameKnown {
		return callerLineSlow(L)
	}
	for f := *(**frame)(unsafe.Add(unsafe.Pointer(L), frameOffset)); f != nil; f = f.parent {
		if f.fn == nil || f.fn.IsG {
			continue
		}
		proto := f.fn.Proto
		if i := f.pc - 1; i >= 0 && i < len(proto.DbgSourcePositions) {
			return proto, proto.DbgSourcePositions[i]
		}
		return proto, proto.LineDefined
	}
	if L.Parent != nil {
		return callerLine(L.Parent)
	}
	return nil, 0
}

// callerLineSlow does the same through the library's debug interface.
func callerLineSlow(L *lua.LState) (*lua.FunctionProto, int) {
	for level := 0; ; level++ {
		dbg, ok := L.GetStack(level)
		if !ok {
			if L.Parent != nil {
				return callerLineSlow(L.Parent)
			}
			return nil, 0
		}
		fn, err := L.GetInfo("fl", dbg, lua.LNil)
		if f, ok := fn.(*lua.LFunction); err == nil && ok && !f.IsG {
			return f.Proto, dbg.CurrentLine
		}
	}
}
