package luabind

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

func openSim(t *testing.T, ctx context.Context) *Interp {
	t.Helper()
	in, err := Open(ctx, Options{Session: npu.Options{Backend: "sim"}})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// A defect of ours ends the script, past any pcall, and comes back as a PanicError with its stack.
func TestDefectEndsTheScript(t *testing.T) {
	in := openSim(t, t.Context())
	went := false
	broken := func(fn func(*call) error) *lua.LFunction {
		return in.L.NewFunction(func(L *lua.LState) int {
			c := in.enter(L)
			c.owner, c.name = "npu", "broken"
			return c.leave(fn(c))
		})
	}
	in.L.SetGlobal("broken", broken(func(*call) error { panic("broken") }))
	in.L.SetGlobal("went", in.L.NewFunction(func(*lua.LState) int { went = true; return 0 }))
	err := in.RunString(`pcall(broken) while true do pcall(went) end`, "test")
	var p *npu.PanicError
	if !errors.As(err, &p) || p.Value != "broken" || !strings.Contains(in.FormatError(err), "end_test.go") {
		t.Errorf("got %v", err)
	}
	if went {
		t.Error("the script went on")
	}
	if err := in.Close(true); err != nil {
		t.Error(err)
	}
}

// Cancelling the context ends whatever a script does, past any pcall.
func TestCancelEndsTheScript(t *testing.T) {
	for name, code := range map[string]string{
		"loop":      `ready() while true do end`,
		"pcall":     `ready() while true do pcall(function() while true do end end) end`,
		"xpcall":    `ready() while true do xpcall(function() while true do end end, function(e) return e end) end`,
		"coroutine": `ready() while true do coroutine.wrap(function() while true do end end)() end`,
		"scope":     `ready() npu.scope(function() while true do end end)`,
		"use":       `local ctx = npu.device(0).context ready() ctx:use(function() while true do end end)`,
		"set":       `local h = npu.host("int8", 4, {pinned = false}) ready() h:set(function() while true do end end)`,
		"sort":      `ready() table.sort({1, 2, 3}, function() while true do end end)`,
		"callback":  `local s = npu.device(0).context:create_stream() s:callback(function() ready() while true do end end) s:synchronize()`,
		"kernel": `local s = npu.device(0).context:create_stream()
			s:launch(npu.kernel{name = "k", signature = "int32 n", sim = function() ready() while true do end end}, 1, 1)
			s:synchronize()`,
		"calls": `local s = npu.device(0).context:create_stream() ready() while true do s:query() end`,
		"queue": `local ctx = npu.device(0).context local s, x = ctx:create_stream(), ctx:alloc("int8", 8) ready() while true do s:fill(x, 1) end`,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			in := openSim(t, ctx)
			in.L.SetGlobal("ready", in.L.NewFunction(func(*lua.LState) int { cancel(); return 0 }))
			done := make(chan error)
			go func() {
				err := in.RunString(code, "test")
				_ = in.Close(true)
				done <- err
			}()
			select {
			case err := <-done:
				if err == nil {
					t.Error("no error")
				}
			case <-time.After(20 * time.Second):
				t.Fatal("the script goes on")
			}
		})
	}
}

// Times, counters and data do not depend on when garbage is collected.
func TestGarbageCollectionChangesNothing(t *testing.T) {
	const code = `
		local dev = npu.device(0)
		local ctx = dev:create_context()
		local h, add = npu.host("float32", 256), npu.kernel "vector_add"
		local keep = ctx:create_stream()
		for i = 1, 1500 do
			local s, x, e = ctx:create_stream(), ctx:alloc("float32", 256), ctx:create_event()
			s:fill(x, i)
			s:launch(add, 1, x, x, x, 256)
			s:record(e)
			keep:wait(e)
			keep:copy(h, x)
			if i % 100 == 0 then ctx:synchronize() end
			if i % 700 == 0 then dev:create_context():create_stream():fill(ctx:alloc("int8", 1), 0) ctx:set_current() end
			local junk = {}
			for j = 1, 50 do junk[j] = {j} end
		end
		keep:synchronize()
		local st = npu.stats()
		return ("%.9f %d %d %d %g"):format(npu.time(), st.commands, st.waits, st.context_switches, h:sum())`
	result := func(percent int) string {
		defer debug.SetGCPercent(debug.SetGCPercent(percent))
		in := openSim(t, t.Context())
		defer func() {
			if err := in.Close(false); err != nil {
				t.Error(err)
			}
		}()
		fn, err := in.load(in.L, []byte(code), "=test")
		if err != nil {
			t.Fatal(err)
		}
		results, err := in.protected(in.L, fn)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(results[0])
	}
	want := result(-1)
	for _, percent := range []int{100, 10} {
		if got := result(percent); got != want {
			t.Errorf("GOGC %d: %s, want %s", percent, got, want)
		}
	}
}
