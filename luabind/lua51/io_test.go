package lua51

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// script is a Lua state with the libraries under test and its output.
type script struct {
	L      *lua.LState
	io     *IO
	stdout *Output
	out    bytes.Buffer
}

func newScript(t *testing.T, ctx context.Context, stdin string) *script {
	t.Helper()
	s := &script{L: lua.NewState()}
	s.stdout = NewOutput(&s.out, BlockBuffered)
	streams := &Streams{Stdin: strings.NewReader(stdin), Stdout: s.stdout, Stderr: NewOutput(&s.out, Unbuffered)}
	if ctx != nil {
		s.L.SetContext(ctx)
	}
	s.io = OpenIO(s.L, streams)
	OpenOS(s.L, streams)
	t.Cleanup(func() {
		s.io.Close()
		s.L.Close()
	})
	return s
}

// show defines p, which writes its arguments separated by bars.
const show = `local function p(...)
	for i = 1, select("#", ...) do
		local v = select(i, ...)
		io.stdout:write(i > 1 and "|" or "", type(v) == "number" and v or tostring(v))
	end
	io.stdout:write("\n")
end
`

// run returns what the script wrote.
func (s *script) run(t *testing.T, source string) string {
	t.Helper()
	s.out.Reset()
	if err := s.L.DoString(show + source); err != nil {
		t.Fatal(err)
	}
	if err := s.stdout.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s.out.String()
}

// inTemp changes to an empty directory with the file sample in it.
func inTemp(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("sample", []byte("one\r\n\ntwo 0x10 1e3 end"), 0o600); err != nil {
		t.Fatal(err)
	}
}

var ioCases = []struct{ source, want string }{
	{`p(io.open("nope"))`, "nil|nope: No such file or directory|2"},
	{`p(io.open("x", "q")) p(io.open("x", ""))`, "nil|x: Invalid argument|22\nnil|x: Invalid argument|22"},
	{`p(io.open("sample", "wx"))`, "nil|sample: File exists|17"},
	{`p(io.open(".", "w"))`, "nil|.: Is a directory|21"},
	{`p(io.open("sample/x"))`, "nil|sample/x: Not a directory|20"},
	{`p(io.type(io.open("sample", "rt")), io.type(io.open("sample", "r12345+")))`, "file|file"},
	{`local f = io.open("sample") p(f:read("*l", "*l", "*l")) p(f:read())`, "one\r||two 0x10 1e3 end\nnil"},
	{`local f = io.open("sample") f:seek("set", 9) p(f:read("*n", "*n")) p(f:read("*a")) p(f:read("*a", "*l"))`, "16|1000\n end\n|nil"},
	{`local f = io.open("sample") p(f:read(3, 0, 2)) p(f:seek()) p(f:seek("end")) p(f:read(0)) p(f:read(1, 1))`, "one||\r\n\n5\n22\nnil\nnil"},
	{`local f = io.open("sample") p(pcall(f.read, f, -1))`, "true|one\r\n\ntwo 0x10 1e3 end"},
	{`local f = io.open("sample") p(f:write("x")) p(f:write("")) p(f:write()) p(f:flush())`, "nil|Bad file descriptor|9\ntrue\ntrue\ntrue"},
	{`local f = io.open("out", "w") p(f:write("a", 1.5, 2^53)) p(f:read()) p(f:seek()) p(f:seek("set", -1)) p(f:close())`, "true\nnil|Bad file descriptor|9\n22\nnil|Invalid argument|22\ntrue"},
	{`local f = io.open("out", "w") p(f:read("*n")) p(f:read("*n", "*l")) p(f:read("*l", "*n"))`, "nil\nnil\nnil|Bad file descriptor|9"},
	{`local f = io.open("out", "w") p(io.type(f)) f:close() p(tostring(f), io.type(f), io.type(1))`, "file\nfile (closed)|closed file|nil"},
	{`p((tostring(io.stdout):gsub("0x%x+", "ADDR")))`, "file (ADDR)"},
	{`local f = io.open("out", "w") f:close() p(pcall(f.read, f))`, "false|attempt to use a closed file"},
	{`local f = io.tmpfile() f:write("abcdef") f:seek("set") p(f:read(2)) f:write("X") f:seek("set") p(f:read("*a"))`, "ab\nabXdef"},
	{`local f = io.open("app", "w") f:write("12345") f:close() f = io.open("app", "a") p(f:seek()) f:close() f = io.open("app", "a+")
	p(f:read(2), f:seek()) f:write("X") p(f:seek()) f:seek("set", 1) p(f:read("*a"))`, "5\n12|2\n6\n2345X"},
	{`local f = io.open(".") p(f:read()) p(f:read("*a"))`, "nil|Is a directory|21\nnil|Is a directory|21"},
	{`p(pcall(function() for _ in io.lines(".") do end end))`, `false|<string>:8: Is a directory`},
	{`local n = 0 for l in io.lines("sample") do n = n + #l end p(n)`, "20"},
	{`local next = io.lines("sample") while next() do end p(pcall(next))`, "false|file is already closed"},
	{`local f = io.open("sample") local next = f:lines() f:close() p(pcall(next))`, "false|file is already closed"},
	{`p(select(2, pcall(io.lines, "nope")):match("%(.*"))`, "(nope: No such file or directory)"},
	{`p(select(2, pcall(io.input, "nope")):match("%(.*"))`, "(nope: No such file or directory)"},
	{`p(select(2, pcall(io.lines, nil)):match("%(.*"))`, "(FILE* expected, got nil)"},
	{`local f = io.open("sample") p(pcall(function() f:read("x") end))`, `false|<string>:8: bad argument #1 to 'read' (invalid option)`},
	{`local f = io.open("sample") p(pcall(function() f:read("*x") end))`, `false|<string>:8: bad argument #1 to 'read' (invalid format)`},
	{`local f = io.open("sample") p(pcall(function() f:seek("x") end))`, `false|<string>:8: bad argument #1 to 'seek' (invalid option 'x')`},
	{`local f = io.open("sample") p(pcall(function() f:setvbuf() end))`, `false|<string>:8: bad argument #1 to 'setvbuf' (string expected, got no value)`},
	{`p(pcall(function() io.write(nil) end))`, `false|<string>:8: bad argument #1 to 'write' (string expected, got nil)`},
	{`p(io.stdin:close()) p(io.stdin:write("x")) p(io.stdout:read())`, "nil|cannot close standard file\nnil|Bad file descriptor|9\nnil|Bad file descriptor|9"},
	{`io.input("sample") p(io.read()) io.input():close() p(pcall(io.read)) p(pcall(io.lines)) io.input(io.stdin)`,
		"one\r\nfalse|standard input file is closed\nfalse|attempt to use a closed file"},
	{`io.output("out") p(io.write("x")) p(io.close()) p(pcall(io.write, "x")) p(pcall(io.close)) io.output(io.stdout)`,
		"true\ntrue\nfalse|standard output file is closed\nfalse|attempt to use a closed file"},
	{`local f = io.popen("echo hi; echo there; exit 3") p(f:read("*a")) p(f:seek()) p(f:write("x")) p(f:close())`,
		"hi\nthere\n\nnil|Illegal seek|29\nnil|Bad file descriptor|9\ntrue"},
	{`local f = io.popen("cat > out", "w") p(f:write("data\n")) p(f:close()) for l in io.lines("out") do p(l) end`, "true\ntrue\ndata"},
	{`p(io.popen("true", "rw")) p(io.popen("true", "re"):close())`, "nil|true: Invalid argument|22\ntrue"},
}

