//go:build linux && (amd64 || arm64)

package acl

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/loader"
)

// names are the libraries in the order in which functions are looked up: the first is one library or, in newer
// releases, a cover of those behind it.
var names = []string{"libascendcl.so", "libacl_rt.so", "libacl_mdl.so"}

// operatorNames are where operators are.
var operatorNames = []string{"libnnopbase.so", "libopapi.so"}

// homeVariables name the installation.
var homeVariables = []string{"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"}

// prefixes are where installations usually are.
var prefixes = []string{
	"/usr/local/Ascend/cann", "/usr/local/Ascend/ascend-toolkit/latest", "/usr/local/Ascend/nnrt/latest", "/usr/local/Ascend/nnae/latest",
}

// driverFolders hold what the runtime depends on and the driver brings.
var driverFolders = []string{"/usr/local/Ascend/driver/lib64", "/usr/local/Ascend/driver/lib64/driver", "/usr/local/Ascend/driver/lib64/common"}

// library are the loaded libraries.
type library struct {
	handles  []uintptr
	folder   string // of the first one; "": the loader found it on its own path
	attempts []Attempt
}

// place is a folder in which libraries are looked for; "" is the loader's own path.
type place struct{ folder, from string }

// places are tried in this order, each once.
func places() []place {
	list := []place{{}}
	add := func(home, from string) {
		folder := filepath.Join(home, "lib64")
		if !slices.ContainsFunc(list, func(p place) bool { return p.folder == folder }) {
			list = append(list, place{folder, from})
		}
	}
	for _, name := range homeVariables {
		if home := os.Getenv(name); home != "" {
			add(home, name)
		}
	}
	for _, p := range prefixes {
		add(p, "")
	}
	if home, err := os.UserHomeDir(); err == nil { // where who is not root installs
		for _, p := range prefixes {
			add(filepath.Join(home, strings.TrimPrefix(p, "/usr/local/")), "")
		}
	}
	return list
}

// load opens the first runtime library that can be found, and those beside it.
func load() (*library, error) {
	l := &library{}
	for _, p := range places() {
		if l.try(p) {
			break
		}
	}
	if len(l.handles) == 0 {
		return nil, &LoadError{Attempts: l.attempts, Hint: loadHint(l.attempts)}
	}
	for _, name := range names[1:] {
		if h, err := loader.Open(filepath.Join(l.folder, name)); err == nil {
			l.handles = append(l.handles, h)
		}
	}
	return l, nil
}

// try opens the runtime in p, under its old name or, where that one is retired, under its new one, and notes what
// came of it.
func (l *library) try(p place) bool {
	for i, name := range names[:2] {
		path := filepath.Join(p.folder, name)
		h, err := loader.Open(path)
		if err != nil && loader.MissingDependency(path, err) != "" && p.folder != "" { // of the driver, whose folders the loader may not know
			preload(p.folder)
			h, err = loader.Open(path)
		}
		if err == nil {
			l.handles, l.folder = append(l.handles, h), p.folder
			l.attempts = append(l.attempts, Attempt{Path: path, From: p.from})
			return true
		}
		problem := loader.Explain(path, err)
		missing := strings.HasPrefix(problem, loader.NotFound)
		if i == 0 || !missing {
			l.attempts = append(l.attempts, Attempt{Path: path, From: p.from, Problem: problem})
		}
		if !missing { // what is broken is not passed over in silence
			break
		}
	}
	return false
}

// openBeside opens a library in the folder of another one, on the loader's path, or in the installation that the
// environment names.
func openBeside(folder, name string) (uintptr, error) {
	if folder != "" {
		if h, err := loader.Open(filepath.Join(folder, name)); err == nil {
			return h, nil
		}
	}
	first, err := loader.Open(name)
	for _, variable := range homeVariables {
		if home := os.Getenv(variable); home != "" && err != nil {
			if h, err := loader.Open(filepath.Join(home, "lib64", name)); err == nil {
				return h, nil
			}
		}
	}
	return first, err
}

// preload opens what the runtime in folder depends on, in any order: what has dependencies of its own is tried
// again.
func preload(folder string) {
	var paths []string
	for _, f := range append(driverFolders, folder) {
		for _, name := range []string{"libc_sec.so", "libmmpa.so", "libslog.so", "libascend_hal.so"} {
			if p := filepath.Join(f, name); loader.Exists(p) {
				paths = append(paths, p)
			}
		}
	}
	for range 2 {
		for _, p := range paths {
			_, _ = loader.Open(p) // the library itself says what is missing
		}
	}
}

// path is the file of the first library.
func (l *library) path() string { return loader.File(l.attempts[len(l.attempts)-1].Path) }

// lookup is the address of a function, 0 where no library has it.
func (l *library) lookup(name string) uintptr {
	for _, h := range l.handles {
		if p := loader.Lookup(h, name); p != 0 {
			return p
		}
	}
	return 0
}

// asDriverError makes a LoadError an error of the driver.
func asDriverError(err error) error {
	var l *LoadError
	if !errors.As(err, &l) {
		return err
	}
	return &driver.Error{Code: driver.CodeNotSupported, Call: "dlopen", Detail: l.Error(), Hint: l.Hint, Cause: l}
}
