//go:build !linux || !(amd64 || arm64)

package acl

import (
	"runtime"

	"npulua/npu/internal/driver"
)

// Driver cannot be opened on this system.
type Driver struct{ driver.Driver }

// Open fails: there is no vendor library for this system.
func Open() (*Driver, error) {
	return nil, driver.Errorf(driver.CodeNotSupported, "dlopen", "the vendor's runtime exists for linux on amd64 and arm64, not for %s on %s", runtime.GOOS, runtime.GOARCH)
}

// Inspect fails as Open does.
func Inspect() (Library, error) {
	_, err := Open()
	return Library{}, err
}
