package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"npulua/npu/acl/standin"
)

// foreignInstallation has a libascendcl.so for a machine that nobody has.
func foreignInstallation(t *testing.T) string {
	home := installation(t, "libascendcl.so")
	makeForeign(t, filepath.Join(home, "lib64", "libascendcl.so"))
	return home
}

// makeForeign says that a library is for another machine.
func makeForeign(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(data[18:], []byte{22, 0}) // e_machine: s390
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
}

// textInstallation has a text file in the place of the library.
func textInstallation(t *testing.T) string {
	home := installation(t, "libascendcl.so")
	text := []byte(strings.Repeat("version https://git-lfs.github.com/spec/v1\n", 4))
	if err := os.WriteFile(filepath.Join(home, "lib64", "libascendcl.so"), text, 0o755); err != nil {
		t.Fatal(err)
	}
	return home
}

// inHome is an environment with one variable that names an installation.
func inHome(home string) vendor { return vendor{env: []string{"ASCEND_HOME_PATH=" + home}} }

// Where there is no usable library, acl explains every place and stops, and auto says in one line why it takes
// the simulator.
func TestLoadingFails(t *testing.T) {
	cases := []struct {
		name   string
		vendor func(t *testing.T) vendor
		acl    []string // patterns, each of a line of what acl says
		auto   string   // pattern of what auto says
	}{
		{"nothing installed", func(*testing.T) vendor { return vendor{} },
			[]string{`^  libascendcl.so: not found on the loader's path`, `^  /usr/local/Ascend/cann/lib64/libascendcl.so: not found`, `^  hint: install CANN, and source its set_env.sh`},
			`no NPU runtime is installed`},
		{"no such folder", func(*testing.T) vendor { return inHome("/nowhere/cann") },
			[]string{`^  /nowhere/cann/lib64/libascendcl.so \(ASCEND_HOME_PATH\): not found, there is no such folder$`, `^  hint: ASCEND_HOME_PATH names a folder without lib64`},
			`no NPU runtime is installed`},
		{"empty folder", func(t *testing.T) vendor {
			home := t.TempDir()
			if err := os.Mkdir(filepath.Join(home, "lib64"), 0o755); err != nil {
				t.Fatal(err)
			}
			return inHome(home)
		},
			[]string{`lib64/libascendcl.so \(ASCEND_HOME_PATH\): not found$`}, `no NPU runtime is installed`},
		{"dependency missing", func(t *testing.T) vendor { return inHome(installation(t, "libascendcl.so")) },
			[]string{`\(ASCEND_HOME_PATH\): it needs libacl_rt.so, which cannot be found$`, `^  hint: install the NPU driver, or add its folder`},
			`no NPU can be used \(/.*: it needs libacl_rt.so, which cannot be found; npulua doctor tells more\)`},
		{"dependency for another machine", func(t *testing.T) vendor {
			home := installation(t, "libascendcl.so", "libacl_rt.so")
			makeForeign(t, filepath.Join(home, "lib64", "libacl_rt.so"))
			return inHome(home)
		},
			[]string{`\(ASCEND_HOME_PATH\): it needs libacl_rt.so, and /.*/lib64 has a library for s390, not for`},
			`no NPU can be used \(/.*: it needs libacl_rt.so, and`},
		{"symbol missing", func(t *testing.T) vendor {
			return onPath(t, "", standin.Options{Without: []string{"aclrtMalloc", "aclrtMemcpy"}})
		},
			[]string{`^  /.*/libascendcl.so: it has no aclrtMalloc, aclrtMemcpy: it is no AscendCL runtime, or one before release 7.0$`, `^  hint: install CANN for .* again`},
			`no NPU can be used \(/.*: it has no aclrtMalloc, aclrtMemcpy`},
		{"stub", func(t *testing.T) vendor { return onPath(t, "", standin.Options{Stub: true}) },
			[]string{`^npulua: .*/libascendcl.so is a stub for building programs.*100039`, `^  hint: take the folder that ends in devlib or stub out of LD_LIBRARY_PATH`},
			`no NPU can be used \(.*stub for building programs`},
		{"text file", func(t *testing.T) vendor { return inHome(textInstallation(t)) },
			[]string{`\(ASCEND_HOME_PATH\): it is no library for this machine: invalid ELF header$`, `^  hint: install CANN for .* again`},
			`no NPU can be used \(.*invalid ELF header`},
		{"another machine", func(t *testing.T) vendor { return inHome(foreignInstallation(t)) },
			[]string{`\(ASCEND_HOME_PATH\): it is a library for s390, not for `}, `no NPU can be used \(.*a library for s390`},
		{"another machine on the loader's path", func(t *testing.T) vendor {
			return vendor{env: []string{"LD_LIBRARY_PATH=" + filepath.Join(foreignInstallation(t), "lib64")}}
		},
			[]string{`^  libascendcl.so: what /.*/lib64 has is a library for s390`}, `no NPU can be used \(libascendcl.so: what .* s390`},
		{"no device", func(t *testing.T) vendor { return onPath(t, "devices=0") },
			[]string{`the runtime sees no device`, `^  hint: npu-smi info lists`}, `no NPU can be used \(.*the runtime sees no device`},
		{"no start", func(t *testing.T) vendor { return onPath(t, "fail:aclInit=507899") },
			[]string{`aclInit.*507899`}, `no NPU can be used \(.*aclInit.*507899`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := c.vendor(t)
			o := v.run(t, "--backend=acl", "-e", "print 'ran'")
			if o.status != 1 || o.stdout != "" {
				t.Errorf("acl: status %d, output %q", o.status, o.stdout)
			}
			for _, pattern := range append(c.acl, `^npulua: `, `^  hint: .*`) {
				if !regexp.MustCompile("(?m)" + pattern).MatchString(o.stderr) {
					t.Errorf("acl: no line %q in\n%s", pattern, o.stderr)
				}
			}
			o = v.run(t, "-e", "print(npu.backend)")
			if o.status != 0 || o.stdout != "sim\n" {
				t.Errorf("auto: status %d, output %q", o.status, o.stdout)
			}
			line := `^npulua: ` + c.auto + `.*, using the simulator: simulated Ascend910B3.*\n$`
			if !regexp.MustCompile(line).MatchString(o.stderr) || strings.Count(o.stderr, "\n") != 1 {
				t.Errorf("auto: want one line %q, got\n%s", line, o.stderr)
			}
			if o := v.run(t, "--backend=sim", "-e", "print(npu.backend)"); o.stderr != "" || o.stdout != "sim\n" {
				t.Errorf("sim: %+v", o)
			}
		})
	}
}

