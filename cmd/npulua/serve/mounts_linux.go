package serve

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// mount is a part of a file system, and where it is seen.
type mount struct{ device, root, at string }

// mountedBelow reports whether folder is below dir by a mount: one at dir, above it or below it.
func mountedBelow(dir, folder string) bool {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false
	}
	mounts := parseMounts(string(text))
	dir, folder = real(dir), real(folder)
	place, ok := within(mounts, folder)
	if !ok {
		return false
	}
	parts := []mount{}
	if at, ok := within(mounts, dir); ok {
		parts = append(parts, at)
	}
	for _, m := range mounts {
		if below(m.at, dir) {
			parts = append(parts, m)
		}
	}
	for _, m := range parts {
		if m.device == place.device && below(place.root, m.root) {
			return true
		}
	}
	return false
}

// within is where path is in its file system: root is the path there.
func within(mounts []mount, path string) (mount, bool) {
	var best mount
	for _, m := range mounts {
		if below(path, m.at) && len(m.at) >= len(best.at) { // the last one at a place hides the others
			best = m
		}
	}
	rest, err := filepath.Rel(best.at, path)
	if best.at == "" || err != nil {
		return best, false
	}
	return mount{best.device, filepath.Join(best.root, rest), path}, true
}

// below reports whether path is folder, or in it.
func below(path, folder string) bool {
	return folder == "/" || path == folder || strings.HasPrefix(path, folder+"/")
}

// parseMounts reads the lines of proc_pid_mountinfo(5).
func parseMounts(text string) (list []mount) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) > 4 {
			list = append(list, mount{f[2], unquoteMount(f[3]), unquoteMount(f[4])})
		}
	}
	return list
}

// unquoteMount turns the octal escapes of a path, such as \040, into what they stand for.
func unquoteMount(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
