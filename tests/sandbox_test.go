package tests

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// canary is what no script in a sandbox may learn: the content of files outside, and of the environment.
const canary = "canary-4711"

// attempt is a script that tries to leave its sandbox.
type attempt struct {
	name   string
	code   string // after sandboxPrelude; OUT and DIR stand for the folder outside and the granted one
	want   string // in the output
	status int
	flags  []string // beside the limits; --sandbox=DIR where there are none
	abrupt bool     // what it has started may take longer to end than the process waits
}

// sandboxPrelude is what attempts use: try calls f and says ESCAPED where it gave anything.
const sandboxPrelude = `local function try(f, ...)
	local ok, a, b = pcall(f, ...)
	if ok and a then return "ESCAPED " .. tostring(a) end
	if ok and b == nil then return "nothing" end
	return tostring(ok and b or a)
end
local loadstring, rep = loadstring, string.rep
`

// noFiles are the flags of a sandbox without files.
var noFiles = []string{"--sandbox"}

// Exit statuses, as npulua --help lists them.
const (
	statusOK      = 0
	statusError   = 1
	statusTimeout = 124
	statusLimit   = 125
)

// attemptTime is how long an attempt may take on a busy machine: it ends by a limit long before.
const attemptTime = 2 * time.Minute

// sandboxWorld is the folders of an attempt.
type sandboxWorld struct{ root, dir, out, scripts string }

// newSandboxWorld makes a granted folder with links out of it, and a folder outside with a secret.
func newSandboxWorld(t *testing.T) sandboxWorld {
	t.Helper()
	root := t.TempDir()
	w := sandboxWorld{root, filepath.Join(root, "granted"), filepath.Join(root, "outside"), filepath.Join(root, "scripts")}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(w.dir, 0o755))
	must(os.Mkdir(filepath.Join(w.dir, "sub"), 0o755))
	must(os.Mkdir(w.out, 0o755))
	must(os.Mkdir(w.scripts, 0o755))
	must(os.WriteFile(filepath.Join(w.out, "secret.txt"), []byte(canary+"\n"), 0o644))
	must(os.WriteFile(filepath.Join(w.out, "secret.lua"), []byte("return '"+canary+"'\n"), 0o644))
	must(os.WriteFile(filepath.Join(w.scripts, "beside.txt"), []byte(canary), 0o644))
	must(os.WriteFile(filepath.Join(w.scripts, "beside.lua"), []byte("return 'a module'"), 0o644))
	must(os.WriteFile(filepath.Join(w.dir, "own.txt"), []byte("own"), 0o644))
	for name, target := range map[string]string{
		"link": "../outside/secret.txt", "abs": filepath.Join(w.out, "secret.txt"), "folder": "../outside", "loop": "loop",
		"process": "/proc/self", "mod.lua": "../outside/secret.lua", "up": "..", "sub/deep": "../../outside/secret.txt", "new": "../outside/new.txt", "inner": "sub/../own.txt",
	} {
		must(os.Symlink(target, filepath.Join(w.dir, name)))
	}
	must(os.Symlink(filepath.Join(w.out, "secret.lua"), filepath.Join(w.scripts, "linked.lua")))
	must(syscall.Mkfifo(filepath.Join(w.dir, "pipe"), 0o644))
	must(syscall.Mknod(filepath.Join(w.dir, "socket"), syscall.S_IFSOCK|0o644, 0))
	must(os.WriteFile(filepath.Join(w.out, "shared.txt"), []byte("shared"), 0o644))
	must(os.Link(filepath.Join(w.out, "shared.txt"), filepath.Join(w.dir, "hard.txt")))
	return w
}

// state is what lies outside of the granted folder, to see that nothing of it changes.
func (w sandboxWorld) state(t *testing.T) string {
	var b strings.Builder
	for _, dir := range []string{w.root, w.out, w.scripts} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			b.WriteString(e.Name() + "\n")
			if e.Type().IsRegular() {
				data, err := os.ReadFile(filepath.Join(dir, e.Name()))
				if err != nil {
					t.Fatal(err)
				}
				b.Write(data)
			}
		}
	}
	return b.String()
}

// run runs an attempt and checks what is asked of every one.
func (w sandboxWorld) run(t *testing.T, a attempt) {
	t.Helper()
	script := filepath.Join(w.scripts, "attempt.lua")
	code := strings.NewReplacer("OUT", w.out, "DIR", w.dir, "SCRIPTS", w.scripts).Replace(sandboxPrelude + a.code)
	if err := os.WriteFile(script, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	before := w.state(t)
	flags := []string{"--sandbox=" + w.dir}
	if a.flags != nil {
		flags = a.flags
	}
	instructions := "5e6"
	if a.want == memoryText {
		instructions = "1e9" // the memory is to end it
	}
	args := append([]string{"--backend=sim", "--sandbox-memory=48M", "--sandbox-instructions=" + instructions, "--sandbox-output=1M", "--timeout=60"}, flags...)
	ctx, cancel := context.WithTimeout(t.Context(), attemptTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, append(args, script)...)
	cmd.Dir = w.root
	cmd.Env = append(os.Environ(), "SANDBOX_CANARY="+canary, "NPULUA_LOG=debug", "NPULUA_PATH="+w.out+"/?.lua", "LUA_PATH="+w.out+"/?.lua")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	status := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if len(text) > 4000 {
		text = text[:2000] + " ... " + text[len(text)-2000:]
	}
	if ctx.Err() != nil {
		t.Fatalf("it did not end\n%s", text)
	}
	if status != a.status {
		t.Errorf("exit status %d, want %d\n%s", status, a.status, text)
	}
	if !strings.Contains(out.String(), a.want) {
		t.Errorf("%q is not in the output:\n%s", a.want, text)
	}
	for _, bad := range []string{canary, "ESCAPED", "panic:", "runtime error", "goroutine ", "internal error", "without teardown"} {
		if bad == "without teardown" && a.abrupt {
			continue
		}
		if strings.Contains(out.String(), bad) {
			t.Errorf("%q is in the output:\n%s", bad, text)
		}
	}
	if after := w.state(t); after != before {
		t.Errorf("outside of the sandbox there is now\n%s\nand was\n%s", after, before)
	}
}

func TestSandbox(t *testing.T) {
	all := slices.Concat(sandboxFiles, sandboxSystem, sandboxLua, sandboxModules, sandboxLimits)
	names := make(map[string]bool)
	for _, a := range all {
		if names[a.name] {
			t.Errorf("two attempts are called %q", a.name)
		}
		names[a.name] = true
		if testing.Short() && len(names)%8 != 0 {
			continue // a sample
		}
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			newSandboxWorld(t).run(t, a)
		})
	}
	if len(all) < 320 {
		t.Errorf("%d attempts: some are missing", len(all))
	}
}
