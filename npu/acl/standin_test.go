//go:build linux && (amd64 || arm64)

package acl_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ebitengine/purego"

	"npulua/npu/acl/standin"
)

// fake is the stand-in for the vendor's library, which this process will load.
type fake struct {
	t    testing.TB
	dir  string
	sets func(key string, value int64) int64
	gets func(key string) int64
}

// open builds the stand-in and puts it where drivers look.
func open(t testing.TB) *fake {
	t.Helper()
	f := &fake{t: t, dir: standin.Build(t)}
	home := t.TempDir()
	if err := os.Symlink(f.dir, filepath.Join(home, "lib64")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ASCEND_HOME_PATH", home)
	h, err := purego.Dlopen(filepath.Join(f.dir, "libascendcl.so"), purego.RTLD_NOW|purego.RTLD_GLOBAL) // and what it depends on
	if err != nil {
		t.Fatal(err)
	}
	if _, err := purego.Dlopen(filepath.Join(f.dir, "libdcmi.so"), purego.RTLD_NOW|purego.RTLD_GLOBAL); err != nil { // the loader knows it by name then
		t.Fatal(err)
	}
	purego.RegisterLibFunc(&f.sets, h, "standin_set")
	purego.RegisterLibFunc(&f.gets, h, "standin_get")
	return f
}

// set changes a switch of the stand-in.
func (f *fake) set(key string, value int64) {
	f.t.Helper()
	if f.sets(key, value) != 0 {
		f.t.Fatalf("the stand-in has no switch %s", key)
	}
}

// get reads a counter of the stand-in.
func (f *fake) get(key string) int64 { return f.gets(key) }

// binary writes a kernel binary for the stand-in with those functions.
func binary(t testing.TB, functions ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kernels.o")
	text := "standin kernels\n"
	for _, f := range functions {
		text += f + "\n"
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
