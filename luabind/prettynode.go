package luabind

import (
	"strings"
)

// node is a value on its way to text: either text, or items between braces.
type node struct {
	text  string
	items []node
	key   string // in front of an item: "name = "
}

// flat is the node on one line.
func (n node) flat() string {
	if n.items == nil {
		return n.text
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, item := range n.items {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(item.key + item.flat())
	}
	b.WriteByte('}')
	return b.String()
}

// render is the node on one line where that fits behind used columns, else on several, indented. Items share lines,
// but for tables and for fields of more than a third of the width.
func (n node) render(width, indent, used int) string {
	flat := n.flat()
	if n.items == nil || textWidth(flat)+used <= width {
		return flat
	}
	pad := strings.Repeat(" ", indent+2)
	var b strings.Builder
	b.WriteString("{\n")
	column := 0
	for i, item := range n.items {
		text := item.key + item.render(width, indent+2, indent+2+textWidth(item.key)+1)
		comma := ","
		if i == len(n.items)-1 {
			comma = ""
		}
		w := textWidth(text) + len(comma)
		alone := item.items != nil || item.key != "" && 3*w > width
		if i > 0 && !alone && column+1+w <= width {
			b.WriteString(" " + text + comma)
			column += 1 + w
			continue
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(pad + text + comma)
		column = len(pad) + w
		if alone {
			column = width
		}
	}
	b.WriteString("\n" + pad[2:] + "}")
	return b.String()
}
