package luabind

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
)

// pathVariable names the environment variable with patterns that are tried before Lua's own.
const pathVariable = "NPULUA_PATH"

// packages is what require, module and the loaders work on: the tables as they were made, whatever scripts call
// package later.
type packages struct {
	in     *Interp
	table  *lua.LTable // package
	loaded *lua.LTable // _LOADED of the registry
}

// openRequire replaces require, module and the functions of package: modules are looked for beside the script
// first, then on NPULUA_PATH, then where Lua does.
func (in *Interp) openRequire() {
	L := in.L
	p := &packages{in, L.GetGlobal("package").(*lua.LTable), L.G.Registry.RawGetString("_LOADED").(*lua.LTable)}
	L.SetGlobal("require", L.NewFunction(p.require))
	L.SetGlobal("module", L.NewFunction(p.module))
	p.table.RawSetString("seeall", L.NewFunction(packageSeeall))
	p.table.RawSetString("loadlib", L.NewFunction(packageLoadlib))
	loaders := p.table.RawGetString("loaders").(*lua.LTable)
	loaders.RawSetInt(1, L.NewFunction(p.preloaded))
	loaders.RawSetInt(2, L.NewFunction(p.fromFile))
	var path []string
	if s := in.opts.Script; s != "" && s != "-" && !in.opts.Embedded {
		dir := filepath.Dir(s)
		path = append(path, filepath.Join(dir, "?.lua"), filepath.Join(dir, "?", "init.lua"))
	}
	switch env := os.Getenv(pathVariable); {
	case in.policy != nil:
		if own := []string{"?.lua", filepath.Join("?", "init.lua")}; !slices.Equal(path, own) {
			path = append(path, own...)
		}
	case env != "":
		path = append(path, env, p.table.RawGetString("path").String())
	default:
		path = append(path, p.table.RawGetString("path").String())
	}
	p.table.RawSetString("path", lua.LString(strings.Join(path, ";")))
	p.table.RawSetString("cpath", lua.LString(""))
	p.table.RawSetString("config", lua.LString("/\n;\n?\n!\n-"))
	p.loaded.RawSetString("package", p.table)
}

// loading marks a module in package.loaded while its loader runs, and after that has failed.
var loading = &lua.LUserData{}

// require is Lua's: it asks the functions of package.loaders in turn.
func (p *packages) require(L *lua.LState) int {
	name := lua51.CheckString(L, 1)
	if v := L.GetField(p.loaded, name); lua.LVAsBool(v) {
		if v == loading {
			lua51.Raise(L, "loop or previous error loading module '%s'", name)
		}
		L.Push(v)
		return 1
	}
	loaders, ok := L.GetField(p.table, "loaders").(*lua.LTable)
	if !ok {
		lua51.Raise(L, "'package.loaders' must be a table")
	}
	var tried strings.Builder
	for i := 1; ; i++ {
		loader := loaders.RawGetInt(i)
		if loader == lua.LNil {
			lua51.Raise(L, "module '%s' not found:%s%s", name, tried.String(), p.missing(name))
		}
		switch found := lua51.Call(L, loader, lua.LString(name)).(type) {
		case lua.LString, lua.LNumber:
			text, _ := lua51.Text(found)
			tried.WriteString(text)
		case *lua.LFunction:
			L.SetField(p.loaded, name, loading)
			if v := lua51.Call(L, found, lua.LString(name)); v != lua.LNil {
				L.SetField(p.loaded, name, v)
			} else if L.GetField(p.loaded, name) == loading {
				L.SetField(p.loaded, name, lua.LTrue)
			}
			L.Push(L.GetField(p.loaded, name))
			return 1
		}
	}
}

// preloaded is the loader of require for functions in package.preload.
func (p *packages) preloaded(L *lua.LState) int {
	name := lua51.CheckString(L, 1)
	preload, ok := L.GetField(p.table, "preload").(*lua.LTable)
	if !ok {
		lua51.Raise(L, "'package.preload' must be a table")
	}
	v := L.GetField(preload, name)
	if v == lua.LNil {
		v = lua.LString("\n\tno field package.preload['" + name + "']")
	}
	L.Push(v)
	return 1
}

// fromFile is the loader of require for files on package.path.
func (p *packages) fromFile(L *lua.LState) int {
	in, name := p.in, lua51.CheckString(L, 1)
	path, ok := lua51.Text(L.GetField(p.table, "path"))
	if !ok {
		lua51.Raise(L, "'package.path' must be a string")
	}
	file, tried := findModule(name, path, in.isFile)
	data, err := in.libraryFile(name)
	switch {
	case file != "":
		data, _, err = in.readScript(file)
	case err == nil:
		file = name + ".lua"
	default:
		L.Push(lua.LString(tried))
		return 1
	}
	if err == nil {
		var fn *lua.LFunction
		if fn, err = in.loadFile(L, data, file); err == nil {
			L.Push(fn)
			return 1
		}
	}
	lua51.Raise(L, "error loading module '%s' from file '%s':\n\t%s", name, file, err.Error())
	return 0
}

// libraryFile reads a module that comes with the scripts of npulua.
func (in *Interp) libraryFile(name string) ([]byte, error) {
	if in.opts.Library == nil {
		return nil, fs.ErrNotExist
	}
	return fs.ReadFile(in.opts.Library, name+".lua")
}

// findModule looks a module up on a path of patterns; tried lists the files that are not there.
func findModule(name, path string, isFile func(string) bool) (file, tried string) {
	name = strings.ReplaceAll(name, ".", string(os.PathSeparator))
	var b strings.Builder
	for pattern := range strings.SplitSeq(path, ";") {
		if pattern == "" {
			continue
		}
		f := strings.ReplaceAll(pattern, "?", name)
		if isFile(f) {
			return f, ""
		}
		b.WriteString("\n\tno file '" + f + "'")
	}
	return "", b.String()
}
