package lua51

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

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
			proto, err = nil, refused(name, r)
		}
	}()
	chunk, err = parse.Parse(bytes.NewReader(source), name)
	if line, text, found := badNumeral(source); found && !failsBefore(err, line) {
		return nil, fmt.Errorf("%s:%d: malformed number near '%s'", name, line, text)
	}
	if err != nil {
		if line, char, found := foreignChar(err, source); found {
			return nil, fmt.Errorf("%s:%d: unexpected character '%s'", name, line, char)
		}
		return nil, errors.New(syntaxText(err, name, 1+bytes.Count(source, []byte("\n"))))
	}
	chunk = rewriteChunk(chunk)
	proto, err = lua.Compile(chunk, name)
	if err != nil && !isJumpError(err) {
		return nil, errors.New(syntaxText(err, name, 0))
	}
	if err != nil || hasLongCode(proto) {
		if s := tooLong(chunk); s != nil {
			return nil, fmt.Errorf("%s:%d: control structure too long near line %d", name, s.Line(), s.Line())
		}
	}
	if err != nil {
		return nil, errors.New(syntaxText(err, name, 0))
	}
	return proto, nil
}

// failsBefore reports whether a parse error is in a line before this one.
func failsBefore(err error, line int) bool {
	var pe *parse.Error
	return errors.As(err, &pe) && pe.Pos.Line != parse.EOF && pe.Pos.Line < line
}

// foreignChar is the character that the parser gave up at, where it is none of ASCII: the parser names but
// its first byte.
func foreignChar(err error, source []byte) (line int, char string, found bool) {
	var pe *parse.Error
	if !errors.As(err, &pe) || pe.Pos.Line < 1 || !strings.HasPrefix(pe.Message, "Invalid token") {
		return 0, "", false
	}
	lines := bytes.Split(source, []byte("\n"))
	if pe.Pos.Line > len(lines) {
		return 0, "", false
	}
	text := lines[pe.Pos.Line-1]
	at := pe.Pos.Column - 1
	if at < 0 || at >= len(text) || text[at] < utf8.RuneSelf {
		return 0, "", false
	}
	r, size := utf8.DecodeRune(text[at:])
	if r == utf8.RuneError || !unicode.IsPrint(r) {
		return pe.Pos.Line, fmt.Sprintf("\\%d", text[at]), true
	}
	return pe.Pos.Line, string(text[at : at+size]), true
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
		msg := ce.Message
		if strings.HasPrefix(msg, "register overflow") {
			msg = "function or expression too complex"
		}
		return fmt.Sprintf("%s:%d: %s", name, max(ce.Line, 1), msg) // a chunk is defined at line 0
	}
	return fmt.Sprintf("%s: %v", name, err)
}

// refused explains a panic of the rewriter or the compiler.
func refused(name string, cause any) error {
	if r, ok := cause.(refusal); ok {
		return fmt.Errorf("%s:%d: %s", name, r.line, r.message)
	}
	return fmt.Errorf("%s: the chunk is too large or too deeply nested to be compiled (%v)", name, cause)
}
