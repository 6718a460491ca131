package luabind_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"npulua/luabind"
	"npulua/npu"
)

// lifePrelude is what the generated programs stand on. A state o has lists of what a machine has made; at picks one and
// put adds one, so that garbage collection finds those that were pushed out. Nothing that fails ends a program.
const lifePrelude = `
local function at(list, i) return list[i % math.max(#list, 1) + 1] end
local function put(list, v) if v ~= nil then list[#list + 1] = v if #list > 5 then table.remove(list, 1) end end end
local function try(fn, ...) local ok, v = pcall(fn, ...) if ok then return v end if tostring(v):find "is no live" then print(v) end end
local function state(a, b) return {B = {}, S = {}, E = {}, C = {}, T = {}, W = {}, G = {}, H = {a, b}} end
local function begin(o) put(o.C, npu.device(0).context) put(o.S, npu.device(0):create_context():create_stream()) end
local spin, add = npu.kernel "spin", npu.kernel "vector_add"
local function views(o) return npu.kernel{name = "views", signature = "inout float32* x, uint32 n", sim = function(block, x, n)
	put(o.B, x) put(o.B, x:slice(1, 2)) pcall(x.close, x) x[1] = 1
	x:set(function(i) pcall(coroutine.yield) return i end)
end} end
`

// lifeGen makes a program of bytes.
type lifeGen struct {
	code  []byte
	lines int
}

func (g *lifeGen) next(n int) int {
	if len(g.code) == 0 {
		return 0
	}
	x := int(g.code[0])
	g.code = g.code[1:]
	return x % n
}

// lifeLines are statements; each %d is a choice, and each %s some statements of their own.
var lifeLines = []string{
	`put(o.B, try(npu.host, "float32", 32))`,
	`put(o.B, try(npu.host, "float32", 32))`,
	`put(o.B, try(npu.host, "float32", 32, {pinned = false}))`,
	`put(o.B, try(function() return at(o.C, %d):alloc("float32", 32) end))`,
	`put(o.B, try(function() return at(o.C, %d):alloc("float32", 32) end))`,
	`put(o.B, try(function() return at(o.B, %d):slice(2, 8) end))`,
	`put(o.B, try(function() return at(o.B, %d):download() end))`,
	`put(o.S, try(function() return at(o.C, %d):create_stream() end))`,
	`put(o.S, try(function() return at(o.C, %d):create_stream{failure = "stop"} end))`,
	`put(o.E, try(function() return at(o.C, %d):create_event() end))`,
	`put(o.C, try(function() return npu.device(%d %% 2):create_context() end))`,
	`put(o.C, try(function() return npu.device(%d %% 2).context end))`,
	`try(function() at(o.S, %d):copy(at(o.B, %d), at(o.B, %d)) end)`,
	`try(function() at(o.S, %d):copy(at(o.B, %d), at(o.B, %d)) end)`,
	`try(function() npu.copy(at(o.B, %d), at(o.B, %d)) end)`,
	`try(function() npu.copy(at(o.B, %d), at(o.B, %d)) end)`,
	`try(function() at(o.B, %d):upload{1, 2, 3} end)`,
	`try(function() at(o.B, %d):upload(at(o.B, %d)) end)`,
	`try(function() at(o.S, %d):fill(at(o.B, %d), 1) end)`,
	`try(function() at(o.S, %d):launch(spin, 1, (%d %% 5) / 10) end)`,
	`try(function() at(o.S, %d):launch(add, 1, at(o.B, %d), at(o.B, %d), at(o.B, %d), 8) end)`,
	`try(function() at(o.S, %d):launch(views(o), 2, at(o.B, %d), 8) end)`,
	`try(function() local b = at(o.B, %d) at(o.S, %d):callback(function() pcall(b.close, b) b[1] = 1 b:sum() end) end)`,
	`try(function() at(o.S, %d):callback(function() at(o.B, %d):sum() end, {blocking = false}) end)`,
	`try(function() at(o.S, %d):record(at(o.E, %d)) at(o.S, %d):wait(at(o.E, %d)) end)`,
	`try(function() at(o.S, %d):synchronize() end)`,
	`try(function() at(o.S, %d):synchronize(%d / 1000) end)`,
	`try(function() at(o.C, %d):synchronize() end)`,
	`try(function() at(o.B, %d):set(function(i) local o = o %s return i end) end)`,
	`try(function() local b = at(o.B, %d) b:fill(2) return b:sum() + b[1] + #b:to_string() + #b:to_table() + #tostring(b) end)`,
	`try(function() return at(o.B, %d):close_to(at(o.B, %d), 1) end)`,
	`try(function() return require("json").encode{at(o.B, %d):to_table()} end)`,
	`try(function() at(o.B, %d):close() end)`,
	`try(function() at(o.B, %d):close() end)`,
	`try(function() at(o.B, %d):close() end)`,
	`try(function() at(o.S, %d):close() end)`,
	`try(function() at(o.E, %d):close() end)`,
	`try(function() at(o.C, %d):close() end)`,
	`try(function() at(o.G, %d):close() end)`,
	`try(function() npu.device(%d %% 2):close() end)`,
	`try(function() npu.device(%d %% 2):reset() end)`,
	`try(function() put(o.T, npu.spawn(function() try(begin, o) %s end)) end)`,
	`try(function() put(o.T, npu.spawn(function() try(begin, o) %s end)) end)`,
	`try(function() at(o.T, %d):cancel() end)`,
	`try(function() at(o.T, %d):join(0.5) end)`,
	`try(function() npu.scope(function() %s npu.keep(at(o.B, %d)) end) end)`,
	`try(function() put(o.G, at(o.S, %d):capture(function() %s end)) end)`,
	`try(function() at(o.G, %d):replay(at(o.S, %d)) end)`,
	`try(function() at(o.G, %d):update("vector_add", at(o.B, %d), at(o.B, %d), at(o.B, %d), 8) end)`,
	`try(function() npu.sleep(%d / 1000) end)`,
	`try(function() put(o.W, npu.worker(function(p, q, h, k) local o = state(p, q) try(begin, o) put(o.B, h) put(o.B, k) %s return at(o.B, %d), at(o.B, %d), {at(o.B, %d)} end, o.H[1], o.H[2], at(o.B, %d), at(o.B, %d))) end)`,
	`try(function() put(o.W, npu.worker(function(p, q) local o = state(p, q) try(begin, o) %s error{at(o.B, %d), at(o.B, %d)} end, o.H[1], o.H[2])) end)`,
	`try(function() local a, b, t = at(o.W, %d):join(1) put(o.B, a) put(o.B, b) put(o.B, t[1]) end)`,
	`try(function() local ok, e = pcall(at(o.W, %d).join, at(o.W, %d), 1) if not ok then put(o.B, e[1]) end end)`,
	`try(function() at(o.W, %d):cancel() end)`,
	`try(function() at(o.H, %d):send(at(o.B, %d), 0.1) end)`,
	`try(function() at(o.H, %d):try_send{at(o.B, %d), at(o.B, %d)} end)`,
	`try(function() local v = at(o.H, %d):receive(0.1) if type(v) == "table" then put(o.B, v[1]) put(o.B, v[2]) else put(o.B, v) end end)`,
	`try(function() local _, v = npu.select({at(o.H, %d), {send = at(o.H, %d), value = at(o.B, %d)}}, 0.1) if type(v) == "table" then put(o.B, v[1]) else put(o.B, v) end end)`,
	`try(function() npu.on_exception(function() %s end) end)`,
	`if %d %% 4 == 0 then collectgarbage() end`,
	`try(function() error(at(o.B, %d)) end)`,
}

