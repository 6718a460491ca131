package luabind

import (
	"fmt"
	"slices"
	"strconv"

	lua "github.com/yuin/gopher-lua"

	"npulua/internal/printable"
	"npulua/luabind/lua51"
	"npulua/luabind/tabulate"
	"npulua/npu"
)

var tabulateModule = &module{
	name: "tabulate",
	text: "Tables as text. A row is a list of cells, or has them by name; a cell is a string, a number, a boolean, nil (empty) or a value with a text of its own, such as a handle. Columns of numbers are on the right. " +
		"Wide characters count as the two columns that they take, and control characters are written as escapes, so that a terminal obeys none; in CSV the text stays as it is.",
	functions: []function{
		{"format", doc{"(rows [, options])", "string", "The rows as a table, without an end of line.",
			"cells that are tables or functions; lists that are longer than a row has columns", "local tabulate = require \"tabulate\"\nprint(tabulate.format({\n  {id = 0, name = \"910b\", rate = 21.456},\n  {id = 1, name = \"910b\", rate = 9.5},\n}, {columns = {\"id\", \"name\", \"rate\"}, format = {rate = \"%.1f GB/s\"}, style = \"box\"}))"},
			[]option{
				{"columns", "names of the cells, in order; left out, rows are lists", anything},
				{"headers", "titles of the columns in order, or false; left out, the names of columns", anything},
				{"align", "`left`, `right` or `center` for each column, in order or by name; left out, numbers are on the right", anything},
				{"format", "a format of string.format for the numbers of a column, in order or by name: `\"%.2f\"`", anything},
				{"style", "`plain` (aligned, two blanks between columns), `box`, `markdown` or `csv`; plain", oneOf(tabulate.Styles...)},
				{"max_width", "columns of a terminal that a line may take, or \"terminal\": as many as that on standard output has, where there is one. Text that is too long ends in an ellipsis. For plain and box only", anything},
			}, tabulateFormat},
	},
}

// tableReader makes a table of Lua's rows.
type tableReader struct {
	c       *call
	columns []string // names of the cells; nil: rows are lists
	count   int      // of columns
	formats []string
	format  *lua.LFunction // string.format, whatever the script has made of that
	numbers []bool         // which columns have nothing but numbers
	filled  []bool
	raw     bool
}

func tabulateFormat(c *call) error {
	list, ok := c.arg(1).(*lua.LTable)
	if !ok {
		return c.wrongType(1, "rows", "a table")
	}
	o, err := c.table(2)
	if err != nil {
		return err
	}
	style, err := o.string("style")
	switch {
	case err != nil:
		return err
	case style == "":
		style = "plain"
	case !slices.Contains(tabulate.Styles, style):
		return c.errorf("unknown style %q%s", style, npu.Suggest(style, tabulate.Styles))
	}
	t := new(tabulate.Table)
	if t.MaxWidth, err = o.maxWidth(style); err != nil {
		return err
	}
	r := &tableReader{c: c, raw: style == "csv", format: c.L.NewFunction(lua51.StringFormat)}
	if err := r.table(o, list, t); err != nil {
		return err
	}
	steps, bytes := t.Cost()
	lua51.Charge(c.L, steps)
	lua51.Room(c.L, bytes)
	c.push(lua.LString(t.Format(style)))
	return nil
}

func (o opts) maxWidth(style string) (int, error) {
	v := o.get("max_width")
	if v == lua.LNil {
		return 0, nil
	}
	if !tabulate.Limited(style) {
		return 0, o.c.errorf("max_width goes with the styles plain and box, not with %s", style)
	}
	if v == lua.LString("terminal") {
		return terminalWidth(o.c.in.opts.Stdout), nil
	}
	if _, ok := v.(lua.LNumber); !ok {
		return 0, o.wrongType("max_width", `a number or "terminal"`, v)
	}
	n, err := o.int("max_width", 0)
	if err == nil && (n < 1 || n > 1<<20) {
		err = o.c.errorf("option \"max_width\" must be 1 to %d, got %d", 1<<20, n)
	}
	return int(n), err
}

