package luabind

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// shape describes a table that a function or a field of the API makes: its keys, or those of its items.
type shape struct {
	list bool
	keys []string
}

var deviceKeys = []string{"name", "family", "cube_cores", "vector_cores", "memory", "max_streams", "max_events", "queue_depth", "simulated", "logical", "physical"}

var tensorKeys = []string{"name", "dtype", "shape", "count", "bytes"}

// shapes is by the row of the function or field.
var shapes = map[string]*shape{
	"npu.devices":        {true, append([]string{"id"}, deviceKeys...)},
	"npu.kernels":        {true, []string{"name", "signature", "doc", "types"}},
	"npu.stats":          {false, []string{"commands", "calls", "waits", "context_switches", "errors", "time", "live"}},
	"device.info":        {false, deviceKeys},
	"device:memory":      {false, []string{"free", "total"}},
	"device:utilization": {false, []string{"cores", "copies", "memory"}},
	"device:sensors":     {false, sensorKeys()},
	"stream:commands":    {true, []string{"op", "state", "where", "name", "code", "waits_for"}},
	"exec.run":           {false, []string{"status", "signal", "ok", "timed_out", "stdout", "stderr", "truncated", "duration"}},
	"fs.stat":            {false, []string{"type", "size", "mtime", "mode"}},
	"graph:nodes":        {true, []string{"op", "name", "stream", "where", "after"}},
	"model.inputs":       {true, tensorKeys},
	"model.outputs":      {true, tensorKeys},
}

// libraryResults says which functions of Lua's library return a file or a string.
var libraryResults = map[string]string{
	"io.open": "file", "io.popen": "file", "io.tmpfile": "file", "io.input": "file", "io.output": "file",
	"string.char": "string", "string.format": "string", "string.gsub": "string", "string.lower": "string", "string.rep": "string",
	"string.reverse": "string", "string.sub": "string", "string.upper": "string",
	"os.date": "string", "os.getenv": "string", "os.tmpname": "string", "table.concat": "string", "tostring": "string", "type": "string",
}

// result is what a call of callee with args returns.
func (e *Evaluator) result(callee target, args []token) target {
	row, ok := e.rowOf(callee.row)
	returns := row.doc.Returns
	if !ok {
		returns = libraryResults[e.libraryName(callee)]
	}
	returns = returns[strings.LastIndexByte(returns, ' ')+1:] // "host buffer"
	h, isClass := e.rowsOf(returns)
	switch {
	case shapes[callee.row] != nil:
		return target{shape: shapes[callee.row], state: known}
	case returns == "string":
		return target{value: lua.LString(""), state: known}
	case returns == "file":
		return e.child(e.child(target{value: e.globals(), state: known}, "io"), "stdout")
	case !isClass || h.module:
		return target{}
	}
	t := target{class: returns, state: known}
	if callee.row == "npu.kernel" && len(args) == 1 && args[0].kind == tokenString {
		t.topic = args[0].content()
	}
	return t
}

// libraryName is the name of a function of Lua's library, "io.open"; "" for others.
func (e *Evaluator) libraryName(t target) string {
	if fn, ok := t.value.(*lua.LFunction); ok {
		return e.in.library[fn]
	}
	return ""
}

// element is t[key].
func (e *Evaluator) element(t target, key []token) target {
	switch {
	case t.state != known:
	case t.shape != nil && t.shape.list:
		return target{shape: &shape{keys: t.shape.keys}, state: known}
	case len(key) != 1:
	case key[0].kind == tokenString:
		if got := e.child(t, key[0].content()); got.state == known {
			return got
		}
	case key[0].kind == tokenNumber:
		var n float64
		tb, ok := t.value.(*lua.LTable)
		if _, err := fmt.Sscan(key[0].text, &n); ok && err == nil {
			if v := tb.RawGet(lua.LNumber(n)); v != lua.LNil {
				return e.valueTarget(v)
			}
		}
	}
	return target{}
}
