package luabind

import (
	"context"
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

// scriptError is a Lua error on its way through Go: what was raised, and the traceback from there.
type scriptError struct {
	value lua.LValue
	trace string
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
		if text, ok := errorText(x); ok {
			return text
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
	switch {
	case errors.As(err, &panicked):
		in.abort(panicked)
		lua51.Raise(L, "%s", panicked.Error())
	case errors.As(err, &e):
		L.Error(in.errorObjects(err, op, in.sites.text(here)), 0)
	case errors.As(err, &script):
		L.Error(script.value, 0)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		lua51.Raise(L, "%s", err.Error())
	default:
		L.Error(in.errorObject(&npu.Error{Code: npu.ErrInternal, Detail: err.Error()}, op, in.sites.text(here)), 0)
	}
}

// errorObject is an error as scripts see it: a table with what is known, whose tostring is one
// readable paragraph. here is the place of the call that raises it, op its name.
func (in *Interp) errorObject(e *npu.Error, op, here string) *lua.LTable {
	t := in.L.NewTable()
	t.Metatable = in.errorMeta
	set := func(key, s string) {
		if s != "" {
			t.RawSetString(key, lua.LString(s))
		}
	}
	where := here
	if fault := in.sites.text(e.Site); fault != "" && fault != here {
		// It is the work of an earlier command that failed.
		set("raised_at", here)
		set("raised_by", op)
		where = fault
	}
	if e.Op != "" {
		op = e.Op
	}
	message := e.Detail
	if message == "" {
		message = strings.ToLower(strings.TrimSuffix(e.Code.Meaning(), "."))
	}
	t.RawSetString("code", lua.LNumber(e.Code))
	set("name", e.Code.Name())
	set("call", e.Call)
	set("op", op)
	set("message", message)
	set("hint", e.HintText())
	set("where", where)
	if len(e.Affected) > 0 {
		list := in.L.NewTable()
		seen := make(map[string]bool)
		for _, site := range e.Affected {
			if at := in.sites.text(site); at != "" && !seen[at] {
				seen[at] = true
				list.Append(lua.LString(at))
			}
		}
		t.RawSetString("affected", list)
	}
	var script *scriptError
	if errors.As(e.Cause, &script) {
		t.RawSetString("cause", script.value)
	}
	return t
}

// errorText is the paragraph of an error object; ok is false for other tables.
func errorText(t *lua.LTable) (text string, ok bool) {
	get := func(key string) string {
		if v := t.RawGetString(key); v != lua.LNil {
			return v.String()
		}
		return ""
	}
	code, ok := t.RawGetString("code").(lua.LNumber)
	if !ok {
		return "", false
	}
	var b strings.Builder
	if where := get("where"); where != "" {
		b.WriteString(where + ": ")
	}
	fmt.Fprintf(&b, "npu: %s: %s [%s]", get("op"), get("message"), strings.TrimSpace(fmt.Sprintf("%d %s", int64(code), get("name"))))
	if at := get("raised_at"); at != "" {
		fmt.Fprintf(&b, "\n  raised by %s at %s", get("raised_by"), at)
	}
	if list, ok := t.RawGetString("affected").(*lua.LTable); ok && list.Len() > 0 {
		var lines []string
		list.ForEach(func(_, v lua.LValue) { lines = append(lines, v.String()) })
		b.WriteString("\n  affected, because it ran after: " + strings.Join(lines, ", "))
	}
	if hint := get("hint"); hint != "" {
		b.WriteString("\n  hint: " + hint)
	}
	if list, ok := t.RawGetString("also").(*lua.LTable); ok {
		list.ForEach(func(_, v lua.LValue) {
			if other, ok := v.(*lua.LTable); ok {
				text, _ := errorText(other)
				b.WriteString("\nalso: " + text)
			}
		})
	}
	return b.String(), true
}

// errorObjects is the object of the first of joined errors, with those of the others in its field
// also.
func (in *Interp) errorObjects(err error, op, here string) *lua.LTable {
	var first *lua.LTable
	var also *lua.LTable
	for _, err := range flatten(err) {
		e, ok := err.(*npu.Error)
		if !ok {
			e = &npu.Error{Code: npu.ErrInternal, Detail: err.Error()}
		}
		t := in.errorObject(e, op, here)
		switch {
		case first == nil:
			first = t
		case also == nil:
			also = in.L.NewTable()
			first.RawSetString("also", also)
			fallthrough
		default:
			also.Append(t)
		}
	}
	return first
}

// flatten lists the errors that errors.Join put together, in order.
func flatten(err error) []error {
	if _, ok := err.(*npu.Error); ok {
		return []error{err}
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range j.Unwrap() {
			out = append(out, flatten(e)...)
		}
		return out
	}
	return []error{err}
}

// newErrorMeta makes the metatable of error objects.
func (in *Interp) newErrorMeta() *lua.LTable {
	mt := in.L.NewTable()
	mt.RawSetString("__tostring", in.L.NewFunction(func(L *lua.LState) int {
		t, _ := L.Get(1).(*lua.LTable)
		text := "npu error"
		if t != nil {
			if s, ok := errorText(t); ok {
				text = s
			}
		}
		L.Push(lua.LString(text))
		return 1
	}))
	return mt
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
	if errors.As(err, &script) {
		text := in.text(script.value)
		if script.trace != "" {
			text += "\n" + script.trace
		}
		return text
	}
	var panicked *npu.PanicError
	if errors.As(err, &panicked) {
		return fmt.Sprintf("internal error: %v\n%s", panicked.Value, panicked.Stack)
	}
	var e *npu.Error
	if errors.As(err, &e) {
		text, _ := errorText(in.errorObjects(err, e.Op, ""))
		return text
	}
	return err.Error()
}

// text is an error value in words; a __tostring of the script's own is asked.
func (in *Interp) text(v lua.LValue) string {
	if t, ok := v.(*lua.LTable); ok {
		if _, ok := errorText(t); !ok && in.L.GetMetaField(t, "__tostring") != lua.LNil {
			results, err := in.protected(in.L, in.L.GetMetaField(t, "__tostring"), t)
			if err == nil && len(results) > 0 {
				return results[0].String()
			}
		}
	}
	return valueText(v)
}
