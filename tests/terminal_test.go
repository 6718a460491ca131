//go:build linux

package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"npulua/repl/repltest"
)

// terminal is the binary in a pseudo terminal.
type terminal struct {
	*repltest.Session
	t   *testing.T
	cmd *exec.Cmd
}

// openTerminal starts the binary in a terminal of 80 x 24, without colour.
func openTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=1")
	return startTerminal(t, cmd)
}

// startTerminal starts cmd in a terminal of 80 x 24, with a history of its own.
func startTerminal(t *testing.T, cmd *exec.Cmd) *terminal {
	t.Helper()
	return startIn(t, cmd, t.TempDir(), 80, 24)
}

// startIn starts cmd in a terminal of any size, with its history below state.
func startIn(t *testing.T, cmd *exec.Cmd, state string, cols, rows int) *terminal {
	t.Helper()
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+state, "GORACE=atexit_sleep_ms=0")
	return &terminal{Session: repltest.Start(t, cmd, cols, rows), t: t, cmd: cmd}
}

// output is all that was written and not seen yet, without escape codes.
func (s *terminal) output() string { return s.Unseen() }

// see waits until text stands in what was written since the last call.
func (s *terminal) see(text string) {
	s.t.Helper()
	s.UpTo(text)
}

// upTo waits for text, and returns what was written since the last call, with text at its end.
func (s *terminal) upTo(text string) string {
	s.t.Helper()
	return s.UpTo(text)
}

// send types text.
func (s *terminal) send(text string) {
	s.t.Helper()
	s.Send(text)
}

// ends waits for the end, and checks its status and that the terminal is as it was.
func (s *terminal) ends(status int) {
	s.t.Helper()
	s.Ends(status)
}

// A newcomer finds help, devices, a kernel, a timeline and the way out.
func TestInteractiveTour(t *testing.T) {
	s := openTerminal(t, "--sim", "910b:2")
	s.see("npulua ")
	s.see("simulated Ascend910B3, 2 device(s)")
	s.see("help()")
	s.see(".help")
	s.see("npu.devices()")
	s.see("npu> ")
	s.send(".help\n")
	s.see(".trace [on|off|show]")
	s.see("npu> ")
	s.send("npu.devices()\n")
	s.see("| 1   | Ascend910B3 |")
	s.see("npu> ")
	s.send("dev = npu.device(1)\n")
	s.see("npu1> ")
	s.send("s = dev:create_context():create_stream()\n")
	s.see("npu1/ctx1> ")
	s.send("x = npu.current_context():alloc(\"float32\", 1024)\n")
	s.see("npu1/ctx1> ")
	s.send("s:fill(x, 2) s:launch(npu.kernel \"scale\", 1, x, x, 1.5, x.count) s:synchronize() return x:download():sum()\n")
	s.see("3072\n")
	s.see("npu1/ctx1> ")
	s.send(".trace show\n")
	s.see("npu1/ctx1 stream 1 |")
	s.see("npu1/ctx1> ")
	s.send("help(s.launch)\n")
	s.see("stream:launch(kernel, block_dim, ...)")
	s.see("npu1/ctx1> ")
	s.send("\x04")
	s.ends(0)
}

// Ctrl-C ends what runs, whatever that is, and variables stay; while a chunk runs the terminal is in its
// normal mode.
func TestInteractiveInterrupt(t *testing.T) {
	s := openTerminal(t, "--backend=sim", "--clock=wall")
	s.see("npu> ")
	s.send("kept = 42\n")
	s.see("npu> ")
	for _, chunk := range []string{
		"print 'runs' while true do end",
		"print 'runs' npu.sleep(1000)",
		"print 'runs' local s = npu.device(0).context:create_stream() s:launch(npu.kernel 'spin', 1, 1000) s:synchronize(1000)",
		"print 'runs' npu.spawn(npu.sleep, 1000):join()",
		"print 'runs' while true do pcall(npu.sleep, 1000) end",
	} {
		s.send(chunk + "\n")
		s.see("runs\n")
		if !s.Normal() {
			t.Errorf("while %s the terminal is not in its normal mode", chunk)
		}
		s.send("\x03")
		s.see("interrupted")
		s.see("> ")
	}
	s.send("kept\n")
	s.see("42\n")
	s.see("> ")
	s.send("half typed\x03")
	s.see("Ctrl-D")
	s.see("> ")
	s.send("\x04")
	s.ends(0)
}

