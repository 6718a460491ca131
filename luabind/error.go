package luabind

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

// scriptError is a Lua error on its way through Go: what was raised, and the traceback from there.
type scriptError struct {
	value lua.LValue
	in    *Interp // whose value it is
	trace string
	whole bool // trace has all: a trail of the same text is another error's
}

// Error is the first line of the value's text: errors of ours have hints below it.
func (e *scriptError) Error() string {
	text, _, _ := strings.Cut(valueText(e.value), "\n")
	return text
}

// valueText is an error value in words, as tostring gives it.
func valueText(v lua.LValue) string {
	switch x := v.(type) {
	case lua.LString:
		return string(x)
	case lua.LNumber:
		return lua51.NumberText(float64(x))
	case *lua.LTable:
		if isErrorObject(x) {
			return errorText(x)
		}
	}
	return fmt.Sprintf("(error object is a %s value)", v.Type())
}

// raise turns the error of a call into a Lua error. It does not return.
func (in *Interp) raise(c *call, err error) {
	L, here := c.L, c.site
	op := c.name
	if in.exiting {
		in.exit(L)
	}
	var panicked *npu.PanicError
	var script *scriptError
	var e *npu.Error
	var library *libraryError
	switch {
	case errors.As(err, &library):
		lua51.Raise(L, "%s: %s", c.qualified(), library.text)
	case errors.As(err, &panicked):
		in.abort(panicked)
		lua51.Raise(L, "%s", panicked.Error())
	case errors.As(err, &e):
		obj := in.errorObjects(err, op, in.sites.text(here))
		if npu.IsDeadlock(e) {
			in.deadlocks[obj] = true
		}
		L.Error(obj, 0)
	case errors.As(err, &script):
		L.Error(script.value, 0)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		lua51.Raise(L, "%s", err.Error())
	default:
		L.Error(in.errorObject(&npu.Error{Code: npu.ErrInternal, Detail: err.Error()}, op, in.sites.text(here)), 0)
	}
}

// Traceback is where in the script an error of Run came from; "" for other errors.
func (in *Interp) Traceback(err error) string {
	var script *scriptError
	if errors.As(err, &script) {
		return script.trace
	}
	return ""
}

// FormatError is an error of Run for people: its text, and the traceback where it came out of a
// script.
func (in *Interp) FormatError(err error) string {
	var script *scriptError
	if f, ok := err.(*taskFailure); ok {
		return fmt.Sprintf("%v failed, and nobody joined it: %s", f.task, in.FormatError(f.err))
	}
	if list := flatten(err); slices.ContainsFunc(list, isTaskFailure) {
		var texts []string
		for _, err := range list {
			texts = append(texts, in.FormatError(err))
		}
		return strings.Join(texts, "\n")
	}
	var panicked *npu.PanicError
	if errors.As(err, &panicked) {
		return fmt.Sprintf("internal error: %v\n%s", panicked.Value, panicked.Stack)
	}
	var e *npu.Error
	if errors.As(err, &e) {
		return errorText(in.errorObjects(err, e.Op, ""))
	}
	if errors.As(err, &script) {
		text := in.text(script.value)
		if script.trace != "" {
			text += "\n" + script.trace
		}
		if trail := in.trails.text(script.value); trail != "" && !script.whole {
			text += "\n" + trail
		}
		return text
	}
	return err.Error()
}

func isTaskFailure(err error) bool {
	_, ok := err.(*taskFailure)
	return ok
}

// text is an error value in words; a __tostring of the script's own is asked.
func (in *Interp) text(v lua.LValue) string {
	if t, ok := v.(*lua.LTable); ok {
		if !isErrorObject(t) && in.L.GetMetaField(t, "__tostring") != lua.LNil {
			results, err := in.threads.Call(in.L, in.L.GetMetaField(t, "__tostring"), t) // Close tells of a defect
			if err == nil && len(results) > 0 {
				return results[0].String()
			}
		}
	}
	return valueText(v)
}
