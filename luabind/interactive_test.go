package luabind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

// An Evaluator is what a read-eval-print loop is given.
var _ interface {
	Eval(ctx context.Context, chunk string) error
	Incomplete(chunk string) bool
	Complete(text string, pos int) (start int, candidates []string)
	Highlight(line string) []Span
	Prompt() string
	FormatError(error) string
} = (*Evaluator)(nil)

// session is an evaluator with what it has printed.
type session struct {
	*Evaluator
	t   *testing.T
	out *lockedBuffer
}

// lockedBuffer is a buffer that tasks, workers and tests may share.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// take is what was written since the last call.
func (b *lockedBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.buf.Reset()
	return b.buf.String()
}

func openSession(t *testing.T, opts npu.Options) *session {
	t.Helper()
	out := new(lockedBuffer)
	stdin, hold := io.Pipe() // nothing ever comes
	opts.Backend = "sim"
	in, err := Open(t.Context(), Options{Session: opts, Stdin: stdin, Stdout: out, Interactive: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		hold.Close()
		if err := in.Close(true); err != nil {
			t.Error(err)
		}
	})
	return &session{in.NewEvaluator(), t, out}
}

// eval is what a chunk prints, its error included.
func (s *session) eval(chunk string) string {
	s.t.Helper()
	text := ""
	if err := s.Eval(s.t.Context(), chunk); err != nil {
		text = s.FormatError(err)
	}
	return s.out.take() + text
}

func TestEval(t *testing.T) {
	s := openSession(t, npu.Options{})
	for _, c := range []struct{ chunk, want string }{
		{`1, 2`, "1\t2\n"},
		{`_`, "1\n"},
		{`=1 + 1`, "2\n"},
		{` = "a"`, "\"a\"\n"},
		{`x = 5`, ""},
		{`x`, "5\n"},
		{`_ * 2`, "10\n"},
		{`print "a"`, "a\n"},
		{`_`, "10\n"},
		{`nil`, "nil\n"},
		{`return 7, nil`, "7\tnil\n"},
		{`#"abc"`, "3\n"},
		{``, ""},
		{`-- nothing`, ""},
		{"-- first\n8 -- last", "8\n"},
		{`local y = 1`, ""},
		{`y`, "nil  -- \"y\" was local to input 16; without \"local\" it would have stayed\n"},
		{`x = = 2`, "input 18:1: unexpected symbol near '='"},
		{`1 + + 2`, "input 19:1: unexpected symbol near '+'"},
		{"x = 1\nx = ]", "input 20:2: unexpected symbol near ']'"},
		{"\n\nerror('no')", "input 21:3: no"},
		{`npu.devcie`, "nil  -- npu has no \"devcie\", did you mean \"device\"?\n"},
		{`pritn`, "nil  -- there is no global \"pritn\", did you mean \"print\"?\n"},
	} {
		if got := s.eval(c.chunk); got != c.want {
			t.Errorf("%q: got %q, want %q", c.chunk, got, c.want)
		}
	}
	for _, c := range []struct{ chunk, want string }{
		{`npu.devcie(0)`, `input 24:1: attempt to call field 'devcie' (a nil value), did you mean "device"?`},
		{`npu.devcie.x = 1`, "attempt to index field 'devcie' (a nil value)\n  hint: npu has no \"devcie\", did you mean \"device\"?"},
		{`pritn("a")`, "attempt to call global 'pritn' (a nil value)\n  hint: there is no global \"pritn\", did you mean \"print\"?"},
		{`npu.device(0):memroy()`, `device has no field or method "memroy", did you mean "memory"?`},
	} {
		if got := s.eval(c.chunk); !strings.Contains(got, c.want) {
			t.Errorf("%q: got %q, want %q in it", c.chunk, got, c.want)
		}
	}
}

