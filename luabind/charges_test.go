package luabind

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

// constantLibrary are the functions of Lua's libraries that do as much for a large operand as for a small one, or whose
// work is that of the instructions, functions and values that they are given, which count where they run or are made.
var constantLibrary = strings.Fields(`
	assert error getfenv getmetatable ipairs module newproxy pcall select setfenv setmetatable type xpcall
	coroutine.resume coroutine.running coroutine.status coroutine.yield
	debug.getinfo help
	io.close io.flush io.input io.lines io.output io.popen io.type file:close file:flush file:lines file:seek file:setvbuf file:__tostring file:__gc
	math.abs math.acos math.asin math.atan math.atan2 math.ceil math.cos math.cosh math.deg math.exp math.floor math.fmod math.frexp
	math.ldexp math.log math.log10 math.max math.min math.mod math.modf math.pow math.rad math.random math.randomseed math.sin
	math.sinh math.sqrt math.tan math.tanh
	os.clock os.difftime os.execute os.exit os.getenv os.setlocale os.time
	package.loadlib package.seeall require
	string.dump string.len string.sub table.setn
	tostring
`)

// enough is how many instructions the calls of the test count as at least: each works on a million bytes, or on a
// hundred thousand items.
const enough = 9000

// chargedCalls do much by one call of a function. What stands before | is not measured. S is a string of a million
// bytes, T a list of a hundred thousand numbers, H a host buffer of a million bytes, X a device buffer of as many, C a
// context and Q a stream.
var chargedCalls = map[string]string{
	"collectgarbage":   `| collectgarbage()`,
	"dofile":           `local f = io.open("c.lua", "w") f:write(("x = 1 "):rep(1e4)) f:close() | dofile("c.lua")`,
	"load":             `local done | load(function() if not done then done = true return ("x = 1 "):rep(1e4) end end)`,
	"loadfile":         `local f = io.open("c.lua", "w") f:write(("x = 1 "):rep(1e4)) f:close() | loadfile("c.lua")`,
	"loadstring":       `local s = ("x = 1 "):rep(1e4) | loadstring(s)`,
	"gcinfo":           `| for i = 1, 100 do gcinfo() end`,
	"next":             `local t = {} for i = 1, 1e5 do t[i] = i end for i = 1, 1e5 - 1 do t[i] = nil end | next(t)`,
	"pairs":            `local t = {} for i = 1, 1e5 do t["k" .. i] = i end for i = 1, 1e5 do t["k" .. i] = nil end | for k in pairs(t) do end`,
	"print":            `| print(S)`,
	"rawequal":         `local a, b = S .. "x", S .. "x" | rawequal(a, b)`,
	"rawget":           `local t = {} | rawget(t, S)`,
	"rawset":           `local t = {} | rawset(t, S, 1) rawset(t, 1e6, 1)`,
	"tonumber":         `local s = ("0"):rep(1e6) | tonumber(s)`,
	"unpack":           `| for i = 1, 20 do local n = select("#", unpack(T, 1, 7000)) end`,
	"coroutine.create": `| for i = 1, 100 do coroutine.create(function() end) end`,
	"coroutine.wrap":   `| for i = 1, 100 do coroutine.wrap(function() end) end`,
	"debug.traceback":  `local text = S .. "x" | debug.traceback(text)`,
	"io.open":          `| for i = 1, 100 do local f = io.open("own.txt", "w") f:close() end`,
	"io.read":          `| pcall(io.input, "big.txt") io.read("*a") io.input():close() io.input(io.stdin)`,
	"io.tmpfile":       `| for i = 1, 100 do io.tmpfile():close() end`,
	"io.write":         `| io.write(S)`,
	"file:read":        `local f = io.open("big.txt") | f:read("*a") f:close()`,
	"file:write":       `local f = io.open("own.txt", "w") | f:write(S) f:close()`,
	"os.date":          `local s = ("%Y"):rep(1e5) | os.date(s)`,
	"os.remove":        `| for i = 1, 100 do os.remove("missing") end`,
	"os.rename":        `| for i = 1, 100 do os.rename("missing", "other") end`,
	"os.tmpname":       `| for i = 1, 100 do os.remove(os.tmpname()) end`,
	"string.byte":      `| for i = 1, 20 do local n = select("#", S:byte(1, 7000)) end`,
	"string.char":      `| for i = 1, 20 do local s = string.char(S:byte(1, 7000)) end`,
	"string.find":      `| S:find("y", 1, true)`,
	"string.format":    `| string.format("%s %q", S, S)`,
	"string.gfind":     `| for w in string.gfind(S, "y") do end`,
	"string.gmatch":    `| for w in S:gmatch("y") do end`,
	"string.gsub":      `| S:gsub("y", "z")`,
	"string.lower":     `| S:lower()`,
	"string.match":     `| S:match("^x-y")`,
	"string.rep":       `| local s = ("x"):rep(1e6)`,
	"string.reverse":   `| S:reverse()`,
	"string.upper":     `| S:upper()`,
	"table.concat":     `| table.concat(T)`,
	"table.foreach":    `| table.foreach(T, function() end)`,
	"table.foreachi":   `| table.foreachi(T, function() end)`,
	"table.getn":       `local t = {} for i = 1, 1e5 do t[i] = i end for i = 1e5, 1, -1 do t[i] = nil end | table.getn(t)`,
	"table.insert":     `| table.insert(T, 1, 0) table.remove(T, 1)`,
	"table.maxn":       `| table.maxn(T)`,
	"table.remove":     `| table.remove(T, 1) table.insert(T, 1, 1)`,
	"table.sort":       `local t = {} for i = 1, 2e4 do t[i] = i * 7919 % 20011 end | table.sort(t)`,

	"operator ==": `local a, b = S .. "x", S .. "x" | local c = a == b`,
	"operator <":  `local a, b = S .. "x", S .. "x" | local c = a < b`,
	"operator <=": `local a, b = S .. "x", S .. "x" | local c = a <= b`,
	"operator ..": `| local s = S .. "y"`,
	"operator #":  `local t = {} for i = 1, 1e5 do t[i] = i end for i = 1e5, 1, -1 do t[i] = nil end | local n = #t`,
	"operator +":  `local s = ("0"):rep(1e6) | local n = s + 1`,
	"operator *":  `local s = ("0"):rep(1e6) | local n = 1 * s`,
	"operator %":  `local s = ("0"):rep(1e6) | local n = s % 2`,
	"operator ^":  `local s = ("0"):rep(1e6) | local n = s ^ 2`,
	"operator -":  `local s = ("0"):rep(1e6) | local n = -s`,
	"index":       `local t = {} | local v = t[S]`,
	"assignment":  `local t = {} | t[1e6] = 1`,
	"...":         `local function f(...) return ... end | for i = 1, 100 do f(unpack(T, 1, 7000)) end`,

	"npu.copy":           `local h = npu.host("uint8", 1e6, {pinned = false}) | npu.copy(h, H)`,
	"npu.host":           `| npu.host("float64", T, {pinned = false})`,
	"npu.load_npy":       `H:save_npy("h.npy") | npu.load_npy("h.npy", {pinned = false})`,
	"npu.load_image":     `local p = npu.host("uint8", 1e6, {pinned = false}) p:reshape(1000, 1000, 1) p:save_image("p.png") | npu.load_image("p.png", {pinned = false})`,
	"buffer:fill":        `| H:fill(1)`,
	"buffer:set":         `local s = H:to_string() | H:set(s)`,
	"buffer:sum":         `| H:sum()`,
	"buffer:min":         `| H:min()`,
	"buffer:max":         `| H:max()`,
	"buffer:close_to":    `| H:close_to(H)`,
	"buffer:to_table":    `| H:to_table()`,
	"buffer:to_string":   `| H:to_string()`,
	"buffer:save_npy":    `| H:save_npy("h.npy")`,
	"buffer:upload":      `| X:upload(H)`,
	"buffer:download":    `| X:download()`,
	"stream:fill":        `| Q:fill(X, 1) Q:synchronize()`,
	"stream:copy":        `| Q:copy(X, C:alloc("uint8", 1e6)) Q:synchronize()`,
	"stream:launch":      `local f = C:alloc("float32", 2.5e5) Q:fill(f, 1) | Q:launch(npu.kernel "relu", 1, f, f, 2.5e5) Q:synchronize()`,
	"npu.ops.matmul":     `local a, b, c = C:alloc("float32", 1e4), C:alloc("float32", 1e4), C:alloc("float32", 1e4) Q:fill(a, 1) Q:fill(b, 1) | npu.ops.matmul(Q, c, a, b, 100, 100, 100) Q:synchronize()`,
	"graph:replay":       `local g = Q:capture(function() Q:fill(X, 1) end) | g:replay(Q) Q:synchronize()`,
	"channel:send":       `local c = npu.channel(1) npu.worker(function() c:receive() end) | c:send(T)`,
	"json.encode":        `| require("json").encode(T)`,
	"json.decode":        `local s = "[" .. ("1,"):rep(1e5) .. "1]" | require("json").decode(s)`,
	"csv.encode":         `local t = {} for i = 1, 1e4 do t[i] = {i, i} end | require("csv").encode(t)`,
	"csv.decode":         `local s = ("a,b\n"):rep(1e5) | require("csv").decode(s)`,
	"tabulate.format":    `local t = {} for i = 1, 1e4 do t[i] = {i, i} end | require("tabulate").format(t)`,
	"fs.read":            `| require("fs").read("big.txt")`,
	"fs.write":           `| require("fs").write("own.txt", S)`,
	"log.info":           `| require("log").error(S)`,
	"measure.statistics": `| local m = require("measure") for _, f in pairs(m) do if type(f) == "function" then pcall(f, T) end end`,
}

