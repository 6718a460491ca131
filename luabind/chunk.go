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
		return data, "stdin", err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = fmt.Errorf("cannot open %s: %w", path, pe.Err)
		}
	}
	return data, path, err
}
