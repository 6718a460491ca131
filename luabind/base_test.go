package luabind

import (
	"bytes"
	"strings"
	"testing"

	"npulua/npu"
)

// TestLoad prints what PUC Lua prints, but for the words of a syntax error.
func TestLoad(t *testing.T) {
	for _, c := range []struct{ statement, want string }{
		{`load(function() error("boom") end)`, "nil\tx:1: boom"},
		{`load(function() local x = nil + 1 end)`, "nil\tx:1: attempt to perform arithmetic on a nil value"},
		{`load(function() error(12, 0) end)`, "nil\t12"},
		{`load(function() return {} end)`, "nil\tx:1: reader function must return a string"},
		{`pcall(load, function() return true end)`, "true\tnil\treader function must return a string"},
		{`load(pieces("return ", 12, ".5"))()`, "12.5"},
		{`load(pieces("return 1", "", " + 1"))()`, "1"},
		{`load(pieces())()`, ""},
		{`(function() local n = 0 load(function() n = n + 1 end) return n end)()`, "2"},
		{`load(pieces("", "return 2", "", " + 1"))(), #left`, "2\t1"},
		{`load(pieces("x x"), "=n")`, "nil\tn:1: '=' expected near 'x'"},
		{`coroutine.wrap(function() return load(function() coroutine.yield() end) end)()`, "nil\tattempt to yield across metamethod/C-call boundary"},
		{`select("#", pcall(load, pieces("return 1"), {})), #left`, "2\t1"},
	} {
		var out bytes.Buffer
		in, err := Open(t.Context(), Options{Session: npu.Options{Backend: "sim"}, Stdout: &out})
		if err != nil {
			t.Fatal(err)
		}
		err = in.RunString(`function pieces(...) left = {...} return function() return table.remove(left, 1) end end print(`+c.statement+`)`, "=x")
		if err == nil {
			err = in.Flush()
		}
		if got := strings.TrimSuffix(out.String(), "\n"); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.statement, got, err, c.want)
		}
		_ = in.Close(false)
	}
}

func TestExitStatus(t *testing.T) {
	for _, c := range []struct {
		arg  string
		want int // -2: refused
	}{
		{"", 0}, {"nil", 0}, {"true", 0}, {"false", 1}, {"3", 3}, {"3.7", 3}, {"-1.5", -1}, {`"4"`, 4}, {"2^32 + 5", 5},
		{`"x"`, -2}, {"{}", -2},
	} {
		got := -2
		in, err := Open(t.Context(), Options{Session: npu.Options{Backend: "sim"}, Exit: func(code int) { got = code }})
		if err != nil {
			t.Fatal(err)
		}
		err = in.RunString(`os.exit(`+c.arg+`)`, "=x")
		if got != c.want || (err != nil) != (c.want == -2) {
			t.Errorf("os.exit(%s): %d, %v, want %d", c.arg, got, err, c.want)
		}
		_ = in.Close(false)
	}
}

// Tables that are too long for the array part of the virtual machine go to buffers and back whole.
func TestLongTables(t *testing.T) {
	long(t, "one goroutine runs Lua here")
	in := openSim(t, t.Context())
	defer func() { _ = in.Close(false) }()
	err := in.RunString(`
		local size = 2^20 + 10
		local t = {}
		for i = 1, size do t[i] = i % 100 end
		local b = npu.host("f32", t, {pinned = false})
		assert(#b == size and b[size] == size % 100)
		local back = b:to_table()
		assert(#back == size, #back)
		for i = 1, size do assert(back[i] == t[i]) end
		b:set(back)
		table.remove(back)
		assert(#back == size - 1)
	`, "=x")
	if err != nil {
		t.Error(err)
	}
}

// long skips t with -short, as `make race` runs the tests.
func long(t *testing.T, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("not with -short: " + why)
	}
}
