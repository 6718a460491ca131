//go:build linux && (amd64 || arm64)

package loader

import (
	"debug/elf"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// machine is the machine of libraries that this process can load.
var machine = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]

// unfound is what the loader says of a library that it cannot find, or passed over because it is for another
// machine.
var unfound = regexp.MustCompile(`^(\S+): cannot open shared object file: No such file or directory`)

// MissingDependency is the library that the one at path needs and the loader cannot find, "" for other errors.
func MissingDependency(path string, err error) string {
	m := unfound.FindStringSubmatch(err.Error())
	if m == nil || filepath.Base(m[1]) == filepath.Base(path) {
		return ""
	}
	return m[1]
}

// Explain says in a few words why the library at path was not loaded. It begins with NotFound where there is none.
func Explain(path string, err error) string {
	text := strings.TrimPrefix(err.Error(), path+": ")
	onPath := filepath.Base(path) == path
	if name := MissingDependency(path, err); name != "" {
		folders := loaderPath()
		if !onPath {
			folders = append(folders, filepath.Dir(path))
		}
		for _, folder := range folders {
			if other := foreign(filepath.Join(folder, name)); other != "" {
				return "it needs " + name + ", and " + folder + " has " + other
			}
		}
		return "it needs " + name + ", which cannot be found"
	}
	switch {
	case !onPath && denied(path):
		return Denied + " it"
	case !onPath && !Exists(filepath.Dir(path)):
		return NotFound + ", there is no such folder"
	case !onPath && !Exists(path):
		return NotFound
	case !onPath && foreign(path) != "":
		return "it is " + foreign(path)
	case unfound.MatchString(err.Error()):
		for _, folder := range loaderPath() {
			if other := foreign(filepath.Join(folder, path)); other != "" {
				return "what " + folder + " has is " + other
			}
			if denied(filepath.Join(folder, path)) {
				return Denied + " what " + folder + " has"
			}
		}
		return NotFound + " on the loader's path (LD_LIBRARY_PATH)"
	case strings.Contains(text, "undefined symbol"):
		return "it does not fit the libraries that it needs: " + text
	case strings.Contains(text, "ELF"), strings.Contains(text, "file too short"):
		return "it is no library for this machine: " + text
	}
	return text
}

// denied reports whether this user may not read a file that is there, or its folder.
func denied(path string) bool {
	f, err := os.Open(path)
	if err == nil {
		_ = f.Close()
	}
	return errors.Is(err, fs.ErrPermission)
}

// foreign says for which machine a library is made if that is another one, "" otherwise.
func foreign(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if f.Machine == machine {
		return ""
	}
	return "a library for " + machineName(f.Machine) + ", not for " + Machine()
}

// Machine is the name of the machine whose libraries this process can load.
func Machine() string { return machineName(machine) }

func machineName(m elf.Machine) string {
	return strings.ToLower(strings.TrimPrefix(m.String(), "EM_"))
}

// loaderPath are the folders of LD_LIBRARY_PATH.
func loaderPath() []string { return filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")) }
