package lua51

import (
	"io"

	lua "github.com/yuin/gopher-lua"
)

// Loader compiles a chunk under a name with a mark, as lua_load does, for the coroutine that runs on L.
type Loader func(L *lua.LState, source []byte, name string) (*lua.LFunction, error)

// debugDebug is debug.debug: it runs what standard input has, line by line, until "cont".
func (x *IO) debugDebug(L *lua.LState, t *Threads, load Loader) int {
	if x.streams.Interactive {
		raise(L, "the prompt reads standard input here")
	}
	say := func(text string) { io.WriteString(x.streams.Stderr, text) }
	for {
		say("lua_debug> ")
		in, err := x.standardInput.reader(contextOf(L))
		if err == nil {
			var line lua.LValue
			line, err = readLine(L, in.Reader)
			if text, ok := line.(lua.LString); ok && text != "cont" {
				fn, err := load(L, []byte(text), "=(debug command)")
				if err == nil {
					_, err = t.Call(L, fn)
				}
				if err != nil {
					text, _ := toText(ErrorValue(err))
					say(cString(text) + "\n")
				}
				continue
			}
		}
		raiseInterruption(L, err)
		return 0
	}
}
