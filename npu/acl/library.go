//go:build linux && (amd64 || arm64)

package acl

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/ebitengine/purego"

	"npulua/npu/internal/driver"
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

// folders are where libraries are looked for, after the loader's own path.
func folders() []string {
	var list []string
	for _, name := range homeVariables {
		if home := os.Getenv(name); home != "" {
			list = append(list, filepath.Join(home, "lib64"))
		}
	}
	prefixes := prefixes
	if home, err := os.UserHomeDir(); err == nil {
		prefixes = append(prefixes, filepath.Join(home, "Ascend/ascend-toolkit/latest"))
	}
	for _, p := range prefixes {
		list = append(list, filepath.Join(p, "lib64"))
	}
	return list
}

// load opens the first runtime library that can be found, and those beside it.
func load() (*library, error) {
	l := &library{}
	for _, folder := range append([]string{""}, folders()...) {
		path := filepath.Join(folder, names[0])
		h, err := open(path)
		if err != nil && missingDependency(path, err) != "" && folder != "" { // of the driver, whose folders the loader may not know
			preload(folder)
			h, err = open(path)
		}
		if err == nil {
			l.handles, l.folder = append(l.handles, h), folder
			l.attempts = append(l.attempts, Attempt{Path: path})
			break
		}
		l.attempts = append(l.attempts, Attempt{path, explain(path, err)})
	}
	if len(l.handles) == 0 {
		return nil, &LoadError{Attempts: l.attempts, Hint: loadHint(l.attempts)}
	}
	for _, name := range names[1:] {
		if h, err := open(filepath.Join(l.folder, name)); err == nil {
			l.handles = append(l.handles, h)
		}
	}
	return l, nil
}

// open opens a library. What the loader says of a failure belongs to the thread.
func open(path string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(path, purego.RTLD_LAZY|purego.RTLD_GLOBAL)
}

// openBeside opens a library in the folder of another one, or on the loader's path.
func openBeside(folder, name string) (uintptr, error) {
	if folder != "" {
		if h, err := open(filepath.Join(folder, name)); err == nil {
			return h, nil
		}
	}
	return open(name)
}

// preload opens what the runtime in folder depends on, in any order: what has dependencies of its own is tried
// again.
func preload(folder string) {
	var paths []string
	for _, f := range append(driverFolders, folder) {
		for _, name := range []string{"libc_sec.so", "libmmpa.so", "libslog.so", "libascend_hal.so"} {
			if p := filepath.Join(f, name); exists(p) {
				paths = append(paths, p)
			}
		}
	}
	for range 2 {
		for _, p := range paths {
			_, _ = open(p) // the library itself says what is missing
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// dependency is what the loader says of a library that another one needs.
var dependency = regexp.MustCompile(`^(\S+): cannot open shared object file: No such file or directory`)

// missingDependency is the library that the one at path needs and the loader cannot find, "" for other errors.
func missingDependency(path string, err error) string {
	m := dependency.FindStringSubmatch(err.Error())
	if m == nil || filepath.Base(m[1]) == filepath.Base(path) {
		return ""
	}
	return m[1]
}

// explain says in a few words why a library was not loaded.
func explain(path string, err error) string {
	text := err.Error()
	if name := missingDependency(path, err); name != "" {
		return "it needs " + name + ", which cannot be found"
	}
	switch {
	case filepath.Dir(path) != "." && !exists(path):
		return notFound
	case dependency.MatchString(text):
		return notFound + " on the loader's path (LD_LIBRARY_PATH)"
	case strings.Contains(text, "undefined symbol"):
		return "it does not fit the libraries that it needs: " + text
	case strings.Contains(text, "ELF"), strings.Contains(text, "file too short"):
		return "it is no library for this machine: " + text
	}
	return text
}

func loadHint(attempts []Attempt) string {
	for _, a := range attempts {
		if strings.HasPrefix(a.Problem, "it needs ") {
			return "install the NPU driver, or add its folder (/usr/local/Ascend/driver/lib64 and those below it) to LD_LIBRARY_PATH"
		}
	}
	return "install CANN, and source its set_env.sh (as in: source /usr/local/Ascend/ascend-toolkit/set_env.sh), " +
		"or set ASCEND_HOME_PATH or LD_LIBRARY_PATH; --backend=sim runs on the simulator"
}

// lookup is the address of a function, 0 where no library has it.
func (l *library) lookup(name string) uintptr {
	for _, h := range l.handles {
		if p, err := purego.Dlsym(h, name); err == nil {
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
