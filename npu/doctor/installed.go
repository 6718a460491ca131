package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// installedFiles tell the release of an installation, relative to it, by a key. Older libraries do not tell it.
var installedFiles = []struct{ pattern, key string }{
	{"ascend_toolkit_install.info", "version"}, {"*-linux/ascend_toolkit_install.info", "version"},
	{"ascend_nnrt_install.info", "version"}, {"*-linux/ascend_nnrt_install.info", "version"},
	{"version.cfg", "runtime_running_version"}, {"runtime/version.info", "version"},
}

// installed adds the release that a file of the installation tells, where the library does not tell its own.
func (x *examination) installed(l *Library) {
	if slices.ContainsFunc(l.Versions, func(v Version) bool { return v.Part == "runtime" }) {
		return
	}
	home := filepath.Dir(filepath.Dir(l.Path))
	for _, f := range installedFiles {
		matches, _ := filepath.Glob(filepath.Join(x.path(home), f.pattern)) // the pattern is well formed
		for _, path := range matches {
			data, err := os.ReadFile(path)
			if err != nil {
				continue
			}
			if v := valueOf(string(data), f.key); v != "" {
				l.Versions = append(l.Versions, Version{"CANN", v})
				return
			}
		}
	}
}

// valueOf is the value of a key in lines of the form key=value, "" where there is none. Brackets around it are left
// out.
func valueOf(text, key string) string {
	for line := range strings.Lines(text) {
		if k, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && strings.EqualFold(strings.TrimSpace(k), key) {
			return strings.Trim(strings.TrimSpace(value), "[]\"")
		}
	}
	return ""
}
