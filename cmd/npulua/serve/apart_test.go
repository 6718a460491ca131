package serve

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestApart(t *testing.T) {
	base := t.TempDir()
	temp, program := filepath.Join(base, "a", "temp"), filepath.Join(base, "bin", "npulua")
	for _, dir := range []string{temp, filepath.Join(temp, "work"), filepath.Join(temp, folderPrefix+"12", "x"), filepath.Join(temp, folderPrefix+"x"), filepath.Join(base, "b"), filepath.Dir(program)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(program, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link": temp, "uplink": base, "run": filepath.Join(temp, folderPrefix+"12", "x"), "temp": temp, "program": program} {
		if err := os.Symlink(to, filepath.Join(base, "b", name)); err != nil {
			t.Fatal(err)
		}
	}
	const keeps, starts, in = "where the server keeps", "which the server starts", "keeps for a run"
	for _, c := range []struct{ dir, temp, program, says string }{
		{"b", temp, program, ""}, {"a/temp/work", temp, program, ""}, {"a/temp/" + folderPrefix + "x", temp, program, ""},
		{"a/temp", temp, program, keeps}, {"a", temp, program, keeps}, {".", temp, program, keeps}, {"b/../a", temp, program, keeps}, {"b/link", temp, program, keeps}, {"b/uplink", temp, program, keeps}, {"/", temp, program, keeps},
		{"a", filepath.Join(base, "b", "temp"), program, keeps}, {"a/temp/work/..", temp, program, keeps}, {"a", temp + "/work/../", program, keeps},
		{"bin", temp, program, starts}, {"bin", temp, filepath.Join(base, "b", "program"), starts},
		{"a/temp/" + folderPrefix + "12", temp, program, in}, {"a/temp/" + folderPrefix + "12/x", temp, program, in}, {"b/run", temp, program, in}, {"b/run", filepath.Join(base, "b", "temp"), program, in},
	} {
		err := Apart(filepath.Join(base, c.dir), c.temp, c.program)
		if c.dir == "/" {
			err = Apart("/", c.temp, c.program)
		}
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("Apart(%q, %q, %q) = %v, want %q", c.dir, c.temp, c.program, err, c.says)
		}
	}
}

// TestApartMounts mounts folders at other places.
func TestApartMounts(t *testing.T) {
	base := t.TempDir()
	for _, dir := range []string{"data/temp", "bin", "seen", "box/inner", "other"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range [][2]string{{"data/temp", "seen"}, {"data", "box/inner"}} {
		at := filepath.Join(base, m[1])
		if err := syscall.Mount(filepath.Join(base, m[0]), at, "", syscall.MS_BIND, ""); err != nil {
			t.Skipf("nothing can be mounted here: %v", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) })
	}
	for _, c := range []struct {
		dir, temp string
		apart     bool
	}{
		{"data", "seen", false}, {"seen", "data/temp", false}, {"seen", "seen", false}, {"box", "data/temp", false}, {"box", "seen", false}, {"box/inner", "seen", false}, {"box/inner/temp", "seen", false},
		{"other", "seen", true}, {"other", "box/inner/temp", true},
	} {
		if err := Apart(filepath.Join(base, c.dir), filepath.Join(base, c.temp), filepath.Join(base, "bin", "npulua")); (err == nil) != c.apart {
			t.Errorf("Apart(%q, %q) = %v", c.dir, c.temp, err)
		}
	}
}

func TestParseMounts(t *testing.T) {
	got := parseMounts("36 35 98:0 /mnt1\\040x /a\\134b rw,noatime master:1 - ext3 /dev/root rw,errors=continue\nbad line\n")
	if len(got) != 1 || got[0] != (mount{"98:0", "/mnt1 x", `/a\b`}) {
		t.Errorf("%q", got)
	}
}
