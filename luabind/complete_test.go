package luabind

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"npulua/npu"
)

func TestComplete(t *testing.T) {
	s := openSession(t, npu.Options{})
	folder := t.TempDir()
	for _, name := range []string{"one.lua", "only.npy", ".hidden", "sub/in.lua", "pack/init.lua", "data/x.npy"} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	if got := s.eval(`f = io.open("one.lua") dev = npu.device(0) ctx = dev:create_context() s = ctx:create_stream()
		base = {alpha = 1, alsoThis = print} derived = setmetatable({own = 1}, {__index = base})
		asked = setmetatable({field = 1}, {__index = function() called = true return "x" end})
		nested = {list = {{deep = 1}}, ["not a name"] = 1}
		_G["中文一"] = 1`); got != "" {
		t.Fatal(got)
	}
	for _, c := range []struct {
		text string // the cursor is at |, or at the end
		want string // of what stands before the cursor, and the candidates; ... where there may be more
	}{
		{`np`, `np: npu`},
		{`npu.dev`, `dev: device device_count devices`},
		{`npu.`, `: ... device ...`},
		{`x = npu.devi`, `devi: device device_count devices`},
		{`dev|ice`, `dev: dev`},
		{`whi`, `whi: while`},
		{`s:la`, `la: launch`},
		{`s.la`, `la: launch`},
		{`s:c`, `c: callback capture close commands copy`},
		{`s.`, `: closed context device id is_default priority`},
		{`s.context.default_stream:rec`, `rec: record`},
		{`npu.device(0).context:create_s`, `create_s: create_stream`},
		{`npu.device(npu.current_device().id):mem`, `mem: memory`},
		{`npu.kernel "vector_add".si`, `si: signature`},
		{`npu.kernel{name = "x"}.na`, `na: name`},
		{`derived.al`, `al: alpha alsoThis`},
		{`derived.`, `: alpha alsoThis own`},
		{`asked.f`, `f: field`},
		{`asked.unknown.`, `:`},
		{`nested.list[1].`, `: deep`},
		{`nested.`, `: list`},
		{`("x"):re`, `re: rep reverse`},
		{`string.f`, `f: find format`},
		{`ctx:create_stream{`, `: failure = |priority = `},
		{`ctx:create_stream{pri`, `pri: priority = `},
		{`ctx:create_stream({pri`, `pri: priority = `},
		{`ctx:create_stream{priority = 0, `, `: failure = `},
		{`ctx:create_stream{priority = np`, `np: npu`},
		{`ctx:alloc("float32", 3, {po`, `po: policy = `},
		{`npu.kernel{si`, `si: signature = |sim = `},
		{`{pri`, `pri: print`},
		{`npu.kernel "vec`, `vec: vector_add vector_mul vector_sub`},
		{`npu.kernel("vec`, `vec: vector_add vector_mul vector_sub`},
		{`s:launch(npu.kernel 'sp`, `sp: spin`},
		{`npu.host("fl`, `fl: float16 float32 float64`},
		{`ctx:alloc("int3`, `int3: int32`},
		{`npu.host("float32", "fl`, `fl:`},
		{`print("fl`, `fl:`},
		{`dofile("` + folder + `/on`, `on: one.lua only.npy`},
		{`dofile "` + folder + `/`, `: data/ one.lua only.npy pack/ sub/`},
		{`dofile "o`, `o: one.lua only.npy`},
		{`dofile("on`, `on: one.lua only.npy`},
		{`loadfile "`, `: data/ one.lua only.npy pack/ sub/`},
		{`for l in io.lines "on`, `on: one.lua only.npy`},
		{`io.open("data/`, `: x.npy`},
		{`io.open("on", "r`, `r: r r+ rb`},
		{`npu.load_npy("on`, `on: one.lua only.npy`},
		{`npu.load_image('su`, `su: sub/`},
		{`npu.host("int8", 1):save_npy("da`, `da: data/`},
		{`local b = npu.host("int8", 1) b:save_npy("da`, `da: data/`},
		{`local c = npu.device(0).context c:create_stream{fai`, `fai: failure = `},
		{`local c = npu.device(0).context c:alloc("int3`, `int3: int32`},
		{`local o = {} o:close("on`, `on:`},
		{`npu.worker("on`, `on: one.lua only.npy`},
		{`npu.worker("one.lua", "on`, `on:`},
		{`npu.kernel{name = "x", binary = "on`, `on: one.lua only.npy`},
		{`npu.kernel{name = "on`, `on:`},
		{`require "on`, `on: one`},
		{`require("`, `: npu one pack. sub.`},
		{`require "sub.`, `sub.: sub.in`},
		{`help "la`, `la: launch layer_norm`},
		{`help("npu.devices`, `npu.devices: npu.devices`},
		{`io.stdout:se`, `se: seek setvbuf`},
		{`io.stdout:`, `: ... write ...`},
		{`f:re`, `re: read`},
		{`io.open("x"):re`, `re: read`},
		{`s.context.device.info.cu`, `cu: cube_cores`},
		{`npu.devices()[1].`, `: cube_cores family id logical max_events max_streams memory name physical queue_depth simulated vector_cores`},
		{`npu.devices()[i].i`, `i: id`},
		{`npu.devices().`, `:`},
		{`npu.kernels()[1].`, `: doc name signature types`},
		{`dev:memory().`, `: free total`},
		{`tostring(1):up`, `up: upper`},
		{`npu.host("int8", 1):download():save_n`, `save_n: save_npy`},
		{`nested["`, `: list|not a name`},
		{`nested["li`, `li: list`},
		{`nested["list"][1].`, `: deep`},
		{`s["context"].default_s`, `default_s: default_stream`},
		{`({"x`, `x:`},
		{`npu.host("float32", 3, {pinned = `, `: false true`},
		{`npu.host("float32", 3, {pinned = t`, `t: true`},
		{`npu.host("float32", 3, {pinned = np`, `np: npu`},
		{`ctx:alloc("int8", 1, {policy = `, `: "huge_first"|"huge_first_p2p"|"huge_only"|"huge_only_p2p"|"normal_only"|"normal_only_p2p"`},
		{`ctx:alloc("int8", 1, {policy = "n`, `n: normal_only normal_only_p2p`},
		{`ctx:create_stream{failure = `, `: "continue"|"stop"`},
		{`ctx:create_stream{priority = pri`, `pri: print`},
		{`ctx:set_option("det`, `det: deterministic`},
		{`x = e`, `e: error`},
		{`print(d`, `d: debug derived dev dofile`},
		{`x = 1 + f`, `f: f false function`},
		{`return g`, `g: gcinfo getfenv getmetatable`},
		{`do return e`, `e: end error`},
		{`if n`, `n: nested newproxy next nil not npu`},
		{`if x t`, `t: then`},
		{`while x `, `: and do or`},
		{`for k, v i`, `i: in`},
		{`f(x `, `: and or`},
		{`for i = 1, 2 do if x then e`, `e: else elseif end error`},
		{`repeat un`, `un: unpack until`},
		{`s.launch? `, `:`},
		{`s.launch?`, `:`},
		{`?np`, `np: npu`},
		{`dofile "` + folder + `/sub/`, `: in.lua`},
		{`dofile "` + folder + `/.h`, `.h: .hidden`},
		{`dofile "` + folder + `/none/`, folder + `/none/:`},
		{`local value = 1 print(val`, `val: value`},
		{"function f(param)\n  return par", `par: param`},
		{`-- np`, `:`},
		{`--[[ np`, `:`},
		{`x = 12`, `:`},
		{`local np`, `np:`},
		{`s:launch(k, `, `: ... npu ...`},
		{`undefined.`, `:`},
		{`_G.p`, `p: package pairs pcall print`},
		{``, `: ... npu ...`},
		{`)))].`, `:`},
		{`..`, `: ... npu ...`},
		{`中`, `:`},
	} {
		text, pos := c.text, len(c.text)
		if i := strings.Index(text, "|"); i >= 0 {
			text, pos = text[:i]+text[i+1:], i
		}
		start, got := s.Complete(text, pos)
		word, want, _ := strings.Cut(c.want, ":")
		if text[start:pos] != word {
			t.Errorf("%q: replaces %q, want %q", c.text, text[start:pos], word)
		}
		want = strings.TrimPrefix(want, " ")
		if strings.HasPrefix(want, "...") {
			if name := strings.Trim(want, ". "); !slices.Contains(got, name) {
				t.Errorf("%q: %q, want %s in it", c.text, got, name)
			}
			continue
		}
		if strings.HasPrefix(text, "require(") {
			got = slices.DeleteFunc(got, func(name string) bool { return findModuleRows(name) != nil })
		}
		sep := " "
		if strings.ContainsAny(want, "|=") {
			sep = "|"
		}
		if text := strings.Join(got, sep); text != want {
			t.Errorf("%q: %q, want %q", c.text, text, want)
		}
	}
	if got := s.eval(`called`); !strings.HasPrefix(got, "nil") {
		t.Error("completion ran code of the script")
	}
}

