//go:build linux

package tests

import "testing"

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
