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
		text += firstElements(b)
	}
	return text
}

// firstElements is " {1, 2, 3, ...}" for host memory that may be read now.
func firstElements(b *npu.Buffer) string {
	if b.Space() == npu.DeviceMemory || b.Closed() {
		return ""
	}
	var parts []string
	for i := range min(b.Count(), prettyElements) {
		v, err := b.Element(i)
		if err != nil {
			return " (queued work writes it)"
		}
		parts = append(parts, elementText(b.Type(), v))
	}
	if b.Count() > prettyElements {
		parts = append(parts, "...")
	}
	return " {" + strings.Join(parts, ", ") + "}"
}

// elementText has as many digits as the type can tell apart.
func elementText(typ npu.DType, v float64) string {
	if strings.HasPrefix(typ.String(), "int") || strings.HasPrefix(typ.String(), "uint") || v == math.Trunc(v) || typ.String() == "float64" {
		return lua51.NumberText(v)
	}
	if typ.Size() < 4 {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 32)
}
