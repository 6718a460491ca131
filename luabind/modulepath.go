package luabind

import (
	"os"
	"strings"
)

// findModule looks a module up on a path of patterns; tried lists the files that are not there.
func findModule(name, path string) (file, tried string) {
	name = strings.ReplaceAll(name, ".", string(os.PathSeparator))
	var b strings.Builder
	for pattern := range strings.SplitSeq(path, ";") {
		f := strings.ReplaceAll(pattern, "?", name)
		if st, err := os.Stat(f); err == nil && !st.IsDir() {
			return f, ""
		}
		b.WriteString("\n\tno file '" + f + "'")
	}
	return "", b.String()
}
