package luabind

import (
	"errors"
	"fmt"
	"io"
	"os"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
)

// load compiles a chunk; see lua51.Compile.
func (in *Interp) load(source []byte, name string) (*lua.LFunction, error) {
	if err := in.mayCompile(len(source)); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	proto, err := lua51.Compile(source, name)
	if err != nil {
		return nil, err
	}
	in.linker.Link(proto)
	return in.L.NewFunctionFromProto(proto), nil
}

// readFile reads a script; "-" is standard input.
func readFile(path string, stdin io.Reader) ([]byte, string, error) {
	if path == "-" {
		data, err := io.ReadAll(stdin)
		return lua51.FileSource(data), "stdin", err
	}
	data, err := os.ReadFile(path)
	return lua51.FileSource(data), path, cannotOpen(path, err)
}

// cannotOpen is an error of reading a script in words.
func cannotOpen(path string, err error) error {
	var pe *os.PathError
	var refused *withheld
	switch {
	case errors.As(err, &pe):
		return fmt.Errorf("cannot open %s: %w", path, pe.Err)
	case errors.As(err, &refused):
		return fmt.Errorf("cannot open %s: %w", path, err)
	}
	return err
}
