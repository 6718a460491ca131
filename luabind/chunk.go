package luabind

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// load compiles a chunk. A byte order mark and a first line that starts with # are accepted, and
// line ends may be those of any system; line numbers stay those of the source.
func (in *Interp) load(source []byte, name string) (fn *lua.LFunction, err error) {
	source = bytes.TrimPrefix(source, []byte("\xef\xbb\xbf"))
	if bytes.HasPrefix(source, []byte("#")) {
		end := bytes.IndexByte(source, '\n')
		if end < 0 {
			end = len(source)
		}
		source = source[end:] // the line end stays, so that line 2 is line 2
	}
	source = bytes.ReplaceAll(source, []byte("\r\n"), []byte("\n"))
	if bytes.HasPrefix(source, []byte("\x1bLua")) {
		return nil, &loadError{fmt.Sprintf("%s: precompiled chunks cannot be loaded", name)}
	}
	defer func() {
		if r := recover(); r != nil {
			fn, err = nil, &loadError{fmt.Sprintf("%s: the chunk cannot be compiled: %v", name, r)}
		}
	}()
	chunk, err := parse.Parse(bytes.NewReader(source), name)
	if err != nil {
		return nil, &loadError{syntaxText(err, name)}
	}
	proto, err := lua.Compile(chunk, name)
	if err != nil {
		return nil, &loadError{syntaxText(err, name)}
	}
	return in.L.NewFunctionFromProto(proto), nil
}

// loadError is a chunk that is no program.
type loadError struct{ text string }

func (e *loadError) Error() string { return e.text }

// syntaxText writes a parse error as "name:line: message".
func syntaxText(err error, name string) string {
	var pe *parse.Error
	if errors.As(err, &pe) {
		near := ""
		if pe.Token != "" {
			near = fmt.Sprintf(" near '%s'", pe.Token)
		}
		if pe.Pos.Line == parse.EOF {
			return fmt.Sprintf("%s: %s near <eof>", name, strings.TrimSpace(pe.Message))
		}
		return fmt.Sprintf("%s:%d: %s%s", name, pe.Pos.Line, strings.TrimSpace(pe.Message), near)
	}
	var ce *lua.CompileError
	if errors.As(err, &ce) {
		return fmt.Sprintf("%s:%d: %s", name, ce.Line, ce.Message)
	}
	return fmt.Sprintf("%s: %v", name, err)
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
