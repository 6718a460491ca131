package luabind

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// CompletePath is the names in the folder of path that begin as path ends; without a slash in it, those of the
// working directory. They replace path[start:].
func CompletePath(path string) (start int, names []string) { return fileNames(path) }

// fileNames is CompletePath.
func fileNames(word string) (at int, names []string) {
	if strings.ContainsAny(word, "\n\\") {
		return 0, nil
	}
	at = strings.LastIndexByte(word, '/') + 1
	folder, begin := word[:at], word[at:]
	entries, err := os.ReadDir(filepath.Clean(folder))
	if err != nil {
		return 0, nil
	}
	for _, entry := range entries {
		name := entry.Name()
		if name[0] == '.' && !strings.HasPrefix(begin, ".") || !plainName(name) {
			continue
		}
		if isFolder(filepath.Join(folder, name)) {
			name += "/"
		}
		names = append(names, name)
	}
	return at, matching(names, begin)
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// plainName reports whether name can stand in a string as it is.
func plainName(name string) bool {
	return strings.IndexFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\'' || r == '\\' || r == 0x7f }) < 0
}

// moduleNames is what require finds by a name that begins with word; they replace all of it. A folder that has
// Lua files ends with a dot.
func (e *Evaluator) moduleNames(word string) (at int, names []string) {
	found := make(map[string]bool)
	pkg, _ := e.globals().RawGetString("package").(*lua.LTable)
	if pkg == nil || !plainName(word) || strings.ContainsRune(word, '/') {
		return 0, nil
	}
	if loaders, ok := pkg.RawGetString("preload").(*lua.LTable); ok {
		loaders.ForEach(func(k, _ lua.LValue) { found[k.String()] = true })
	}
	parent := word[:strings.LastIndexByte(word, '.')+1]
	for pattern := range strings.SplitSeq(lua.LVAsString(pkg.RawGetString("path")), ";") {
		before, after, ok := strings.Cut(pattern, "?")
		if !ok {
			continue
		}
		folder := before + strings.ReplaceAll(parent, ".", "/")
		entries, _ := os.ReadDir(filepath.Clean(folder))
		for _, entry := range entries {
			name := entry.Name()
			file, isModule := strings.CutSuffix(name, after)
			switch {
			case isModule && plainName(file) && file != "" && !strings.ContainsRune(file, '.'):
				found[parent+file] = true
			case strings.ContainsRune(name, '.') || !plainName(name):
			case after[:min(1, len(after))] == "/":
				if info, err := os.Stat(folder + name + after); err == nil && !info.IsDir() {
					found[parent+name] = true
				}
			default:
				if inside, _ := filepath.Glob(filepath.Join(folder, name, "*"+after)); len(inside) > 0 {
					found[parent+name+"."] = true
				}
			}
		}
	}
	return 0, matching(slices.Collect(maps.Keys(found)), word)
}
