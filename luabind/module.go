package luabind

import (
	"math"
	"slices"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

// function is one row of npu.*.
type function struct {
	name    string
	doc     doc
	options []option
	fn      func(c *call) error
}

var pinnedOption = []option{{"pinned", "false for ordinary memory, which queued copies refuse; true", aBoolean}}

// loadOptions are those of functions that read a file into host memory.
func loadOptions(most string) []option {
	return append(slices.Clone(pinnedOption), option{"max_bytes", "size of the elements from which the file is refused, before memory is taken; " + most, anything})
}

// moduleFunctions is every function of npu, in the order of the manual.
var moduleFunctions = slices.Concat(coreFunctions, taskFunctions, channelFunctions, workerFunctions)

var coreFunctions = []function{
	{"device", doc{"(id)", "device", "Retains a device and makes its default context current for this task. Ids count from 0. Asking again gives the same device.", "107001 where there is no such device", `local dev = npu.device(0)`}, nil, moduleDevice},
	{"device_count", doc{"()", "number", "Number of visible devices.", "", `print(npu.device_count())`}, nil, moduleDeviceCount},
	{"devices", doc{"()", "table", "A table for every visible device: `id`, and what `dev.info` has: `logical` and `physical` number, `name`, `family`, `cube_cores`, `vector_cores`, `memory` (bytes), `max_streams`, `max_events`, `queue_depth`, `simulated`. It retains none.", "", `for _, d in ipairs(npu.devices()) do print(d.id, d.name) end`}, nil, moduleDevices},
	{"current_context", doc{"()", "context", "The context that is current for this task; nil where there is none.", "", `print(npu.current_context())`}, nil, moduleCurrentContext},
	{"current_device", doc{"()", "device", "The device of the current context; nil where there is none.", "", `print(npu.current_device())`}, nil, moduleCurrentDevice},
	{"host", doc{"(dtype, count or table [, options])", "buffer", "Host memory for `count` elements, all zero, or for the numbers of a table. Pinned memory is what queued copies need; it wants a current context.", "107002 without a current context; 100000 for a type or count that cannot be", `local h = npu.host("float32", {1, 2, 3})`}, pinnedOption, moduleHost},
	{"copy", doc{"(dst, src)", "", "Blocking copy between any two buffers of the same type and count. Waits for queued work that uses `dst` or writes `src`.", "107000 for operands that are unlike or overlap", `npu.copy(x, h)`}, nil, moduleCopy},
	{"load_npy", doc{"(path [, options])", "buffer", "Reads a .npy file into host memory of its type and shape.", "100003 where it cannot be read; 100006 for bad content; 207001 where there is too little memory", `local h = npu.load_npy("x.npy")`}, loadOptions("64 GiB"), moduleLoadNPY},
	{"load_image", doc{"(path [, options])", "buffer", "Reads a PNG or JPEG file into host memory: uint8, shape height x width x channels, with 1 (gray), 3 (colour) or 4 (with transparency) channels. `sample:picture.png` comes with npulua.", "100003 where it cannot be read; 100006 for bad content; 207001 where there is too little memory", `local img = npu.load_image("in.png")`}, loadOptions("256 MiB"), moduleLoadImage},
	{"kernel", doc{"(name) or {...}", "kernel", "A built-in kernel, or the declaration of one's own. A kernel in Lua, `sim = function(block, ...)`, runs on the simulator: once a block, with `block.index` (from 1), `block.count` and `block:range(n)` (first and last of n items that are this block's), and the arguments as host buffers and numbers.", "107000 for an unknown name; 100000 for a signature that cannot be read", `local k = npu.kernel "vector_add"`}, []option{
		{"name", "name of the kernel", anything},
		{"signature", "`out float32* y, in float32* x, float32 a, uint32 n`: pointers have a direction (`in`, `out`, `inout`), scalars have none; a capital letter is a type that the operands decide", anything},
		{"binary", "kernel file for hardware", aFile},
		{"sim", "function(block, ...) for the simulator; an `int64` or `uint64` beyond 2^53 comes as text", anything},
	}, moduleKernel},
	{"model", doc{"(path)", "model", "Loads an offline model into the current context. On hardware the file is one that the vendor's tool `atc` makes (.om), on the simulator a JSON file that lists kernels (docs/simulator.md); `sample:mlp.json` and `sample:mlp_batch.json` come with npulua. Its work and weight memory is device memory until it is closed.", "107002 without a current context; 145002 for a file that cannot be read; 145006 for one that is no model; 207001 where there is too little memory; 207000 for shapes that vary other than by a batch", `local m = npu.model("sample:mlp.json")`}, nil, moduleModel},
	{"kernels", doc{"()", "table", "The built-in kernels: a table with `name`, `signature`, `doc` and `types` for each.", "", `for _, k in ipairs(npu.kernels()) do print(k.name, k.signature) end`}, nil, moduleKernels},
	{"elapsed", doc{"(start, stop)", "number", "Seconds on the device between the records of two events, both done and both made with timing. Negative where stop came first.", "207000 without timing; 507000 for one never recorded; 107006 for one still pending", `print(npu.elapsed(e1, e2))`}, nil, moduleElapsed},
	{"scope", doc{"(fn, ...)", "results of fn", "Calls `fn(...)` and closes, newest first, what was made inside and not kept, also after an error.", "an error of fn, unchanged; else the first error of closing", `npu.scope(function() local x = ctx:alloc("float32", 8) end)`}, nil, moduleScope},
	{"keep", doc{"(x)", "x", "Lets a handle out of the innermost scope: the scope around it, or nobody, owns it then.", "", `return npu.keep(x)`}, nil, moduleKeep},
	{"busy", doc{"(seconds)", "", "Models host work: time passes and devices go on, but no other task of the script runs; callbacks do. On the simulator the time is virtual.", "100000 for less than 0", `npu.busy(0.008)`}, nil, passing((*npu.Thread).Busy)},
	{"time", doc{"()", "number", "Seconds since the start, on the backend's clock: virtual on the simulator.", "", `local t0 = npu.time()`}, nil, moduleTime},
	{"on_exception", doc{"(fn or nil)", "", "Calls `fn(e)` for every queued command that fails, in the order of the failures, when a call of this task that waits has come to its end. `e` is an error object with the fields `stream`, `context` and `device` besides; they are nil where the stream was lost. `fn` may make NPU calls; where each of 100 rounds of them fails, it is called no more. Waits raise the failure all the same. One function at a time; nil ends it.", "207000 where the backend does not tell; 107000 after 100 rounds; an error of fn is raised by the call that waited, or printed at exit where the call raises the failure", `npu.on_exception(function(e) print(e.op, e.where, e.stream) end)`}, nil, moduleOnException},
	{"has", doc{"(symbol)", "boolean", "Whether the vendor's runtime library has a function, so that a script can do without what an older release lacks. The simulator stands for the functions that npulua makes use of, and has no other.", "", `if npu.has("aclmdlRICaptureBegin") then g = s:capture(work) else work() end`}, nil, moduleHas},
	{"stats", doc{"()", "table", "Counters: `commands` (queued), `calls` (that waited for an answer), `waits`, `context_switches`, `errors` (commands refused), `time` (seconds), and `live`, the number of open handles by kind.", "", `print(npu.stats().commands)`}, nil, moduleStats},
}

// moduleFields documents what openModule sets besides functions.
var moduleFields = []struct {
	name string
	doc  doc
}{
	{"backend", doc{Text: "What runs the commands: `sim`, `acl` or `null`."}},
	{"simulated", doc{Text: "Whether results say nothing about real hardware."}},
	{"ops", doc{Text: "Operators by name, `npu.ops.add(stream, out, a, b)`: what every backend can compute. See `npu.ops` below."}},
	{"version", doc{Text: "Version of npulua."}},
	{"detail", doc{Text: "A line about what runs the commands: parts and version of the runtime, or what is simulated."}},
	{"sim", doc{Text: "On the simulator a table of what only that can do, see `npu.sim` below; nil on hardware. `if npu.sim then` tells the two apart."}},
}

func (in *Interp) openModule() {
	L, mod := in.L, in.functionTable("npu", moduleFunctions, false)
	info := in.session.Info()
	mod.RawSetString("backend", lua.LString(info.Name))
	mod.RawSetString("simulated", lua.LBool(info.Simulated))
	mod.RawSetString("version", lua.LString(npu.Version))
	mod.RawSetString("detail", lua.LString(shownLine(info.Detail)))
	if info.Name == "sim" {
		mod.RawSetString("sim", in.openSim(info.Detail))
	}
	mod.RawSetString("ops", in.openOps())
	in.builtins = make(map[string]*npu.Kernel)
	L.SetGlobal("npu", mod)
	L.PreloadModule("npu", func(L *lua.LState) int {
		L.Push(mod)
		return 1
	})
}

func moduleDevice(c *call) error {
	id, err := c.int(1, "id")
	if err != nil {
		return err
	}
	if id < 0 || id > math.MaxInt32 {
		return c.in.session.NoDevice(id)
	}
	dev, err := c.t.Device(int(id))
	if err == nil {
		c.push(c.in.device(dev))
	}
	return err
}

func moduleDeviceCount(c *call) error {
	c.push(lua.LNumber(c.in.session.DeviceCount()))
	return nil
}

func moduleDevices(c *call) error {
	list := c.L.NewTable()
	for id := range c.in.session.DeviceCount() {
		t, err := c.infoTable(id)
		if err != nil {
			return err
		}
		t.RawSetString("id", lua.LNumber(id))
		list.Append(t)
	}
	c.push(list)
	return nil
}

func moduleCurrentContext(c *call) error {
	x, err := c.t.CurrentContext()
	if err != nil {
		c.push(lua.LNil)
		return nil
	}
	c.push(c.in.context(x))
	return nil
}

func moduleCurrentDevice(c *call) error {
	x, err := c.t.CurrentContext()
	if err != nil {
		c.push(lua.LNil)
		return nil
	}
	c.push(c.in.device(x.Device()))
	return nil
}

func moduleHost(c *call) error {
	typ, err := c.dtype(1)
	if err != nil {
		return err
	}
	o, err := c.table(3)
	if err != nil {
		return err
	}
	pinned, err := o.bool("pinned", true)
	if err != nil {
		return err
	}
	values, isTable := c.arg(2).(*lua.LTable)
	var count int64
	if isTable {
		if count = int64(lua51.Length(values)); count == 0 {
			return c.errorf("argument 2 (table) is empty: a buffer has 1 element or more")
		}
	} else if _, ok := c.arg(2).(lua.LNumber); !ok {
		return c.wrongType(2, "count", "a number or a table")
	} else if count, err = c.int(2, "count"); err != nil {
		return err
	}
	b, err := c.t.Host(typ, count, pinned)
	if err != nil {
		return err
	}
	if isTable {
		if _, err := c.setFrom(b, values); err != nil {
			_ = b.Close(c.t) // the script never saw it
			return err
		}
	}
	c.push(c.in.buffer(b))
	return nil
}

func moduleCopy(c *call) error {
	dst, src, err := c.operands()
	if err != nil {
		return err
	}
	return npu.Copy(c.t, dst, src)
}

func moduleLoadNPY(c *call) error   { return loadFile(c, c.t.LoadNPY) }
func moduleLoadImage(c *call) error { return loadFile(c, c.t.LoadImage) }

func loadFile(c *call, load func(file npu.File, o npu.LoadOptions) (*npu.Buffer, error)) error {
	path, err := c.path(1)
	if err != nil {
		return err
	}
	o, err := c.table(2)
	if err != nil {
		return err
	}
	pinned, err := o.bool("pinned", true)
	if err != nil {
		return err
	}
	most, err := o.int("max_bytes", 0)
	if err != nil {
		return err
	}
	if most < 0 {
		return c.errorf("option \"max_bytes\" must be above 0, got %d", most)
	}
	b, err := load(c.in.file(path), npu.LoadOptions{Pinned: pinned, MaxBytes: most})
	if err == nil {
		c.push(c.in.buffer(b))
	}
	return err
}

// file is the file that a script means by path: one of its own, or a sample.
func (in *Interp) file(path string) npu.File {
	if name, ok := strings.CutPrefix(path, "sample:"); ok && in.opts.Samples != nil {
		return npu.File{Name: name, FS: in.opts.Samples}
	}
	if in.policy != nil {
		return npu.File{Name: path, FS: in.policy}
	}
	return npu.File{Name: path}
}

func moduleElapsed(c *call) error {
	start, err := handle[*npu.Event](c, 1, "start", "an event")
	if err != nil {
		return err
	}
	stop, err := handle[*npu.Event](c, 2, "stop", "an event")
	if err != nil {
		return err
	}
	d, err := npu.Elapsed(c.t, start, stop)
	c.push(lua.LNumber(d.Seconds()))
	return err
}

func moduleScope(c *call) error { return c.runBlock(1, c.t.Scope) }

func moduleKeep(c *call) error {
	v := c.arg(1)
	ud, _ := v.(*lua.LUserData)
	if ud == nil || !c.t.Keep(ud.Value) {
		return c.wrongType(1, "x", "a context, stream, event, buffer, graph or model")
	}
	c.push(v)
	return nil
}

// passing is a function of npu that lets some seconds pass.
func passing(pass func(*npu.Thread, time.Duration) error) func(*call) error {
	return func(c *call) error {
		d, err := c.duration(1)
		if err != nil {
			return err
		}
		return pass(c.t, d)
	}
}

func moduleTime(c *call) error {
	now, err := c.t.Now()
	c.push(lua.LNumber(now.Seconds()))
	return err
}

func moduleHas(c *call) error {
	symbol, err := c.string(1, "symbol")
	if err != nil {
		return err
	}
	has, err := c.in.session.Has(c.t, symbol)
	c.push(lua.LBool(has))
	return err
}

func moduleStats(c *call) error {
	s, err := c.in.session.Stats(c.t)
	if err != nil {
		return err
	}
	live := c.L.NewTable()
	for kind, n := range s.Live {
		live.RawSetString(kind, lua.LNumber(n))
	}
	c.push(c.in.record("commands", s.Commands, "calls", s.Calls, "waits", s.Waits, "context_switches", s.ContextSwitches,
		"errors", s.Errors, "time", float64(s.Time)/float64(time.Second), "live", live))
	return nil
}

func moduleOnException(c *call) error {
	if c.arg(1) == lua.LNil && c.count() > 0 {
		return c.in.session.OnException(c.t, nil)
	}
	fn, err := c.function(1, "fn")
	if err != nil {
		return err
	}
	in := c.in
	return in.session.OnException(c.t, func(x npu.Exception) error {
		e := in.errorObject(x.Err, x.Err.Op, in.sites.text(x.Err.Site))
		if s := x.Stream; s != nil {
			e.RawSetString("stream", in.stream(s))
			e.RawSetString("context", in.context(s.Context()))
			e.RawSetString("device", in.device(s.Context().Device()))
		}
		return in.callLua(fn, e)
	})
}
