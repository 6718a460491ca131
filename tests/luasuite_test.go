package tests

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// suiteEdit takes out of a file of Lua's own test suite what does not hold here.
type suiteEdit struct {
	file     string
	line, to int    // to: the last of several lines; 0: line is the only one
	was      string // part of line
	now      string // instead of that part; of several lines nothing is left
	why      string // how a row of docs/lua.md begins; or after "reference: ", why lua5.1 fails too
}

// What is not as in PUC Lua, as docs/lua.md says it.
const (
	noWeakTables = "weak tables (`__mode`) hold their items"
	noFinalizers = "`__gc` is never called"
	noCollector  = "`collectgarbage \"count\"` is memory of the whole process"
	noCallHooks  = "hooks of `debug.sethook` are called for lines and counts"
	lineHooks    = "a hook for lines sees a declaration without a value"
	deadStacks   = "the stack of a coroutine that has died of an error"
	noDump       = "`string.dump` and precompiled chunks are refused"
	ownPrompt    = "a session with `-i` is one for people"
	earlyArg     = "`arg` is there for `-e` and `-l`"
	unnamed      = "tables and userdata without a handler are not named"
	forLine      = "in an expression of several lines"
	overflow     = "`stack overflow` after 16,000 calls"
	handlerError = "an error in the handler of `xpcall` is its result"
	wholeChars   = "a character outside of ASCII is shown whole"
	moreAccepted = "accepted: 61 to 255 upvalues"
	help         = "`-h` prints help"
	unsigned     = "reference: a C library of 64 bits reads -1 in a base as 2^64 - 1"
)

// suiteEdits are all of them.
var suiteEdits = []suiteEdit{
	{"db.lua", 131, 0, "{2,3,4,", "{1,2,3,4,", lineHooks},
	{"db.lua", 163, 0, "crl", "l", noCallHooks},
	{"db.lua", 174, 0, "crl", "l", noCallHooks},
	{"db.lua", 222, 0, "assert(", "assert(true or ", noCallHooks},
	{"db.lua", 256, 0, `"call"`, `"line"`, noCallHooks},
	{"db.lua", 276, 0, `"c"`, `"l"`, noCallHooks},
	{"db.lua", 358, 0, `"cr"`, `""`, noCallHooks},
	{"db.lua", 366, 0, "assert(", "assert(true or ", noCallHooks},
	{"db.lua", 472, 0, "checktraceback(co, t)", "", deadStacks},
	{"errors.lua", 72, 0, "checkmessage(", "--", unnamed},
	{"errors.lua", 74, 0, "checkmessage(", "--", unnamed},
	{"errors.lua", 126, 0, "== 4", "== 3", forLine},
	{"errors.lua", 147, 169, "assert(checkstackmessage(", "", overflow},
	{"errors.lua", 172, 0, "assert(", "assert(true or ", handlerError},
	{"errors.lua", 196, 0, `"\255", 1`, `"char(255)", 1`, wholeChars},
	{"errors.lua", 223, 0, "testrep(", "--", moreAccepted},
	{"errors.lua", 238, 0, "assert(", "assert(true or ", moreAccepted},
	{"gc.lua", 97, 130, "local function dosteps", "", noCollector},
	{"gc.lua", 160, 0, "k==v", "true", noWeakTables},
	{"gc.lua", 161, 0, "assert(", "assert(true or ", noWeakTables},
	{"gc.lua", 176, 0, "k==v", "true", noWeakTables},
	{"gc.lua", 177, 0, "assert(", "assert(true or ", noWeakTables},
	{"gc.lua", 191, 196, "for k,v in pairs(a)", "", noWeakTables},
	{"gc.lua", 197, 0, "assert(", "assert(true or ", noWeakTables},
	{"gc.lua", 200, 0, "assert(", "assert(true or ", noWeakTables},
	{"gc.lua", 228, 0, "assert(", "assert(true or ", noFinalizers},
	{"gc.lua", 230, 0, "assert(", "assert(true or ", noWeakTables},
	{"gc.lua", 248, 0, "assert(", "assert(true or ", noFinalizers},
	{"gc.lua", 255, 0, "assert(", "assert(true or ", noFinalizers},
	{"main.lua", 70, 0, "RUN(", "--", earlyArg},
	{"main.lua", 98, 99, "RUN(", "", ownPrompt},
	{"main.lua", 103, 104, "RUN(", "", ownPrompt},
	{"main.lua", 110, 111, "RUN(", "", ownPrompt},
	{"main.lua", 129, 130, "RUN(", "", ownPrompt},
	{"main.lua", 135, 141, "prepfile(", "", noDump},
	{"main.lua", 154, 0, "NoRun", "RUN", help},
	{"pm.lua", 89, 0, "do;", "do ", "reference: a statement cannot be empty"},
	{"math.lua", 47, 0, "assert(", "assert(true or ", unsigned},
	{"math.lua", 48, 0, "assert(", "assert(true or ", unsigned},
	{"math.lua", 52, 0, "assert(", "assert(true or ", unsigned},
}