// Where there is one, both take it without a word.
func TestLoadingFinds(t *testing.T) {
	all := []string{"libascendcl.so", "libacl_rt.so", "libacl_mdl.so"}
	for _, c := range []struct {
		name   string
		vendor func(t *testing.T) vendor
	}{
		{"loader's path", func(t *testing.T) vendor { return onPath(t, "") }},
		{"ASCEND_HOME_PATH", func(t *testing.T) vendor { return inHome(installation(t)) }},
		{"copied", func(t *testing.T) vendor { return inHome(installation(t, all...)) }},
		{"without the old name", func(t *testing.T) vendor { return inHome(installation(t, all[1:]...)) }},
		{"ASCEND_TOOLKIT_HOME", func(t *testing.T) vendor {
			return vendor{env: []string{"ASCEND_HOME_PATH=/nowhere", "ASCEND_TOOLKIT_HOME=" + installation(t)}}
		}},
		{"home", func(t *testing.T) vendor {
			home := t.TempDir()
			if err := os.MkdirAll(filepath.Join(home, "Ascend/ascend-toolkit"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(installation(t), filepath.Join(home, "Ascend/ascend-toolkit/latest")); err != nil {
				t.Fatal(err)
			}
			return vendor{env: []string{"HOME=" + home}}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := c.vendor(t)
			for _, backend := range []string{"auto", "acl"} {
				o := v.run(t, "--backend="+backend, "-e", "print(npu.backend, npu.device(0).name)")
				if o.status != 0 || o.stdout != "acl\tAscend910B3\n" || o.stderr != "" {
					t.Errorf("%s: %+v", backend, o)
				}
			}
		})
	}
}
