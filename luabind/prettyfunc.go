package luabind

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
)

// function is the name of a function, where it has one, and where it was defined.
func (p *printer) function(fn *lua.LFunction) string {
	name := p.e.topicOf(fn)
	if name == "" {
		name = p.e.in.library[fn]
	}
	if name == "" {
		name = p.e.globalName(fn)
	}
	text := "function"
	if name != "" {
		text += " " + name
	}
	switch {
	case fn.IsG || fn.Proto.SourceName == lua51.HiddenChunk:
		text += " (built in)"
	case fn.Proto.LineDefined > 0:
		text += fmt.Sprintf(" at %s:%d", oneLine(fn.Proto.SourceName), fn.Proto.LineDefined)
	default:
		text += fmt.Sprintf(" at %s", oneLine(fn.Proto.SourceName))
	}
	return text
}

// globalName is the global variable that holds fn, or the field of a global table.
func (e *Evaluator) globalName(fn *lua.LFunction) string {
	found, looked := "", 0
	is := func(name string, v lua.LValue) {
		if looked++; v == fn && (found == "" || name < found) {
			found = name
		}
	}
	e.globals().ForEach(func(k, v lua.LValue) {
		name, ok := k.(lua.LString)
		if !ok || name == "_G" || name == "_" {
			return
		}
		is(string(name), v)
		if t, ok := v.(*lua.LTable); ok && looked < maxMembers && t.Len() < maxMembers {
			t.ForEach(func(k, v lua.LValue) {
				if field, ok := k.(lua.LString); ok {
					is(string(name)+"."+string(field), v)
				}
			})
		}
	})
	return found
}
