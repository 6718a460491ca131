//go:build linux && (amd64 || arm64)

package acl

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mapped lists the files of shared libraries that are loaded into the process, each once, by name.
func mapped() []string {
	data, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil
	}
	var paths []string
	for line := range strings.Lines(string(data)) {
		_, path, ok := strings.Cut(strings.TrimSpace(line), " /") // the only field with a slash
		if path = "/" + path; ok && strings.Contains(filepath.Base(path), ".so") {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// path is the file of the first library.
func (l *library) path() string {
	path := l.attempts[len(l.attempts)-1].Path
	if filepath.Base(path) != path {
		return path
	}
	for _, p := range mapped() {
		if filepath.Base(p) == path || strings.HasPrefix(filepath.Base(p), path+".") {
			return p
		}
	}
	return path
}
