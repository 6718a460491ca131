//go:build !linux || !(amd64 || arm64)

package dcmi

import (
	"runtime"

	"npulua/npu/internal/driver"
)

// Inspect fails: there is no library for this system.
func Inspect() (Library, error) {
	return Library{}, driver.Errorf(driver.CodeNotSupported, "dlopen", "not available: libdcmi exists for linux on amd64 and arm64, not for %s on %s", runtime.GOOS, runtime.GOARCH)
}
