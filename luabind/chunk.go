package luabind

import (
	"errors"
	"fmt"
	"io"
	"os"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
)

// load compiles a chunk whose name has a mark as in Lua: =name and @file are shown without it, anything else is the
// source text. Its globals are those of the coroutine that runs on L.
func (in *Interp) load(L *lua.LState, source []byte, name string) (*lua.LFunction, error) {
	return in.loadShown(L, source, name, "")
}

// loadFile compiles a file, whose name messages show in full; stdin is no file.
func (in *Interp) loadFile(L *lua.LState, source []byte, path string) (*lua.LFunction, error) {
	if path == stdinName {
		return in.load(L, source, "="+path)
	}
	return in.loadShown(L, source, "@"+path, path)
}

// loadShown compiles a chunk that messages call shown, or by its name where that is empty.
func (in *Interp) loadShown(L *lua.LState, source []byte, name, shown string) (*lua.LFunction, error) {
	if err := in.mayCompile(len(source)); err != nil {
		if shown == "" {
			shown = lua51.ChunkID(name)
		}
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	proto, err := lua51.CompileNamed(source, name, shown)
	if err != nil {
		return nil, err
	}
	in.linker.Link(proto)
	return L.NewFunctionFromProto(proto), nil
}

// stdinName is the name of a chunk from standard input.
const stdinName = "stdin"

// readFile reads a script; "-" is standard input.
func readFile(path string, stdin io.Reader) ([]byte, string, error) {
	if path == "-" {
		data, err := io.ReadAll(stdin)
		return lua51.FileSource(data), stdinName, err
	}
	data, err := os.ReadFile(path)
	return lua51.FileSource(data), path, cannotOpen(path, err)
}

// cannotOpenError is an error of the system about a script.
type cannotOpenError struct {
	path string
	err  *os.PathError
}

func (e *cannotOpenError) Error() string { return "cannot open " + e.path + ": " + e.err.Err.Error() }

func (e *cannotOpenError) Unwrap() error { return e.err }

// cannotOpen is an error of reading a script in words.
func cannotOpen(path string, err error) error {
	var pe *os.PathError
	var refused *withheld
	switch {
	case errors.As(err, &pe):
		return &cannotOpenError{path, pe}
	case errors.As(err, &refused):
		return fmt.Errorf("cannot open %s: %w", path, err)
	}
	return err
}