func (r *tableReader) table(o opts, list *lua.LTable, t *tabulate.Table) error {
	var err error
	if v := o.get("columns"); v != lua.LNil {
		if r.columns, err = r.strings("columns", v); err != nil {
			return err
		}
		if len(r.columns) == 0 {
			return r.c.errorf("option \"columns\" is empty")
		}
	}
	switch v := o.get("headers").(type) {
	case *lua.LNilType:
		t.Headers = r.columns
	case lua.LBool:
		if v {
			return o.wrongType("headers", "a list of titles or false", v)
		}
	default:
		if t.Headers, err = r.strings("headers", v); err != nil {
			return err
		}
	}
	rows, err := r.list(list)
	if err != nil {
		return err
	}
	r.count = max(len(r.columns), len(t.Headers))
	if r.columns == nil && t.Headers == nil {
		for _, row := range rows {
			r.count = max(r.count, longest(row))
		}
	}
	if r.columns != nil && len(t.Headers) > len(r.columns) {
		return r.c.errorf("option \"headers\" has %d titles for %d columns", len(t.Headers), len(r.columns))
	}
	if t.Headers, err = r.titles(t.Headers); err != nil {
		return err
	}
	if r.formats, err = r.perColumn(o, "format"); err != nil {
		return err
	}
	aligns, err := r.perColumn(o, "align")
	if err != nil {
		return err
	}
	r.numbers, r.filled = make([]bool, r.count), make([]bool, r.count)
	for i := range r.numbers {
		r.numbers[i] = true
	}
	for i, row := range rows {
		cells, err := r.cells(i+1, row)
		if err != nil {
			return err
		}
		t.Rows = append(t.Rows, cells)
	}
	t.Columns, err = r.aligned(aligns)
	return err
}

func (r *tableReader) titles(list []string) ([]string, error) {
	if list == nil {
		return nil, nil
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = r.safe(s)
	}
	return out, nil
}

var alignments = []string{tabulate.Left: "left", tabulate.Right: "right", tabulate.Center: "center"}

func (r *tableReader) aligned(names []string) ([]tabulate.Align, error) {
	out := make([]tabulate.Align, r.count)
	for i, name := range names {
		at := slices.Index(alignments, name)
		switch {
		case name == "" && r.numbers[i] && r.filled[i]:
			at = int(tabulate.Right)
		case name == "":
			at = int(tabulate.Left)
		case at < 0:
			return nil, r.c.errorf("unknown alignment %q%s", name, npu.Suggest(name, alignments))
		}
		out[i] = tabulate.Align(at)
	}
	return out, nil
}

// list is the rows.
func (r *tableReader) list(t *lua.LTable) ([]*lua.LTable, error) {
	var rows []*lua.LTable
	for i := 1; t.RawGetInt(i) != lua.LNil; i++ {
		row, ok := t.RawGetInt(i).(*lua.LTable)
		if !ok {
			return nil, r.c.errorf("row %d must be a table, got %s", i, typeName(t.RawGetInt(i)))
		}
		rows = append(rows, row)
	}
	n := 0
	t.ForEach(func(lua.LValue, lua.LValue) { n++ })
	if n != len(rows) {
		return nil, r.c.errorf("argument 1 (rows) must be a list of rows, and has keys besides 1 to %d", len(rows))
	}
	return rows, nil
}

// longest is the greatest key of a row that is a list, with holes perhaps.
func longest(row *lua.LTable) int {
	n := 0
	row.ForEach(func(k, _ lua.LValue) {
		if i, ok := k.(lua.LNumber); ok && float64(i) <= maxColumns {
			n = max(n, int(i))
		}
	})
	return n
}

// maxColumns bounds what a key of a row can ask for.
const maxColumns = 10_000

// cells are the texts of row n. Of a row by name other keys are not looked at: it may be a record with more in it.
func (r *tableReader) cells(n int, row *lua.LTable) ([]string, error) {
	if r.columns == nil {
		var bad lua.LValue
		row.ForEach(func(k, _ lua.LValue) {
			if i, ok := k.(lua.LNumber); !ok || i < 1 || i > lua.LNumber(r.count) || i != lua.LNumber(int(i)) {
				bad = k
			}
		})
		if bad != nil {
			return nil, r.c.errorf("row %d has the key %s, and there are %d columns%s", n, describe(bad), r.count, r.hint(bad))
		}
	}
	lua51.Charge(r.c.L, r.count)
	out := make([]string, r.count)
	for i := range out {
		v := row.RawGetInt(i + 1)
		if r.columns != nil {
			v = row.RawGetString(r.columns[i])
		}
		text, err := r.cell(v, i)
		if err != nil {
			return nil, r.c.errorf("row %d, column %s: %v", n, r.columnName(i), err)
		}
		out[i] = text
	}
	return out, nil
}

