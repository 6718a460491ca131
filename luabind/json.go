package luabind

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

// jsonDepth bounds arrays and objects in each other, unless a call says otherwise; the parser has a limit of
// jsonMaxDepth itself.
const jsonDepth, jsonMaxDepth = 1000, 10_000

var depthOption = option{"depth", "how many arrays and objects may be in each other, 1 to 10,000; 1000", anything}

var jsonModule = &module{
	name: "json",
	text: "JSON text (RFC 8259). A table with keys 1 to n is an array, one with string keys an object; an empty one is an object unless `json.array` made it. " +
		"`json.decode` marks arrays, so that an empty one stays an array. Object members are written in the order of their names. " +
		"Numbers are exact up to 2^53; NaN and infinities have no JSON, and integers that a number cannot hold are refused instead of rounded.",
	functions: []function{
		{"encode", doc{"(value [, options])", "string", "JSON text of nil, a boolean, a number, a string (UTF-8), a table or `json.null`.",
			"what has no JSON, with its place: NaN, text that is not UTF-8, functions and handles, tables with holes or with keys of both kinds, tables in themselves", `print(json.encode({name = "npu", ids = {0, 1}}))`},
			[]option{{"indent", "number of spaces that each level is moved to the right; 0: all on one line", anything}, depthOption}, jsonEncode},
		{"decode", doc{"(text [, options])", "value", "The value of JSON text; null is `json.null`.",
			"text that is no JSON, with line and column: names that occur twice, half of a surrogate pair, numbers beyond the range, more after the value", `local t = json.decode('{"a": [1, null]}')`},
			[]option{{"big", "`text` gives integers beyond 2^53 as strings; `round` as the nearest number; else they are an error", anything}, depthOption}, jsonDecode},
		{"array", doc{"([table])", "table", "Marks a table, or a new one, as an array, also where it is empty. Returns it.", "a table with keys other than 1 to n, when it is encoded", `print(json.encode(json.array{}))`}, nil, jsonArray},
	},
	fields: []constant{
		{"null", doc{Text: "Stands for null in tables, where nil cannot be. It equals itself only, and is true in conditions."}, func(in *Interp) lua.LValue { return in.jsonNull() }},
	},
}

// jsonNull is made once for each machine.
func (in *Interp) jsonNull() *lua.LUserData {
	if in.null == nil {
		mt := in.L.NewTable()
		mt.RawSetString("__metatable", lua.LString("json.null"))
		mt.RawSetString("__tostring", in.L.NewFunction(func(L *lua.LState) int {
			L.Push(lua.LString("null"))
			return 1
		}))
		in.null = &lua.LUserData{Env: in.L.Env, Metatable: mt}
		in.library[in.null] = "json.null"
	}
	return in.null
}

// jsonArrayMeta marks arrays.
func (in *Interp) jsonArrayMeta() *lua.LTable {
	if in.arrayMeta == nil {
		in.arrayMeta = in.L.NewTable()
		in.arrayMeta.RawSetString("__metatable", lua.LString("json.array"))
	}
	return in.arrayMeta
}

func jsonArray(c *call) error {
	t, ok := c.arg(1).(*lua.LTable)
	switch {
	case c.arg(1) == lua.LNil:
		t = c.L.NewTable()
	case !ok:
		return c.wrongType(1, "table", "a table")
	case t.Metatable != lua.LNil && t.Metatable != c.in.jsonArrayMeta():
		return c.errorf("the table has a metatable")
	}
	t.Metatable = c.in.jsonArrayMeta()
	c.push(t)
	return nil
}

func (o opts) depth() (int, error) {
	n, err := o.int("depth", jsonDepth)
	if err == nil && (n < 1 || n > jsonMaxDepth) {
		err = o.c.errorf("option \"depth\" must be 1 to %d, got %d", jsonMaxDepth, n)
	}
	return int(n), err
}

func jsonEncode(c *call) error {
	o, err := c.table(2)
	if err != nil {
		return err
	}
	depth, err := o.depth()
	if err != nil {
		return err
	}
	indent, err := o.int("indent", 0)
	if err != nil {
		return err
	}
	if indent < 0 || indent > 16 {
		return c.errorf("option \"indent\" must be 0 to 16, got %d", indent)
	}
	if c.count() == 0 {
		return c.wrongType(1, "value", "a value")
	}
	text, err := c.in.encodeJSON(c.arg(1), int(indent), depth)
	if err != nil {
		return c.errorf("%v", err)
	}
	c.push(lua.LString(text))
	return nil
}

func jsonDecode(c *call) error {
	text, err := c.string(1, "text")
	if err != nil {
		return err
	}
	o, err := c.table(2)
	if err != nil {
		return err
	}
	depth, big, err := o.decoding()
	if err != nil {
		return err
	}
	v, err := c.in.decodeJSON(text, big, depth)
	if err != nil {
		return c.errorf("%v", err)
	}
	c.push(v)
	return nil
}

// decoding reads the options of json.decode.
func (o opts) decoding() (depth int, big string, err error) {
	if depth, err = o.depth(); err != nil {
		return 0, "", err
	}
	if big, err = o.string("big"); err != nil {
		return 0, "", err
	}
	if big != "" && big != "text" && big != "round" {
		err = o.c.errorf("option \"big\" must be text or round, got %q%s", big, npu.Suggest(big, []string{"text", "round"}))
	}
	return depth, big, err
}

// decodeJSON is the value of JSON text; an error tells the place in it.
func (in *Interp) decodeJSON(text, big string, depth int) (lua.LValue, error) {
	d := &jsonDecoder{in: in, text: text, d: jsontext.NewDecoder(strings.NewReader(text)), big: big, depth: depth}
	v, err := d.value(1)
	lua51.Charge(in.threads.Current(), d.count%jsonRound)
	if err == nil {
		if _, more := d.d.ReadToken(); more == nil {
			err = d.errorf("more text after the value")
		} else if !isEnd(more) {
			err = d.syntax(more)
		}
	}
	return v, err
}

// jsonError tells where in JSON text something is wrong.
func jsonError(text string, offset int64, what string) error {
	before := text[:min(int(offset), len(text))]
	line := 1 + strings.Count(before, "\n")
	column := 1 + len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
	return fmt.Errorf("line %d, column %d: %s", line, column, what)
}
