//go:build linux && (amd64 || arm64)

package acl_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ebitengine/purego"

	"npulua/npu/acl"
	"npulua/npu/acl/standin"
	"npulua/npu/internal/driver"
	"npulua/npu/internal/drivertest"
	"npulua/npu/internal/dtype"
)

// TestConformance runs the suite over the stand-in for the vendor's library.
func TestConformance(t *testing.T) {
	dir := standin.Build(t)
	t.Setenv("ASCEND_HOME_PATH", home(t, dir))
	kernels := filepath.Join(t.TempDir(), "kernels.o")
	if err := os.WriteFile(kernels, []byte("standin kernels\nspin\nvector_add_float32\nvector_add_float16\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	drivertest.Run(t, drivertest.Harness{
		Open: func(t *testing.T) driver.Driver {
			d, err := acl.Open()
			if err != nil {
				t.Fatal(err)
			}
			control(t, dir, "restart", 1)
			return d
		},
		Kernel: func(name string, types []dtype.DType) driver.KernelSource {
			text := map[string]string{"spin": "float64 seconds", "vector_add": "out T* y, in T* a, in T* b, uint32 n"}[name]
			sig, err := driver.ParseSignature(text)
			if err != nil {
				t.Fatal(err)
			}
			if name == "spin" {
				types = nil
			}
			return driver.KernelSource{Name: name, Signature: sig, Types: types, Binary: kernels}
		},
	})
}

// home is an installation with the libraries of dir.
func home(t *testing.T, dir string) string {
	home := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(home, "lib64")); err != nil {
		t.Fatal(err)
	}
	return home
}

// control sets a switch of the stand-in in dir, which is open.
func control(t *testing.T, dir, key string, value int) {
	t.Helper()
	h, err := purego.Dlopen(filepath.Join(dir, "libacl_rt.so"), purego.RTLD_NOW)
	if err != nil {
		t.Fatal(err)
	}
	var set func(key string, value int64) int64
	purego.RegisterLibFunc(&set, h, "standin_set")
	if set(key, int64(value)) != 0 {
		t.Fatalf("the stand-in has no switch %s", key)
	}
}
