package lua51

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// FileSource is the source in a file, which may begin with a byte order mark and a line that starts with #. Its
// lines keep their numbers.
func FileSource(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !bytes.HasPrefix(data, []byte("#")) {
		return data
	}
	end := bytes.IndexAny(data, "\r\n")
	if end < 0 {
		end = len(data)
	}
	return data[end:]
}

// Compile compiles a chunk called name, whose lines may end as on any system. Every error is
// "name:line: message", also where the chunk is too large for the virtual machine.
func Compile(source []byte, name string) (proto *lua.FunctionProto, err error) {
	if bytes.HasPrefix(source, []byte("\x1bLua")) {
		return nil, fmt.Errorf("%s: precompiled chunks cannot be loaded", name)
	}
	defer func() {
		if r := recover(); r != nil {
			proto, err = nil, refused(name, r)
		}
	}()
	chunk, fault := parseChunk(source)
	if fault != nil {
		return nil, fmt.Errorf("%s:%d: %s", name, fault.line, fault.message)
	}
	chunk = rewriteChunk(chunk)
	proto, err = lua.Compile(chunk, name)
	if err != nil && !isJumpError(err) {
		return nil, errors.New(compileText(err, name))
	}
	if err != nil || hasLongCode(proto) {
		if s := tooLong(chunk); s != nil {
			return nil, fmt.Errorf("%s:%d: control structure too long near line %d", name, s.Line(), s.Line())
		}
	}
	if err != nil {
		return nil, errors.New(compileText(err, name))
	}
	checkUpvalues(proto)
	noteScopes(chunk, proto)
	noteLines(proto, 1+bytes.Count(bytes.TrimRight(source, " \t\n\r;"), []byte("\n")))
	return proto, nil
}

// compileText writes an error of the compiler as "name:line: message".
func compileText(err error, name string) string {
	var ce *lua.CompileError
	if !errors.As(err, &ce) {
		return fmt.Sprintf("%s: %v", name, err)
	}
	msg := ce.Message
	if strings.HasPrefix(msg, "register overflow") {
		msg = "function or expression too complex"
	}
	return fmt.Sprintf("%s:%d: %s", name, max(ce.Line, 1), msg) // a chunk is defined at line 0
}

// refused explains a panic of the rewriter or the compiler.
func refused(name string, cause any) error {
	if r, ok := cause.(refusal); ok {
		return fmt.Errorf("%s:%d: %s", name, r.line, r.message)
	}
	return fmt.Errorf("%s: the chunk is too large or too deeply nested to be compiled (%v)", name, cause)
}
