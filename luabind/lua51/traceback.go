package lua51

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// A traceback that would have more than traceLines lines shows traceEnds of them at either end. A function shows
// traceLines of those that gave their place to it in tail calls at most.
const (
	traceLines = 20
	traceEnds  = 7
)

// Traceback is where L is, and who called that, a line a call, from level on, in the format of gopher-lua; operators are no
// calls. The work is linear in the depth; the text is bounded before it is made.
func Traceback(L *lua.LState, level int) string {
	calls := 1 // the Go program, at the end
	for f := currentFrame(L).called(); f != nil; f = f.parent.called() {
		calls += 1 + f.tails()
	}
	first := max(0, min(level, calls))
	shown := calls - first
	lines := []string{"stack traceback:"}
	i := -first
	add := func(text func() string) {
		switch {
		case i < 0:
		case shown <= traceLines, i < traceEnds, i >= shown-traceEnds:
			lines = append(lines, "\t"+text())
		case i == traceEnds:
			lines = append(lines, "\t...")
		}
		i++
	}
	for f := currentFrame(L).called(); f != nil; f = f.parent.called() {
		add(func() string { return f.traceLine(L) })
		for range f.tails() {
			add(func() string { return "(tailcall): ?" })
		}
	}
	add(func() string { return "[G]: ?" })
	return strings.Join(lines, "\n")
}

// tails is how many lines are shown for the functions that gave their place to that of f.
func (f *frame) tails() int {
	if f.fn.IsG {
		return 0
	}
	return min(f.tailCalls, traceLines)
}

func (f *frame) traceLine(L *lua.LState) string {
	where := "[G]:"
	if !f.fn.IsG {
		where = fmt.Sprintf("%s:%d:", f.fn.Proto.SourceName, f.line())
	}
	return where + " in " + f.traceName(L)
}

// traceName names the function of f by the instruction that called it.
func (f *frame) traceName(L *lua.LState) string {
	if f.parent == nil {
		if L.Parent == nil {
			return "main chunk"
		}
		return "coroutine"
	}
	name := "(anonymous)"
	if !f.fn.IsG {
		name = fmt.Sprintf("<%s:%d>", f.fn.Proto.SourceName, f.fn.Proto.LineDefined)
	}
	if called := f.parent.calledName(); called != "" && (f.fn.IsG || called != "?" && f.tailCalls == 0) {
		name = called
	}
	if name[0] != '(' && name[0] != '<' {
		name = "'" + name + "'"
	}
	return "function " + name
}

// calledName is what f calls the function that it calls now; "" where nothing tells.
func (f *frame) calledName() string {
	if f.fn.IsG {
		return ""
	}
	for _, c := range f.fn.Proto.DbgCalls {
		if c.Pc == f.pc-1 {
			return c.Name
		}
	}
	return ""
}
