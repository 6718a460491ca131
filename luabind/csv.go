package luabind

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/csv"
	"npulua/npu"
)

var csvSyntaxOptions = []option{
	{"separator", "character between fields; \",\"", anything},
	{"quote", "character around fields that have separators or ends of lines, or false: there is none; '\"'", anything},
}

var csvReadOptions = append(csvSyntaxOptions[:2:2],
	option{"comment", "lines that begin with this character are skipped; none", anything},
	option{"header", "true: the first row has the names of the columns, and rows are tables by name; a list: these are the names; false", aBoolean},
	option{"numbers", "true: fields that are numbers as JSON writes them become numbers, unless they are integers beyond 2^53; `007` stays text; false", aBoolean},
	option{"ragged", "true: rows may have other numbers of fields than the first; by name, fewer; false", aBoolean},
)

const csvErrors = "a quote that is never closed, or stands inside a field; rows of more than 16 MiB; rows that have not as many fields as the first, unless `ragged` is set; names that occur twice: each with line and column"

var csvModule = &module{
	name: "csv",
	text: "Comma-separated values (RFC 4180) and their kin. Fields are strings of any bytes; a byte order mark and empty lines are skipped, lines end with LF, CR LF or CR, and inside quotes these stay as they are.",
	functions: []function{
		{"decode", doc{"(text [, options])", "rows, names", "A list with a row for each line: a list of fields, or a table by name where `header` says so. `names` is the list of names then, in order, else nil.", csvErrors, "local csv = require \"csv\"\nfor _, row in ipairs((csv.decode(\"id,rate\\n0,21.5\\n\", {header = true, numbers = true}))) do print(row.id, row.rate) end"}, csvReadOptions, csvDecode},
		{"rows", doc{"(path [, options])", "csvreader", "Reads a file row by row, whatever its size: `for row, line in csv.rows(path)`, where `line` is the number of the line that the row begins at.", "a file that cannot be read; as `csv.decode`, when the row is read", `for row, line in require("csv").rows("rates.csv") do print(line, row[1], row[2]) end`}, csvReadOptions, csvRows},
		{"encode", doc{"(rows [, options])", "string", "Text of rows, a line each: a row is a list of cells, or has them by name, which `columns` puts in order. Rows that are shorter than others are filled up with empty fields. A cell is a string, a number (written with all its digits), a boolean, nil or json.null (empty), or a value with a text of its own.", "cells that have no text; rows by name without `columns`; names beyond the columns are not looked at", `io.write(require("csv").encode({{id = 0, rate = 21.5}}, {columns = {"id", "rate"}}))`},
			append(csvSyntaxOptions[:2:2],
				option{"columns", "names of the cells, in order; the first line has them. Left out, rows are lists", anything},
				option{"header", "a list of titles for the first line, or false for none; the names of `columns`", anything},
				option{"quote_all", "true: quotes also around fields that need none; false", aBoolean},
				option{"crlf", "true: lines end with CR LF; false", aBoolean},
			), csvEncode},
	},
	classes: []func() classHelp{csvReaderClass.help},
}

var csvReaderClass = &class[*csvReader]{
	name: "csvreader", plain: true,
	text: "Reads rows from a file (`csv.rows`), and closes it after the last one.",
	methods: []method[*csvReader]{
		{"read", doc{"()", "row, line", "The next row, and the number of the line that it begins at; nil after the last one.", csvErrors, `local first = require("csv").rows("rates.csv"):read()`}, nil, csvReaderRead},
		{"close", doc{"()", "", "Closes the file: there are no more rows. It is closed by itself after the last row, an error, and at the end of the program.", "", `reader:close()`}, nil, func(_ *call, r *csvReader) error { return r.close() }},
	},
	fields: []field[*csvReader]{
		{"names", doc{Text: "List of the names of the columns, known from the first row on; nil where there are none."}, func(c *call, r *csvReader) (lua.LValue, error) { return c.in.names(r.names), nil }},
	},
	str:  func(r *csvReader) string { return fmt.Sprintf("csvreader(%q%s", r.path, closedMark(r.f == nil)) },
	call: &method[*csvReader]{name: "read", fn: csvReaderRead}, // for row in csv.rows(path)
}