// suiteFiles are the files of the suite, each with the chunk that runs it where that is not the file alone.
var suiteFiles = []struct {
	name string
	run  string
}{
	{"api.lua", ""},
	{"attrib.lua", ""},
	{"big.lua", `local f = coroutine.wrap(assert(loadfile("big.lua"))) assert(f() == "b") assert(f() == "a")`},
	{"calls.lua", ""},
	{"checktable.lua", ""},
	{"closure.lua", ""},
	{"code.lua", ""},
	{"constructs.lua", ""},
	{"db.lua", ""},
	{"errors.lua", ""},
	{"events.lua", ""},
	{"files.lua", ""},
	{"gc.lua", ""},
	{"literals.lua", ""},
	{"locals.lua", ""},
	{"main.lua", ""},
	{"math.lua", ""},
	{"nextvar.lua", ""},
	{"pm.lua", ""},
	{"sort.lua", ""},
	{"strings.lua", ""},
	{"vararg.lua", ""},
	{"verybig.lua", ""},
}

// TestLuaSuite runs Lua's own test suite, which lies with the virtual machine, file by file.
func TestLuaSuite(t *testing.T) {
	long(t, "one goroutine runs Lua here")
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yuin/gopher-lua").Output()
	suite := filepath.Join(strings.TrimSpace(string(out)), "_lua5.1-tests")
	if _, statErr := os.Stat(suite); err != nil || statErr != nil {
		t.Skip("Lua's own test suite is not there: the module of the virtual machine does not lie in the cache")
	}
	manual, err := os.ReadFile("../docs/lua.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range suiteEdits {
		if !strings.HasPrefix(e.why, "reference: ") && !bytes.Contains(manual, []byte("\n| "+e.why)) {
			t.Errorf("%s:%d: docs/lua.md has no row that starts with %q", e.file, e.line, e.why)
		}
	}
	for _, f := range suiteFiles {
		t.Run(strings.TrimSuffix(f.name, ".lua"), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := copySuite(suite, dir); err != nil {
				t.Fatal(err)
			}
			args := []string{"--sim", "910b", f.name}
			if f.run != "" {
				args = []string{"--sim", "910b", "-e", f.run}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, binary, args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "LUA_PATH=?;./?.lua", "TMPDIR="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out[max(0, len(out)-4000):])
			}
		})
	}
}

// copySuite copies the files of the suite, edited, and makes the folders that they write to.
func copySuite(suite, dir string) error {
	files, err := filepath.Glob(filepath.Join(suite, "*.lua"))
	if err != nil {
		return err
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name := filepath.Base(file)
		lines := strings.Split(string(data), "\n")
		for _, e := range suiteEdits {
			if e.file != name {
				continue
			}
			if e.line > len(lines) || !strings.Contains(lines[e.line-1], e.was) {
				return fmt.Errorf("%s:%d: the line does not have %q", name, e.line, e.was)
			}
			if e.to > 0 {
				clear(lines[e.line-1 : e.to])
				continue
			}
			lines[e.line-1] = strings.Replace(lines[e.line-1], e.was, e.now, 1)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			return err
		}
	}
	return os.MkdirAll(filepath.Join(dir, "libs", "P1"), 0o700)
}
