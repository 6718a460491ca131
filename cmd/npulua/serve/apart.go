package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Apart fails where a script that may write anything in dir could write what this server trusts: where the folders of
// runs, which are made in temp, or the program that it starts, are in dir, or dir is in such a folder. Names do not
// decide: links, mounts and "..", and letters that a file system takes for the same, may lead to one folder by several
// names.
func Apart(dir, temp, program string) error {
	switch {
	case holds(dir, temp):
		return fmt.Errorf("%q holds %q, where the server keeps what runs report: a script there could write it; TMPDIR names another place for it", dir, temp)
	case holds(dir, filepath.Dir(real(program))):
		return fmt.Errorf("%q holds %q, which the server starts: a script there could put another program in its place", dir, program)
	}
	for _, up := range upwards(dir) {
		if isRunFolder(up, temp) {
			return fmt.Errorf("%q is in a folder that a server keeps for a run", dir)
		}
	}
	return nil
}

// holds reports whether folder is dir, or below it.
func holds(dir, folder string) bool {
	for _, up := range upwards(folder) {
		if sameFolder(up, dir) {
			return true
		}
	}
	return mountedBelow(dir, folder)
}

// real is path without links, from the root on.
func real(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return path
}

// upwards are the folders from path to the root, each by its real name.
func upwards(path string) (list []string) {
	for path = real(path); ; path = filepath.Dir(path) {
		if list = append(list, path); path == filepath.Dir(path) {
			return list
		}
	}
}

func sameFolder(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// isRunFolder reports whether path is a folder of a run in temp.
func isRunFolder(path, temp string) bool {
	digits, ok := strings.CutPrefix(filepath.Base(path), folderPrefix)
	return ok && digits != "" && strings.Trim(digits, "0123456789") == "" && sameFolder(filepath.Dir(path), temp)
}