// Ctrl-C twice at an empty prompt leaves.
func TestInteractiveLeave(t *testing.T) {
	s := openTerminal(t, "--backend=sim")
	s.see("npu> ")
	s.send("\x03")
	s.see("Ctrl-D")
	s.see("npu> ")
	s.send("\x03")
	s.ends(130)
}

// A long wait says what it is for.
func TestInteractiveWait(t *testing.T) {
	s := openTerminal(t, "--backend=sim", "--clock=wall")
	s.see("npu> ")
	s.send("s = npu.device(0).context:create_stream() s:launch(npu.kernel 'spin', 1, 100) s:synchronize()\n")
	s.see("stream(1, context 0, device 0)")
	s.send("\x03")
	s.see("interrupted")
	s.see("> ")
	for _, row := range []struct{ chunk, notice string }{
		{"os.execute 'exec sleep 1000'", "(os.execute waits for exec sleep 1000; Ctrl-C interrupts)"},
		{"return io.popen('sleep 1000'):read()", "(io.popen waits for sleep 1000; Ctrl-C interrupts)"},
		{"io.popen('sleep 1000', 'w'):close()", "(io.popen waits for sleep 1000; Ctrl-C interrupts)"},
		{"npu.sleep(1000)", "(main waits for 16m40s to pass at "},
	} {
		s.send(row.chunk + "\n")
		s.see(row.notice)
		s.send("\x03")
		s.see("interrupted")
		s.see("> ")
	}
	s.Signal(syscall.SIGTERM)
	s.ends(143)
}

func TestInteractiveWaysOut(t *testing.T) {
	for _, row := range []struct {
		chunk  string
		status int
	}{
		{"os.exit(3)", 3},
		{".quit", 0},
		{"npu.spawn(function() os.exit(4) end):join()", 4},
		{"npu.worker(function() os.exit(5) end):join()", 5},
	} {
		t.Run(row.chunk, func(t *testing.T) {
			s := openTerminal(t, "--backend=sim")
			s.see("npu> ")
			s.send(row.chunk + "\n")
			s.ends(row.status)
		})
	}
}

// What was typed is there in the next session, and .edit begins with it.
func TestInteractiveEdit(t *testing.T) {
	editor := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\nsed -i s/6/7/ \"$1\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VISUAL", editor)
	s := openTerminal(t, "--backend=sim")
	s.see("npu> ")
	s.send("6 * 6\n")
	s.see("36\n")
	s.see("npu> ")
	s.send(".edit\n")
	s.see("42\n")
	s.see("npu> ")
	s.send("\x1b[A\n") // the chunk, not the command
	s.see("42\n")
	s.see("npu> ")
	s.send(".time for i = 1, 2 do\nprint(i)\nend\n")
	s.see("on the host")
	s.see("npu> ")
	s.send(fmt.Sprintf("%s\n", ".nonsense"))
	s.see("no command \".nonsense\"")
	s.see("npu> ")
	s.send("\x04")
	s.ends(0)
}

// What an enemy of narrow terminals does: tables, help and the banner fit the terminal, also after it was resized.
func TestInteractiveFits(t *testing.T) {
	s := openTerminal(t, "--sim", "910b:2")
	fits := func(what, text string, columns int) {
		t.Helper()
		for _, line := range strings.Split(text, "\n") {
			if len(line) > columns && !strings.Contains(line, "npu>") && !strings.Contains(line, "Example:") && !strings.Contains(line, "%   ") {
				t.Errorf("%s, in %d columns: %q", what, columns, line)
			}
		}
	}
	fits("banner", s.upTo("npu> "), 80)
	for _, columns := range []int{80, 40} {
		s.Resize(columns, 24)
		for _, chunk := range []string{"npu.devices()", ".devices", "help(npu.kernel)", "npu.worker?",
			"npu.host('float32', -1)", "npu.host('float32', 4, {pined = true})"} {
			s.send(chunk + "\n'se' .. 'en'\n")
			fits(chunk, s.upTo("\"seen\"\n"), columns)
			s.see("npu> ")
		}
	}
	s.send("\x04")
	s.ends(0)
}

