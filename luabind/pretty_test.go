package luabind

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"

	"npulua/internal/printable"
	"npulua/npu"
)

func TestFormat(t *testing.T) {
	s := openSession(t, npu.Options{})
	if got := s.eval(`dev = npu.device(0) function named() end tab = {inner = function() end}`); got != "" {
		t.Fatal(got)
	}
	for _, c := range []struct{ chunk, want string }{
		{`true, nil, 1.5, -0, 1/0, 1e15`, "true\tnil\t1.5\t-0\tinf\t1e+15"},
		{`"a\n\t\"b\"\\\0\200 é中"`, `"a\n\t\"b\"\\\000\200 é中"`},
		{`"\27[31m"`, `"\027[31m"`},
		{`{}`, `{}`},
		{`{{}}`, `{{}}`},
		{`{1, "a", true}`, `{1, "a", true}`},
		{`{3, 2, 1, x = 1, b = {}, ["a b"] = 2, [10] = 5, [-1] = 0, [true] = 1, ["end"] = 1}`,
			"{\n  3, 2, 1, [-1] = 0, [10] = 5, [\"a b\"] = 2, b = {}, [\"end\"] = 1, x = 1,\n  [true] = 1\n}"},
		{`{1, nil, 3}`, `{1, [3] = 3}`},
		{`(function() local t = {} t.t = t t.list = {t} return t end)()`, `{list = {<cycle>}, t = <cycle>}`},
		{`(function() local x = {} return {x, x} end)()`, `{{}, {}}`},
		{`{{{{{{{1}}}}}}}`, `{{{{{{...}}}}}}`},
		{`setmetatable({1}, {__index = {a = 1}})`, `{1, <metatable> = {__index = {a = 1}}}`},
		{`setmetatable({1}, {__metatable = "locked", secret = 1})`, `{1, <metatable> = "locked"}`},
		{`(function() local t = {} return setmetatable(t, {__index = t}) end)()`, `{<metatable> = {__index = <cycle>}}`},
		{`setmetatable({1}, {__tostring = function() return "mine" end})`, `mine`},
		{`{setmetatable({1}, {__tostring = function() return "mine\n2" end})}`, `{mine 2}`},
		{`setmetatable({1}, {__tostring = function() error("bad", 0) end})`, "<__tostring failed: bad> {1, <metatable> = {__tostring = function at input 18:1}}"},
		{`{setmetatable({1}, {__tostring = function() error("bad", 0) end})}`, `{<__tostring failed: bad>}`},
		{`{setmetatable({1}, {__tostring = function() return {} end})}`, `{<__tostring failed: it returned no string>}`},
		{`{setmetatable({1}, {__tostring = function() while true do end end})}`, `{<__tostring failed: it runs too long>}`},
		{`{setmetatable({1}, {__tostring = function() while true do pcall(error) end end})}`, `{<__tostring failed: it runs too long>}`},
		{`{setmetatable({1}, {__tostring = 5})}`, `{<__tostring failed: attempt to call a number value>}`},
		{`setmetatable({}, {__index = function() error("asked") end, __newindex = error, __len = error}) ~= nil`, `true`},
		{`print`, `function print (built in)`},
		{`string.format`, `function string.format (built in)`},
		{`pcall`, `function pcall (built in)`},
		{`npu.device`, `function npu.device (built in)`},
		{`dev.close`, `function device:close (built in)`},
		{`named`, `function named at input 1:1`},
		{`tab`, `{inner = function tab.inner at input 1:1}`},
		{`{_G, string}`, `{<table _G>, <table string>}`},
		{`{coroutine.create(function() end)}`, `{thread}`},
		{`dev.context`, `context(default, device 0)`},
		{`dev.context:create_stream()`, `stream(1, context 0, device 0)`},
		{`npu.kernel "spin"`, `kernel spin(float64 seconds)`},
		{`(function() local s = dev.context:create_stream() s:close() return s end)()`, `stream(2, context 0, device 0, closed)`},
		{`npu.host("float32", {1, 2.5, 1.1})`, `buffer(float32 x 3, pinned host) {1, 2.5, 1.1}`},
		{`npu.host("int16", 100)`, `buffer(int16 x 100, pinned host) {0, 0, 0, 0, 0, 0, 0, 0, ...}`},
		{`npu.host("int64", {2^53}, {pinned = false})`, `buffer(int64 x 1, pageable host) {9007199254740992}`},
		{`npu.host("float16", {1/3}, {pinned = false})`, `buffer(float16 x 1, pageable host) {0.3333}`},
		{`dev.context:alloc("int8", 4)`, `buffer(int8 x 4, device 0) {-1, -1, -1, -1}`}, // what the simulator lays there
		{`(function() local h = npu.host("int8", 4) dev.context:create_stream():copy(h, dev.context:alloc("int8", 4)) return h end)()`,
			`buffer(int8 x 4, pinned host) (queued work writes it)`},
		{`npu.spawn(function() end)`, `task(1, ready)`},
		{`dev`, `+-----+-------------+--------+--------------------+---------------------+-------------------+
| NPU | Name        | Family | Cores              | Memory used / total | State             |
+-----+-------------+--------+--------------------+---------------------+-------------------+
| 0   | Ascend910B3 | 910B   | 20 cube, 40 vector | 0 MiB / 65536 MiB   | in use, simulated |
+-----+-------------+--------+--------------------+---------------------+-------------------+`},
		{`{dev}`, `{device(0)}`},
		{`1, {("x"):rep(80)}`, "1\n{\n  \"" + strings.Repeat("x", 80) + "\"\n}"},
		{`select(2, pcall(npu.device, 9))`, "input 48:1: npu: device: there is no device 9: 1 visible [107001 ACL_ERROR_RT_INVALID_DEVICEID]\n" +
			"  hint: npu.device_count() says how many there are; they count from 0"},
	} {
		if got := s.eval(c.chunk); got != c.want+"\n" {
			t.Errorf("%s\ngot  %q\nwant %q", c.chunk, got, c.want)
		}
	}
}

