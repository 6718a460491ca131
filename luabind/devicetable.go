package luabind

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

// deviceList is the ids in a table that npu.devices made; nil for other tables.
func deviceList(t *lua.LTable) []int {
	var ids []int
	for i := 1; i <= min(t.Len(), prettyItems); i++ {
		d, ok := t.RawGetInt(i).(*lua.LTable)
		if !ok {
			return nil
		}
		id, ok := d.RawGetString("id").(lua.LNumber)
		if !ok || d.RawGetString("queue_depth") == lua.LNil || d.RawGetString("family") == lua.LNil {
			return nil
		}
		ids = append(ids, int(id))
	}
	return ids
}

// devices is a table of devices; "" where the backend does not describe them.
func (p *printer) devices(ids []int) string {
	in := p.e.in
	t := in.session.Main()
	if t.Inside() {
		return ""
	}
	rows := [][]string{{"NPU", "Name", "Family", "Cores", "Memory used / total", "State"}}
	for _, id := range ids {
		info, err := in.session.DeviceInfo(t, id)
		if err != nil {
			return ""
		}
		used, state := "-", "not in use"
		if d := in.openDevice(id); d != nil {
			state = "in use"
			if free, total, err := d.Memory(t); err == nil {
				used = mebibytes(total - free)
			}
		}
		cores := fmt.Sprintf("%d cube, %d vector", info.CubeCores, info.VectorCores)
		if info.Simulated {
			state += ", simulated"
		}
		rows = append(rows, []string{fmt.Sprint(id), info.Name, info.Family, cores, used + " / " + mebibytes(info.Memory), state})
	}
	if text := grid(rows); in.fits(text) {
		return text
	}
	for i, row := range rows { // the family is in the name, and the banner tells what is simulated
		state, _, _ := strings.Cut(row[5], ",")
		rows[i] = []string{row[0], row[1], row[3], row[4], state}
	}
	return in.table(rows)
}

// openDevice is the device of that id that the machine holds; nil where it holds none.
func (in *Interp) openDevice(id int) *npu.Device {
	for handle := range in.common {
		if d, ok := handle.(*npu.Device); ok && d.ID() == id && !d.Closed() {
			return d
		}
	}
	return nil
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
