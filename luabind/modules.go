package luabind

import (
	"os"
	"path/filepath"
	"slices"

	lua "github.com/yuin/gopher-lua"

	"npulua/internal/printable"
	"npulua/luabind/lua51"
)

// module is a library that scripts get with require: rows of functions, and constants. Its errors are text, as those
// of Lua's own library, since they are not the NPU's.
type module struct {
	name, text string
	functions  []function
	fields     []constant
	classes    []func() classHelp // of the objects that its functions return
}

// constant is a field of a module.
type constant struct {
	name  string
	doc   doc
	value func(in *Interp) lua.LValue
}

// modules is set in init, because help lists them.
var modules []*module

func init() {
	modules = []*module{argsModule, checkModule, csvModule, execModule, fsModule, httpModule, jsonModule, logModule, measureModule, metricsModule, progressModule, screenModule, tabulateModule, timeModule}
}

func findModuleRows(name string) *module {
	if i := slices.IndexFunc(modules, func(m *module) bool { return m.name == name }); i >= 0 {
		return modules[i]
	}
	return nil
}

func (m *module) help() classHelp {
	h := classHelp{name: m.name, text: m.text, module: true, required: true}
	for _, f := range m.functions {
		h.methods = append(h.methods, entry{f.name, f.doc, f.options})
	}
	for _, f := range m.fields {
		h.fields = append(h.fields, entry{f.name, f.doc, nil})
	}
	return h
}

// libraryError is the error of a function of a module.
type libraryError struct{ text string }

func (e *libraryError) Error() string { return e.text }

// openModules has require find the modules. They win over files of their name, so that a script which comes with
// npulua means the same in every folder; one that lies beside the script is told of.
func (in *Interp) openModules() {
	in.loadedModules = make(map[string]*lua.LTable)
	for _, m := range modules {
		in.L.PreloadModule(m.name, func(L *lua.LState) int {
			if why := withheldModules[m.name]; why != nil && in.policy != nil {
				lua51.Raise(L, "module '%s' is withheld: %s", m.name, why.text)
			}
			in.warnHidden(m.name)
			L.Push(in.openLibraryModule(m))
			return 1
		})
	}
}

// warnHidden tells of a file beside the script that its author may mean.
func (in *Interp) warnHidden(name string) {
	if s := in.opts.Script; s != "" && s != "-" && !in.opts.Embedded {
		file := filepath.Join(filepath.Dir(s), name+".lua")
		if _, err := os.Stat(file); err == nil && filepath.Base(s) != name+".lua" {
			in.notice("require \"" + name + "\" is npulua's own module; the file " + file + " needs another name to be loaded")
		}
	}
}

// notice writes a line for people to standard error.
func (in *Interp) notice(text string) {
	_ = in.std.Stderr.WriteContext(in.ctx, "npulua: "+printable.Text(text)+"\n") // nobody is left to tell
}

// openLibraryModule is the table of m, which is made once.
func (in *Interp) openLibraryModule(m *module) *lua.LTable {
	if t := in.loadedModules[m.name]; t != nil {
		return t
	}
	t := in.functionTable(m.name, m.functions, true)
	for _, f := range m.fields {
		t.RawSetString(f.name, f.value(in))
	}
	in.loadedModules[m.name] = t
	in.nameTable(m.name, t)
	return t
}

// functionTable is a table of rows. plain: their errors are text.
func (in *Interp) functionTable(owner string, rows []function, plain bool) *lua.LTable {
	L, t := in.L, in.L.NewTable()
	for i := range rows {
		f := &rows[i]
		weighed := in.weighed(owner, f.name, 0)
		t.RawSetString(f.name, L.NewFunction(func(L *lua.LState) int {
			c := in.enter(L)
			c.owner, c.name, c.options, c.skip, c.plain = owner, f.name, f.options, 0, plain
			c.weigh(weighed)
			return c.leave(f.fn(c))
		}))
	}
	return t
}