// openCharged is a machine in a sandbox whose instructions have no limit that matters.
func openCharged(t *testing.T) *Interp {
	t.Helper()
	in, err := Open(context.Background(), Options{
		Session: npu.Options{Backend: "sim"}, Stdout: discard{}, Stderr: discard{},
		Sandbox: &Sandbox{Dir: t.TempDir(), Instructions: math.MaxInt64 / 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(true) })
	return in
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// TestCharges does much by one call of each function, and looks at what that counts as.
func TestCharges(t *testing.T) {
	long(t, "one goroutine runs Lua here")
	in := openCharged(t)
	run := func(code string) {
		t.Helper()
		if err := in.RunString(code, "=charges"); err != nil {
			t.Errorf("%s: %v", code, in.FormatError(err))
		}
	}
	var spent int64
	in.L.SetGlobal("spent", in.L.NewFunction(func(L *lua.LState) int {
		spent = in.threads.Spent()
		L.Push(lua.LNumber(spent))
		return 1
	}))
	run(`S, T = ("x"):rep(1e6), {} for i = 1, 1e5 do T[i] = i end
		local f = io.open("big.txt", "w") f:write(S) f:close()
		C = npu.device(0).context Q = C:create_stream()
		H, X = npu.host("uint8", 1e6, {pinned = false}), C:alloc("uint8", 1e6) H:fill(0) X:upload(H)`)
	for _, name := range slices.Sorted(maps.Keys(chargedCalls)) {
		before, call, ok := strings.Cut(chargedCalls[name], "|")
		if !ok {
			t.Fatalf("%s: no |", name)
		}
		run(before + " BEFORE = spent() " + call + " AFTER = spent()")
		n := float64(in.L.GetGlobal("AFTER").(lua.LNumber) - in.L.GetGlobal("BEFORE").(lua.LNumber))
		if n < enough {
			t.Errorf("%s counts as %v instructions, want %d or more: it has to be charged for what it does (%s)", name, n, enough, call)
		}
	}
}

// TestChargesAreWhole walks over every function that scripts have: those of Lua's libraries are in a table above;
// ours are charged for their operands unless constantCosts has them.
func TestChargesAreWhole(t *testing.T) {
	in := openCharged(t)
	names := make(map[string]bool)
	add := func(owner string, table *lua.LTable) {
		table.ForEach(func(k, v lua.LValue) {
			if _, ok := v.(*lua.LFunction); ok {
				names[owner+k.String()] = true
			}
		})
	}
	add("", in.L.Env)
	for _, library := range []string{"coroutine", "debug", "io", "math", "os", "package", "string", "table"} {
		add(library+".", in.L.GetGlobal(library).(*lua.LTable))
	}
	if err := in.RunString(`FILE = debug and io.stdout`, "=charges"); err != nil {
		t.Fatal(err)
	}
	add("file:", in.L.GetGlobal("FILE").(*lua.LUserData).Metatable.(*lua.LTable).RawGetString("__index").(*lua.LTable))
	for name := range names {
		_, charged := chargedCalls[name]
		if constant := slices.Contains(constantLibrary, name); constant == charged {
			t.Errorf("%s is in one of constantLibrary and chargedCalls, not in both and not in none", name)
		}
	}
	ours := make(map[string]bool)
	for _, f := range moduleFunctions {
		ours["npu."+f.name] = true
	}
	for _, m := range modules {
		for _, f := range m.functions {
			ours[m.name+"."+f.name] = true
		}
	}
	for _, b := range in.bound {
		class, methods := b.rows()
		methods.ForEach(func(k, _ lua.LValue) { ours[class+":"+k.String()] = true })
	}
	for name := range constantCosts {
		if !ours[name] {
			t.Errorf("constantCosts has %s, which is no function", name)
		}
	}
}
