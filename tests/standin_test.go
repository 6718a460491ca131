package tests

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"npulua/npu/acl/standin"
)

// masks are what may differ between a simulator and hardware: times and rates, which have fractions, with the
// spaces that align them; the stage that was the slowest; and how the backend is named.
var masks = []struct {
	of *regexp.Regexp
	by string
}{
	{regexp.MustCompile(` +-?\d+\.\d+`), " #"},
	{regexp.MustCompile(`set by the stage ".*"`), "set by the stage #"},
	{regexp.MustCompile(`backend (acl|sim: simulated, says nothing about real hardware)`), "backend #"},
	{regexp.MustCompile(`\((acl|sim)\)`), "(#)"},
}

func masked(text []byte) string {
	for _, m := range masks {
		text = m.of.ReplaceAll(text, []byte(m.by))
	}
	return string(text)
}

// standinKernels is a folder for NPULUA_KERNELS with the kernels that no operator computes, as the stand-in reads
// them.
func standinKernels(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"spin", "rgb_to_gray", "sobel"} {
		if err := os.WriteFile(filepath.Join(dir, name+".o"), []byte("standin kernels\n"+name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// npulua runs the binary in a folder of its own, and returns that and what it prints.
func npulua(t *testing.T, env []string, args ...string) (dir string, stdout, stderr []byte, err error) {
	t.Helper()
	dir = t.TempDir()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir, cmd.WaitDelay = dir, 10*time.Second
	cmd.Env = append(os.Environ(), "ASCEND_HOME_PATH=", "ASCEND_TOOLKIT_HOME=", "ASCEND_LAUNCH_BLOCKING=", "GORACE=atexit_sleep_ms=0")
	cmd.Env = append(cmd.Env, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return dir, out.Bytes(), errs.Bytes(), err
}

// standinArgs make scripts that measure short.
var standinArgs = map[string][]string{
	"video_pipeline": {"--frames", "3"},
}

// Sensors are there as well as what the runtime tells.
func TestStandinWatch(t *testing.T) {
	env := []string{"LD_LIBRARY_PATH=" + standin.Build(t)}
	_, out, stderr, err := npulua(t, env, "--backend=acl", "run", "watch", "--count", "2", "--interval", "0.05", "--json")
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	schema, err := jsonschema.NewCompiler().Compile("../docs/watch.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	for _, line := range lines {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil || !bytes.Contains(line, []byte(`"health":"ok"`)) || !bytes.Contains(line, []byte(`"simulated":false`)) {
			t.Errorf("%v\n%s", err, line)
		}
	}
	if len(lines) != 2 {
		t.Errorf("%d samples, want 2", len(lines))
	}
}

// Every other script gives the same over the vendor's library as on the simulator, but for times.
func TestStandinScripts(t *testing.T) {
	libraries := standin.Build(t)
	env := []string{"LD_LIBRARY_PATH=" + libraries, "NPULUA_KERNELS=" + standinKernels(t)}
	scripts, err := filepath.Glob("../scripts/*.lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range append(scripts, "testdata/ops.lua", "testdata/faults.lua") {
		name := strings.TrimSuffix(filepath.Base(script), ".lua")
		if name == "model" || name == "watch" || reporting[name] != nil { // TestScriptsModel, TestStandinWatch, TestStandinReports
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, err := filepath.Abs(script)
			if err != nil {
				t.Fatal(err)
			}
			args := append([]string{path}, standinArgs[name]...)
			dir, want, stderr, err := npulua(t, nil, append([]string{"--sim", "910b:2"}, args...)...)
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr)
			}
			standinDir, got, stderr, err := npulua(t, env, append([]string{"--backend=acl"}, args...)...)
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr)
			}
			if masked(got) != masked(want) || len(want) == 0 {
				t.Errorf("got\n%s\nwant, but for times,\n%s", got, want)
			}
			sameFiles(t, standinDir, dir)
		})
	}
}

// sameFiles compares what two runs of a script have written.
func sameFiles(t *testing.T, got, want string) {
	t.Helper()
	names, err := os.ReadDir(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range names {
		a, err := os.ReadFile(filepath.Join(got, f.Name()))
		if err != nil {
			t.Error(err)
			continue
		}
		if b, err := os.ReadFile(filepath.Join(want, f.Name())); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: other bytes than on the simulator", f.Name())
		}
	}
}

// bareRuntime is a folder with the runtime of a stand-in, without operators and sensors.
func bareRuntime(t *testing.T, standin string) string {
	t.Helper()
	bare := t.TempDir()
	for _, name := range []string{"libascendcl.so", "libacl_rt.so", "libacl_mdl.so", "libnnopbase.so"} {
		data, err := os.ReadFile(filepath.Join(standin, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(bare, name), data, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return bare
}

// An installation may lack functions of newer releases, operators, or all of them: whoever needs one is told which.
func TestStandinLacks(t *testing.T) {
	const makeStream = `local c = npu.device(0):create_context() local s, x = c:create_stream(), c:alloc("float32", 4) `
	older := standin.Build(t, standin.Options{Without: []string{"aclmdlRICaptureBegin", "aclrtBinaryLoadFromFile", "aclnnExp"}})
	bare := bareRuntime(t, older)
	for _, c := range []struct {
		name, libraries, code string
		stdout, stderr        string // regular expressions; no stderr: it succeeds
	}{
		{"has", older, `print(npu.has("aclmdlRICaptureBegin"), npu.has("aclrtMalloc"), npu.has("aclrtMalloca"))`, `^false\ttrue\tfalse\n$`, ``},
		{"graph", older, makeStream + `s:capture(function() s:fill(x, 0) end)`, `^$`,
			`capture: the installed CANN has no aclmdlRICaptureBegin, which came with release 8.2 \[207000 .*\n  hint: install CANN 8.2 or later`},
		{"binary", older, makeStream + `s:launch(npu.kernel "spin", 1, 0)`, `^$`,
			`launch: the installed CANN has no aclrtBinaryLoadFromFile, which came with release 8.5`},
		{"operator", older, makeStream + `npu.ops.relu(s, x, x) s:synchronize() print "relu" npu.ops.exp(s, x, x)`, `^relu\n$`,
			`exp: the installed operator library has no aclnnExp, which computes kernel "exp" \[207000`},
		{"operators", bare, makeStream + `npu.ops.relu(s, x, x)`, `^$`,
			`relu: the operator library libopapi.so cannot be used: not found .*\[207000.*\n  hint: install CANN's operator package`},
		{"kernel", bare, makeStream + `s:launch(npu.kernel "conv2d", 1, x, x, x, x, 1, 1, 1, 1, 1, 1, 1, 1, 0)`, `^$`,
			`launch: kernel "conv2d" has no binary, and no operator .*\n  hint: declare it with binary = file, or put conv2d.o into`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			env := []string{"LD_LIBRARY_PATH=" + c.libraries, "NPULUA_KERNELS=" + standinKernels(t)}
			_, stdout, stderr, err := npulua(t, env, "--backend=acl", "-e", c.code)
			if (err != nil) != (c.stderr != "") || !regexp.MustCompile(c.stdout).Match(stdout) || !regexp.MustCompile(c.stderr).Match(stderr) {
				t.Errorf("%v, printed\n%s\nand on standard error\n%s\nwant %s", err, stdout, stderr, c.stderr)
			}
		})
	}
}
