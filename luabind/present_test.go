package luabind

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPresent reads files that have all their data, and one of the kernel that would be waited for.
func TestPresent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	want := strings.Repeat("a line\n", 10000)
	if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, holds := range map[string]string{path: want, "/proc/self/mounts": " ", "/proc/version": "Linux"} {
		f, err := os.OpenFile(name, openNow, 0)
		if err != nil {
			t.Skip(err)
		}
		got, err := io.ReadAll(present{f})
		if err != nil || !strings.Contains(string(got), holds) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		_ = f.Close()
		if _, err := (present{f}).Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: it is read after close", name)
		}
	}
	r, w, err := os.Pipe() // as a file of the kernel that has no data yet
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := w.WriteString("some"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(present{r}); err != errWouldWait || string(got) != "some" {
		t.Errorf("a pipe: %q, %v", got, err)
	}
}
