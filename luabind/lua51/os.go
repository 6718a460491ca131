package lua51

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	lua "github.com/yuin/gopher-lua"
)

var osRows = map[string]lua.LGFunction{
	"clock":     osClock,
	"date":      osDate,
	"difftime":  osDifftime,
	"getenv":    osGetenv,
	"remove":    osRemove,
	"rename":    osRename,
	"setlocale": osSetlocale,
	"time":      osTime,
	"tmpname":   osTmpname,
}

// OpenOS replaces the functions of os in L, but for exit, which is the host's, and takes away what
// only gopher-lua has. Children of os.execute get the streams beneath s.
func OpenOS(L *lua.LState, s *Streams) {
	t := setRows(L, lua.OsLibName, osRows)
	t.RawSetString("execute", L.NewFunction(s.execute))
	t.RawSetString("setenv", lua.LNil)
}

// execute returns the status as wait(2) gives it: 256 times the exit code, or the signal.
func (s *Streams) execute(L *lua.LState) int {
	if L.Get(1) == lua.LNil {
		L.Push(lua.LNumber(hasShell()))
		return 1
	}
	command := cString(checkString(L, 1))
	ctx := contextOf(L)
	raiseInterruption(L, s.Stdout.Flush(ctx))
	p, err := s.startProcess(s.command(command), s.StdinTerminal)
	if err != nil {
		L.Push(lua.LNumber(-1))
		return 1
	}
	p.noted = s.blocker("os.execute", command)
	raiseInterruption(L, p.wait(ctx))
	L.Push(lua.LNumber(p.status()))
	return 1
}

func osClock(L *lua.LState) int {
	L.Push(lua.LNumber(processClock()))
	return 1
}

func osGetenv(L *lua.LState) int {
	value, ok := os.LookupEnv(cString(checkString(L, 1)))
	if !ok {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(lua.LString(value))
	return 1
}

func osRemove(L *lua.LState) int {
	name := cString(checkString(L, 1))
	return pushResult(L, os.Remove(name), name)
}

func osRename(L *lua.LState) int {
	from, to := cString(checkString(L, 1)), cString(checkString(L, 2))
	return pushResult(L, syscall.Rename(from, to), from)
}

var localeCategories = []string{"all", "collate", "ctype", "monetary", "numeric", "time"}

// osSetlocale knows the C locale only, which is what an empty environment gives too.
func osSetlocale(L *lua.LState) int {
	locale := cString(optString(L, 1, "C"))
	checkOption(L, 2, "all", localeCategories)
	if !slices.Contains([]string{"", "C", "POSIX"}, locale) {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(lua.LString("C"))
	return 1
}

// osTmpname makes the file whose name it returns, so that the name stays free.
func osTmpname(L *lua.LState) int {
	const letters, tries = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 100
	for range tries {
		name := filepath.Join(os.TempDir(), "lua_")
		for range 6 {
			name += string(letters[rand.IntN(len(letters))])
		}
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			f.Close()
			L.Push(lua.LString(name))
			return 1
		}
		if _, number := errnoText(err); number != int(syscall.EEXIST) {
			break
		}
	}
	raise(L, "unable to generate a unique filename")
	return 0
}
