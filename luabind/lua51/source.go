package lua51

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Room for the name of a chunk in the messages of a script that runs, and in those of the compiler.
const (
	runRoom     = 60
	compileRoom = 80
)

// ChunkID is the name of a chunk as messages show it: =name and @file lose their mark, source text becomes
// [string "first line"].
func ChunkID(name string) string { return chunkID(name, runRoom) }

func chunkID(name string, room int) string {
	plain := room - 1                          // of a name as it is
	file := room - len(" '...' ") - 1          // of the end of a file's name
	text := room - len(` [string "..."] `) - 1 // of the beginning of a source text
	name = cString(name)
	switch {
	case strings.HasPrefix(name, "="):
		return name[1:min(len(name), 1+plain)]
	case strings.HasPrefix(name, "@"):
		name = name[1:]
		if cut := len(name) - file; cut > 0 {
			return "..." + name[cut:]
		}
		return name
	}
	line := name
	if end := strings.IndexAny(line, "\r\n"); end >= 0 {
		line = line[:end]
	}
	line = line[:min(len(line), text)]
	if len(line) < len(name) {
		line += "..."
	}
	return `[string "` + line + `"]`
}

// CompileNamed is Compile of a chunk whose name has a mark, as Lua's load functions take it. Messages show shown, or
// where that is empty, ChunkID of the name.
func CompileNamed(source []byte, name, shown string) (*lua.FunctionProto, error) {
	long := shown
	if shown == "" {
		long, shown = chunkID(name, compileRoom), ChunkID(name)
	}
	proto, err := Compile(source, long)
	if err == nil {
		setSource(proto, name, shown)
	}
	return proto, err
}

// setSource notes under which name a chunk was loaded, which its functions keep behind the names of their
// upvalues: SourceName has what messages show.
func setSource(proto *lua.FunctionProto, name, shown string) {
	proto.SourceName = shown
	proto.DbgUpvalues = append(proto.DbgUpvalues[:proto.NumUpvalues:proto.NumUpvalues], name)
	for _, p := range proto.FunctionPrototypes {
		setSource(p, name, shown)
	}
}

// sourceOf is the name of the chunk that a function is of, with its mark.
func sourceOf(proto *lua.FunctionProto) string {
	if n := int(proto.NumUpvalues); n < len(proto.DbgUpvalues) {
		return proto.DbgUpvalues[n]
	}
	return "=" + proto.SourceName
}
