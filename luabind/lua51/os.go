package lua51

import (
	"errors"
	"slices"

	lua "github.com/yuin/gopher-lua"
)

var osRows = map[string]lua.LGFunction{
	"clock":     osClock,
	"date":      osDate,
	"difftime":  osDifftime,
	"setlocale": osSetlocale,
	"time":      osTime,
}

// systemSteps is what asking the system for something, such as opening a file, counts as.
const systemSteps = 100

// OpenOS replaces the functions of os in L, but for exit, which is the host's, and takes away what
// only gopher-lua has. Children of os.execute get the streams beneath s.
func OpenOS(L *lua.LState, s *Streams) {
	t := setRows(L, lua.OsLibName, osRows)
	setRows(L, lua.OsLibName, map[string]lua.LGFunction{"getenv": s.getenv, "remove": s.remove, "rename": s.rename, "tmpname": s.tmpname})
	t.RawSetString("execute", L.NewFunction(s.execute))
	t.RawSetString("setenv", lua.LNil)
}

// execute returns the status as wait(2) gives it: 256 times the exit code, or the signal.
func (s *Streams) execute(L *lua.LState) int {
	if L.Get(1) == lua.LNil {
		shell := hasShell()
		if s.system().Run() != nil {
			shell = 0
		}
		L.Push(lua.LNumber(shell))
		return 1
	}
	command := cString(checkString(L, 1))
	if err := s.system().Run(); err != nil {
		text, _ := errnoText(err)
		raise(L, "%s", text)
	}
	ctx := contextOf(L)
	raiseInterruption(L, s.Stdout.Flush(ctx))
	if s.Lend != nil {
		defer s.Lend()()
	}
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

func (s *Streams) getenv(L *lua.LState) int {
	value, ok := s.system().Getenv(cString(checkString(L, 1)))
	if !ok {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(lua.LString(value))
	return 1
}

func (s *Streams) remove(L *lua.LState) int {
	name := cString(checkString(L, 1))
	charge(L, systemSteps)
	return pushResult(L, s.system().Remove(name), name)
}

func (s *Streams) rename(L *lua.LState) int {
	from, to := cString(checkString(L, 1)), cString(checkString(L, 2))
	charge(L, systemSteps)
	return pushResult(L, s.system().Rename(from, to), from)
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

// tmpname makes the file whose name it returns, so that the name stays free.
func (s *Streams) tmpname(L *lua.LState) int {
	charge(L, systemSteps)
	f, name, err := s.tempFile()
	if err != nil {
		raise(L, "unable to generate a unique filename%s", refusalText(err))
	}
	f.Close()
	L.Push(lua.LString(name))
	return 1
}

// refusalText is ": " and the text of an error that has a PlainText, else "".
func refusalText(err error) string {
	var plain plainError
	if errors.As(err, &plain) {
		text, _ := plain.PlainText()
		return ": " + text
	}
	return ""
}
