package lua51

import (
	"errors"
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// Input is what a person typed, as the parser sees it.
type Input struct {
	Proto *lua.FunctionProto // nil: it cannot be run
	// Expression says that it is a list of expressions, whose values Proto returns.
	Expression bool
	// Incomplete says that more lines may make it a chunk: it ends inside something that has begun.
	Incomplete bool
	Err        error // where Proto is nil, as of Compile
}

// returned makes a chunk of expressions; it adds no line.
const returned = "return "

// CompileInput compiles source as a list of expressions, or else as statements. Where it is neither, Err is
// that of the reading that got further.
func CompileInput(source, name string) Input {
	proto, err := Compile([]byte(returned+source), name)
	if err == nil {
		return Input{Proto: proto, Expression: true}
	}
	asChunk := parsePosition(source, 0)
	asExpression := parsePosition(returned+source, len(returned))
	if asExpression.reached(asChunk) {
		return Input{Expression: true, Incomplete: asExpression.atEnd, Err: err}
	}
	proto, err = Compile([]byte(source), name)
	return Input{Proto: proto, Incomplete: err != nil && asChunk.atEnd, Err: err}
}

// Incomplete is what CompileInput says of that, for less: it is asked at every line that is typed.
func Incomplete(source string) bool {
	asChunk := parsePosition(source, 0)
	if !asChunk.atEnd && asChunk.line == math.MaxInt {
		return false
	}
	asExpression := parsePosition(returned+source, len(returned))
	if asExpression.line == math.MaxInt && !asExpression.atEnd {
		return false
	}
	return asChunk.atEnd || asExpression.atEnd && asExpression.reached(asChunk)
}

// parsed is where the parser gave up.
type parsed struct {
	line, column int
	atEnd        bool
}

// reached reports whether p is behind q.
func (p parsed) reached(q parsed) bool {
	switch {
	case q.atEnd:
		return false
	case p.atEnd:
		return true
	case p.line != q.line:
		return p.line > q.line
	}
	return p.column > q.column
}

// parsePosition parses source, of which the first shift characters are not the person's. It is behind all of
// the source where there is no error.
func parsePosition(source string, shift int) parsed {
	source = strings.ReplaceAll(source, "\r\n", "\n")
	_, err := parse.Parse(strings.NewReader(source+"\n"), "")
	var pe *parse.Error
	if !errors.As(err, &pe) {
		return parsed{line: math.MaxInt}
	}
	p := parsed{pe.Pos.Line, pe.Pos.Column, pe.Pos.Line == parse.EOF}
	if p.line == 1 {
		p.column -= shift
	}
	return p
}
