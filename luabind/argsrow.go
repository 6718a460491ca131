package luabind

import (
	"fmt"
	"slices"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/cmdline"
	"npulua/npu"
)

// rowReader makes declarations of rows.
type rowReader struct {
	option bool // they are options, else arguments without a name
	rows   []*cmdline.Option
}

// rowDepth bounds lists in lists: one that holds itself has no end.
const rowDepth = 16

func (r *rowReader) list(t *lua.LTable, place string, depth int) error {
	if depth > rowDepth {
		return fmt.Errorf("%s: lists are more than %d deep", place, rowDepth)
	}
	var err error
	n := 0
	t.ForEach(func(k, _ lua.LValue) {
		n++
		if i, ok := k.(lua.LNumber); err == nil && (!ok || i != lua.LNumber(int(i)) || i < 1) {
			err = fmt.Errorf("%s is a list of declarations, and has the key %s", place, describe(k))
		}
	})
	for i := 1; i <= n && err == nil; i++ {
		at := fmt.Sprintf("%s[%d]", place, i)
		row, ok := t.RawGetInt(i).(*lua.LTable)
		if !ok {
			return fmt.Errorf("%s must be a declaration, got %s", at, typeName(t.RawGetInt(i)))
		}
		_, nested := row.RawGetInt(1).(*lua.LTable)
		if empty, _ := row.Next(lua.LNil); nested || empty == lua.LNil {
			err = r.list(row, at, depth+1)
			continue
		}
		o := new(cmdline.Option)
		if err = r.row(row, at, o); err == nil {
			r.rows = append(r.rows, o)
		}
	}
	return err
}

// row reads {"name", "VALUE", "help", key = ...}.
func (r *rowReader) row(t *lua.LTable, place string, o *cmdline.Option) error {
	var texts []string
	for i := 1; t.RawGetInt(i) != lua.LNil; i++ {
		s, ok := t.RawGetInt(i).(lua.LString)
		if !ok {
			return fmt.Errorf("%s: text %d must be a string, got %s", place, i, typeName(t.RawGetInt(i)))
		}
		texts = append(texts, string(s))
	}
	if len(texts) > 0 {
		place = fmt.Sprintf("%s (%q)", place, texts[0])
	}
	switch {
	case len(texts) == 2:
		o.Name, o.Help = texts[0], texts[1]
	case len(texts) == 3 && r.option:
		o.Name, o.Value, o.Help = texts[0], texts[1], texts[2]
	case r.option:
		return fmt.Errorf(`%s must be {"name", "VALUE", "help"}, or {"name", "help"} for a flag, got %d texts`, place, len(texts))
	default:
		return fmt.Errorf(`%s must be {"name", "help"}, got %d texts`, place, len(texts))
	}
	if !r.option || o.Value != "" {
		o.Kind = cmdline.Text
	}
	if err := r.fields(t, o, len(texts)); err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	return nil
}

var rowKeys = []string{"type", "default", "min", "max", "choices", "many"}

