//go:build unix

package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFullDisk writes all kinds of files where no file may be longer than 4 KiB: the file that was there stays, and
// nothing else is left.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	const checks = `local check = require "check" check.setup{%s = "out"} for i = 1, 300 do check.test("t" .. i, function(t) t:expect(true) end) end`
	const host = `local h = npu.host("uint8", 49152, {pinned = false}) h:set(function(i) return i * i * 7919 % 251 end) `
	for name, code := range map[string]string{
		"junit":    strings.ReplaceAll(checks, "%s", "junit"),
		"markdown": strings.ReplaceAll(checks, "%s", "markdown"),
		"npy":      host + `h:save_npy("out")`,
		"png":      host + `local x = 1 h:set(function() x = (x * 1103515245 + 12345) % 2 ^ 31 return math.floor(x / 65536) % 256 end) h:reshape(128, 128, 3) h:save_image("out.png")`,
		"dot": `local c = npu.device(0).context local s = c:create_stream() local x = c:alloc("float32", 4) s:fill(x, 0) s:synchronize()
			local g = s:capture(function() for i = 1, 200 do s:fill(x, 0) end end) g:save("out")`,
		"fs.write":     `require("fs").write("out", ("x"):rep(9000))`,
		"metrics":      `local m = require("metrics") local g = m.gauge("a", "A.", {labels = {"n"}}) for i = 1, 900 do g:set(i, {n = i}) end m.write("out")`,
		"sandbox: npy": host + `h:save_npy("out")`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := "out"
			if name == "png" {
				file = "out.png"
			}
			for _, old := range []string{"", "what was there before\n"} {
				if old != "" {
					if err := os.WriteFile(filepath.Join(dir, file), []byte(old), 0o640); err != nil {
						t.Fatal(err)
					}
				}
				args := []string{"-c", `ulimit -f 8; exec "$0" "$@"`, binary, "--sim=910b"}
				if strings.HasPrefix(name, "sandbox") {
					args = append(args, "--sandbox=.")
				}
				cmd := exec.Command("sh", append(args, "-e", code)...)
				cmd.Dir = dir
				said, err := cmd.CombinedOutput()
				if err == nil || !strings.Contains(string(said), "too large") {
					t.Errorf("%v: %s", err, said)
				}
				list, err := os.ReadDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				got, _ := os.ReadFile(filepath.Join(dir, file))
				if old == "" && len(list) != 0 || old != "" && (len(list) != 1 || string(got) != old) {
					t.Errorf("there is %v, with %.100q", list, got)
				}
			}
		})
	}
	t.Run("report", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		for _, name := range []string{"check.json", "timeline.svg"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o640); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("sh", "-c", `ulimit -f 8; exec "$0" "$@"`, binary, "--sim=910b", "--report", dir, "-e", strings.ReplaceAll(checks, "%s = \"out\"", "quiet = true"))
		said, err := cmd.CombinedOutput()
		got, _ := os.ReadFile(filepath.Join(dir, "check.json"))
		if err == nil || !strings.Contains(string(said), "too large") || string(got) != "old" {
			t.Errorf("%v: %s; check.json is %.100q", err, said, got)
		}
		if list, _ := filepath.Glob(filepath.Join(dir, ".*")); len(list) != 0 {
			t.Errorf("left: %v", list)
		}
	})
}
