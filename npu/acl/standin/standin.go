package standin

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

//go:embed testdata
var files embed.FS

// libraries are what Build makes, in order: a library may need those before it.
var libraries = []struct {
	name    string
	sources []string
	needs   []string
}{
	{"acl_rt", []string{"init.c", "control.c", "handle.c", "device.c", "context.c", "stream.c", "task.c", "event.c",
		"memory.c", "kernel.c", "binary.c", "graph.c", "live.c"}, nil},
	{"acl_mdl", []string{"model.c"}, []string{"acl_rt"}},
	{"ascendcl", []string{"umbrella.c"}, []string{"acl_rt", "acl_mdl"}},
	{"nnopbase", []string{"tensor.c"}, []string{"acl_rt"}},
	{"opapi", []string{"ops.c"}, []string{"nnopbase", "acl_rt"}},
	{"dcmi", []string{"dcmi.c"}, nil},
}

// Options changes the libraries. A process can load one variant: the loader finds dependencies by name.
type Options struct {
	// Without are functions that the libraries do not have.
	Without []string
	// Stub has every function return 100039, as the libraries do that programs are linked with where
	// there is no hardware.
	Stub bool
	// Compiler is the command of the C compiler; "": $CC, or cc.
	Compiler string
}

// ErrNoCompiler is why Make makes nothing on this machine.
var ErrNoCompiler = errors.New("the stand-in for the vendor's library needs Linux and a C compiler")

// Build is Make for a test, which is skipped where there is no C compiler.
func Build(tb testing.TB, options ...Options) (dir string) {
	tb.Helper()
	var o Options
	for _, x := range options {
		o.Without = append(o.Without, x.Without...)
		o.Stub = o.Stub || x.Stub
		o.Compiler = cmp.Or(x.Compiler, o.Compiler)
	}
	dir, err := Make(o)
	switch {
	case errors.Is(err, ErrNoCompiler):
		tb.Skip(err)
	case err != nil:
		tb.Fatal(err)
	}
	return dir
}

// Make makes the libraries and returns their directory; they are made once for each content and each
// set of options, and kept between runs.
func Make(o Options) (dir string, err error) {
	cc, err := compiler(o.Compiler)
	if err != nil || runtime.GOOS != "linux" {
		return "", ErrNoCompiler
	}
	dir = filepath.Join(cache(), "standin-"+key(cc, o))
	if _, err := os.Stat(filepath.Join(dir, "done")); err == nil {
		return dir, nil
	}
	tmp, err := os.MkdirTemp(cache(), "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := build(cc, tmp, o); err != nil {
		return "", err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, stat := os.Stat(filepath.Join(dir, "done")); stat != nil { // nobody else was faster
			return "", err
		}
	}
	return dir, nil
}

// compiler is the command of the C compiler: what was asked for, or $CC, with arguments where it has some, or cc.
func compiler(asked string) ([]string, error) {
	cc := strings.Fields(cmp.Or(asked, os.Getenv("CC")))
	if len(cc) == 0 {
		cc = []string{"cc"}
	}
	_, err := exec.LookPath(cc[0])
	return cc, err
}

// cache is where directories of libraries are.
func cache() string {
	if dir, err := os.UserCacheDir(); err == nil {
		dir = filepath.Join(dir, "npulua")
		if os.MkdirAll(dir, 0o755) == nil {
			return dir
		}
	}
	return os.TempDir()
}

func key(cc []string, o Options) string {
	h := sha256.New()
	without := slices.Sorted(slices.Values(o.Without))
	fmt.Fprintln(h, cc, runtime.GOARCH, slices.Compact(without), o.Stub, libraries)
	for _, name := range sources() {
		text, _ := files.ReadFile("testdata/" + name)
		fmt.Fprintln(h, name, len(text))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

func sources() []string {
	list, _ := files.ReadDir("testdata")
	var out []string
	for _, f := range list {
		if ext := filepath.Ext(f.Name()); ext == ".c" || ext == ".h" {
			out = append(out, f.Name())
		}
	}
	return out
}

func build(cc []string, dir string, o Options) error {
	for _, name := range sources() {
		text, err := files.ReadFile("testdata/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	flags := []string{"-std=c11", "-O1", "-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off",
		"-shared", "-pthread"}
	if o.Stub {
		flags = append(flags, "-DSTANDIN_STUB")
	}
	if len(o.Without) > 0 {
		script := "{ global: *; local: " + strings.Join(o.Without, "; ") + "; };\n"
		if err := os.WriteFile(filepath.Join(dir, "version"), []byte(script), 0o644); err != nil {
			return err
		}
		flags = append(flags, "-Wl,--version-script=version")
	}
	for _, l := range libraries {
		file := "lib" + l.name + ".so"
		args := slices.Concat(cc[1:], flags, l.sources, []string{"-o", file, "-Wl,-soname," + file, "-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed", "-L."})
		for _, need := range l.needs {
			args = append(args, "-l"+need)
		}
		cmd := exec.Command(cc[0], append(args, "-lm")...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
		}
	}
	return os.WriteFile(filepath.Join(dir, "done"), nil, 0o644)
}