// places are what the messages of the two interpreters differ in.
var places = regexp.MustCompile(`[^\s|"]*(<string>|\.lua):\d+: `)

func TestIO(t *testing.T) {
	inTemp(t)
	for _, c := range ioCases {
		if got := newScript(t, nil, "").run(t, c.source); got != c.want+"\n" {
			t.Errorf("%s\n got %q\nwant %q", c.source, got, c.want)
		}
	}
}

func TestLineKeepsZeroBytes(t *testing.T) {
	if got := newScript(t, nil, "a\x00b\r\nc").run(t, `p(#io.read(), io.read(), io.read())`); got != "4|c|nil\n" {
		t.Errorf("got %q", got)
	}
}

func TestReadNumber(t *testing.T) {
	const text = "0x1Fp1 inf nAn -3.5e2x 1e+ .5 5. 0x infinity +7 1.2.3 -"
	s := newScript(t, nil, text)
	got := s.run(t, `for i = 1, 16 do local n = io.read("*n") p(n) if not n then io.read(1) end end`)
	want := "62\ninf\nnan\n-350\nnil\n1\n0.5\n5\nnil\ninf\n7\n1.2\n0.3\nnil\nnil\nnil\n"
	if got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestReadNumberFailure(t *testing.T) {
	for text, left := range map[string]string{"inan9": "n9", "-x": "x", "0xg": "g", "1e+x": "x", "infix": "", "..": ".", "0x.z": "z"} {
		if got := newScript(t, nil, text).run(t, `io.read("*n") p(io.read("*a"))`); got != left+"\n" {
			t.Errorf("%s: left %q, want %q", text, got, left)
		}
	}
}

// reference runs a source in PUC Lua.
func reference(t *testing.T, source string) string {
	t.Helper()
	path, err := exec.LookPath("lua5.1")
	if err != nil {
		t.Skip("no lua5.1 to compare with")
	}
	name := filepath.Join(t.TempDir(), "case.lua")
	if err := os.WriteFile(name, []byte(show+source), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, name).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", source, err, out)
	}
	return places.ReplaceAllString(string(out), "")
}

func TestIOAgainstReference(t *testing.T) {
	inTemp(t)
	for _, c := range ioCases {
		// Cases must not meet files that the other interpreter has left.
		os.Remove("out")
		os.Remove("app")
		want := reference(t, c.source)
		os.Remove("out")
		os.Remove("app")
		if got := places.ReplaceAllString(newScript(t, nil, "").run(t, c.source), ""); got != want {
			t.Errorf("%s\n got %q\nwant %q", c.source, got, want)
		}
	}
}

func TestUnreachableFileIsFlushed(t *testing.T) {
	inTemp(t)
	s := newScript(t, nil, "")
	s.run(t, `io.open("left", "w"):write("text")`)
	s.run(t, `p(1, 2, 3, 4, 5, 6, 7, 8)`) // the stack does not keep the file
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		runtime.GC()
		if got, _ := os.ReadFile("left"); string(got) == "text" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the file is still open")
		}
	}
}
