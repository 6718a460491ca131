package luabind

import (
	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

// streamCommands lists what became of the commands of a stream, as tables.
func streamCommands(c *call, s *npu.Stream) error {
	list, err := s.Commands(c.t)
	if err != nil {
		return err
	}
	out := c.L.CreateTable(len(list), 0)
	for i := range list {
		x := &list[i]
		t := c.in.record("op", x.Op, "state", x.State)
		for _, f := range []struct{ key, text string }{
			{"name", x.Name}, {"where", c.in.sites.text(x.Site)}, {"waits_for", x.WaitsFor},
		} {
			if f.text != "" {
				t.RawSetString(f.key, lua.LString(f.text))
			}
		}
		if x.Code != 0 {
			t.RawSetString("code", lua.LNumber(x.Code))
		}
		out.Append(t)
	}
	c.push(out)
	return nil
}
