//go:build linux

package tests

import (
	"syscall"
	"testing"
	"time"
)

// A chunk that gives up reading the terminal takes nothing of what is typed next, and neither does a program
// that runs on.
func TestInteractiveReadsNothingOfTheNextChunk(t *testing.T) {
	t.Parallel()
	s := openTerminal(t, "--backend=sim")
	s.see("npu> ")
	for _, chunk := range []string{"io.read()", "io.read '*a'", "io.lines()()", "io.stdin:read(5)"} {
		s.send("print 'reads' " + chunk + "\n")
		s.see("reads\n")
		s.send("\x03")
		s.see("interrupted")
		s.see("npu> ")
		s.send("6 * 7\n")
		s.see("42\n")
		s.see("npu> ")
	}
	s.send("f = io.popen 'cat'\n")
	s.see("npu> ")
	for range 3 {
		s.send("6 * 7\n")
		s.see("42\n")
		s.see("npu> ")
	}
	s.send("print 'reads' print(io.read() .. '!')\n")
	s.see("reads\n")
	s.send("typed\n")
	s.see("typed!\n")
	s.see("npu> ")
	s.send("\x04")
	s.ends(0)
}

// Whatever a script makes of its globals, the last value is kept.
func TestInteractiveGuardedGlobals(t *testing.T) {
	t.Parallel()
	s := openTerminal(t, "--backend=sim")
	s.see("npu> ")
	for _, guard := range []string{"error 'no'", "coroutine.yield()", "while true do end"} {
		s.send("rawset(_G, '_', nil) local m = {__newindex = function() " + guard + " end} setmetatable(_G, m)\n")
		s.see("npu> ")
		s.send("6 * 7\n")
		s.see("42\n")
		s.see("npu> ")
		s.send("_ + 1\n")
		s.see("43\n")
		s.see("npu> ")
	}
	s.send("\x04")
	s.ends(0)
}

// A failure that was told at the prompt is none of the end.
func TestInteractiveToldFailure(t *testing.T) {
	t.Parallel()
	s := openTerminal(t, "--backend=sim")
	s.see("npu> ")
	s.send("npu.spawn(function() error 'lost' end) npu.sleep(1)\n")
	s.see("nobody joined it")
	s.see("npu> ")
	s.send("\x04")
	s.ends(0)
}

// endless are chunks in which the backend waits for Lua that does not end.
var endless = []string{
	"s:callback(function() print 'begun' while true do end end) s:synchronize()",
	"s:callback(function() print 'begun' pcall(function() while true do end end) while true do end end) npu.sleep(1000)",
	"s:launch(npu.kernel{name = 'k', signature = 'int32 n', sim = function() print 'begun' while true do end end}, 1, 1) s:synchronize()",
}

// Ctrl-C ends such a chunk also after the session has asked what it waits for, and so do signals.
func TestInteractiveEndlessCallback(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T, chunk string) *terminal {
		s := openTerminal(t, "--backend=sim")
		s.see("npu> ")
		s.send("s = npu.device(0).context:create_stream()\n")
		s.see("npu0> ")
		s.send(chunk + "\n")
		s.see("begun\n")
		time.Sleep(1200 * time.Millisecond) // longer than a chunk waits before people are told for what
		return s
	}
	for _, chunk := range endless {
		t.Run(chunk, func(t *testing.T) {
			t.Parallel()
			s := start(t, chunk)
			s.send("\x03")
			s.see("interrupted")
			s.see("npu0> ")
			s.send("6 * 7\n")
			s.see("42\n")
			s.see("npu0> ")
			s.send("\x04")
			s.ends(0)
			s = start(t, chunk)
			if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			s.ends(143)
		})
	}
	s := openTerminal(t, "--backend=sim", "--clock=wall") // one that nothing waits for
	s.see("npu> ")
	s.send("s = npu.device(0).context:create_stream() s:callback(function() while true do end end)\n")
	s.see("npu0> ")
	s.send("6 * 7\n")
	s.see("42\n")
	s.see("npu0> ")
	s.send("\x04")
	s.ends(0)
}
