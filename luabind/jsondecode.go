package luabind

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

// jsonDecoder makes values of the tokens of a text.
type jsonDecoder struct {
	in    *Interp
	text  string
	d     *jsontext.Decoder
	big   string // what becomes of integers beyond 2^53: "text", "round", "" an error
	depth int
	count int // of values
}

// jsonRound is how many values are read or written between two looks at whether the script has been ended.
const jsonRound = 256

// jsonBytes is what a value takes, about: most are in tables of few.
const jsonBytes = 100

func isEnd(err error) bool { return errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) }

// errorf is an error at the token that was read last.
func (d *jsonDecoder) errorf(format string, args ...any) error {
	return jsonError(d.text, d.d.InputOffset(), fmt.Sprintf(format, args...))
}

// syntax is an error of the parser with its place as line and column.
func (d *jsonDecoder) syntax(err error) error {
	var s *jsontext.SyntacticError
	switch {
	case errors.As(err, &s) && s.Err != nil && errors.Is(s.Err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return jsonError(d.text, int64(len(d.text)), "unexpected end of the text")
	case errors.As(err, &s):
		what := strings.TrimPrefix(fmt.Sprint(s.Err), "jsontext: ")
		if errors.Is(s.Err, jsontext.ErrDuplicateName) {
			what = fmt.Sprintf("the name %q occurs twice in an object", s.JSONPointer.LastToken())
		}
		return jsonError(d.text, s.ByteOffset, what)
	}
	return d.errorf("%v", err)
}

func (d *jsonDecoder) value(level int) (lua.LValue, error) {
	if d.count++; d.count%jsonRound == 0 {
		L := d.in.threads.Current()
		lua51.Charge(L, jsonRound)
		lua51.Room(L, jsonRound*jsonBytes)
	}
	t, err := d.d.ReadToken()
	if err != nil {
		return nil, d.syntax(err)
	}
	switch t.Kind() {
	case '[', '{':
		if level > d.depth {
			return nil, d.errorf("nested more than %d deep", d.depth)
		}
		if t.Kind() == '[' {
			return d.array(level)
		}
		return d.object(level)
	case 't', 'f':
		return lua.LBool(t.Bool()), nil
	case '"':
		return lua.LString(t.String()), nil
	case '0':
		return d.number(t.String())
	}
	return d.in.jsonNull(), nil
}

func (d *jsonDecoder) array(level int) (lua.LValue, error) {
	out := d.in.L.NewTable()
	out.Metatable = d.in.jsonArrayMeta()
	for d.d.PeekKind() != ']' {
		v, err := d.value(level + 1)
		if err != nil {
			return nil, err
		}
		out.Append(v)
	}
	_, err := d.d.ReadToken()
	return out, err
}

func (d *jsonDecoder) object(level int) (lua.LValue, error) {
	out := d.in.L.NewTable()
	for d.d.PeekKind() != '}' {
		t, err := d.d.ReadToken()
		if err != nil {
			return nil, d.syntax(err)
		}
		name := t.String()
		v, err := d.value(level + 1)
		if err != nil {
			return nil, err
		}
		out.RawSetString(name, v)
	}
	_, err := d.d.ReadToken()
	return out, err
}

func (d *jsonDecoder) number(text string) (lua.LValue, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, d.errorf("the number %s is beyond the range of numbers", shortened(text))
	}
	if strings.ContainsAny(text, ".eE") || math.Abs(f) < npu.MaxBytes {
		return lua.LNumber(f), nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= -npu.MaxBytes && n <= npu.MaxBytes {
		return lua.LNumber(f), nil
	}
	switch d.big {
	case "text":
		return lua.LString(text), nil
	case "round":
		return lua.LNumber(f), nil
	}
	return nil, d.errorf("the integer %s is beyond 2^53, where numbers are not exact (the option big tells what to do)", shortened(text))
}

// shortened is text that is not too long for a message.
func shortened(text string) string {
	if len(text) > 40 {
		return text[:37] + "..."
	}
	return text
}
