//go:build linux && (amd64 || arm64)

package loader

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ebitengine/purego"
)

// Open opens a library, on one thread: the system's loader keeps its words for the one that called it.
func Open(path string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(path, purego.RTLD_LAZY|purego.RTLD_GLOBAL)
}

// Lookup is the address of a function of a library, 0 where it has none of that name.
func Lookup(library uintptr, name string) uintptr {
	runtime.LockOSThread() // as in Open
	defer runtime.UnlockOSThread()
	if p, err := purego.Dlsym(library, name); err == nil {
		return p
	}
	return 0
}

// Exists reports whether there is a file.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// File is the file of a loaded library that was opened as path: of one without a folder, what the system's loader
// found.
func File(path string) string {
	if filepath.Base(path) != path {
		return path
	}
	for _, p := range Mapped() {
		if filepath.Base(p) == path || strings.HasPrefix(filepath.Base(p), path+".") {
			return p
		}
	}
	return path
}
