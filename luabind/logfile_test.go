package luabind

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLogFileMoved writes on after the file was moved away, removed, or replaced by a folder.
func TestLogFileMoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	var files logFiles
	l, err := files.get(wholeDisk{}, path)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := files.get(wholeDisk{}, path); err != nil || again != l {
		t.Errorf("the same path gave another file, %v", err)
	}
	write := func(line string) error { return l.write([]byte(line)) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	content := func(path, want string) {
		t.Helper()
		if data, err := os.ReadFile(path); err != nil || string(data) != want {
			t.Errorf("%s has %q, %v, want %q", path, data, err, want)
		}
	}
	must(write("1\n"))
	must(os.Rename(path, path+".1"))
	must(write("2\n"))
	must(write("3\n"))
	content(path+".1", "1\n")
	content(path, "2\n3\n")
	must(os.Truncate(path, 0)) // as copytruncate does
	must(write("4\n"))
	content(path, "4\n")
	must(os.Remove(path))
	must(os.Mkdir(path, 0o777))
	if err := write("5\n"); err == nil {
		t.Error("a folder was written to")
	}
	must(os.Remove(path))
	must(write("6\n"))
	content(path, "6\n")
	must(files.close())
}
