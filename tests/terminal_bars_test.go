//go:build linux

package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// gate is a pipe with a name, at which a script waits: a key would move the cursor.
type gate struct {
	t    *testing.T
	path string
}

func newGate(t *testing.T) gate {
	t.Helper()
	g := gate{t, filepath.Join(t.TempDir(), "gate")}
	if err := unix.Mkfifo(g.path, 0o600); err != nil {
		t.Fatal(err)
	}
	return g
}

// open lets the script go on.
func (g gate) open() {
	g.t.Helper()
	if err := os.WriteFile(g.path, []byte("go\n"), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// wait is what scripts call. It may find the end of what opened the gate before.
func (g gate) wait() string {
	return "local function wait() repeat local f = io.open('" + g.path + "') local line = f:read() f:close() until line end "
}

// What a script prints stands above its bars, and a bar that has ended stays where it was.
func TestBarsBelowPrints(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	s := startLive(t, g.wait()+`
local progress = require "progress"
local a = progress.new{total = 4, title = "first", unit = "parts"}
local b = progress.new{total = 2^31, title = "second one", unit = "bytes"}
local c = progress.new{seconds = 10, title = "third"}
a:set(1) b:set(2^30) npu.sleep(2.5) c:note("no\27[31mte\n")
print "one"
wait()
io.write("two, ") io.flush()
io.stderr:write("to the end\n")
a:add(3) a:done() b:title "second"
print "three"
wait()
b:done()
npu.sleep(20) c:left()`, 90, 24)
	s.send("\n")
	ends := func(lines ...string) func(m *screen) bool {
		text := regexp.MustCompile(`\[[=>-]+\]`)
		times := regexp.MustCompile(`  [\d.:]+( s)?(, [\d.:]+( s)? left)?, real time`)
		return func(m *screen) bool {
			got := times.ReplaceAllString(text.ReplaceAllString(m.Text(), "[]"), "")
			return strings.TrimSpace(got) == strings.Join(lines, "\n") && m.X == 0
		}
	}
	s.Wait("three bars", ends("one",
		"first       []   25 %  1/4 parts",
		"second one  []   50 %  1.0 GiB/2.0 GiB",
		"third       []   25 %  2.5 s of 10 s, virtual time  7.5 s left  note"))
	g.open()
	s.Wait("two bars", ends("one", "two, to the end",
		"first   []  100 %  4/4 parts", "three",
		"second  []   50 %  1.0 GiB/2.0 GiB",
		"third   []   25 %  2.5 s of 10 s, virtual time  7.5 s left  note"))
	g.open()
	s.ends(0)
	s.Wait("the end", ends("one", "two, to the end",
		"first   []  100 %  4/4 parts", "three",
		"second  []   50 %  1.0 GiB/2.0 GiB  ended",
		"third   []  100 %  10 s of 10 s, virtual time  note"))
}

// However a script ends, its bars stay above what is said then, and the terminal is as it was.
func TestBarsWaysOut(t *testing.T) {
	t.Parallel()
	const begin = "local b = require('progress').new{total = 4, title = 'work'} b:add() "
	for _, tt := range []struct {
		name, script, said string
		out                func(*terminal)
		status             int
	}{
		{"end", begin, "", func(*terminal) {}, 0},
		{"error", begin + "error('oops', 0)", "npulua: oops", func(*terminal) {}, 1},
		{"os.exit", begin + "os.exit(3)", "", func(*terminal) {}, 3},
		{"Ctrl-C", begin + "while true do end", "npulua: interrupted", types("\x03"), 130},
		{"SIGTERM", begin + "while true do end", "npulua: terminated", signals(syscall.SIGTERM), 143},
		{"a worker ends", "npu.worker(function() local b = require('progress').new{total = 4, title = 'work'} b:add() end):join() print 'joined'", "joined", func(*terminal) {}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := live(t, tt.script, "25 %  1/4", tt.out, tt.status)
			s.Look(func(m *screen) {
				text := m.Text()
				at := strings.Index(text, "1/4")
				if strings.Count(text, "work ") != 1 || !strings.Contains(text, "stopped") || strings.LastIndex(text, tt.said) < at || m.X != 0 {
					t.Errorf("the terminal shows %q", text)
				}
			})
		})
	}
}

// Bars are not painted more often than ten times a second, however much happens.
func TestBarsRate(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	s := live(t, `
local b = require("progress").new{total = 3e4, title = "work"}
for i = 1, 3e4 do b:add() if i % 10 == 0 then print(i) end end
b:done()`, "100 %", func(*terminal) {}, 0)
	most := int(time.Since(begun)/(100*time.Millisecond)) + 2
	if got := strings.Count(s.Raw(), "work"); got > most {
		t.Errorf("the bar was painted %d times, at most %d are right", got, most)
	}
	if s.Count("\n30000\n") != 1 || s.Count("work") != 1 {
		t.Error("prints and the bar are not all there once")
	}
}

// Bars fit the terminal, also after it was made larger, and leave a row to the cursor where they are many.
func TestBarsFit(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	s := startLive(t, g.wait()+`
local bars = {}
for i = 1, 9 do
	bars[i] = require("progress").new{total = 4, title = "a title that is long " .. i}
	bars[i]:note(("\228\184\173"):rep(100))
end
wait()
for i = 2, 9 do bars[i]:done() end
bars[1]:note ""
`, 40, 5)
	s.send("\n")
	fits := func(m *screen) bool {
		for y := range 3 {
			if !strings.HasPrefix(m.Row(y), "a title that") {
				return false
			}
		}
		return m.Row(3) == "and 6 more" && m.Row(4) == ""
	}
	s.Wait("some of them", fits)
	s.Resize(120, 5)
	s.Wait("them at the new width", func(m *screen) bool { return fits(m) && strings.Contains(m.Row(0), "[-") })
	g.open()
	s.ends(0)
	if s.Count("0/4  ended") != 8 {
		t.Errorf("%d bars have ended, want 8", s.Count("0/4  ended"))
	}
}

// Standard output stays clean of bars, which the terminal shows.
func TestBarsOutputClean(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script, out := filepath.Join(dir, "live.lua"), filepath.Join(dir, "out")
	text := "local b = require('progress').new{total = 2, title = 'work'} for i = 1, 2 do b:add() print(i) end b:done()"
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `exec "$0" --backend=sim "$1" > "$2"`, binary, script, out)
	cmd.Env = append(os.Environ(), "TERM=xterm")
	s := startIn(t, cmd, t.TempDir(), 80, 24)
	s.Shows("100 %  2/2")
	s.ends(0)
	if got, err := os.ReadFile(out); string(got) != "1\n2\n" {
		t.Errorf("standard output has %q, %v", got, err)
	}
}

