//go:build linux

package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"npulua/repl/repltest"
)

// widths are those at which candidates are drawn; at 0 the terminal does not know its size.
var widths = [][2]int{{80, 24}, {20, 5}, {8, 24}, {1, 24}, {0, 0}}

// Candidates with wide characters are chosen, drawn and taken back at any width.
func TestCompleteWide(t *testing.T) {
	t.Parallel()
	for _, size := range widths {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(binary, "--backend=sim")
			cmd.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=")
			cmd.Dir = t.TempDir()
			for _, name := range []string{"中文一.lua", "中文二.lua"} {
				if err := os.WriteFile(filepath.Join(cmd.Dir, name), []byte("print('loaded ' .. '"+name+"')\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s := startIn(t, cmd, t.TempDir(), size[0], size[1])
			s.editing()
			line := func(text string, below bool) {
				t.Helper()
				if size[0] == 1 { // a wide character is drawn as a mark there
					text = strings.NewReplacer("中", "?", "文", "?", "一", "?", "二", "?").Replace(text)
				}
				s.Wait(fmt.Sprintf("%q", text), func(m *screen) bool {
					_, rest, ok := cutLast(dense(m), strings.ReplaceAll(text, " ", ""))
					return ok && m.Paste && (rest != "") == (below && size[0] != 1)
				})
			}
			s.send(".load 中")
			line(".load 中", false)
			s.send("\t")
			line(".load 中文", true)
			s.send("\t")
			line(".load 中文一.lua", true)
			s.send("\t")
			line(".load 中文二.lua", true)
			if size[0] == 80 {
				s.Wait("the cursor behind it", func(m *screen) bool { return m.X == repltest.Width("npu> .load 中文二.lua") })
			}
			s.send("\x7f")
			line(".load 中文二.lu", false)
			s.send("a\r")
			s.Wait("what it prints", func(m *screen) bool { return m.Paste && strings.Contains(dense(m), "loaded") })
			s.leave()
		})
	}
}

// A name that is no name of Lua is completed by nothing that breaks the line.
func TestCompleteNoName(t *testing.T) {
	t.Parallel()
	for _, size := range widths {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			s := openScreen(t, size[0], size[1])
			s.editing()
			s.send("_G[\"中文一\"]=1\r")
			s.send("print('defi' .. 'ned')\r")
			s.Wait("its result", func(m *screen) bool { return m.Paste && strings.Contains(dense(m), "defined") })
			for _, keys := range []string{"_G.中", "\t", "\t", "\t", "\x7f"} {
				s.send(keys)
			}
			s.send("\x05\x15print('al' .. 'ive')\r")
			s.Wait("a live prompt", func(m *screen) bool { return m.Paste && strings.Contains(dense(m), "alive") })
			s.leave()
		})
	}
}

// Tab goes as far as the candidates agree, then from one to the next; another key takes them off the screen.
func TestComplete(t *testing.T) {
	t.Parallel()
	s := openScreen(t, 80, 24)
	s.runs("printer, only_one = 1, 2 print 'set'", "set")
	s.send("only\t")
	s.prompted("only_one")
	s.send("\x15only\t\r") // keys, however fast
	s.showsLast("2")
	s.send("x = pri\t")
	s.prompted("x = print")
	s.Shows("print    printer")
	s.send("\t\t")
	s.prompted("x = printer")
	s.send("\x1b[Z")
	s.prompted("x = print")
	s.send("(")
	s.prompted("x = print(")
	if s.Count("print    printer") != 0 {
		t.Error("the candidates stay below")
	}
	s.send("\x15nothing_like_it\t")
	s.Wait("a bell", func(m *screen) bool { return m.Bells > 0 })
	s.send("\x15\tx")
	s.prompted("    x")
	s.send("\x15")
	s.prompted("")
	s.leave()
}

// cutLast slices text around the last place where part stands.
func cutLast(text, part string) (before, after string, ok bool) {
	i := strings.LastIndex(text, part)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(part):], true
}
