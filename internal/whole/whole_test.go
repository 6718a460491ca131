//go:build linux

package whole

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// state is what is at a path, and beside it.
func state(t *testing.T, path string) string {
	t.Helper()
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range list {
		b.WriteString(e.Name() + " ")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return b.String() + "none"
	}
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return b.String() + info.Mode().String() + " " + string(data)
}

func TestWrite(t *testing.T) {
	syscall.Umask(0o022)
	broken := errors.New("broken")
	half := func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return broken
	}
	for _, o := range []Options{{}, {Sync: true}, {InPlace: true}, {Plain: true}} {
		dir := t.TempDir()
		path, link := filepath.Join(dir, "f"), filepath.Join(dir, "l")
		step := func(want string, err, wantErr error) {
			t.Helper()
			if got := state(t, path); got != want || !errors.Is(err, wantErr) || err != nil && wantErr == nil {
				t.Errorf("%+v: %q, %v, want %q, %v", o, got, err, want, wantErr)
			}
		}
		step("none", Write(Host{}, path, o, half), broken)
		step("none", Probe(Host{}, path, o), nil)
		step("f -rw-r--r-- one", Write(Host{}, path, o, text("one")), nil)
		step("f -rw-r--r-- one", Write(Host{}, path, o, half), broken)
		step("f -rw-r--r-- one", Probe(Host{}, path, o), nil)
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("f", link); err != nil {
			t.Fatal(err)
		}
		step("f l -rw-r----- one", Write(Host{}, link, o, half), broken)
		step("f l -rw-r----- two", Write(Host{}, link, o, text("two")), nil)
		with := o
		with.Mode = 0o600
		step("f l -rw------- ", Write(Host{}, path, with, text("")), nil)
		if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%+v: the link is gone: %v", o, err)
		}
		if err := Write(Host{}, dir, o, text("x")); !errors.Is(err, syscall.EISDIR) {
			t.Errorf("%+v: a folder: %v", o, err)
		}
		var folder *FolderError
		if err := Write(Host{}, filepath.Join(dir, "none", "f"), o, text("x")); !errors.As(err, &folder) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: no folder: %v", o, err)
		}
	}
}

// TestWriteOwner replaces files of another user.
func TestWriteOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 12, 34); err != nil {
		t.Fatal(err)
	}
	if err := Write(Host{}, path, Options{}, text("x")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if st := info.Sys().(*syscall.Stat_t); err != nil || st.Uid != 12 || st.Gid != 34 {
		t.Errorf("it belongs to %d:%d", st.Uid, st.Gid)
	}
}

// TestWriteSpecial writes to what is no file.
func TestWriteSpecial(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{}, {Plain: true}} {
		want := syscall.ENXIO // nobody reads
		if o.Plain {
			if err := Write(Host{}, pipe, o, text("x")); err != ErrNotRegular {
				t.Errorf("a pipe: %v", err)
			}
			continue
		}
		if err := Write(Host{}, pipe, o, text("x")); !errors.Is(err, want) {
			t.Errorf("a pipe that nobody reads: %v", err)
		}
		if err := Probe(Host{}, pipe, o); !errors.Is(err, want) {
			t.Errorf("a pipe that nobody reads: %v", err)
		}
	}
	r, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b := make([]byte, 10)
	if err := Write(Host{}, pipe, Options{}, text("through")); err != nil {
		t.Error(err)
	} else if n, err := r.Read(b); string(b[:n]) != "through" {
		t.Errorf("%q, %v", b[:n], err)
	}
	if err := Write(Host{}, os.DevNull, Options{}, text("x")); err != nil {
		t.Error(err)
	}
	if err := Write(Host{}, "/dev/full", Options{}, text("x")); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
}

// TestWriteStandard writes files and streams that are the same in a process of its own.
func TestWriteStandard(t *testing.T) {
	if path := os.Getenv("WHOLE_TEST_PATH"); path != "" {
		_, _ = os.Stdout.WriteString("before ")
		err := Write(Host{}, path, Options{}, text("written "))
		_, _ = os.Stdout.WriteString("after")
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	for _, path := range []string{"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"} {
		out := filepath.Join(t.TempDir(), "out")
		f, err := os.Create(out)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestWriteStandard$")
		cmd.Env, cmd.Stdout = append(os.Environ(), "WHOLE_TEST_PATH="+path), f
		err = cmd.Run()
		f.Close()
		if got, _ := os.ReadFile(out); err != nil || string(got) != "before written after" {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}

// TestWriteFull has a disk that is full: no file may be longer than some bytes.
func TestWriteFull(t *testing.T) {
	if dir := os.Getenv("WHOLE_TEST_DIR"); dir != "" {
		limit := syscall.Rlimit{Cur: 4096, Max: 4096}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			os.Exit(2)
		}
		for _, name := range []string{"old", "new"} {
			for _, o := range []Options{{}, {Sync: true}, {InPlace: true}} {
				if err := Write(Host{}, filepath.Join(dir, name), o, text(strings.Repeat("x", 10_000))); !errors.Is(err, syscall.EFBIG) {
					os.Exit(3)
				}
			}
		}
		os.Exit(0)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "old"), []byte("old text"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestWriteFull$")
	var said bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "WHOLE_TEST_DIR="+dir), &said, &said
	if err := cmd.Run(); err != nil {
		t.Errorf("%v: %s", err, said.String())
	}
	if got := state(t, filepath.Join(dir, "old")); got != "old -rw------- old text" {
		t.Errorf("on a full disk: %q", got)
	}
}

// TestWriteMount replaces a file that is a mount of its own, which cannot be renamed over.
func TestWriteMount(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "f"), filepath.Join(dir, "other")
	for _, name := range []string{path, other} {
		if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mount(other, path, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(path, syscall.MNT_DETACH) })
	if err := Write(Host{}, path, Options{}, text("new")); !errors.Is(err, syscall.EBUSY) || state(t, path) != "f other -rw------- old" {
		t.Errorf("%v, %s", err, state(t, path))
	}
	if err := Write(Host{}, path, Options{InPlace: true}, text("new")); err != nil || state(t, path) != "f other -rw------- new" {
		t.Errorf("%v, %s", err, state(t, path))
	}
}
