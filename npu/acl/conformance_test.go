//go:build linux && (amd64 || arm64)

package acl_test

import (
	"os"
	"path/filepath"
	"testing"

	"npulua/npu/acl"
	"npulua/npu/internal/driver"
	"npulua/npu/internal/drivertest"
	"npulua/npu/internal/dtype"
)

// signatures are those of the kernels that the suite launches.
var signatures = map[string]string{"spin": "float64 seconds", "vector_add": "out T* y, in T* a, in T* b, uint32 n"}

// TestConformance runs the suite over the stand-in for the vendor's library, or, where NPULUA_CONFORMANCE is "acl", over
// the library that is installed: "make conformance BACKEND=acl" on a server. There kernels come from the folder that
// NPULUA_KERNELS names, or are operators, and cases without one are skipped.
func TestConformance(t *testing.T) {
	hardware := os.Getenv("NPULUA_CONFORMANCE") == "acl"
	var kernels string
	if !hardware {
		open(t).set("restart", 1) // once: cases leave the library as they found it
		kernels = binary(t, "spin", "vector_add_float32", "vector_add_float16")
	}
	model := func(name string) driver.ModelSource {
		return driver.ModelSource{Path: filepath.Join("standin", "testdata", name+".om")}
	}
	if hardware {
		model = nil // those are for the stand-in
	}
	drivertest.Run(t, drivertest.Harness{
		Open: func(t *testing.T) driver.Driver {
			d, err := acl.Open()
			if err != nil {
				t.Fatal(err)
			}
			return d
		},
		Kernel: func(name string, types []dtype.DType) driver.KernelSource {
			sig, err := driver.ParseSignature(signatures[name])
			if err != nil {
				t.Fatal(err)
			}
			if len(sig.TypeVars) == 0 {
				types = nil
			}
			return driver.KernelSource{Name: name, Signature: sig, Types: types, Binary: kernels}
		},
		Model:    model,
		Hardware: hardware,
		Together: true,
	})
}
