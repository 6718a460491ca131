package luabind

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

// handle is a handle, or another object of Go, on one line.
func (p *printer) handle(ud *lua.LUserData) string {
	fn := p.L.GetMetaField(ud, "__tostring")
	if fn == lua.LNil {
		return "userdata"
	}
	results, err := p.e.in.threads.CallBounded(p.L, prettyBudget, fn, ud)
	if err != nil || len(results) == 0 {
		return "userdata"
	}
	text := oneLine(results[0].String())
	if b, ok := ud.Value.(*npu.Buffer); ok {
		text += p.firstElements(b)
	}
	return text
}

// firstElements is " {1, 2, 3, ...}" where the memory can be read now. To look takes no virtual time and waits for
// nothing, so that a script in the session runs as it does elsewhere.
func (p *printer) firstElements(b *npu.Buffer) string {
	if b.Closed() {
		return ""
	}
	values, ok := b.Peek(p.e.in.session.Main(), prettyElements)
	switch {
	case !ok && b.Space() == npu.DeviceMemory:
		return " (not to be read now; its download method waits)"
	case !ok:
		return " (queued work writes it)"
	}
	var parts []string
	for _, v := range values {
		parts = append(parts, elementText(b.Type(), v))
	}
	if b.Count() > prettyElements {
		parts = append(parts, "...")
	}
	return " {" + strings.Join(parts, ", ") + "}"
}

// elementText has as many digits as the type can tell apart.
func elementText(typ npu.DType, value npu.Value) string {
	if value.Text != "" {
		return value.Text
	}
	v := value.Number
	switch {
	case !typ.IsFloat():
		return strconv.FormatInt(int64(v), 10) // up to 2^53, of which Lua shows 14 digits
	case v == math.Trunc(v) || typ.String() == "float64":
		return lua51.NumberText(v)
	case typ.Size() < 4:
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 32)
}