func TestFormatDevices(t *testing.T) {
	s := openSession(t, npu.Options{Sim: "310p:2"})
	const want = `
+-----+--------------+--------+------------------+---------------------+-----------------------+
| NPU | Name         | Family | Cores            | Memory used / total | State                 |
+-----+--------------+--------+------------------+---------------------+-----------------------+
`
	got := "\n" + s.eval(`npu.devices()`)
	if lines := strings.Split(got, "\n"); len(lines) != 8 || !strings.Contains(got, "| 1   |") || !strings.HasPrefix(lines[2], "| NPU | Name") {
		t.Errorf("got %s\nwant the like of %s", got, want)
	}
}

// What is huge prints at once, in bounds.
func TestFormatIsBounded(t *testing.T) {
	long(t, "one goroutine runs Lua here")
	s := openSession(t, npu.Options{})
	for _, code := range []string{
		`t = {} for i = 1, 1e6 do t[i] = i end`,
		`t = {} for i = 1, 2e5 do t["k" .. i] = i end`,
		`t = ("x"):rep(1e7)`,
		`t = {} local x = t for i = 1, 1e5 do x.x = {} x = x.x end`,
		`t = {} for i = 1, 200 do t[i] = {} for j = 1, 200 do t[i][j] = {i, j} end end`,
		`t = setmetatable({}, {__tostring = function() return ("y"):rep(1e7) end})`,
	} {
		if got := s.eval(code); got != "" {
			t.Fatal(got)
		}
		begin := time.Now()
		got := s.eval(`t`)
		if took := time.Since(begin); took > 2*time.Second || len(got) > 100_000 || strings.Contains(got, "failed") {
			t.Errorf("%s: %d B in %v", code, len(got), took)
		}
	}
	if got := s.eval(`t = {} for i = 1, 1e6 do t[i] = i end return t`); !strings.HasSuffix(got, "99, 100, ... 999900 more\n}\n") {
		t.Errorf("got %s", got)
	}
	if got := s.eval(`("x"):rep(5000)`); !strings.HasSuffix(got, `x"... (5000 B)`+"\n") {
		t.Errorf("got %s", got)
	}
}