func TestIncomplete(t *testing.T) {
	s := openSession(t, npu.Options{})
	for _, c := range []struct {
		chunk string
		want  bool
	}{
		{`s = [[a`, true},
		{"s = [[a\n]]", false},
		{`--[[ a`, true},
		{`f(`, true},
		{"f(\n)", false},
		{`x = 1 +`, true},
		{`1 +`, true},
		{`=1 +`, true},
		{"1 +\n2", false},
		{`if x then`, true},
		{`if x then return 1 +`, true},
		{`for i = 1, 2 do`, true},
		{`{`, true},
		{`{1,`, true},
		{`function f(`, true},
		{`repeat x = 1`, true},
		{`"if then"`, false},
		{`x = "if then"`, false},
		{`x = "abc`, false},
		{`x = "abc\`, true},
		{`x = = 2`, false},
		{`1 + + 2`, false},
		{`end`, false},
		{`if x then end end`, false},
		{`foo bar`, false},
		{`a.b`, false},
		{`a:b`, true},
		{``, false},
		{`s.launch?`, false},
		{`x = }`, false},
		{`f(}`, false},
		{"for i = 1, 2 do\nx = = 1", false},
		{`x = 0x`, false},
		{`local`, true},
	} {
		if got := s.Incomplete(c.chunk); got != c.want {
			t.Errorf("Incomplete(%q) = %v, want %v", c.chunk, got, c.want)
		}
	}
}

func TestPrompt(t *testing.T) {
	s := openSession(t, npu.Options{Sim: "910b:2"})
	for _, c := range []struct{ chunk, want string }{
		{``, "npu"},
		{`dev = npu.device(1)`, "npu1"},
		{`ctx = dev:create_context()`, "npu1/ctx1"},
		{`ctx2 = dev:create_context()`, "npu1/ctx2"},
		{`ctx2:close()`, "npu1/ctx1"},
		{`npu.device(0)`, "npu0"},
	} {
		s.eval(c.chunk)
		if got := s.Prompt(); got != c.want {
			t.Errorf("after %q: %q, want %q", c.chunk, got, c.want)
		}
	}
}

// The end of the context ends whatever a chunk does or waits for, in time, and the machine goes on.
func TestInterrupt(t *testing.T) {
	const spin = `local s = npu.device(0).context:create_stream() s:launch(npu.kernel "spin", 1, 60) `
	const others = `for i = 1, 3 do T[i] = npu.spawn(function() while true do npu.sleep(0.01) end end) end `
	s := openSession(t, npu.Options{Wall: true})
	if got := s.eval(`kept, T = 0, {} npu.device(0) npu.sleep(0.001)`); got != "" { // opening a device takes a second and a half
		t.Fatal(got)
	}
	cases := 0
	for name, code := range map[string]string{
		"loop":           `while true do end`,
		"pcall":          `while true do pcall(function() while true do end end) end`,
		"coroutine":      `coroutine.wrap(function() while true do end end)()`,
		"tostring":       `return setmetatable({}, {__tostring = function() os.execute("sleep 60") end})`,
		"sleep":          `npu.sleep(60)`,
		"pcall sleep":    `while true do pcall(npu.sleep, 60) end`,
		"busy":           `npu.busy(60)`,
		"busy, tasks":    others + `npu.busy(60)`,
		"synchronize":    spin + `s:synchronize()`,
		"event":          spin + `s:record():synchronize()`,
		"close":          spin + `s:close()`,
		"scope":          `npu.device(0) npu.scope(function() ` + spin + ` s:synchronize() end)`,
		"download":       spin + `local x = s.context:alloc("int8", 8) s:fill(x, 1) x:download()`,
		"sleep, tasks":   others + `npu.sleep(60)`,
		"sync, tasks":    others + spin + `s:synchronize()`,
		"receive":        others + `npu.channel():receive()`,
		"join":           `T[1] = npu.spawn(npu.sleep, 60) T[1]:join()`,
		"callback":       `local s = npu.device(0).context:create_stream() s:callback(function() ready() while true do end end) s:synchronize()`,
		"callback, task": others + `local s = npu.device(0).context:create_stream() s:callback(function() ready() while true do end end) s:synchronize()`,
		"kernel":         `local s = npu.device(0).context:create_stream() s:launch(npu.kernel{name = "k", signature = "int32 n", sim = function() ready() while true do end end}, 1, 1) s:synchronize()`,
		"full queue":     spin + `local x = s.context:alloc("int8", 8) while true do s:fill(x, 1) end`,
		"busy task":      `T[1] = npu.spawn(function() while true do end end) npu.sleep(60)`,
		"execute":        `os.execute("sleep 60")`,
		"execute, task":  `npu.spawn(os.execute, "sleep 60") npu.sleep(0)`,
		"popen":          `io.popen("sleep 60"):read()`,
		"read":           `io.read()`,
		"worker":         `T[1] = npu.worker(function() while true do end end) T[1]:join()`,
		"heavy kernel": `local s, n = npu.device(0).context:create_stream(), 1200 local x = s.context:alloc("float32", n * n) s:fill(x, 1)
			s:launch(npu.kernel "matmul", 8, s.context:alloc("float32", n * n), x, x, n, n, n) s:synchronize() npu.sleep(60)`,
		"queries": spin + `while true do s:query() end`,
	} {
		t.Run(name, func(t *testing.T) {
			s.t = t
			cases++
			ctx, cancel := context.WithCancel(t.Context())
			began := make(chan time.Time, 1)
			s.in.L.SetGlobal("ready", s.in.L.NewFunction(func(*lua.LState) int {
				time.AfterFunc(30*time.Millisecond, func() { began <- time.Now(); cancel() })
				return 0
			}))
			if !strings.Contains(code, "ready()") {
				code = "ready() " + code
			}
			err := s.Eval(ctx, `kept = kept + 1 `+code)
			took := time.Since(<-began)
			var interrupted *InterruptedError
			if !errors.As(err, &interrupted) || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			if took > 3*time.Second { // it is 0.3 s where nothing else runs
				t.Errorf("it took %v", took)
			}
			s.out.take()
			want := fmt.Sprintln(cases)
			if got := s.eval(`for _, t in ipairs(T) do t:cancel() end T = {} npu.sleep(0.001) npu.device(0).context:create_stream():synchronize() print(kept)`); got != want {
				t.Errorf("afterwards %q, want %q", got, want)
			}
		})
	}
}

// A context that has ended runs nothing; one that ends later harms no later chunk.
func TestInterruptOutsideChunks(t *testing.T) {
	s := openSession(t, npu.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.Eval(ctx, `x = 1`); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := s.Eval(ctx, `x = 2`); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := s.eval(`x`); got != "1\n" {
		t.Errorf("got %q", got)
	}
}

// Tasks outlive their chunk and its interruption, and go on while later chunks wait.
func TestTasksBetweenChunks(t *testing.T) {
	s := openSession(t, npu.Options{})
	s.eval(`n = 0 task = npu.spawn(function() while true do npu.sleep(1) n = n + 1 end end)`)
	s.eval(`npu.sleep(10.5)`)
	if got := s.eval(`n`); got != "10\n" {
		t.Errorf("got %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(30*time.Millisecond, cancel)
	if err := s.Eval(ctx, `while true do npu.sleep(1) end`); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	s.eval(`n = 0 npu.sleep(5)`)
	if got := s.eval(`task.status ~= "cancelled", n >= 4 and n <= 6`); got != "true\ttrue\n" {
		t.Errorf("got %q", got)
	}
}

// What a chunk has begun outside the machine goes on after it.
func TestChildOutlivesItsChunk(t *testing.T) {
	s := openSession(t, npu.Options{})
	s.eval(`p = io.popen("echo one; sleep 0.1; echo two")`)
	if got := s.eval(`p:read(), p:read(), p:read()`); got != "\"one\"\t\"two\"\tnil\n" {
		t.Errorf("got %q", got)
	}
}

// What is printed before the end of a chunk is shown, whatever ends it.
func TestOutputIsWritten(t *testing.T) {
	s := openSession(t, npu.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	err := s.Eval(ctx, `io.write("before ") while true do end`)
	if got := s.out.take(); got != "before " || s.FormatError(err) != "interrupted at input 1:1" {
		t.Errorf("got %q and %q", got, s.FormatError(err))
	}
}

func TestRunFile(t *testing.T) {
	s := openSession(t, npu.Options{})
	path := filepath.Join(t.TempDir(), "a.lua")
	if err := os.WriteFile(path, []byte("x = 1\nprint 'ran'\nerror 'no'"), 0o666); err != nil {
		t.Fatal(err)
	}
	err := s.Runner(t.Context()).RunFile(path)
	if err == nil || !strings.Contains(s.FormatError(err), "a.lua:3: no") || s.out.take() != "ran\n" || s.eval(`x`) != "1\n" {
		t.Errorf("got %v", err)
	}
	if err := s.Runner(t.Context()).RunFile(path + "x"); err == nil || !strings.HasPrefix(s.FormatError(err), "cannot open ") {
		t.Errorf("got %v", err)
	}
}

// Many interruptions at any moment leave the machine whole.
func TestInterruptAnywhere(t *testing.T) {
	s := openSession(t, npu.Options{})
	s.eval(`s = npu.device(0).context:create_stream() x = s.context:alloc("float32", 64) h = npu.host("float32", 64)
		t = npu.spawn(function() while true do npu.sleep(0.001) end end) n = 0`)
	for i := range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(i%40)*50*time.Microsecond, cancel)
		err := s.Eval(ctx, `while true do s:fill(x, 1) s:copy(h, x) pcall(s.synchronize, s) pcall(pcall, error) npu.sleep(0.0001) n = n + 1 end`)
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if got := s.eval(`s:synchronize() print(h:sum(), t.status ~= "cancelled")`); got != "64\ttrue\n" {
		t.Errorf("got %q", got)
	}
	if got := s.eval(`n > 0`); got != "true\n" {
		t.Error(fmt.Sprint("nothing ran: ", got))
	}
}