func (r *rowReader) fields(t *lua.LTable, o *cmdline.Option, texts int) error {
	keys := append(slices.Clone(rowKeys), "optional")
	if r.option {
		keys = append(slices.Clone(rowKeys), "short", "required")
	}
	var err error
	t.ForEach(func(k, _ lua.LValue) {
		if i, ok := k.(lua.LNumber); ok && i >= 1 && i <= lua.LNumber(texts) || err != nil {
			return
		}
		if s, ok := k.(lua.LString); !ok || !slices.Contains(keys, string(s)) {
			err = fmt.Errorf("unknown key %s%s", describe(k), npu.Suggest(k.String(), keys))
		}
	})
	if err != nil {
		return err
	}
	var optional bool
	for _, f := range []struct {
		key string
		to  *bool
	}{{"many", &o.Many}, {"required", &o.Required}, {"optional", &optional}} {
		switch v := t.RawGetString(f.key).(type) {
		case *lua.LNilType:
		case lua.LBool:
			*f.to = bool(v)
		default:
			return fmt.Errorf("%s must be true or false, got %s", f.key, typeName(v))
		}
	}
	if err := r.kind(t, o); err != nil {
		return err
	}
	if o.Min, err = bound(t, "min"); err != nil {
		return err
	}
	if o.Max, err = bound(t, "max"); err != nil {
		return err
	}
	if o.Default, err = valueTexts(t, "default", o.Kind, o.Many); err != nil {
		return err
	}
	if !r.option {
		o.Required = !optional && o.Default == nil
	}
	switch short := t.RawGetString("short").(type) {
	case *lua.LNilType:
	case lua.LString:
		if o.Short = string(short); o.Short == "" {
			return fmt.Errorf("short is empty")
		}
	default:
		return fmt.Errorf("short must be a letter, got %s", typeName(short))
	}
	return nil
}

// kind reads the type, and the choices, which tell the type where that is left out.
func (r *rowReader) kind(t *lua.LTable, o *cmdline.Option) error {
	choices, _ := t.RawGetString("choices").(*lua.LTable)
	if choices != nil {
		if _, ok := choices.RawGetInt(1).(lua.LNumber); ok && o.Kind == cmdline.Text {
			o.Kind = cmdline.Number
		}
	}
	switch v := t.RawGetString("type").(type) {
	case *lua.LNilType:
	case lua.LString:
		kind, ok := cmdline.KindNamed(string(v))
		switch {
		case !ok:
			return fmt.Errorf("unknown type %q%s", string(v), npu.Suggest(string(v), cmdline.KindNames()))
		case o.Kind == cmdline.Flag:
			return fmt.Errorf(`it has a type, and so a value: {%q, "VALUE", "help", type = %q}`, o.Name, string(v))
		}
		o.Kind = kind
	default:
		return fmt.Errorf("type must be a string, got %s", typeName(v))
	}
	var err error
	o.Choices, err = valueTexts(t, "choices", o.Kind, true)
	if err == nil && o.Choices != nil && len(o.Choices) == 0 {
		err = fmt.Errorf("choices is empty")
	}
	return err
}

func bound(t *lua.LTable, key string) (*float64, error) {
	switch v := t.RawGetString(key).(type) {
	case *lua.LNilType:
		return nil, nil
	case lua.LNumber:
		f := float64(v)
		if f != f {
			return nil, fmt.Errorf("%s is not a number", key)
		}
		return &f, nil
	default:
		return nil, fmt.Errorf("%s must be a number, got %s", key, typeName(v))
	}
}

// valueTexts are values of a declaration as users would write them; nil where the key is left out. list: a table has
// several.
func valueTexts(t *lua.LTable, key string, kind cmdline.Kind, list bool) ([]string, error) {
	v := t.RawGetString(key)
	if v == lua.LNil {
		return nil, nil
	}
	items, isTable := v.(*lua.LTable)
	if key == "choices" && !isTable {
		return nil, fmt.Errorf("choices must be a list, got %s", typeName(v))
	}
	if !isTable || !list {
		text, err := valueText1(v, kind)
		if err != nil {
			return nil, fmt.Errorf("%s %w", key, err)
		}
		return []string{text}, nil
	}
	texts := []string{}
	for i := 1; items.RawGetInt(i) != lua.LNil; i++ {
		text, err := valueText1(items.RawGetInt(i), kind)
		if err != nil {
			return nil, fmt.Errorf("%s[%d] %w", key, i, err)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func valueText1(v lua.LValue, kind cmdline.Kind) (string, error) {
	switch x := v.(type) {
	case lua.LString:
		return string(x), nil
	case lua.LNumber:
		return kind.Format(float64(x)), nil
	}
	return "", fmt.Errorf("must be a string or a number, got %s", typeName(v))
}
