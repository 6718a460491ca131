//go:build linux && (amd64 || arm64)

package loader

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Mapped lists the files of shared libraries that are loaded into the process, each once, by name.
func Mapped() []string {
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
