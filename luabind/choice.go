package luabind

import (
	"strings"

	"npulua/npu"
)

// choice is what a parameter or an option takes, where completion can list that.
type choice struct {
	words    func() []string // strings
	literals []string        // other values
	// files completes a name inside a string: names replace word[at:].
	files func(e *Evaluator, word string) (at int, names []string)
}

// What options and parameters take.
var (
	anything = choice{} // it cannot be listed
	aBoolean = choice{literals: []string{"false", "true"}}
	aFile    = choice{files: func(_ *Evaluator, word string) (int, []string) { return fileNames(word) }}
	aModule  = choice{files: (*Evaluator).moduleNames}
)

func oneOf(words ...string) choice { return choice{words: func() []string { return words }} }

// parameterChoices is by the name that a parameter has in doc.Args, behind its row where other functions mean
// something else by it.
var parameterChoices = map[string]choice{
	"path":                    aFile,
	"dtype":                   {words: npu.DTypes},
	"npu.kernel name":         {words: kernelNames},
	"npu.has symbol":          {words: npu.Symbols},
	"context:set_option name": {words: npu.ContextOptions},
	"context:get_option name": {words: npu.ContextOptions},
	"module":                  aModule,
	"mode":                    oneOf("r", "w", "a", "r+", "w+", "a+", "rb", "wb", "ab"),
	"topic":                   {words: Topics},
	"level":                   oneOf(logLevelNames...),
}

// libraryArgs are the parameters of functions of Lua's library, as in doc.Args.
var libraryArgs = map[string]string{
	"dofile": "(path)", "loadfile": "(path)", "require": "(module)", "help": "(topic)",
	"io.open": "(path, mode)", "io.lines": "(path)", "io.input": "(path)", "io.output": "(path)",
	"os.remove": "(path)", "os.rename": "(path, path)",
}

func kernelNames() []string {
	var names []string
	for _, k := range npu.Kernels() {
		names = append(names, k.Name)
	}
	return names
}

// parameter is the name of parameter i, from 0, in args: "(dtype, count or table [, options])".
func parameter(args string, i int) string {
	args, _, _ = strings.Cut(strings.TrimPrefix(args, "("), ")")
	list := strings.Split(strings.NewReplacer("[", "", "]", "").Replace(args), ",")
	if i >= len(list) {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimSpace(list[i]), " ")
	return name
}

// choiceAt is what the value may be that begins at list[n]: an argument, or an option.
func (e *Evaluator) choiceAt(list []token, n int, own map[string]bool) choice {
	if n > 2 && list[n-1].text == "=" {
		if open := enclosing(list, n); open >= 0 && list[open].text == "{" {
			for _, o := range e.optionsOf(list, open, own) {
				if o.name == list[n-2].text {
					return o.takes
				}
			}
		}
		return anything
	}
	callee, i, ok := e.argumentAt(list, n, own)
	if !ok {
		return anything
	}
	row, ok := e.rowOf(callee.row)
	if !ok {
		return parameterChoices[parameter(libraryArgs[e.libraryName(callee)], i)]
	}
	name := parameter(row.doc.Args, i)
	if c, ok := parameterChoices[callee.row+" "+name]; ok {
		return c
	}
	return parameterChoices[name]
}

// called is callee; of a method of something unknown, such as a local variable, the only one of that name.
func (e *Evaluator) called(list []token, i int, own map[string]bool) (callee target, ok bool) {
	callee, _, ok = e.callee(list, i, own)
	if !ok || callee.state != opaque || i < 3 || list[i-2].text != ":" {
		return callee, ok
	}
	var rows []string
	for _, h := range helpClasses() {
		if _, isMethod, _ := h.find(list[i-1].text); isMethod && !h.module {
			rows = append(rows, h.name+":"+list[i-1].text)
		}
	}
	if len(rows) == 1 {
		callee = target{row: rows[0], state: known}
	}
	return callee, true
}

// argumentAt is the function whose argument i, from 0, begins at list[n].
func (e *Evaluator) argumentAt(list []token, n int, own map[string]bool) (callee target, i int, ok bool) {
	if n < len(list) && list[n].kind == tokenString {
		if callee, ok := e.called(list, n, own); ok { // f "
			return callee, 0, true
		}
	}
	open := enclosing(list, n)
	if open < 0 || list[open].text != "(" || list[n-1].text != "(" && list[n-1].text != "," {
		return target{}, 0, false
	}
	for j, depth := open+1, nesting(nil); j < n; j++ {
		if depth = depth.with(list[j]); len(depth) == 0 && list[j].text == "," {
			i++
		}
	}
	callee, ok = e.called(list, open, own)
	return callee, i, ok
}