// What completion says of tables that the API makes is what it makes.
func TestShapes(t *testing.T) {
	s := openSession(t, npu.Options{})
	if got := s.eval(`dev = npu.device(0) s = dev.context:create_stream()
		x, y = dev.context:alloc("float32", 1), dev.context:alloc("float32", 1)
		g = s:capture(function() s:launch(npu.kernel "relu", 1, y, x, 1) end)
		m = npu.model("../scripts/data/mlp.json")
		function run(n) s:launch(npu.kernel "relu", 1, y, x, n) end run(1) pcall(s.synchronize, s)
		run(9) pcall(s.synchronize, s) 
		s2 = dev.context:create_stream() s2:launch(npu.kernel "spin", 1, 1) s:wait(s2:record()) run(1)
		function keys(t, all) for k in pairs(t) do if type(k) == "number" then keys(t[k], all) else all[k] = true end end return all end
		function names(t) local list = {} for k in pairs(keys(t, {})) do list[#list + 1] = k end table.sort(list) return table.concat(list, " ") end
		npu.sim.set_sensors(0, {card_power = 1}) sensors = {dev:sensors()} npu.sim.set_sensors(0, {available = false}) sensors[2] = dev:sensors()
		made = {["device:sensors"] = sensors, ["npu.devices"] = npu.devices(), ["npu.kernels"] = npu.kernels(), ["npu.stats"] = npu.stats(), ["device.info"] = dev.info,
			["device:memory"] = dev:memory(), ["device:utilization"] = dev:utilization(), ["stream:commands"] = s:commands(), ["graph:nodes"] = g:nodes(),
			["model.inputs"] = m.inputs, ["model.outputs"] = m.outputs, ["fs.stat"] = require("fs").stat("../scripts/data/mlp.json"),
			["exec.run"] = {require("exec").run{"true"}, require("exec").run({"sleep", "1000"}, {timeout = 0.01})}}`); got != "" {
		t.Fatal(got)
	}
	for row, shape := range shapes {
		keys := slices.Sorted(slices.Values(shape.keys))
		if got, want := s.eval(fmt.Sprintf(`names(made[%q])`, row)), fmt.Sprintf("%q\n", strings.Join(keys, " ")); got != want {
			t.Errorf("%s has %s, want %s", row, got, want)
		}
	}
}

