package lua51

import (
	"errors"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// openChunks makes a machine with the functions that chunks of these tests call.
func openChunks(t *testing.T) (*lua.LState, *Threads) {
	t.Helper()
	L := lua.NewState()
	t.Cleanup(L.Close)
	threads := OpenThreads(L, t.Context())
	return L, threads
}

func TestRunChunk(t *testing.T) {
	L, threads := openChunks(t)
	reason := errors.New("enough")
	run := func(ctx *Ending, code string) ([]lua.LValue, error) {
		fn, err := L.LoadString(code)
		if err != nil {
			t.Fatal(err)
		}
		return threads.RunChunk(ctx, reason, fn)
	}
	var stop func()
	L.SetGlobal("stop", L.NewFunction(func(*lua.LState) int { stop(); return 0 }))
	for _, code := range []string{
		`x = 1 stop() while true do end`,
		`stop() while true do pcall(function() while true do end end) end`,
		`stop() coroutine.wrap(function() while true do end end)()`,
		`stop() xpcall(function() while true do end end, function() while true do end end) while true do end`,
	} {
		ctx := NewEnding(t.Context())
		defer ctx.End(nil)
		stop = func() { ctx.End(nil) }
		if _, err := run(ctx, code); err == nil || !strings.Contains(err.Error(), "enough") {
			t.Errorf("%s: %v", code, err)
		}
	}
	results, err := run(NewEnding(t.Context()), `return x, coroutine.running(), pcall(error, "no", 0)`)
	if err != nil || len(results) != 4 || results[0] != lua.LNumber(1) || results[1] != lua.LNil || results[3] != lua.LString("no") {
		t.Errorf("afterwards %v, %v", results, err)
	}
}

func TestCallBounded(t *testing.T) {
	L, threads := openChunks(t)
	for code, want := range map[string]string{
		`return 1`:                              "",
		`error("no", 0)`:                        "no",
		`while true do end`:                     "it runs too long",
		`while true do pcall(error) end`:        "it runs too long",
		`local function f() return f() end f()`: "it runs too long",
		`coroutine.wrap(function() while true do end end)()`: "it runs too long",
	} {
		fn, err := L.LoadString(code)
		if err != nil {
			t.Fatal(err)
		}
		_, err = threads.CallBounded(L, 10_000, fn)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", code, err, want)
		}
	}
	fn, _ := L.LoadString(`local n = 0 for i = 1, 1e6 do n = n + 1 end return n`)
	if results, err := threads.Call(L, fn); err != nil || results[0] != lua.LNumber(1e6) {
		t.Errorf("a call after them: %v, %v", results, err)
	}
}

func TestCompileInput(t *testing.T) {
	for _, c := range []struct {
		source                 string
		expression, incomplete bool
		err                    string
	}{
		{"1, 2", true, false, ""},
		{"f()", true, false, ""},
		{"x = 1", false, false, ""},
		{"", true, false, ""},
		{"1 +", true, true, "in:1: unexpected symbol near '<eof>'"},
		{"x = 1 +", false, true, "in:1: unexpected symbol near '<eof>'"},
		{"1 + + 2", true, false, "in:1: unexpected symbol near '+'"},
		{"x = 1 + + 2", false, false, "in:1: unexpected symbol near '+'"},
		{"x = [[", false, true, "in:1: unfinished long string near '<eof>'"},
		{"for i = 1, 2 do\n", false, true, "in:2: 'end' expected (to close 'for' at line 1) near '<eof>'"},
		{"for i = 1, 2 do\r\nx = 'a\r\n", false, false, "in:2: unfinished string near ''a'"},
		{"x = 1\nend", false, false, "in:2: '<eof>' expected near 'end'"},
		{"break", false, false, "in:1: no loop to break near '<eof>'"},
	} {
		got := CompileInput(c.source, "in")
		if more := Incomplete(c.source); more != got.Incomplete {
			t.Errorf("Incomplete(%q) = %v", c.source, more)
		}
		if got.Expression != c.expression || got.Incomplete != c.incomplete || (got.Proto == nil) != (c.err != "") || got.Err != nil && got.Err.Error() != c.err {
			t.Errorf("%q: %+v", c.source, got)
		}
	}
}