// Device memory shows its values where nothing writes them, and nobody notices that somebody looked.
func TestFormatDeviceBuffers(t *testing.T) {
	s := openSession(t, npu.Options{Sim: "910b:2"})
	if got := s.eval(`a = npu.device(0) x = a.context:alloc("float32", 100) x:slice(1, 3):upload{1, 2.5, 3}
		b = npu.device(1) c = b:create_context() s = a.context:create_stream() h = npu.host("float32", 100)`); got != "" {
		t.Fatal(got)
	}
	const waits = "(not to be read now; its download method waits)\n"
	for _, c := range []struct{ before, chunk, want string }{
		{``, `x:slice(1, 3)`, "buffer(float32 x 3, device 0) {1, 2.5, 3}\n"},
		{``, `{x:slice(1, 2)}`, "{buffer(float32 x 2, device 0) {1, 2.5}}\n"},
		{`s:copy(h, x)`, `x:slice(1, 3)`, "buffer(float32 x 3, device 0) {1, 2.5, 3}\n"}, // it is read only
		{`s:launch(npu.kernel "spin", 1, 1) s:fill(x, 7)`, `x`, "buffer(float32 x 100, device 0) " + waits},
		{`s:synchronize()`, `x`, "buffer(float32 x 100, device 0) {7, 7, 7, 7, 7, 7, 7, 7, ...}\n"},
		{`g = s:capture(function() s:fill(x, 1) kept = npu.current_context() end)`, `x:slice(1, 1)`, "buffer(float32 x 1, device 0) {7}\n"},
		{`x:close()`, `x`, "buffer(float32 x 100, device 0, closed)\n"},
	} {
		if got := s.eval(c.before); got != "" {
			t.Fatalf("%s: %s", c.before, got)
		}
		prompt, now := s.Prompt(), s.Now()
		got := s.eval(c.chunk)
		if got != c.want {
			t.Errorf("%s; %s: got %q, want %q", c.before, c.chunk, got, c.want)
		}
		if s.Prompt() != prompt || s.Now()-now > time.Microsecond {
			t.Errorf("%s: from %s at %v to %s at %v", c.chunk, prompt, now, s.Prompt(), s.Now())
		}
	}
}

// Names are in the order in which people count, and share lines.
func TestFormatNames(t *testing.T) {
	s := openSession(t, npu.Options{})
	s.eval(`t = {} for i = 1, 12 do t["k" .. i] = i * 1000 end t.long = ("x"):rep(60) t.list = {1, 2}`)
	const want = `{
  k1 = 1000, k2 = 2000, k3 = 3000, k4 = 4000, k5 = 5000, k6 = 6000, k7 = 7000,
  k8 = 8000, k9 = 9000, k10 = 10000, k11 = 11000, k12 = 12000,
  list = {1, 2},
  long = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
}
`
	if got := s.eval(`t`); got != want {
		t.Errorf("got %s", got)
	}
}

func TestCompareNatural(t *testing.T) {
	ordered := []string{"", "1", "2", "10", "a", "a01", "a1", "a1b", "a2", "a10", "a10.lua:9", "a10.lua:10", "b"}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := compareNatural(a, b); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%q and %q: %d", a, b, got)
			}
		}
	}
}

func TestPrintable(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a\n\tb 中 é\u3000\"\\", "a\n\tb 中 é\u3000\"\\"},
		{"\x1b[31m\a\r\x00", `\027[31m\007\r\000`},
		{"\x9b1m \xff", `\1551m \255`},
		{"\u009b \u202e", `\194\155 \226\128\174`},
		{"\x7f", `\127`},
	} {
		if got := printable.Text(c.text); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
	s := openSession(t, npu.Options{})
	if got := s.eval(`(function() local _, e = pcall(npu.kernel, "k") e.message = "\27[31mb\7" return e end)()`); !strings.Contains(got, `\027[31mb\007`) {
		t.Errorf("an error object: %q", got)
	}
}

// Ctrl-C in a __tostring leaves no text that says so once more.
func TestFormatInterrupted(t *testing.T) {
	s := openSession(t, npu.Options{})
	s.eval(`n = 0 t = setmetatable({}, {__tostring = function() stop() while true do end end})`)
	for _, chunk := range []string{`t`, `{t}`} {
		ctx, cancel := context.WithCancel(t.Context())
		s.in.L.SetGlobal("stop", s.in.L.NewFunction(func(*lua.LState) int { cancel(); return 0 }))
		err := s.Eval(ctx, chunk)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", chunk, err)
		}
		if got := s.out.take(); got != "" {
			t.Errorf("%s: printed %q", chunk, got)
		}
	}
}
