package luabind

import (
	"fmt"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
)

// table reads a table inside another value.
func (p *printer) table(t *lua.LTable) node {
	switch {
	case slices.Contains(p.path, t):
		return node{text: "<cycle>"}
	case isErrorObject(t):
		return node{text: "<error: " + clip(oneLine(errorText(t)), prettyString) + ">"}
	}
	if text, _ := p.ownText(t); text != "" {
		return node{text: clip(oneLine(text), prettyString)}
	}
	if name := p.e.in.library[t]; name != "" {
		return node{text: "<table " + name + ">"}
	}
	if len(p.path) >= prettyDepth {
		if k, _ := t.Next(lua.LNil); k == lua.LNil {
			return node{text: "{}"}
		}
		return node{text: "{...}"}
	}
	return p.fields(t)
}

// fields reads the array part, the other fields in order of their keys, and the metatable.
func (p *printer) fields(t *lua.LTable) node {
	p.path = append(p.path, t)
	defer func() { p.path = p.path[:len(p.path)-1] }()

	var n node
	length, shown := lua51.Length(t), 0
	for i := range min(length, prettyItems) { // up to the first hole
		if lua51.Item(t, i+1) == lua.LNil {
			length = i
			break
		}
	}
	for ; shown < length && shown < prettyItems && p.left > 0; shown++ {
		p.left--
		n.items = append(n.items, p.node(lua51.Item(t, shown+1)))
	}
	keys, fields := smallestKeys(t, length, prettyItems)
	for _, k := range keys {
		if p.left <= 0 || len(n.items) >= prettyItems {
			break
		}
		p.left--
		item := p.node(t.RawGet(k))
		item.key = p.key(k) + " = "
		n.items, shown = append(n.items, item), shown+1
	}
	if more := length + fields - shown; more > 0 {
		n.items = append(n.items, node{text: fmt.Sprintf("... %d more", more)})
	}
	if mt, ok := t.Metatable.(*lua.LTable); ok {
		item := node{}
		if hidden := mt.RawGetString("__metatable"); hidden != lua.LNil {
			item = p.node(hidden)
		} else {
			item = p.node(mt)
		}
		item.key = "<metatable> = "
		n.items = append(n.items, item)
	}
	if len(n.items) == 0 {
		return node{text: "{}"}
	}
	return n
}

// smallestKeys are the first most keys of t, without those of its array of length, in order; count is the
// number of them all.
func smallestKeys(t *lua.LTable, length, most int) (keys []lua.LValue, count int) {
	cut := func() {
		slices.SortStableFunc(keys, compareKeys)
		if len(keys) > most {
			keys = keys[:most]
		}
	}
	t.ForEach(func(k, v lua.LValue) {
		if n, ok := k.(lua.LNumber); ok && n >= 1 && n <= lua.LNumber(length) && n == lua.LNumber(int(n)) {
			return
		}
		count++
		if keys = append(keys, k); len(keys) >= 8*most {
			cut()
		}
	})
	cut()
	return keys, count
}

// compareKeys orders numbers, then strings as people count, then the rest as it comes.
func compareKeys(a, b lua.LValue) int {
	rank := func(v lua.LValue) int {
		switch v.Type() {
		case lua.LTNumber:
			return 0
		case lua.LTString:
			return 1
		case lua.LTBool:
			return 2
		}
		return 3
	}
	if d := rank(a) - rank(b); d != 0 {
		return d
	}
	switch x := a.(type) {
	case lua.LNumber:
		y := b.(lua.LNumber)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
	case lua.LString:
		return compareNatural(string(x), string(b.(lua.LString)))
	case lua.LBool:
		return strings.Compare(x.String(), b.String())
	}
	return 0
}

// key is a key as a table constructor has it.
func (p *printer) key(k lua.LValue) string {
	if s, ok := k.(lua.LString); ok && isName(string(s)) {
		return string(s)
	}
	if t, ok := k.(*lua.LTable); ok {
		if isErrorObject(t) || p.L.GetMetaField(t, "__tostring") != lua.LNil {
			return "[" + p.table(t).flat() + "]"
		}
		return "[{...}]"
	}
	return "[" + p.node(k).flat() + "]"
}
