package luabind

import (
	"errors"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// protected calls the function that lies on L's stack under its nargs arguments. Its results take
// their place; an error comes back as a *scriptError.
func (in *Interp) protected(L *lua.LState, nargs, nret int) error {
	err := L.PCall(nargs, nret, nil)
	if err == nil {
		return nil
	}
	if in.panicked != nil {
		return in.panicked // the error that the script saw is only its consequence
	}
	var api *lua.ApiError
	if !errors.As(err, &api) {
		return err
	}
	return &scriptError{value: api.Object, trace: cleanTrace(api.StackTrace)}
}

// cleanTrace drops the library's own frame marks, which say nothing to a user.
func cleanTrace(trace string) string {
	lines := strings.Split(trace, "\n")
	out := lines[:0]
	for _, line := range lines {
		if strings.TrimSpace(line) == "[G]: ?" {
			continue
		}
		out = append(out, line)
	}
	if len(out) <= 1 {
		return ""
	}
	return strings.Join(out, "\n")
}

// callLua calls fn with args from Go while L waits in one of our calls: a host function, a kernel.
func (in *Interp) callLua(fn *lua.LFunction, args ...lua.LValue) error {
	L, site := in.state, in.thread.Site
	defer func() { in.state, in.thread.Site = L, site }()
	L.Push(fn)
	for _, a := range args {
		L.Push(a)
	}
	return in.protected(L, len(args), 0)
}
