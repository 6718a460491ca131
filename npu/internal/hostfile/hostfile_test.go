package hostfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"npulua/npu/internal/dtype"
)

func writeText(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// names lists a folder.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	broken := errors.New("broken")
	half := func(w io.Writer) error {
		io.WriteString(w, "half")
		return broken
	}
	if err := writeFile(path, half); !errors.Is(err, broken) || err.Error() != "write "+path+": broken" {
		t.Errorf("writeFile = %v, want broken", err)
	}
	if got := names(t, dir); got != "" {
		t.Errorf("a failed write left %s", got)
	}
	if err := writeFile(path, writeText("one")); err != nil {
		t.Fatal(err)
	}
	umask := syscall.Umask(0)
	syscall.Umask(umask)
	if info, _ := os.Stat(path); info.Mode() != fs.FileMode(0o666&^umask) {
		t.Errorf("mode of a new file = %v, want %v", info.Mode(), fs.FileMode(0o666&^umask))
	}
	os.Chmod(path, 0o612)
	link := filepath.Join(dir, "link")
	if err := os.Symlink("a", link); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(link, half); !errors.Is(err, broken) {
		t.Errorf("writeFile = %v, want broken", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "one" {
		t.Errorf("after a failed write the file holds %q, want %q", got, "one")
	}
	if err := writeFile(link, writeText("two")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "two" {
		t.Errorf("the file holds %q, want %q", got, "two")
	}
	if info, _ := os.Lstat(link); info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link is no link any more")
	}
	if info, _ := os.Stat(path); info.Mode() != 0o612 {
		t.Errorf("mode of an old file = %v, want %v", info.Mode(), fs.FileMode(0o612))
	}
	if got := names(t, dir); got != "a link" {
		t.Errorf("the folder holds %s, want a link", got)
	}
}

func TestWriteFileErrors(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	os.WriteFile(file, nil, 0o444)
	closed := filepath.Join(dir, "closed")
	os.Mkdir(closed, 0o555)
	tests := []struct {
		path, want string
		is         error
		notRoot    bool // root may do it
	}{
		{dir + "/none/a.npy", "folder " + dir + "/none: no such file or directory", fs.ErrNotExist, false},
		{file + "/a.npy", "folder " + file + ": not a directory", syscall.ENOTDIR, false},
		{dir, "is a directory", syscall.EISDIR, false},
		{"/dev/full", "no space left on device", syscall.ENOSPC, false},
		{closed + "/a.npy", "folder " + closed + ": permission denied", fs.ErrPermission, true},
		{file, "permission denied", fs.ErrPermission, true},
	}
	for _, tt := range tests {
		if tt.notRoot && os.Geteuid() == 0 {
			t.Logf("%s: not checked, root may write it", tt.path)
			continue
		}
		err := writeFile(tt.path, writeText("x"))
		if err == nil || err.Error() != "write "+tt.path+": "+tt.want || !errors.Is(err, tt.is) || errors.Is(err, ErrFormat) {
			t.Errorf("writeFile = %v, want write %s: %s", err, tt.path, tt.want)
		}
	}
	if got := names(t, dir); got != "closed file" {
		t.Errorf("the folder holds %s, want closed file", got)
	}
}

// An array goes through a FIFO, which has no size and is not replaced.
func TestFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan error)
	go func() { done <- WriteNPY(path, Array{dtype.Uint8, []int{3}, []byte{1, 2, 3}}) }()
	a, err := ReadNPY(path)
	if err != nil || string(a.Data) != "\x01\x02\x03" {
		t.Errorf("ReadNPY = %v, %v, want 1 2 3", a, err)
	}
	if err := <-done; err != nil {
		t.Errorf("WriteNPY = %v", err)
	}
	if info, _ := os.Stat(path); info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the FIFO is now %v", info.Mode())
	}
}

// What goes to /dev/stdout stands after what was printed before and in front of what comes after.
func TestStdout(t *testing.T) {
	if os.Getenv("HOSTFILE_STDOUT") != "" {
		os.Stdout.WriteString("before ")
		if err := writeFile("/dev/stdout", writeText("file ")); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("after ")
		os.Exit(0)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^TestStdout$")
	cmd.Env = append(os.Environ(), "HOSTFILE_STDOUT=1")
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(out.Name()); string(got) != "before file after " {
		t.Errorf("stdout = %q, want %q", got, "before file after ")
	}
}
