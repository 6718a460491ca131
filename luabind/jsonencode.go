package luabind

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

// jsonEncoder writes a value. Its place in the whole is path, for messages.
type jsonEncoder struct {
	in    *Interp
	e     *jsontext.Encoder
	path  []string
	on    map[*lua.LTable]bool // tables that are being written
	depth int
	count int // of values
}

// encodeJSON is the JSON text of v; an error tells the place in v.
func (in *Interp) encodeJSON(v lua.LValue, indent, depth int) (string, error) {
	var b strings.Builder
	options := []jsontext.Options{jsontext.EscapeForJS(true)}
	if indent > 0 {
		options = append(options, jsontext.WithIndent(strings.Repeat(" ", indent)))
	}
	e := &jsonEncoder{in: in, e: jsontext.NewEncoder(&b, options...), on: make(map[*lua.LTable]bool), depth: depth}
	err := e.value(v)
	lua51.Charge(in.threads.Current(), e.count%jsonRound)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func (e *jsonEncoder) errorf(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if len(e.path) > 0 {
		path := e.path
		if len(path) > 8 {
			path = append(slices.Clone(path[:4]), append([]string{"..."}, path[len(path)-3:]...)...)
		}
		text += " (at " + strings.TrimPrefix(strings.Join(path, ""), ".") + ")"
	}
	return fmt.Errorf("%s", text)
}

func (e *jsonEncoder) value(v lua.LValue) error {
	if e.count++; e.count%jsonRound == 0 {
		lua51.Charge(e.in.threads.Current(), jsonRound)
	}
	switch x := v.(type) {
	case *lua.LNilType:
		return e.e.WriteToken(jsontext.Null)
	case lua.LBool:
		return e.e.WriteToken(jsontext.Bool(bool(x)))
	case lua.LNumber:
		return e.number(float64(x))
	case lua.LString:
		if !utf8.ValidString(string(x)) {
			return e.errorf("text that is not UTF-8 has no JSON: %s", shortened(strconv.Quote(string(x))))
		}
		return e.e.WriteToken(jsontext.String(string(x)))
	case *lua.LTable:
		return e.table(x)
	case *lua.LUserData:
		if x == e.in.null {
			return e.e.WriteToken(jsontext.Null)
		}
	}
	return e.errorf("%s has no JSON", typeName(v))
}

func (e *jsonEncoder) number(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return e.errorf("the number %s has no JSON", lua51.NumberText(f))
	}
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if f == math.Trunc(f) && math.Abs(f) <= npu.MaxBytes {
		text = strconv.FormatFloat(f, 'f', -1, 64)
	}
	return e.e.WriteValue(jsontext.Value(text))
}

func (e *jsonEncoder) table(t *lua.LTable) error {
	if e.on[t] {
		return e.errorf("a table is in itself")
	}
	if len(e.on) >= e.depth {
		return e.errorf("nested more than %d deep", e.depth)
	}
	e.on[t] = true
	defer delete(e.on, t)
	names, length, err := e.keys(t)
	if err != nil {
		return err
	}
	if len(names) == 0 && (length > 0 || t.Metatable == e.in.arrayMeta && e.in.arrayMeta != nil) {
		return e.array(t, length)
	}
	if err := e.e.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, name := range names {
		e.path = append(e.path, "."+shortened(name))
		if !utf8.ValidString(name) {
			return e.errorf("a name that is not UTF-8 has no JSON")
		}
		if err := e.e.WriteToken(jsontext.String(name)); err != nil {
			return err
		}
		if err := e.value(t.RawGetString(name)); err != nil {
			return err
		}
		e.path = e.path[:len(e.path)-1]
	}
	return e.e.WriteToken(jsontext.EndObject)
}

// keys are the names of an object in order, or the length of an array.
func (e *jsonEncoder) keys(t *lua.LTable) (names []string, length int, err error) {
	var numbers []float64
	t.ForEach(func(k, _ lua.LValue) {
		switch x := k.(type) {
		case lua.LString:
			names = append(names, string(x))
		case lua.LNumber:
			numbers = append(numbers, float64(x))
		default:
			err = e.errorf("%s as a key has no JSON", typeName(k))
		}
	})
	if err != nil {
		return nil, 0, err
	}
	slices.Sort(names)
	slices.Sort(numbers)
	if t.Metatable == e.in.arrayMeta && e.in.arrayMeta != nil && len(names) > 0 {
		return nil, 0, e.errorf("an array has the key %q", names[0])
	}
	if len(names) > 0 && len(numbers) > 0 {
		return nil, 0, e.errorf("a table with both numbers and strings as keys has no JSON: %s and %q", lua51.NumberText(numbers[0]), names[0])
	}
	for i, n := range numbers {
		if n != float64(i+1) {
			return nil, 0, e.errorf("a table with the key %s but not %d has no JSON: json.null fills holes", lua51.NumberText(n), i+1)
		}
	}
	return names, len(numbers), nil
}

func (e *jsonEncoder) array(t *lua.LTable, length int) error {
	if err := e.e.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for i := 1; i <= length; i++ {
		e.path = append(e.path, fmt.Sprintf("[%d]", i))
		if err := e.value(t.RawGetInt(i)); err != nil {
			return err
		}
		e.path = e.path[:len(e.path)-1]
	}
	return e.e.WriteToken(jsontext.EndArray)
}
