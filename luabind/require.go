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

// openRequire replaces require and the loader of files: modules are looked for beside the script
// first, then on NPULUA_PATH, then where Lua does.
func (in *Interp) openRequire() {
	L := in.L
	L.SetGlobal("require", L.NewFunction(in.require))
	pkg := L.GetGlobal("package").(*lua.LTable)
	pkg.RawGetString("loaders").(*lua.LTable).RawSetInt(2, L.NewFunction(in.moduleLoader))
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
		path = append(path, env, pkg.RawGetString("path").String())
	default:
		path = append(path, pkg.RawGetString("path").String())
	}
	pkg.RawSetString("path", lua.LString(strings.Join(path, ";")))
	pkg.RawSetString("cpath", lua.LString(""))
}

// loading marks a module in package.loaded while its loader runs.
var loading = &lua.LUserData{}

// require is Lua's: it asks the functions of package.loaders in turn.
func (in *Interp) require(L *lua.LState) int {
	name := L.CheckString(1)
	pkg, ok := L.GetGlobal("package").(*lua.LTable)
	if !ok {
		lua51.Raise(L, "'package' must be a table")
	}
	loaded := L.GetField(pkg, "loaded")
	if v := L.GetField(loaded, name); v != lua.LNil {
		if v == loading {
			lua51.Raise(L, "loop or previous error loading module '%s'", name)
		}
		L.Push(v)
		return 1
	}
	loaders, ok := pkg.RawGetString("loaders").(*lua.LTable)
	if !ok {
		lua51.Raise(L, "'package.loaders' must be a table")
	}
	var tried strings.Builder
	for i := 1; ; i++ {
		loader := loaders.RawGetInt(i)
		if loader == lua.LNil {
			lua51.Raise(L, "module '%s' not found:%s\n\t(modules in C cannot be loaded)", name, tried.String())
		}
		switch found := call1(L, loader, lua.LString(name)).(type) {
		case lua.LString:
			if !strings.HasPrefix(string(found), "\n") {
				tried.WriteString("\n\t")
			}
			tried.WriteString(string(found))
		case *lua.LFunction:
			L.SetField(loaded, name, loading)
			if v := call1(L, found, lua.LString(name)); v != lua.LNil {
				L.SetField(loaded, name, v)
			} else if L.GetField(loaded, name) == loading {
				L.SetField(loaded, name, lua.LTrue)
			}
			L.Push(L.GetField(loaded, name))
			return 1
		}
	}
}

// call1 calls fn and returns its first result.
func call1(L *lua.LState, fn, arg lua.LValue) lua.LValue {
	L.Push(fn)
	L.Push(arg)
	L.Call(1, 1)
	v := L.Get(-1)
	L.Pop(1)
	return v
}

// moduleLoader is the loader of require for files on package.path.
func (in *Interp) moduleLoader(L *lua.LState) int {
	name := L.CheckString(1)
	path, ok := L.GetField(L.GetGlobal("package"), "path").(lua.LString)
	if !ok {
		lua51.Raise(L, "'package.path' must be a string")
	}
	file, tried := findModule(name, string(path), in.isFile)
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
		if fn, err = in.load(data, file); err == nil {
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