func TestHighlight(t *testing.T) {
	s := openSession(t, npu.Options{})
	s.eval(`s = npu.device(0).context:create_stream()`)
	letters := map[SpanKind]string{SpanKeyword: "k", SpanString: "s", SpanNumber: "n", SpanComment: "c", SpanKnown: "+", SpanUnknown: "?"}
	for _, c := range []struct{ line, want string }{
		{`local x = npu.kernel "spin" -- hi`, `local/k npu/+ kernel/+ "spin"/s -- hi/c`},
		{`x = npu.devcie(0) + 0x1F .. pritn(1e-3)`, `npu/+ devcie/? 0/n 0x1F/n pritn/? 1e-3/n`},
		{`npu.dev`, `npu/+`},
		{`npu.dxv`, `npu/+ dxv/?`},
		{`whil`, ``},
		{`for i = 1, 2 do s:launch(k, i) end`, `for/k 1/n 2/n do/k s/+ launch/+ k/? end/k`},
		{`s:lunch()`, `s/+ lunch/?`},
		{`function f(a) return a + b end`, `function/k return/k b/? end/k`},
		{`ctx{priority = 0}`, `ctx/? 0/n`},
		{`x = "open`, `"open/s`},
		{`x = [[open`, `[[open/s`},
		{`--[[ open`, `--[[ open/c`},
		{`a.b.c = npu`, `a/? npu/+`},
		{`"中文", 中`, `"中文"/s`},
		{``, ``},
	} {
		var got []string
		for _, sp := range s.Highlight(c.line) {
			got = append(got, c.line[sp.Start:sp.End]+"/"+letters[sp.Kind])
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%q: %q, want %q", c.line, text, c.want)
		}
	}
}

