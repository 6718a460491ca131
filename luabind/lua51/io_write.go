package lua51

import lua "github.com/yuin/gopher-lua"

func (x *IO) write(L *lua.LState) int       { return write(L, standard(L, x.output, "output"), 1) }
func (x *IO) methodWrite(L *lua.LState) int { return write(L, openFileOf(L), 2) }

// write writes the arguments from first on. After a failure the rest are only checked.
func write(L *lua.LState, f *file, first int) int {
	ctx := contextOf(L)
	var failure error
	for n := first; n <= L.GetTop(); n++ {
		text := checkString(L, n)
		if failure != nil || text == "" {
			continue
		}
		chargeBytes(L, len(text))
		out, err := f.writer()
		if err == nil {
			err = out.WriteContext(ctx, text)
		}
		failure = err
	}
	return pushResult(L, failure)
}

func (x *IO) flush(L *lua.LState) int       { return flush(L, standard(L, x.output, "output")) }
func (x *IO) methodFlush(L *lua.LState) int { return flush(L, openFileOf(L)) }

func flush(L *lua.LState, f *file) int {
	if f.out == nil {
		L.Push(lua.LTrue)
		return 1
	}
	return pushResult(L, f.out.Flush(contextOf(L)))
}
