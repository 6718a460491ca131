//go:build linux && (amd64 || arm64)

package acl

import (
	"debug/elf"
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

// missingDependency is the library that the one at path needs and the loader cannot find, "" for other errors.
func missingDependency(path string, err error) string {
	m := unfound.FindStringSubmatch(err.Error())
	if m == nil || filepath.Base(m[1]) == filepath.Base(path) {
		return ""
	}
	return m[1]
}

// explain says in a few words why a library was not loaded.
func explain(path string, err error) string {
	text := strings.TrimPrefix(err.Error(), path+": ")
	onPath := filepath.Base(path) == path
	if name := missingDependency(path, err); name != "" {
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
	case !onPath && !exists(filepath.Dir(path)):
		return notFound + ", there is no such folder"
	case !onPath && !exists(path):
		return notFound
	case !onPath && foreign(path) != "":
		return "it is " + foreign(path)
	case unfound.MatchString(err.Error()):
		for _, folder := range loaderPath() {
			if other := foreign(filepath.Join(folder, path)); other != "" {
				return "what " + folder + " has is " + other
			}
		}
		return notFound + " on the loader's path (LD_LIBRARY_PATH)"
	case strings.Contains(text, "undefined symbol"):
		return "it does not fit the libraries that it needs: " + text
	case strings.Contains(text, "ELF"), strings.Contains(text, "file too short"):
		return "it is no library for this machine: " + text
	}
	return text
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
	return "a library for " + machineName(f.Machine) + ", not for " + machineName(machine)
}

func machineName(m elf.Machine) string {
	return strings.ToLower(strings.TrimPrefix(m.String(), "EM_"))
}

// loaderPath are the folders of LD_LIBRARY_PATH.
func loaderPath() []string { return filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")) }

// loadHint says what to do, by what was found.
func loadHint(attempts []Attempt) string {
	for _, a := range attempts {
		switch {
		case strings.HasPrefix(a.Problem, "it needs "):
			return "install the NPU driver, or add its folder (/usr/local/Ascend/driver/lib64 and those below it) to LD_LIBRARY_PATH; " +
				"--backend=sim runs on the simulator"
		case a.Problem != "" && !strings.HasPrefix(a.Problem, notFound):
			return "install CANN for " + machineName(machine) + " again, or take its folder out of LD_LIBRARY_PATH and ASCEND_HOME_PATH if it is not meant; " +
				"--backend=sim runs on the simulator"
		}
	}
	for _, a := range attempts {
		if a.From != "" {
			return a.From + " names a folder without lib64/" + filepath.Base(a.Path) + ": set it to an installation of CANN, as its set_env.sh does; " +
				"--backend=sim runs on the simulator"
		}
	}
	return "install CANN, and source its set_env.sh (as in: source /usr/local/Ascend/ascend-toolkit/set_env.sh), " +
		"or set ASCEND_HOME_PATH or LD_LIBRARY_PATH; --backend=sim runs on the simulator"
}
