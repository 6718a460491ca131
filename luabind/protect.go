package luabind

import (
	"errors"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

// protected calls fn on a thread of its own; an error comes back as a *scriptError. L is the thread
// that waits meanwhile.
func (in *Interp) protected(L *lua.LState, fn lua.LValue, args ...lua.LValue) ([]lua.LValue, error) {
	site := in.thread.Site
	defer func() { in.thread.Site = site }()
	results, err := in.threads.Call(L, fn, args...)
	return results, in.caught(err)
}

// caught is the error of a protected call as Go code of ours hands it on.
func (in *Interp) caught(err error) error {
	if err == nil {
		return nil
	}
	if defect := in.root().panicked.Load(); defect != nil {
		in.root().toldDefect.Store(true)
		return defect // the error that the script saw is only its consequence
	}
	var api *lua.ApiError
	if !errors.As(err, &api) {
		return err
	}
	return &scriptError{value: lua51.ErrorValue(err), in: in, trace: cleanTrace(api.StackTrace)}
}

// cleanTrace is a traceback for people, "" where it has no frames.
func cleanTrace(trace string) string {
	if trace = readableTrace(trace); strings.Contains(trace, "\n") {
		return trace
	}
	return ""
}

// readableTrace drops the frames that say nothing to a user: the library's own marks, Go functions
// without a name, as operators are, and the parts of functions that are written in Lua. It calls Go functions [C] as Lua
// does.
func readableTrace(trace string) string {
	lines := strings.Split(trace, "\n")
	isHidden := func(i int) bool {
		return i < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[i]), lua51.HiddenChunk)
	}
	var out []string
	for i, line := range lines {
		text := strings.TrimSpace(line)
		isGo := strings.HasPrefix(text, "[G]:")
		if text == "[G]: ?" || isHidden(i) || isGo && (isHidden(i+1) || text == "[G]: in function '?'") {
			continue
		}
		line = strings.Replace(line, "[G]:", "[C]:", 1)
		out = append(out, strings.Replace(line, "in corountine", "in coroutine", 1))
	}
	return strings.Join(out, "\n")
}

// callBack calls fn on behalf of t, while the executor waits for it.
func (in *Interp) callBack(t *npu.Thread, fn *lua.LFunction) error {
	thread := in.thread
	in.thread = t
	defer func() { in.thread = thread }()
	return in.callLua(fn)
}

// callLua calls fn with args from Go while a script waits in one of our calls: a host function, a
// kernel.
func (in *Interp) callLua(fn *lua.LFunction, args ...lua.LValue) error {
	if in.exiting {
		return nil // os.exit was called: the script is over
	}
	L := in.threads.Current()
	if L.Context().Err() != nil {
		L = in.L // its task was cancelled, which is nothing to fn
	}
	_, err := in.protected(L, fn, args...)
	if in.exiting {
		return nil // its error is os.exit on its way out
	}
	return err
}