func (r *tableReader) hint(key lua.LValue) string {
	if key.Type() == lua.LTString {
		return `: rows by name need the option "columns"`
	}
	return ""
}

func (r *tableReader) columnName(i int) string {
	if r.columns != nil {
		return fmt.Sprintf("%q", r.columns[i])
	}
	return fmt.Sprint(i + 1)
}

func (r *tableReader) cell(v lua.LValue, i int) (string, error) {
	if v == lua.LNil || r.raw && v == lua.LValue(r.c.in.null) {
		return "", nil
	}
	r.filled[i] = true
	if n, ok := v.(lua.LNumber); ok {
		switch {
		case r.formats[i] != "":
		case r.raw:
			return exactText(float64(n)), nil
		default:
			return lua51.NumberText(float64(n)), nil
		}
		results, err := r.c.in.protected(r.c.L, r.format, lua.LString(r.formats[i]), n)
		if err != nil {
			return "", fmt.Errorf("the format %q: %w", r.formats[i], err)
		}
		return r.safe(results[0].String()), nil
	}
	r.numbers[i] = false
	switch x := v.(type) {
	case lua.LString:
		return r.safe(string(x)), nil
	case lua.LBool:
		return x.String(), nil
	}
	if r.c.L.GetMetaField(v, "__tostring") == lua.LNil {
		return "", fmt.Errorf("%s has no text", typeName(v))
	}
	results, err := r.c.in.protected(r.c.L, r.c.L.GetMetaField(v, "__tostring"), v)
	if err != nil {
		return "", err
	}
	if len(results) > 0 && results[0].Type() == lua.LTString {
		return r.safe(results[0].String()), nil
	}
	return "", fmt.Errorf("its __tostring gives no string")
}

// exactText is a number with all its digits.
func exactText(f float64) string {
	if text := number(f); text != lua51.NumberText(f) || f-f != 0 {
		return text
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// safe is text on one line that a terminal does not obey; programs get it as it is.
func (r *tableReader) safe(text string) string {
	if r.raw {
		return text
	}
	return printable.Line(text)
}

// strings reads a list of strings.
func (r *tableReader) strings(name string, v lua.LValue) ([]string, error) {
	t, ok := v.(*lua.LTable)
	if !ok {
		return nil, opts{c: r.c}.wrongType(name, "a list of strings", v)
	}
	out := []string{}
	for i := 1; t.RawGetInt(i) != lua.LNil; i++ {
		s, ok := t.RawGetInt(i).(lua.LString)
		if !ok {
			return nil, r.c.errorf("option %q must be a list of strings, got %s at %d", name, typeName(t.RawGetInt(i)), i)
		}
		out = append(out, string(s))
	}
	return out, nil
}

// perColumn reads strings for columns, in order or by name; "" where there is none.
func (r *tableReader) perColumn(o opts, name string) ([]string, error) {
	out := make([]string, r.count)
	v := o.get(name)
	if v == lua.LNil {
		return out, nil
	}
	t, ok := v.(*lua.LTable)
	if !ok {
		return nil, o.wrongType(name, "a table with a string for each column", v)
	}
	var err error
	t.ForEach(func(k, v lua.LValue) {
		i := -1
		switch x := k.(type) {
		case lua.LNumber:
			if x == lua.LNumber(int(x)) && x >= 1 && int(x) <= r.count {
				i = int(x) - 1
			}
		case lua.LString:
			i = slices.Index(r.columns, string(x))
		}
		s, ok := v.(lua.LString)
		switch {
		case i < 0 && r.columns != nil && k.Type() == lua.LTString:
			err = r.c.errorf("option %q: there is no column %s%s", name, describe(k), npu.Suggest(k.String(), r.columns))
		case i < 0:
			err = r.c.errorf("option %q: there is no column %s, of %d", name, describe(k), r.count)
		case ok:
			out[i] = string(s)
		case v != lua.LFalse: // which leaves a column out
			err = r.c.errorf("option %q: a string is wanted for column %s, got %s", name, describe(k), typeName(v))
		}
	})
	return out, err
}