// Commands are completed: their names, words, files and code.
func TestInteractiveCompletesCommands(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "script.lua"), []byte("print('loaded ' .. 6 * 7)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir)
	s := openTerminal(t, "--backend=sim")
	s.see("npu> ")
	for _, row := range []struct{ typed, shown string }{
		{".tra\t", ".trace"},
		{".trace s\t", ".trace show"},
		{".load " + dir + "/scr\t", "script.lua"},
		{".time npu.device_c\t", "npu.device_count"},
		{" .be\t", ".bench"},
		{".load ~/scr\t", ".load ~/script.lua"},
	} {
		s.send(row.typed)
		s.see(row.shown)
		s.send("\x03")
		s.see("^C")
		s.see("npu> ")
	}
	for _, file := range []string{dir + "/scr\t", "~/script.lua", `"` + dir + `/script.lua"`} {
		s.send(".load " + file + "\n")
		s.see("loaded 42")
		s.see("npu> ")
	}
	s.send("\x04")
	s.ends(0)
}

// Ctrl-C that ends a program which a chunk reads from is no Ctrl-C at the next prompt.
func TestInteractiveInterruptedProgram(t *testing.T) {
	s := openTerminal(t, "--backend=sim")
	s.see("npu> ")
	for range 3 {
		s.send("print 'runs' p = io.popen('echo begun; exec sleep 1000') print(p:read()) print(p:read '*a')\n")
		s.see("begun\n")
		time.Sleep(100 * time.Millisecond) // as fast as people are
		s.send("\x03")
		if text := s.upTo("npu> "); strings.Contains(text, "to leave") {
			t.Errorf("the next prompt was interrupted: %q", text)
		}
		s.send("6 * 7\n")
		if text := s.upTo("42\n"); strings.Contains(text, "to leave") {
			t.Errorf("the next prompt was interrupted: %q", text)
		}
		s.see("npu> ")
	}
	s.send("\x04")
	s.ends(0)
}

// $EDITOR is run as others run it: blanks are no editor, and quotes are those of a shell.
func TestInteractiveEditorWithOptions(t *testing.T) {
	t.Setenv("VISUAL", " ")
	t.Setenv("EDITOR", `sh -c 'echo "return 6 * 7" > "$1"' edit`)
	s := openTerminal(t, "--backend=sim")
	s.see("npu> ")
	s.send(".edit\n")
	s.see("42\n")
	s.see("npu> ")
	s.send("\x04")
	s.ends(0)
}

// Ctrl-C while the script of -i runs ends the script, and what it has made is there at the prompt; a timeout is
// for the script alone.
func TestInteractiveScript(t *testing.T) {
	script := filepath.Join(t.TempDir(), "endless.lua")
	write := func(code string) {
		if err := os.WriteFile(script, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("made = 42 print 'runs' while true do end\n")
	s := openTerminal(t, "--backend=sim", "--timeout", "30", "-i", script, "one", "two")
	s.see("runs\n")
	s.send("\x03")
	s.see("interrupted at " + script + ":1\n")
	s.see("npu> ")
	s.send("made, arg[2]\n")
	s.see("42\t\"two\"\n")
	s.see("npu> ")
	s.send("\x04")
	s.ends(0)

	s = openTerminal(t, "--backend=sim", "--clock=wall", "-i", "-e", "print 'runs' npu.sleep(1000)")
	s.see("runs\n")
	s.see("main waits for 16m40s to pass at (command line):1")
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.ends(143)

	s = openTerminal(t, "--backend=sim", "--timeout", "0.2", "-i", script)
	s.see("npulua: timeout: ")
	s.see("endless.lua:1")
	s.ends(124)

	write("error 'no'\n")
	s = openTerminal(t, "--backend=sim", "-i", script)
	s.see("endless.lua:1: no")
	s.see("npu> ")
	s.send("os.exit(3)\n")
	s.ends(3)
}
