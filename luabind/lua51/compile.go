package lua51

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// Compile compiles a chunk called name. A byte order mark and a first line that starts with # are
// accepted, and line ends may be those of any system; line numbers stay those of the source. Every
// error is "name:line: message", also where the chunk is too large for the virtual machine.
func Compile(source []byte, name string) (proto *lua.FunctionProto, err error) {
	source = bytes.TrimPrefix(source, []byte("\xef\xbb\xbf"))
	if bytes.HasPrefix(source, []byte("#")) {
		end := bytes.IndexByte(source, '\n')
		if end < 0 {
			end = len(source)
		}
		source = source[end:] // the line end stays, so that line 2 is line 2
	}
	if bytes.HasPrefix(source, []byte("\x1bLua")) {
		return nil, fmt.Errorf("%s: precompiled chunks cannot be loaded", name)
	}
	source = bytes.ReplaceAll(source, []byte("\r\n"), []byte("\n"))
	var chunk []ast.Stmt
	defer func() {
		if r := recover(); r != nil {
			proto, err = nil, tooLarge(name, r)
		}
	}()
	if chunk, err = parse.Parse(bytes.NewReader(source), name); err != nil {
		return nil, errors.New(syntaxText(err, name, 1+bytes.Count(source, []byte("\n"))))
	}
	chunk = rewriteChunk(chunk)
	proto, err = lua.Compile(chunk, name)
	if err != nil {
		return nil, errors.New(syntaxText(err, name, 0))
	}
	if hasLongCode(proto) {
		if s := tooLong(chunk); s != nil {
			return nil, fmt.Errorf("%s:%d: control structure too long near line %d", name, s.Line(), s.Line())
		}
	}
	return proto, nil
}

// syntaxText writes a parse error as "name:line: message near 'token'"; last is the last line of the
// source, where an unfinished chunk ends.
func syntaxText(err error, name string, last int) string {
	var pe *parse.Error
	if errors.As(err, &pe) {
		msg := strings.TrimSpace(pe.Message)
		if pe.Pos.Line == parse.EOF {
			return fmt.Sprintf("%s:%d: %s near '<eof>'", name, last, msg)
		}
		if pe.Token != "" {
			msg += fmt.Sprintf(" near '%s'", pe.Token)
		}
		return fmt.Sprintf("%s:%d: %s", name, pe.Pos.Line, msg)
	}
	var ce *lua.CompileError
	if errors.As(err, &ce) {
		return fmt.Sprintf("%s:%d: %s", name, ce.Line, ce.Message)
	}
	return fmt.Sprintf("%s: %v", name, err)
}

// tooLarge explains a panic of the compiler.
func tooLarge(name string, cause any) error {
	return fmt.Errorf("%s: the chunk is too large or too deeply nested to be compiled (%v)", name, cause)
}