// A terminal that knows no codes is told in lines.
func TestBarsDumbTerminal(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(binary, "--backend=sim", "-e", "local b = require('progress').new{total = 2, title = 'work'} b:add() b:add() b:done() print(require('screen').terminal)")
	cmd.Env = append(os.Environ(), "TERM=dumb")
	s := startIn(t, cmd, t.TempDir(), 80, 24)
	s.ends(0)
	if raw := s.Raw(); raw != "work: 0 % (0/2)\r\nwork: 50 % (1/2)\r\nwork: 100 % (2/2)\r\nfalse\r\n" {
		t.Errorf("the terminal was sent %q", raw)
	}
}

// In the loop of chunks a bar stays at the end of a chunk, and comes back when it goes on.
func TestBarsInteractive(t *testing.T) {
	t.Parallel()
	s := openTerminal(t, "--sim", "910b")
	s.prompted("")
	s.send("b = require('progress').new{total = 4, title = 'work'} b:add()\r")
	s.Wait("the bar and a prompt", func(m *screen) bool {
		return m.Paste && m.Current() == "npu>" && strings.Contains(m.Text(), "25 %  1/4\n")
	})
	s.send("b:add(2) print('three')\r")
	s.Wait("the bar again", func(m *screen) bool {
		return m.Paste && m.Current() == "npu>" && strings.Contains(m.Text(), "three\nwork ") && strings.Contains(m.Text(), "75 %  3/4")
	})
	s.send("require('screen').open():draw 'drawn'\r")
	s.Wait("a prompt", func(m *screen) bool { return m.Paste && m.Current() == "npu>" && !m.Second && !m.Hidden })
	s.send("\x04")
	s.ends(0)
}