func TestHelpFunction(t *testing.T) {
	s := openSession(t, npu.Options{})
	s.eval(`s = npu.device(0).context:create_stream() function f(a, b, ...) end asked = setmetatable({}, {__index = function() return 5 end})`)
	for _, c := range []struct{ chunk, want string }{
		{`help()`, "Topics:"},
		{`help(npu)`, "npu.device(id) -> device"},
		{`help(s)`, "stream:launch"},
		{`help(s.launch)`, "\n    s:launch(npu.kernel "},
		{`help "launch"`, "\n    s:launch(npu.kernel "},
		{`help "create_stream"`, "priority: 0 (highest"},
		{`help(npu.device)`, "Errors: 107001"},
		{`help(107002)`, "ACL_ERROR_RT_CONTEXT_NULL"},
		{`help(select(2, pcall(npu.device, 9)))`, "107001 ACL_ERROR_RT_INVALID_DEVICEID\n"},
		{`help(npu.kernel "spin")`, "kernel spin(float64 seconds)"},
		{`help(f)`, "takes (a, b, ...), lines 1 to 1"},
		{`help(s2.launch)`, "there is no s2 here yet; help knows of launch:\n\nstream:launch("},
		{`help(s2.none)`, "no help on s2.none: there is no s2 here yet\n"},
		{`help(s2)`, `no help on "s2"`},
		{`help(s.context.nme)`, `no help on "s.context.nme"`},
		{`s2.launch?`, "there is no s2 here yet; help knows of launch"},
		{`help "relu"`, "\n    T: float32, float16, bfloat16, int8, int32\n"},
		{`help "relu"`, "\n    y: n elements, written\n    x: n elements, read\n"},
		{`help "relu"`, "\n  Errors: 107000 "},
		{`help "argmax"`, "\n    index: 1 element, written\n"},
		{`help "matmul"`, "\n    b: k x n elements, read\n"},
		{`relu?`, "kernel relu(out T* y, in T* x, uint32 n)"},
		{`npu.kernel "relu"?`, "kernel relu("},
		{`npu.kernel("relu") ? -- the one`, "kernel relu("},
		{`npu.kernel "rellu"?`, `no help on kernel "rellu", did you mean "relu"?`},
		{`"launch"?`, "stream:launch("},
		{`npu.kernel?`, "npu.kernel(name)"},
		{`help(npu.kernel{name = "own", signature = "uint32 n", sim = print})`, "kernel own(uint32 n)\n  Declared by the script."},
		{`s.launch? -- note`, "\n    s:launch(npu.kernel "},
		{`? s.launch -- note`, "\n    s:launch(npu.kernel "},
		{`help -- note`, "Topics:"},
		{`help "kernels"`, "kernels\n  vector_add: y[i] = "},
		{`kernels?`, "kernels\n  vector_add: y[i] = "},
		{`help "npu.devces"`, `no help on "npu.devces", did you mean "npu.devices"?`},
		{`help "stream:lanch"`, `did you mean "stream:launch"?`},
		{`help ".load"`, "no help on .load: .help describes"},
		{`help .load`, "no help on .load: .help describes"},
		{`print?`, "function print (built in)"},
		{`help "print"`, "function print (built in)"},
		{`help "string"`, "module string of Lua 5.1"},
		{`help "string.format"`, "function string.format (built in)"},
		{`help "npu.sim"`, "npu.sim\n  On the simulator, what only that can do"},
		{`npu.sim?`, "npu.sim\n  On the simulator, what only that can do"},
		{`help(npu.sim)`, "npu.sim\n  On the simulator, what only that can do"},
		{`help(s.priority)`, "stream.priority\n  0 (highest) to 7."},
		{`help(asked.x)`, "5 is a number, and no error code"},
		{`help(print)`, "function print (built in)"},
		{`help(string)`, "module string of Lua 5.1"},
		{`help(nil)`, "a nil: there is no help on it"},
		{`help({})`, "a table: there is no help on it"},
		{`help "lanch"`, `no help on "lanch", did you mean "launch"?`},
		{`?`, "Topics:"},
		{`s.launch?`, "\n    s:launch(npu.kernel "},
		{`s:launch ?`, "\n    s:launch(npu.kernel "},
		{`?s.launch`, "\n    s:launch(npu.kernel "},
		{`s.context?`, "context:create_stream"},
		{`s.priority?`, "stream.priority\n  0 (highest) to 7."},
		{`stream.launch?`, "\n    s:launch(npu.kernel "},
		{`launch?`, "\n    s:launch(npu.kernel "},
		{`107002?`, "ACL_ERROR_RT_CONTEXT_NULL"},
		{`s.lunch?`, `no help on s.lunch: s has no "lunch", did you mean "launch"?`},
		{`npu.devcie?`, `did you mean "device"?`},
		{`nothing_like_it?`, "help() lists the topics"},
		{`f(1)?`, "no help on f(1): "},
		{`npu.device(0)?`, "device:create_context"},
		{`npu.device(0).context:create_stream?`, "Example: "},
		{`1 + s?`, "no help on 1 + s: ask about one name"},
		{`x = 1 ?`, "no help on x = 1: ask about one name"},
		{`help`, "Topics:"},
		{`help npu`, "npu.device("},
		{`help s.launch`, "\n    s:launch(npu.kernel "},
		{`help 107002`, "ACL_ERROR_RT_CONTEXT_NULL"},
		{`help x = 1`, "'=' expected near 'x'"},
		{`npu.nope?`, `no help on "npu.nope"` + "\n"},
		{`x = 1 -- why?`, ""},
		{`"why?"`, `"why?"`},
	} {
		if got := s.eval(c.chunk); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q in it", c.chunk, got, c.want)
		}
	}
}

