package luabind

import (
	"context"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/internal/printable"
	"npulua/luabind/lua51"
	"npulua/npu"
)

// Bounds of what is printed of one value.
const (
	prettyDepth    = 5       // tables in tables
	prettyItems    = 100     // of one table
	prettyTotal    = 1000    // of all tables in the value
	prettyString   = 200     // bytes of a string inside a table
	prettyText     = 1000    // bytes of a string that is the value itself
	prettyElements = 8       // of a buffer
	prettyBudget   = 200_000 // instructions of a __tostring
	prettyWidth    = 80
)

// Format is values as Eval prints them. ctx ends what __tostring functions do: an *InterruptedError.
func (e *Evaluator) Format(ctx context.Context, values ...lua.LValue) (string, error) {
	var text string
	_, err := e.run(ctx, e.in.L.NewFunction(func(L *lua.LState) int {
		p := &printer{e: e, L: L, left: prettyTotal, width: e.Width}
		if p.width <= 0 {
			p.width = prettyWidth
		}
		text = p.list(values)
		return 0
	}))
	if err == nil && ctx.Err() != nil { // a __tostring was ended: the text says that it failed
		err = &InterruptedError{}
	}
	return text, err
}

// printer makes text of values.
type printer struct {
	e     *Evaluator
	L     *lua.LState
	width int
	left  int           // items that may still be shown
	path  []*lua.LTable // tables around the one under way
}

// list prints values on one line where each is one, or each from a line of its own on.
func (p *printer) list(values []lua.LValue) string {
	var parts []string
	lines := false
	for i, v := range values {
		if i == prettyItems {
			parts = append(parts, fmt.Sprintf("... %d more", len(values)-i))
			break
		}
		text := p.value(v)
		lines = lines || strings.Contains(text, "\n")
		parts = append(parts, text)
	}
	if lines {
		return strings.Join(parts, "\n")
	}
	return strings.Join(parts, "\t")
}

// value prints v by itself.
func (p *printer) value(v lua.LValue) string {
	switch x := v.(type) {
	case lua.LString:
		return quote(string(x), prettyText)
	case *lua.LUserData:
		if d, ok := x.Value.(*npu.Device); ok && !d.Closed() {
			if text := p.devices([]int{d.ID()}); text != "" {
				return text
			}
		}
	case *lua.LTable:
		if isErrorObject(x) {
			return printable.Text(errorText(x))
		}
		if ids := deviceList(x); ids != nil {
			if text := p.devices(ids); text != "" {
				return text
			}
		}
		if text, failed := p.ownText(x); failed {
			return text + " " + p.fields(x).render(p.width, 0, 0)
		} else if text != "" {
			return clip(text, prettyText)
		}
		return p.fields(x).render(p.width, 0, 0)
	}
	return p.node(v).render(p.width, 0, 0)
}

// node reads v.
func (p *printer) node(v lua.LValue) node {
	switch x := v.(type) {
	case lua.LString:
		return node{text: quote(string(x), prettyString)}
	case lua.LNumber:
		return node{text: lua51.NumberText(float64(x))}
	case *lua.LFunction:
		return node{text: p.function(x)}
	case *lua.LUserData:
		return node{text: p.handle(x)}
	case *lua.LTable:
		return p.table(x)
	case *lua.LState:
		return node{text: "thread"}
	case lua.LChannel:
		return node{text: "channel"}
	}
	return node{text: v.String()}
}

// ownText is what the __tostring of t gives, "" where it has none; a note where that failed.
func (p *printer) ownText(t *lua.LTable) (text string, failed bool) {
	fn := p.L.GetMetaField(t, "__tostring")
	if fn == lua.LNil {
		return "", false
	}
	results, err := p.e.in.threads.CallBounded(p.L, prettyBudget, fn, t)
	switch {
	case err != nil:
		what, _, _ := strings.Cut(valueText(lua51.ErrorValue(err)), "\n")
		return "<__tostring failed: " + clip(what, prettyString) + ">", true
	case len(results) == 0 || results[0].Type() != lua.LTString && results[0].Type() != lua.LTNumber:
		return "<__tostring failed: it returned no string>", true
	}
	return results[0].String(), false
}
