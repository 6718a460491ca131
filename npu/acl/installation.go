//go:build linux && (amd64 || arm64)

package acl

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/loader"
)

// Inspect loads the library, if it can be, and describes it. It does not initialize it and may be called from any
// thread, beside an open driver, too. The error is that of Open; what could be found out is told with it.
func Inspect() (Library, error) {
	d, err := Open()
	if err == nil {
		return d.describe(), nil
	}
	var e *LoadError
	if !errors.As(err, &e) {
		return Library{}, err
	}
	l := Library{Attempts: e.Attempts, Symbols: symbols(nil)}
	if d := e.loaded; d != nil { // it lacks functions
		found := d.describe()
		found.Attempts = e.Attempts
		return found, err
	}
	return l, err
}

// describe must not be called before every function that it calls is bound.
func (d *Driver) describe() Library {
	l := Library{Attempts: d.lib.attempts, Path: d.lib.path(), Symbols: symbols(d)}
	for _, p := range loader.Mapped() {
		if vendorFile(p, filepath.Dir(l.Path)) {
			l.Files = append(l.Files, p)
		}
	}
	if d.getVersion.address != 0 {
		if major, minor, patch, err := d.Version(); err == nil {
			l.Versions = append(l.Versions, Version{"AscendCL", fmt.Sprintf("%d.%d.%d", major, minor, patch)})
		}
	}
	for _, part := range []string{"runtime", "driver", "compiler", "opp"} {
		if text := d.partVersion(part); text != "" {
			l.Versions = append(l.Versions, Version{part, text})
		}
	}
	return l
}

// symbols are those of driver.Symbols; d nil: none is present.
func symbols(d *Driver) []Symbol {
	var list []Symbol
	for _, s := range driver.Symbols {
		list = append(list, Symbol{s.Name, s.Since, d != nil && d.lib.lookup(s.Name) != 0})
	}
	return list
}

// vendorFile reports whether a loaded library is the vendor's: beside the runtime, or below a folder of its name.
func vendorFile(path, folder string) bool {
	return filepath.Dir(path) == folder || strings.Contains(path, "/Ascend/")
}

// partVersion is the version of a part of the installation, "" where the library does not tell.
func (d *Driver) partVersion(part string) string {
	if d.versionStr.address == 0 {
		return ""
	}
	const size = 512 // it wants at least 128
	text := make([]byte, size)
	err := withCString(part, func(p uintptr) error {
		return d.call(&d.versionStr, p, uintptr(unsafe.Pointer(&text[0])))
	})
	runtime.KeepAlive(text)
	if err != nil {
		return ""
	}
	version, _, _ := strings.Cut(string(text), "\x00")
	return version
}

// DeviceIDs implements driver.Numberer.
func (d *Driver) DeviceIDs(user int) driver.DeviceIDs {
	ids := driver.DeviceIDs{User: user, Logical: -1, Physical: -1}
	ask := func(f *function, to *int) bool {
		if f.address == 0 || d.call(f, uintptr(user), d.out.at(0)) != nil {
			return false
		}
		*to = int(d.out.int32(0))
		return true
	}
	ask(&d.logicID, &ids.Logical)
	if !ask(&d.physicalID, &ids.Physical) {
		ask(&d.physicalIDByLogic, &ids.Physical) // it takes a user id, despite its name
	}
	return ids
}