// csvRowReader makes Lua values of the rows of a text.
type csvRowReader struct {
	*csv.Reader
	names   []string // nil: rows are lists
	header  bool     // the names come first
	numbers bool
	ragged  bool
	count   int // fields of the first row; 0: none was read
}

// csvReader is one of a file.
type csvReader struct {
	csvRowReader
	path  string
	f     *os.File // nil: closed
	in    *Interp
	bound any
}

// names is a list for scripts; nil where there are none.
func (in *Interp) names(list []string) lua.LValue {
	if list == nil {
		return lua.LNil
	}
	return in.strings(list)
}

func csvDecode(c *call) error {
	text, err := c.string(1, "text")
	if err != nil {
		return err
	}
	r, err := c.rowReader(strings.NewReader(text))
	if err != nil {
		return err
	}
	rows := c.L.NewTable()
	for {
		row, err := r.row(c.in)
		switch {
		case err == io.EOF:
			c.push(rows)
			c.push(c.in.names(r.names))
			return nil
		case err != nil:
			return c.errorf("%v", err)
		case c.ctx().Err() != nil:
			return c.ctx().Err()
		}
		rows.Append(row)
	}
}

// rowReader reads the options of a reader.
func (c *call) rowReader(from io.Reader) (r csvRowReader, err error) {
	o, err := c.table(2)
	if err != nil {
		return r, err
	}
	syntax, err := o.csvSyntax()
	if err != nil {
		return r, err
	}
	if syntax.Comment, err = o.character("comment", 0); err != nil {
		return r, err
	}
	if err := syntax.Check(); err != nil {
		return r, c.errorf("%v", err)
	}
	r.Reader = csv.NewReader(from, syntax)
	switch v := o.get("header").(type) {
	case *lua.LNilType:
	case lua.LBool:
		r.header = bool(v)
	case *lua.LTable:
		if r.names, err = o.stringList("header"); err != nil {
			return r, err
		}
		if len(r.names) == 0 {
			return r, c.errorf("option \"header\" has no names")
		}
		if name, ok := twice(r.names); ok {
			return r, c.errorf("option \"header\" has the name %q twice", name)
		}
		r.count = len(r.names)
	default:
		return r, o.wrongType("header", "true, false or a list of names", v)
	}
	if r.numbers, err = o.bool("numbers", false); err != nil {
		return r, err
	}
	r.ragged, err = o.bool("ragged", false)
	return r, err
}

func (o opts) csvSyntax() (s csv.Syntax, err error) {
	if s.Separator, err = o.character("separator", csv.Usual.Separator); err != nil {
		return s, err
	}
	switch v := o.get("quote"); v {
	case lua.LFalse:
		return s, nil
	case lua.LTrue:
		return s, o.wrongType("quote", "a character or false", v)
	}
	s.Quote, err = o.character("quote", csv.Usual.Quote)
	return s, err
}

// character is an option that is one character.
func (o opts) character(name string, otherwise rune) (rune, error) {
	text, err := o.string(name)
	if err != nil || o.get(name) == lua.LNil {
		return otherwise, err
	}
	c, size := utf8.DecodeRuneInString(text)
	if size == 0 || size != len(text) || c == utf8.RuneError || c == 0 {
		return 0, o.c.errorf("option %q must be one character, got %q", name, shortened(text))
	}
	return c, nil
}

// stringList is an option that is a list of strings; nil where it was left out.
func (o opts) stringList(name string) ([]string, error) {
	v := o.get(name)
	if v == lua.LNil {
		return nil, nil
	}
	return (&tableReader{c: o.c}).strings(name, v)
}

