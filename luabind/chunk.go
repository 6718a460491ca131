package luabind

import (
	"context"
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

// mostChunk bounds a chunk that is no file: a device may have no end.
const mostChunk = 64 << 20

// readFile reads a script; "-" is standard input.
func readFile(ctx context.Context, path string, stdin io.Reader) ([]byte, string, error) {
	if path != "-" {
		data, err := readNamed(ctx, path)
		return data, path, err
	}
	data, err := awaited(ctx, func() ([]byte, error) { return readBounded(stdin) })
	return lua51.FileSource(data), stdinName, err
}

// readNamed reads a script that is a file, or a pipe.
func readNamed(ctx context.Context, path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, cannotOpen(path, err)
	}
	if info.Mode().IsRegular() {
		data, err := os.ReadFile(path)
		return lua51.FileSource(data), cannotOpen(path, err)
	}
	return awaited(ctx, func() ([]byte, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, cannotOpen(path, err)
		}
		defer f.Close()
		data, err := readBounded(f)
		return lua51.FileSource(data), cannotOpen(path, err)
	})
}

func readBounded(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, mostChunk+1))
	if err == nil && len(data) > mostChunk {
		err = fmt.Errorf("a chunk of more than %d MiB", mostChunk>>20)
	}
	return data, err
}

// awaited is what read returns, or why ctx has ended before: read goes on then, and nobody gets what it reads.
func awaited(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := read()
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
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
