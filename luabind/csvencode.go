package luabind

import (
	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/csv"
)

func csvEncode(c *call) error {
	list, ok := c.arg(1).(*lua.LTable)
	if !ok {
		return c.wrongType(1, "rows", "a table")
	}
	o, err := c.table(2)
	if err != nil {
		return err
	}
	style, err := o.csvStyle()
	if err != nil {
		return err
	}
	cells := &tableReader{c: c, raw: true}
	if cells.columns, err = o.stringList("columns"); err != nil {
		return err
	}
	header := cells.columns
	switch v := o.get("header"); {
	case v == lua.LFalse:
		header = nil
	case v.Type() == lua.LTTable:
		if header, err = o.stringList("header"); err != nil {
			return err
		}
	case v != lua.LNil:
		return o.wrongType("header", "a list of titles or false", v)
	}
	rows, err := cells.list(list)
	if err != nil {
		return err
	}
	if cells.count = max(len(cells.columns), len(header)); cells.columns == nil {
		for _, row := range rows {
			cells.count = max(cells.count, longest(row))
		}
	}
	text, err := cells.encodeCSV(style, header, rows)
	if err != nil {
		return err
	}
	c.push(lua.LString(text))
	return nil
}

func (o opts) csvStyle() (s csv.Style, err error) {
	if s.Syntax, err = o.csvSyntax(); err != nil {
		return s, err
	}
	if err := s.Check(); err != nil {
		return s, o.c.errorf("%v", err)
	}
	if s.QuoteAll, err = o.bool("quote_all", false); err != nil {
		return s, err
	}
	if s.QuoteAll && s.Quote == 0 {
		return s, o.c.errorf("quote_all goes with a quote")
	}
	s.CRLF, err = o.bool("crlf", false)
	return s, err
}

// encodeCSV is the text of rows, of which each has as many fields.
func (r *tableReader) encodeCSV(style csv.Style, header []string, rows []*lua.LTable) ([]byte, error) {
	switch {
	case header != nil && len(header) != r.count:
		return nil, r.c.errorf("the number of titles is %d, that of columns %d", len(header), r.count)
	case r.count == 0 && (len(rows) > 0 || header != nil):
		return nil, r.c.errorf("the rows have no cells%s", r.namelessHint(rows))
	}
	r.formats, r.numbers, r.filled = make([]string, r.count), make([]bool, r.count), make([]bool, r.count)
	var b []byte
	var err error
	if header != nil {
		if b, err = style.Append(b, header); err != nil {
			return nil, r.c.errorf("header: %v", err)
		}
	}
	for i, row := range rows {
		if r.c.ctx().Err() != nil {
			return nil, r.c.ctx().Err()
		}
		fields, err := r.cells(i+1, row)
		if err != nil {
			return nil, err
		}
		if b, err = style.Append(b, fields); err != nil {
			return nil, r.c.errorf("row %d: %v", i+1, err)
		}
	}
	return b, nil
}

// namelessHint is what helps where rows are by name, and no columns are.
func (r *tableReader) namelessHint(rows []*lua.LTable) string {
	for _, row := range rows {
		if key, _ := row.Next(lua.LNil); key != lua.LNil && r.columns == nil {
			return r.hint(key)
		}
	}
	return ""
}