// twice is the first string that a list has more than once.
func twice(list []string) (string, bool) {
	sorted := slices.Sorted(slices.Values(list))
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return sorted[i], true
		}
	}
	return "", false
}

// row is the next row; io.EOF after the last one.
func (r *csvRowReader) row(in *Interp) (*lua.LTable, error) {
	fields, err := r.Read()
	if err == nil && r.header {
		if err := r.readNames(fields); err != nil {
			return nil, err
		}
		fields, err = r.Read()
	}
	if err != nil {
		return nil, err
	}
	if r.count == 0 {
		r.count = len(fields)
	}
	if n := len(fields); n != r.count && (!r.ragged || r.names != nil && n > r.count) {
		of := "first row"
		if r.names != nil {
			of = "names"
		}
		return nil, fmt.Errorf("line %d: the number of fields is %d, that of the %s %d%s", r.Line(), n, of, r.count, r.raggedHint(n))
	}
	t := in.L.CreateTable(0, 0)
	for i, field := range fields {
		v := r.value(field)
		if r.names != nil {
			t.RawSetString(r.names[i], v)
		} else {
			t.RawSetInt(i+1, v)
		}
	}
	return t, nil
}

func (r *csvRowReader) raggedHint(n int) string {
	if r.names != nil && n > r.count {
		return ""
	}
	return " (ragged = true lets that be)"
}

func (r *csvRowReader) readNames(fields []string) error {
	r.header = false
	if name, ok := twice(fields); ok {
		return fmt.Errorf("line %d: the name %q occurs twice", r.Line(), shortened(name))
	}
	r.names, r.count = fields, len(fields)
	return nil
}

// jsonNumber is what numbers look like: leading zeros are those of identifiers.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func (r *csvRowReader) value(field string) lua.LValue {
	if !r.numbers || !jsonNumber.MatchString(field) {
		return lua.LString(field)
	}
	f, err := strconv.ParseFloat(field, 64)
	if err != nil {
		return lua.LString(field)
	}
	if n, e := strconv.ParseInt(field, 10, 64); math.Abs(f) >= npu.MaxBytes && !strings.ContainsAny(field, ".eE") && (e != nil || n > npu.MaxBytes || n < -npu.MaxBytes) {
		return lua.LString(field)
	}
	return lua.LNumber(f)
}

func csvRows(c *call) error {
	path, err := c.filePath(1, "path")
	if err != nil {
		return err
	}
	r := &csvReader{path: path, in: c.in}
	if r.csvRowReader, err = c.rowReader(r); err != nil {
		return err
	}
	if r.f, _, err = openRegular(c.in.disk(), path); err != nil {
		return c.fileError(path, err)
	}
	if c.in.csvReaders == nil {
		c.in.csvReaders = register(c.in, csvReaderClass)
		c.in.csvOpen = make(map[*csvReader]bool)
	}
	c.in.csvOpen[r] = true
	c.push(c.in.csvReaders.wrap(r, &r.bound))
	return nil
}

// Read implements io.Reader.
func (r *csvReader) Read(b []byte) (int, error) { return r.f.Read(b) }

func (r *csvReader) close() error {
	if r.f == nil {
		return nil
	}
	delete(r.in.csvOpen, r)
	f := r.f
	r.f = nil
	return f.Close()
}

// closeCSV closes the files of readers that are not at their end.
func (in *Interp) closeCSV() {
	for r := range in.csvOpen {
		_ = r.close() // nothing was written
	}
}

func csvReaderRead(c *call, r *csvReader) error {
	if r.f == nil {
		c.push(lua.LNil)
		return nil
	}
	row, err := r.row(c.in)
	if err == nil {
		c.push(row)
		c.push(lua.LNumber(r.Line()))
		return nil
	}
	_ = r.close() // nothing was written
	var number syscall.Errno
	switch {
	case err == io.EOF:
		c.push(lua.LNil)
		return nil
	case errors.As(err, &number):
		return c.fileError(r.path, err)
	}
	return c.errorf("%q: %v", r.path, err)
}
