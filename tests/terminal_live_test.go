//go:build linux

package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// startLive runs a script in a terminal of that size. It begins at a line feed, for the terminal to be looked at before.
func startLive(t *testing.T, script string, cols, rows int, args ...string) *terminal {
	t.Helper()
	path := filepath.Join(t.TempDir(), "live.lua")
	if err := os.WriteFile(path, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", append([]string{"-c", `read go; exec "$0" --backend=sim "$@"`, binary}, append(args, path)...)...)
	cmd.Env = append(os.Environ(), "TERM=xterm")
	return startIn(t, cmd, t.TempDir(), cols, rows)
}

// live runs a script to the mark that it draws or prints, and does out. The terminal must be as it was then.
func live(t *testing.T, script, mark string, out func(*terminal), status int, args ...string) *terminal {
	t.Helper()
	s := startLive(t, script, 80, 24, args...)
	found := s.Stty()
	s.send("\n")
	s.Shows(mark)
	out(s)
	s.ends(status)
	if left := s.Stty(); left != found {
		t.Errorf("stty -g says %q, before the program it said %q", left, found)
	}
	return s
}

func types(text string) func(*terminal) { return func(s *terminal) { s.send(text) } }

func signals(sig syscall.Signal) func(*terminal) { return func(s *terminal) { s.Signal(sig) } }

// Whatever ends a script with a screen, the terminal is as it was, with what was printed meanwhile.
func TestLiveScreenWaysOut(t *testing.T) {
	t.Parallel()
	const open = "print 'before' local s = require('screen').open() print 'printed' io.stderr:write 'and this\\n' s:draw 'drawn' "
	for _, tt := range []struct {
		name, script string
		out          func(*terminal)
		status       int
	}{
		{"close", open + "s:key() s:close() s:close()", types("q"), 0},
		{"end", open + "s:key()", types("q"), 0},
		{"error", open + "s:key() error 'oops'", types("q"), 1},
		{"os.exit", open + "s:key() os.exit(3)", types("q"), 3},
		{"os.exit in a callback", open + "s:key() npu.device(0).context.default_stream:callback(function() os.exit(3) end)", types("q"), 3},
		{"os.exit in a worker", open + "npu.worker(function() os.exit(3) end) s:key()", func(*terminal) {}, 3},
		{"deadlock", open + "s:key() npu.channel():receive()", types("q"), 1},
		{"timeout", open + "while true do end", func(*terminal) {}, 124},
		{"Ctrl-C in a wait", open + "s:key()", types("\x03"), 130},
		{"Ctrl-C in a loop", open + "while true do end", types("\x03"), 130},
		{"Ctrl-C twice", open + "while true do end", types("\x03\x03"), 130},
		{"SIGTERM in a wait", open + "s:key()", signals(syscall.SIGTERM), 143},
		{"SIGTERM in a loop", open + "while true do end", signals(syscall.SIGTERM), 143},
		{"SIGTERM in a program", open + "s:key(0) os.execute 'echo child; exec sleep 1000'", signals(syscall.SIGTERM), 143},
		{"SIGHUP", open + "s:key()", signals(syscall.SIGHUP), 129},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var args []string
			if tt.name == "timeout" {
				args = []string{"--timeout", "1"}
			}
			mark := "drawn"
			switch {
			case strings.Contains(tt.script, "worker"):
				mark = "before"
			case strings.Contains(tt.script, "execute"):
				mark = "child"
			}
			s := live(t, tt.script, mark, tt.out, tt.status, args...)
			s.Look(func(m *screen) {
				if text := m.Text(); !strings.Contains(text, "before\n") || !strings.Contains(text, "printed\nand this") || strings.Contains(text, "drawn") {
					t.Errorf("the terminal shows %q", text)
				}
			})
		})
	}
}

// A process that ends itself by SIGQUIT leaves its screen first.
func TestLiveScreenQuit(t *testing.T) {
	t.Parallel()
	s := startLive(t, "local s = require('screen').open() s:draw 'drawn' s:key()", 80, 24)
	s.Dumps = true
	s.send("\n")
	s.Shows("drawn")
	s.send("\x1c")
	s.ends(2)
}

// Keys have names, and come without an echo.
func TestLiveScreenKeys(t *testing.T) {
	t.Parallel()
	s := startLive(t, `
local s = require("screen").open()
local n = 0
s:draw("ready")
repeat
	local key = s:key()
	n = n + 1
	s:draw(("%d <%s>"):format(n, key))
until key == "q"
print(pcall(s.key, s, -1))
print(s:key(0))`, 80, 24)
	s.send("\n")
	s.Shows("ready")
	for i, key := range []struct{ sent, want string }{
		{"x", "x"}, {"é", "é"}, {"中", "中"}, {"\x1b[A", "up"}, {"\x1bOB", "down"}, {"\x1b[6~", "page_down"}, {"\r", "enter"}, {"\t", "tab"},
		{"\x7f", "backspace"}, {"\x1b", "escape"}, {"\x1b[1;5D\x1b[D", "left"}, {"\x04", "ctrl-d"}, {"q", "q"},
	} {
		s.send(key.sent)
		if i == 12 {
			break
		}
		want := strconv.Itoa(i+1) + " <" + key.want + ">"
		s.Wait(want, func(m *screen) bool { return m.Row(0) == want && strings.Count(m.Text(), "\n") == 0 })
	}
	s.ends(0)
	s.Shows("false   view:key: timeout must be 0 s or more, got -1\nnil")
}

