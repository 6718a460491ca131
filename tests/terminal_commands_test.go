//go:build linux

package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// answer is what the terminal shows of an entry and of what it prints.
func (s *terminal) answer(entry string) string {
	s.t.Helper()
	s.send(entry + "\n'se' .. 'en'\n")
	text := s.upTo("\"seen\"\n")
	s.see("npu")
	s.see("> ")
	return text
}

// What an error says is text for people; the terminal obeys none of it.
func TestInteractiveErrorsAreText(t *testing.T) {
	s := openTerminal(t, "--backend=sim")
	s.see("npu> ")
	for _, chunk := range []string{
		`error "a\27[31mb\7"`,
		`error(setmetatable({}, {__tostring = function() return "a\27[31mb\7" end}))`,
		`loadstring("error()", "=a\27[31mb\7")()`,
		`t = npu.spawn(error, "a\27[31mb\7") npu.sleep(0)`,
	} {
		if text := s.answer(chunk); !strings.Contains(text, `a\027[31mb\007`) {
			t.Errorf("%s: got %q", chunk, text)
		}
	}
	s.answer("pcall(t.join, t)")
	if strings.Contains(s.Raw(), "\x1b[31mb") || strings.Contains(s.Raw(), "\a") {
		t.Errorf("the terminal was told: %q", s.Raw())
	}
	s.leave()
}

// A __tostring that Ctrl-C ends is interrupted, and nothing else.
func TestInteractiveInterruptedText(t *testing.T) {
	s := openTerminal(t, "--backend=sim")
	s.see("npu> ")
	s.send("setmetatable({}, {__tostring = function() print 'runs' os.execute 'sleep 1000' while true do end end})\n")
	s.see("runs\n")
	s.send("\x03")
	if text := s.upTo("npu> "); strings.Count(text, "interrupted") != 1 || strings.Contains(text, "failed") {
		t.Errorf("got %q", text)
	}
	s.leave()
}

// What .save writes is a script that does what was typed, and it takes no file's place unasked.
func TestInteractiveSave(t *testing.T) {
	dir := t.TempDir()
	s := openTerminal(t, "--backend=sim")
	s.see("npu> ")
	for _, chunk := range []string{"n = 0", "x = tostring", "(function() n = n + 1 end)()", "return 5", "y = 3", "local y = 4", "y = y + n"} {
		s.answer(chunk)
	}
	file := filepath.Join(dir, "saved.lua")
	for _, row := range []struct{ entry, want string }{
		{".save " + file, "chunks in " + file},
		{"n, y = nil", ""},
		{".save " + file, file + " is there already; .save! " + file + " replaces it"},
		{".load " + file, ""},
		{"n, y", "1\t4\n"},
		{".save! " + file, "chunks in " + file},
		{".save! " + dir, "cannot write " + dir + ": is a directory"},
		{".save " + dir + "/none/saved.lua", "no such file or directory"},
		{".help", ".save! FILE"},
	} {
		if got := s.answer(row.entry); !strings.Contains(strings.ReplaceAll(got, "\n", " "), strings.ReplaceAll(row.want, "\n", " ")) {
			t.Errorf("%s: got %q, want %q", row.entry, got, row.want)
		}
	}
	code, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(code), "_ = 5\n") || !strings.Contains(string(code), "do local y = 4 end\n") {
		t.Errorf("got %s %v", code, err)
	}
	s.leave()
}

// Commands that others have lead to ours, and each tells what it does.
func TestInteractiveCommandNames(t *testing.T) {
	s := openTerminal(t, "--backend=sim")
	s.see("npu> ")
	for _, row := range []struct{ entry, want string }{
		{".exit", `no command ".exit", did you mean ".quit"?`},
		{".q", `no command ".q", did you mean ".quit"?`},
		{".h", `did you mean ".help"?`},
		{".lod x", `did you mean ".load"?`},
		{".s", `no command ".s"; .help lists what there is`},
		{".load?", ".load FILE  run a script in this session\n"},
		{".help load", ".load FILE  run a script in this session\n"},
		{".help .load", ".load FILE  run a script in this session\n"},
		{".help launch", `no command ".launch"`},
		{".nonsense?", `no command ".nonsense"`},
		{".?", ".trace [on|off|show]"},
		{".load", "usage: .load FILE\n"},
		{".help", "Ctrl-D                leaves\n"},
		{".quit now", ".quit takes no argument\n"},
	} {
		if got := s.answer(row.entry); !strings.Contains(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.entry, got, row.want)
		}
	}
	s.send(".help\n")
	s.see(".help [COMMAND]")
	for _, line := range strings.Split(s.upTo("Ctrl-D"), "\n") {
		if len(line) > 80 {
			t.Errorf("too wide: %q", line)
		}
	}
	s.see("npu> ")
	s.leave()
}

// .time and .bench say so where code goes on, name it as any other, and move the clock by seconds, not by days.
func TestInteractiveMeasures(t *testing.T) {
	s := openTerminal(t, "--backend=sim")
	s.see("npu> ")
	for _, row := range []struct{ entry, want string }{
		{".time error 'no'", `input \d+:1: no\n`},
		{".bench error 'no'", `input \d+:1: no\n`},
		{".bench x = = 1", `input \d+:1: unexpected symbol near '='`},
		{".time 1 + 1", `2\n.* on the host, .* virtual\n`},
		{".bench npu.sleep(1)", `\d runs: .* each on the host, 1s virtual\n`},
		{".bench npu.sleep(1e4)", `\d runs: .* each on the host, 2h46m40s virtual\n`},
		{".bench local x = 1", `\d{3,} runs: `},
	} {
		if got := s.answer(row.entry); !regexp.MustCompile(row.want).MatchString(got) {
			t.Errorf("%s: got %q, want %q", row.entry, got, row.want)
		}
	}
	s.send(".bench print 'runs' while true do end\n")
	s.see("runs\n")
	s.send("\x03")
	s.see("interrupted")
	s.see("npu> ")
	s.leave()
}

// What is there fits the terminal: tables of many streams and buffers, device memory and its values, and a timeline of
// one chunk.
func TestInteractiveShowsState(t *testing.T) {
	s := openTerminal(t, "--backend=sim")
	s.see("npu> ")
	s.answer(`ctx = npu.device(0).context x = ctx:alloc("float32", 4) x:upload{1, 2.5, 3, 4} list = {}`)
	s.answer(`for i = 1, 60 do list[i] = ctx:create_stream() list[i]:launch(npu.kernel "spin", 1, 100) end npu.sleep(0.1)`)
	s.answer(".trace on")
	for _, row := range []struct{ entry, want string }{
		{"x", `buffer\(float32 x 4, device 0\) \{1, 2.5, 3, 4\}\n`},
		{".streams", `(?s)\| Stream +\| Pending \| Failed \| Last +\| At .*npu0 stream 60 .*\n40 more\n`},
		{".memory", `(?s)\| NPU \| Used .* GiB .*float32 x 4 \(16 B\)`},
		{".trace show", `no stream has done anything\n`},
	} {
		got := s.answer(row.entry)
		if !regexp.MustCompile(row.want).MatchString(got) || strings.Contains(got, " |K") {
			t.Errorf("%s: got %q, want %q", row.entry, got, row.want)
		}
		if lines := strings.Split(got, "\n"); len(lines) > 40 {
			t.Errorf("%s: %d lines", row.entry, len(lines))
		}
	}
	s.send("os.exit(0)\n")
	s.ends(0)
}