// What help() shows fits a screen, and what it advertises works at once.
func TestHelpOverview(t *testing.T) {
	s := openSession(t, npu.Options{})
	s.Fit(80)
	text := s.eval(`help()`)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > 24-2 {
		t.Errorf("help() has %d lines", len(lines))
	}
	for _, line := range lines {
		if textWidth(line) > 80 {
			t.Errorf("a line of help() has %d columns: %s", textWidth(line), line)
		}
	}
	for i, line := range lines {
		if line == "" {
			break
		}
		chunk, _, _ := strings.Cut(line, "  ")
		if got := s.eval(chunk); strings.Contains(got, "no help") || len(got) < 40 {
			t.Errorf("%d: %s: %s", i, chunk, got)
		}
	}
	s.Fit(40)
	if narrow := s.eval(`help()`); strings.Contains(narrow, "\nwhenever a\n") || !strings.Contains(narrow, "An expression prints its values; _ is\nthe first value") {
		t.Errorf("40 columns: %s", narrow)
	}
}

// Examples of several lines run in a fresh session, line by line.
func TestExamplesRun(t *testing.T) {
	texts := map[string]string{"launch": launchExample}
	for _, k := range npu.Kernels() {
		sig, err := k.Parse()
		if err != nil {
			t.Fatal(err)
		}
		texts[k.Name] = kernelExample(k, sig)
	}
	for topic, text := range texts {
		help, _ := Help(topic)
		s := openSession(t, npu.Options{})
		got := ""
		for _, line := range strings.Split(text, "\n") {
			if !strings.Contains(Wrap(help, 20), "\n    "+line) {
				t.Errorf("help %q lacks %s", topic, line)
			}
			got += s.eval(line)
		}
		if _, err := fmt.Sscan(got, new(float64)); err != nil {
			t.Errorf("%s prints %q", topic, got)
		}
	}
}

// Machines of scripts have no help function.
func TestHelpIsInteractive(t *testing.T) {
	in := openSim(t, t.Context())
	defer in.Close(true)
	if err := in.RunString(`assert(help == nil)`, "test"); err != nil {
		t.Error(in.FormatError(err))
	}
}

// What is typed is any text: nothing of it may be a panic, and spans stay inside the line.
func FuzzTyped(f *testing.F) {
	for _, s := range []string{`npu.kernel "vec`, `ctx:create_stream{pri`, "x = [==[ a ]=]", `"\`, `a.b:c[1].d{`, "--[[", "f(\n)", "?", "1..2", "中.文"} {
		f.Add(s)
	}
	in, err := Open(f.Context(), Options{Session: npu.Options{Backend: "sim"}, Interactive: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { in.Close(true) })
	e := in.NewEvaluator()
	f.Fuzz(func(t *testing.T, text string) {
		for pos := range len(text) + 1 {
			if start, _ := e.Complete(text, pos); start < 0 || start > pos {
				t.Fatalf("%q at %d: replaces from %d on", text, pos, start)
			}
		}
		last := 0
		for _, sp := range e.Highlight(text) {
			if sp.Start < last || sp.End <= sp.Start || sp.End > len(text) {
				t.Fatalf("%q: span %v after %d", text, sp, last)
			}
			last = sp.End
		}
		e.Incomplete(text)
		_ = fmt.Sprint(e.missing(text), e.explain(text))
		if name, ok := e.helpQuery(text); ok {
			e.explain(name)
		}
	})
}
