package lua51

import (
	"context"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// fileType names the metatable of files in the registry.
const fileType = "FILE*"

// Streams are the standard streams of a script. Scripts read Stdin through a buffer of their own;
// children get the file beneath each stream if there is one, else no input and the Output itself.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr *Output
	StdinTerminal  bool // Stdin is an interactive terminal
	Interactive    bool // a loop reads chunks from Stdin
	// Inherited are what children get beside the standard streams; nil: whatever is open and not marked
	// close-on-exec.
	Inherited Descriptors
	// System is what io and os use of the operating system; nil: all of it.
	System System
	// Lend is called before a program of os.execute may write to the terminal, and what it returns after that. nil:
	// nobody else does.
	Lend func() (back func())

	mu      sync.Mutex
	blocked []*blocking // oldest first; see Blocked
}

// blocking is a wait for a program.
type blocking struct {
	text  string
	since time.Time
}

// Blocked is the program that a machine waits for, such as "os.execute waits for sleep 5", or "". It may be
// called from any goroutine.
func (s *Streams) Blocked() string {
	if b := s.oldest(); b != nil {
		return b.text
	}
	return ""
}

// oldest is the wait that began first; nil: there is none.
func (s *Streams) oldest() *blocking {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.blocked) == 0 {
		return nil
	}
	return s.blocked[0]
}

// LimitPrograms has fn called, with the text of Blocked, once the machine has waited for one program for limit. It may be
// called from any goroutine; fn is called on another one, until stop is called.
func (s *Streams) LimitPrograms(limit time.Duration, fn func(text string)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			next := limit
			if b := s.oldest(); b != nil {
				if next = limit - time.Since(b.since); next <= 0 {
					fn(b.text)
					return
				}
			}
			timer.Reset(next)
		}
	}()
	return cancel
}

// blocker returns what notes that a function waits for a program, until done is called.
func (s *Streams) blocker(function, command string) func() (done func()) {
	text := function + " waits for " + strings.Join(strings.Fields(command), " ")
	if short := []rune(text); len(short) > 60 {
		text = string(short[:60]) + "..."
	}
	return func() func() {
		b := &blocking{text, time.Now()}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.blocked = append(s.blocked, b)
		return func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.blocked = slices.DeleteFunc(s.blocked, func(x *blocking) bool { return x == b })
		}
	}
}

// IO is the io library of one Lua state.
type IO struct {
	streams       *Streams
	main          *lua.LState
	meta          *lua.LTable
	input, output *lua.LUserData // of io.read and io.write
	standardInput *file

	life context.Context // until Close: what the garbage collector closes waits no longer
	end  context.CancelFunc

	mu   sync.Mutex
	open map[*file]struct{} // opened by the script and not closed yet
}

// ioRows are the functions of the table io.
var ioRows = map[string]func(*IO, *lua.LState) int{
	"close":   (*IO).closeFile,
	"flush":   (*IO).flush,
	"input":   (*IO).setInput,
	"lines":   (*IO).lines,
	"open":    (*IO).openFile,
	"output":  (*IO).setOutput,
	"popen":   (*IO).popen,
	"read":    (*IO).read,
	"tmpfile": (*IO).tmpFile,
	"type":    (*IO).typeOf,
	"write":   (*IO).write,
}

// fileRows are the functions of the metatable of files. gopher-lua runs no __gc, which is there
// for scripts that call it; a file that they cannot reach any more is closed all the same.
var fileRows = map[string]func(*IO, *lua.LState) int{
	"__gc":       (*IO).fileGone,
	"__tostring": (*IO).fileString,
	"close":      (*IO).methodClose,
	"flush":      (*IO).methodFlush,
	"lines":      (*IO).methodLines,
	"read":       (*IO).methodRead,
	"seek":       (*IO).methodSeek,
	"setvbuf":    (*IO).methodSetvbuf,
	"write":      (*IO).methodWrite,
}