// What a terminal has no room for is cut, and comes back when there is.
func TestLiveScreenResize(t *testing.T) {
	t.Parallel()
	s := startLive(t, `
local screen = require "screen"
local s = screen.open()
local key
repeat
	local lines = {("%dx%d"):format(screen.size())}
	lines[2] = "123456789" .. ("\228\184\173"):rep(30)
	lines[3] = "\27[31mred\27[0m\27[2J and \27]0;title\a plain\0"
	for i = 4, 30 do lines[i] = "line " .. i end
	s:draw(table.concat(lines, "\n"))
	key = s:key()
until key == "q"`, 80, 24)
	s.send("\n")
	s.Wait("all", func(m *screen) bool {
		return m.Row(0) == "80x24" && m.Row(2) == "red?[2J and ?]0;title? plain?" && m.Row(23) == "line 24"
	})
	s.Resize(20, 5)
	s.Wait("less", func(m *screen) bool {
		return m.Row(0) == "20x5" && m.Row(1) == "123456789中中中中中" && m.Row(4) == "line 5"
	})
	s.Resize(100, 40)
	s.Wait("more", func(m *screen) bool {
		return m.Row(0) == "100x40" && m.Row(1) == "123456789"+strings.Repeat("中", 30) && m.Row(29) == "line 30"
	})
	s.send("q")
	s.ends(0)
}

// Only lines that change are written.
func TestLiveScreenWritesChanges(t *testing.T) {
	t.Parallel()
	s := live(t, `
local s = require("screen").open()
for i = 1, 50 do s:draw("steady\ncount " .. i .. "\nthe end") end
for i = 1, 50 do s:draw("short") end
s:key()`, "short", types("q"), 0)
	if raw := s.Raw(); strings.Count(raw, "steady") != 1 || strings.Count(raw, "the end") != 1 || strings.Count(raw, "short") != 1 {
		t.Errorf("lines that had not changed were written: %q", raw)
	}
}

// Ctrl-Z goes back to the shell, and fg to the screen.
func TestLiveScreenSuspend(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "live.lua")
	if err := os.WriteFile(script, []byte("local s = require('screen').open() s:draw 'drawn' while s:key() ~= 'q' do end"), 0o644); err != nil {
		t.Fatal(err)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	cmd := exec.Command(bash, "-c", `set -m; "$0" --backend=sim "$1"; echo stopped; read go; fg >/dev/null; echo "status $?"`, binary, script)
	cmd.Env = append(os.Environ(), "TERM=xterm")
	s := startIn(t, cmd, t.TempDir(), 80, 24)
	s.Shows("drawn")
	s.send("\x1a")
	s.Wait("the shell", func(m *screen) bool { return strings.Contains(m.Text(), "stopped") && !m.Hidden && !m.Second })
	s.send("\n")
	s.Wait("the screen", func(m *screen) bool { return m.Row(0) == "drawn" && m.Hidden && m.Second })
	s.send("q")
	s.Shows("status 0")
	s.ends(0)
}

// A terminal that takes no output does not keep a script from ending.
func TestLiveDeafTerminal(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"screen": "local s = require('screen').open() s:draw 'begun' s:key() local i = 0 while true do i = i + 1 s:draw((('line ' .. i):rep(9) .. '\\n'):rep(20)) end",
		"bars":   "local p = require 'progress' io.stderr:write 'begun\\n' io.read() local b = p.new{total = 1e9} while true do b:add() print(('x'):rep(70)) end",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startLive(t, script, 80, 24)
			s.send("\n")
			s.Shows("begun")
			hear := s.Deafen()
			s.send("\n")
			s.Signal(syscall.SIGTERM)
			if got := s.Exit(); got != 143 {
				t.Errorf("exit status %d, want 143", got)
			}
			hear()
			if !s.Normal() {
				t.Error("the terminal is not in the mode in which it was found")
			}
		})
	}
}

// A program that a script runs has the terminal for itself.
func TestLivePrograms(t *testing.T) {
	t.Parallel()
	s := live(t, `
local b = require("progress").new{total = 4, title = "work"}
b:add()
os.execute "test -t 1 && test -t 2 && echo from a program"
local s = require("screen").open()
s:draw("drawn")
os.execute "echo from another"
b:add()
s:draw("drawn again")
s:key()`, "drawn again", types("q"), 0)
	s.Look(func(m *screen) {
		text := m.Text()
		if !strings.Contains(text, "from a program\n") || !strings.Contains(text, "from another\n") || strings.Count(text, "work ") != 1 || !strings.Contains(text, "2/4  stopped") {
			t.Errorf("the terminal shows %q", text)
		}
	})
}
