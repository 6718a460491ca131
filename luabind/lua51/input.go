package lua51

import (
	"math"

	lua "github.com/yuin/gopher-lua"
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
	asChunk := readingOf(source, 0)
	asExpression := readingOf(returned+source, len(returned))
	if asExpression.reached(asChunk) {
		return Input{Expression: true, Incomplete: asExpression.atEnd, Err: err}
	}
	proto, err = Compile([]byte(source), name)
	return Input{Proto: proto, Incomplete: err != nil && asChunk.atEnd, Err: err}
}

// Incomplete is what CompileInput says of that, for less: it is asked at every line that is typed.
func Incomplete(source string) bool {
	asChunk := readingOf(source, 0)
	if !asChunk.atEnd && asChunk.at == math.MaxInt {
		return false
	}
	asExpression := readingOf(returned+source, len(returned))
	if asExpression.at == math.MaxInt && !asExpression.atEnd {
		return false
	}
	return asChunk.atEnd || asExpression.atEnd && asExpression.reached(asChunk)
}

// reading is how far the parser got.
type reading struct {
	at    int  // where it gave up, behind everything if it did not
	atEnd bool // at the end, inside something that has begun
}

// reached reports whether r is behind other.
func (r reading) reached(other reading) bool {
	switch {
	case other.atEnd:
		return false
	case r.atEnd:
		return true
	}
	return r.at > other.at
}

// readingOf reads source, of which the first shift characters are not the person's.
func readingOf(source string, shift int) reading {
	_, fault := parseChunk([]byte(source + "\n"))
	if fault == nil {
		return reading{at: math.MaxInt}
	}
	return reading{fault.at - shift, fault.atEnd}
}