// statements writes n of them.
func (g *lifeGen) statements(n, depth int) string {
	var out []string
	for range n {
		if len(g.code) == 0 || g.lines > 120 {
			break
		}
		line := lifeLines[g.next(len(lifeLines))]
		inside := strings.Contains(line, "%s")
		if inside && depth == 0 {
			continue
		}
		g.lines++
		var args []any
		for i := 0; i+1 < len(line); i++ {
			switch {
			case line[i] != '%':
			case line[i+1] == 'd':
				args = append(args, g.next(16))
			case line[i+1] == 's':
				args = append(args, g.statements(1+g.next(6), depth-1))
			default:
				i++
			}
		}
		out = append(out, fmt.Sprintf(line, args...))
	}
	return strings.Join(out, "\n")
}

// lifeProgram is the program of data.
func lifeProgram(data []byte) string {
	g := &lifeGen{code: data}
	body := ""
	for len(g.code) > 0 && g.lines < 120 {
		body += g.statements(1, 3) + "\n"
	}
	return lifePrelude + "local o = state(npu.channel(2), npu.channel())\nbegin(o)\n" + body
}

// FuzzLifetimes: scripts make, use, share and close everything at random, in tasks and workers, over guarded memory:
// what touches memory that is gone ends the process. Errors are what they are, but none is internal.
func FuzzLifetimes(f *testing.F) {
	state := uint32(11)
	for n := 60; n <= 600; n += 60 {
		data := make([]byte, n)
		for i := range data {
			state = state*1664525 + 1013904223
			data[i] = byte(state >> 24)
		}
		f.Add(data)
	}
	f.Fuzz(live)
}

var (
	livesCount = flag.Int("lives", 5, "random programs of TestLifetimes")
	livesSeed  = flag.Uint64("lives-seed", 1, "of TestLifetimes")
)

// TestLifetimes is FuzzLifetimes by dice, in one process that tells what ends it.
func TestLifetimes(t *testing.T) {
	dice := rand.New(rand.NewPCG(*livesSeed, 2))
	for i := range *livesCount {
		data := make([]byte, 60+dice.IntN(500))
		for j := range data {
			data[j] = byte(dice.Uint32())
		}
		if !t.Run(fmt.Sprint(i), func(t *testing.T) { live(t, data) }) {
			return
		}
	}
}

// live runs the program of data.
func live(t *testing.T, data []byte) {
	if len(data) > 600 {
		t.Skip("long programs find nothing that short ones do not")
	}
	program := lifeProgram(data)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	in, err := luabind.Open(ctx, luabind.Options{Session: npu.Options{Backend: "sim", Sim: "910b:2", Guarded: true}, Stdout: &out, Stderr: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		err := in.RunString(program, "=life")
		if err == nil {
			err = in.Finish()
		}
		done <- errors.Join(err, in.Close(false))
	}()
	select {
	case err = <-done:
	case <-time.After(90 * time.Second):
		buf := make([]byte, 1<<20)
		t.Fatalf("the script hangs:\n%s\n%s", program, buf[:runtime.Stack(buf, true)])
	}
	var p *npu.PanicError
	if errors.As(err, &p) {
		t.Errorf("%v\n%s\n%s", err, p.Stack, program)
	}
	if err != nil && strings.Contains(err.Error(), "life:") && strings.Contains(err.Error(), "near") {
		t.Errorf("the program cannot be compiled: %v\n%s", err, program)
	}
	if said := fmt.Sprint(out.String(), err); strings.Contains(said, "is no live") { // says only the simulator, of a handle that was destroyed
		t.Errorf("the driver was asked about what is gone: %s\n%s", said, program)
	}
	noTasks(t)
}