// OpenIO replaces io in L, the main thread. What blocks ends, with an error, when the context of the
// calling thread does; children of io.popen are killed when L's does.
func OpenIO(L *lua.LState, s *Streams) *IO {
	x := &IO{streams: s, main: L, open: make(map[*file]struct{})}
	x.life, x.end = context.WithCancel(context.Background())
	if s.Stderr != s.Stdout {
		s.Stderr.FlushFirst(s.Stdout)
	}
	x.meta = L.NewTypeMetatable(fileType)
	x.meta.RawSetString("__index", x.meta)
	x.setRows(L, x.meta, fileRows)
	mod := L.RegisterModule(lua.IoLibName, nil).(*lua.LTable)
	x.setRows(L, mod, ioRows)
	x.standardInput = x.stdin()
	x.input = x.userdata(L, x.standardInput)
	x.output = x.userdata(L, x.standardOutput(s.Stdout))
	mod.RawSetString("stdin", x.input)
	mod.RawSetString("stdout", x.output)
	mod.RawSetString("stderr", x.userdata(L, x.standardOutput(s.Stderr)))
	return x
}

// Protect hides the metatable of files from scripts, with which they could change what methods mean.
func (x *IO) Protect() {
	methods := x.main.NewTable()
	x.meta.ForEach(func(k, v lua.LValue) {
		if name, ok := k.(lua.LString); ok && !strings.HasPrefix(string(name), "__") {
			methods.RawSet(k, v)
		}
	})
	x.meta.RawSetString("__index", methods)
	x.meta.RawSetString("__metatable", lua.LString(fileType))
}

func (x *IO) setRows(L *lua.LState, t *lua.LTable, rows map[string]func(*IO, *lua.LState) int) {
	for name, fn := range rows {
		t.RawSetString(name, L.NewFunction(func(L *lua.LState) int { return fn(x, L) }))
	}
}

func (x *IO) stdin() *file {
	f := &file{in: newInput(x.streams.Stdin), std: true}
	if in, ok := x.streams.Stdin.(*os.File); ok && !f.in.src.prompt {
		f.in.src.shared = in
	}
	if disk, ok := x.streams.Stdin.(*os.File); ok && x.streams.system().Whole() {
		f.seek = disk
	}
	if x.streams.StdinTerminal {
		f.in.src.before = x.streams.Stdout.Flush
	}
	return f
}

func (x *IO) standardOutput(o *Output) *file {
	f := &file{out: o, std: true}
	if disk, ok := o.dst.(*os.File); ok && x.streams.system().Whole() {
		f.seek = disk
	}
	return f
}

func (x *IO) userdata(L *lua.LState, f *file) *lua.LUserData {
	ud := L.NewUserData()
	ud.Value, ud.Metatable = f, x.meta
	return ud
}

// adopt makes the userdata of a file that the script has opened.
func (x *IO) adopt(L *lua.LState, f *file) *lua.LUserData {
	x.mu.Lock()
	x.open[f] = struct{}{}
	x.mu.Unlock()
	ud := x.userdata(L, f)
	runtime.AddCleanup(ud, func(f *file) { go x.shut(x.life, f) }, f)
	return ud
}

// shut closes f for good.
func (x *IO) shut(ctx context.Context, f *file) error {
	err := f.close(ctx)
	x.mu.Lock()
	delete(x.open, f)
	x.mu.Unlock()
	return err
}

func (x *IO) leftOpen() []*file {
	x.mu.Lock()
	defer x.mu.Unlock()
	var files []*file
	for f := range x.open {
		files = append(files, f)
	}
	return files
}

// Finish closes what the script has left open as the end of PUC Lua does: it waits for the children
// of io.popen, but in an interactive session, which ends when people say so, for those alone that are written to.
// They are killed if ctx ends first.
func (x *IO) Finish(ctx context.Context) {
	for _, f := range x.leftOpen() {
		if x.streams.Interactive && f.child != nil && f.out == nil {
			f.child.kill()
		}
		x.shut(ctx, f)
	}
}

// Close kills the children of io.popen and closes what the script has left open, without waiting for
// the other end of a pipe. It does not flush the standard streams, which are the host's.
func (x *IO) Close() {
	x.end()
	files := x.leftOpen()
	for _, f := range files {
		if f.child != nil {
			f.child.kill()
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), killedDelay)
	defer cancel()
	for _, f := range files {
		x.shut(ctx, f)
	}
}
