package tests

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSandboxOptions gives options that cannot be meant.
func TestSandboxOptions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/proc", link); err != nil {
		t.Fatal(err)
	}
	const more = "it holds more than files"
	for _, test := range []struct{ args, want string }{
		{"--sandbox=/ x.lua", more},
		{"--sandbox=/proc x.lua", more},
		{"--sandbox=/proc/self/root x.lua", more},
		{"--sandbox=" + link + " x.lua", more},
		{"--sandbox=/sys/kernel x.lua", more},
		{"--sandbox=/dev x.lua", more},
		{"--sandbox=" + file + " x.lua", "not a directory"},
		{"--sandbox=" + file + "/x x.lua", "not a directory"},
		{"--sandbox=/missing/folder x.lua", "no such file"},
		{"--sandbox= x.lua", "want a folder behind ="},
		{"--sandbox -i", "not for what is typed"},
		{"--sandbox doctor", "--sandbox is for a script, not for doctor"},
		{"--sandbox help", "--sandbox is for a script, not for help"},
		{"--sandbox --timeout=3 serve x.lua", "--timeout comes after the word serve"},
		{"--sandbox-memory=1G x.lua", "--sandbox-memory goes with --sandbox"},
		{"--sandbox-output=1G x.lua", "--sandbox-output goes with --sandbox"},
		{"--sandbox --sandbox-memory=0 x.lua", "want bytes above 0"},
		{"--sandbox --sandbox-memory=1T x.lua", "want bytes above 0"},
		{"--sandbox --sandbox-instructions=1.5 x.lua", "want a whole number above 0"},
		{"--sandbox --sandbox-instructions=inf x.lua", "want a whole number above 0"},
	} {
		out, err := exec.CommandContext(t.Context(), binary, strings.Split(test.args, " ")...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), test.want) {
			t.Errorf("npulua %s = %v, %q, want status 2, %q", test.args, err, out, test.want)
		}
	}
}

// TestSandboxServe lets a server run a script that tries to get out.
func TestSandboxServe(t *testing.T) {
	w := newSandboxWorld(t)
	script := filepath.Join(w.scripts, "attempt.lua")
	code := strings.ReplaceAll(`local f = io.open("result.txt", "w")
f:write(select(2, io.open("OUT/secret.txt")), "; ", select(2, pcall(os.execute, "env")), "; ", tostring(os.getenv("PATH")))
f:close()
os.rename("new", "check.json")
error "</pre><script>alert(1)</script>"`, "OUT", w.out)
	if err := os.WriteFile(script, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	before := w.state(t)
	cmd := exec.CommandContext(t.Context(), binary, "--backend=sim", "--sandbox="+w.dir, "serve", script, "--every=1h", "--listen=127.0.0.1:0")
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	_, address, found := strings.Cut(strings.TrimSpace(line), " on http://")
	if err != nil || !found {
		t.Fatalf("%v: no address in %q", err, line)
	}
	var status struct {
		Last *struct {
			Outcome string `json:"outcome"`
		} `json:"last"`
	}
	for status.Last == nil { // the first run is under way
		answer, err := http.Get("http://" + address + "status.json")
		if err != nil {
			t.Fatal(err)
		}
		err = json.NewDecoder(answer.Body).Decode(&status)
		answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	if status.Last.Outcome != "error" {
		t.Errorf("outcome %q, want error", status.Last.Outcome)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	got, err := os.ReadFile(filepath.Join(w.dir, "result.txt"))
	want := w.out + "/secret.txt: the sandbox grants files in " + w.dir + " only; the sandbox starts no programs; nil"
	if err != nil || string(got) != want {
		t.Errorf("the script wrote %q, %v, want %q", got, err, want)
	}
	if after := w.state(t); after != before {
		t.Errorf("outside of the sandbox there is now\n%s\nand was\n%s", after, before)
	}
}
