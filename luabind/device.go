package luabind

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

var deviceClass = &class[*npu.Device]{
	name: "device",
	text: "One NPU, retained until it is closed or the script ends. `npu.device(0)` returns it and makes its default context current.",
	methods: []method[*npu.Device]{
		{"create_context", doc{"()", "context", "Makes an explicit context on the device, with its own default stream, and makes it current for this task.", "107001 for a device that is gone", `local ctx = dev:create_context()`}, nil, deviceCreateContext},
		{"memory", doc{"()", "{free=, total=}", "Free and total device memory in bytes.", "", `print(dev:memory().free)`}, nil, deviceMemory},
		{"streams_free", doc{"()", "number", "How many streams can still be made on the device, by this process or others.", "207000 where the library does not tell", `print(dev:streams_free())`}, nil, deviceStreamsFree},
		{"utilization", doc{"()", "{cores=, copies=, memory=}", "Shares from 0 to 1: AI cores and the busiest copy engine since the last call for the device, device memory in use now.", "", `print(dev:utilization().cores)`}, nil, deviceUtilization},
		{"sensors", sensorsDoc(), nil, deviceSensors},
		{"synchronize", doc{"([timeout])", "", "Waits for the work of all streams of the device, in all its contexts. `timeout` in seconds; left out it waits for ever.", "507046 when the timeout is over (the work goes on); a fault of the work, once", `dev:synchronize()`}, nil, synchronize[*npu.Device]},
		{"can_access_peer", doc{"(peer)", "boolean", "Whether the device can reach the memory of device `peer`.", "100000 where both are one device", `print(dev:can_access_peer(other))`}, nil, deviceCanAccessPeer},
		{"enable_peer_access", doc{"(peer)", "", "Lets both devices reach each other's memory, so that `s:copy` between them works. Enabling again changes nothing.", "100000 where both are one device", `dev:enable_peer_access(other)`}, nil, deviceEnablePeer},
		{"disable_peer_access", doc{"(peer)", "", "Undoes `enable_peer_access`, both ways.", "", `dev:disable_peer_access(other)`}, nil, deviceDisablePeer},
		{"peer_access", doc{"(peer)", "boolean", "Whether the device may reach the memory of device `peer` now.", "", `print(dev:peer_access(other))`}, nil, devicePeerAccess},
		{"close", doc{"()", "", "Waits for queued work, which the runtime would drop (`aclrtResetDevice` does not wait), closes everything on the device (contexts, streams, events, memory) and resets it. `npu.device` opens it again.", "a fault of the queued work, once; 100000 while workers run", `dev:close()`}, nil, deviceClose},
		{"reset", doc{"()", "", "As `close`, but by force, for work that may never end: what has not started is dropped, what runs has undefined results, and faults are forgotten.", "", `dev:reset()`}, nil, deviceReset},
	},
	fields: []field[*npu.Device]{
		{"id", doc{Text: "Number of the device among the visible ones, from 0."}, func(c *call, d *npu.Device) (lua.LValue, error) { return lua.LNumber(d.ID()), nil }},
		{"name", doc{Text: "Name of the part, such as `Ascend910B3`."}, deviceName},
		{"context", doc{Text: "The default context of the device."}, func(c *call, d *npu.Device) (lua.LValue, error) { return c.in.context(d.DefaultContext()), nil }},
		{"info", doc{Text: "Table that describes the part: `name`, `family`, `cube_cores`, `vector_cores`, `memory` (bytes), `max_streams`, `max_events`, `queue_depth` (commands a stream), `simulated`; and other numbers of the device: `logical` (in this system or container, as `ASCEND_RT_VISIBLE_DEVICES` has it) and `physical` (in the server). What the backend does not tell is absent."}, deviceInfo},
		{"closed", doc{Text: "Whether the device was closed."}, func(c *call, d *npu.Device) (lua.LValue, error) { return lua.LBool(d.Closed()), nil }},
	},
	str: func(d *npu.Device) string { return fmt.Sprintf("device(%d%s", d.ID(), closedMark(d.Closed())) },
}

func (in *Interp) device(d *npu.Device) lua.LValue { return in.devices.wrap(d, in.cell(d)) }

func (in *Interp) context(x *npu.Context) lua.LValue {
	if x.IsDefault() {
		return in.contexts.wrap(x, in.cell(x))
	}
	return in.contexts.wrap(x, &x.Bound)
}

func (in *Interp) stream(s *npu.Stream) lua.LValue {
	if s.IsDefault() {
		return in.streams.wrap(s, in.cell(s))
	}
	return in.streams.wrap(s, &s.Bound)
}

// cell is where the value of a handle is kept that lives as long as its device: each machine has its own.
func (in *Interp) cell(handle any) *any {
	c := in.common[handle]
	if c == nil {
		c = new(any)
		in.common[handle] = c
	}
	return c
}

func (in *Interp) event(e *npu.Event) lua.LValue   { return in.events.wrap(e, &e.Bound) }
func (in *Interp) buffer(b *npu.Buffer) lua.LValue { return in.buffers.wrap(b, &b.Bound) }
func (in *Interp) kernel(k *npu.Kernel) lua.LValue { return in.kernels.wrap(k, &k.Bound) }

func deviceCreateContext(c *call, d *npu.Device) error {
	x, err := d.CreateContext(c.t)
	if err == nil {
		c.push(c.in.context(x))
	}
	return err
}

// record makes a table of names and values in turn.
func (in *Interp) record(pairs ...any) *lua.LTable {
	t := in.L.NewTable()
	for i := 0; i < len(pairs); i += 2 {
		var v lua.LValue
		switch x := pairs[i+1].(type) {
		case string:
			v = lua.LString(x)
		case bool:
			v = lua.LBool(x)
		case int:
			v = lua.LNumber(x)
		case int64:
			v = lua.LNumber(x)
		case float64:
			v = lua.LNumber(x)
		case lua.LValue:
			v = x
		}
		t.RawSetString(pairs[i].(string), v)
	}
	return t
}

func deviceMemory(c *call, d *npu.Device) error {
	free, total, err := d.Memory(c.t)
	if err == nil {
		c.push(c.in.record("free", free, "total", total))
	}
	return err
}

func deviceStreamsFree(c *call, d *npu.Device) error {
	n, err := d.StreamsFree(c.t)
	if err == nil {
		c.push(lua.LNumber(n))
	}
	return err
}

func deviceUtilization(c *call, d *npu.Device) error {
	u, err := d.Utilization(c.t)
	if err == nil {
		c.push(c.in.record("cores", u.Cores, "copies", u.Copies, "memory", u.Memory))
	}
	return err
}

func (c *call) peer() (*npu.Device, error) { return handle[*npu.Device](c, 1, "peer", "a device") }

func deviceCanAccessPeer(c *call, d *npu.Device) error {
	return peerQuery(c, d.CanAccessPeer)
}

func devicePeerAccess(c *call, d *npu.Device) error {
	return peerQuery(c, d.PeerAccess)
}

func peerQuery(c *call, ask func(*npu.Thread, *npu.Device) (bool, error)) error {
	peer, err := c.peer()
	if err != nil {
		return err
	}
	ok, err := ask(c.t, peer)
	c.push(lua.LBool(ok))
	return err
}

func deviceEnablePeer(c *call, d *npu.Device) error {
	peer, err := c.peer()
	if err != nil {
		return err
	}
	return d.EnablePeerAccess(c.t, peer)
}

func deviceDisablePeer(c *call, d *npu.Device) error {
	peer, err := c.peer()
	if err != nil {
		return err
	}
	return d.DisablePeerAccess(c.t, peer)
}

func deviceClose(c *call, d *npu.Device) error { return c.alone(d.Close) }
func deviceReset(c *call, d *npu.Device) error { return c.alone(d.Reset) }

// alone calls end, which takes a device away, unless another machine may use it.
func (c *call) alone(end func(*npu.Thread) error) error {
	if c.in.othersRun() {
		return &npu.Error{Code: npu.ErrInvalidParam, Detail: "another worker runs that may use the device", Hint: "join the workers first, or close contexts"}
	}
	return end(c.t)
}

func deviceName(c *call, d *npu.Device) (lua.LValue, error) {
	info, err := c.in.session.DeviceInfo(c.t, d.ID())
	return lua.LString(info.Name), err
}

func deviceInfo(c *call, d *npu.Device) (lua.LValue, error) {
	return c.infoTable(d.ID())
}

// infoTable describes a device.
func (c *call) infoTable(id int) (*lua.LTable, error) {
	i, err := c.in.session.DeviceInfo(c.t, id)
	if err != nil {
		return nil, err
	}
	ids, err := c.in.session.DeviceIDs(c.t, id)
	if err != nil {
		return nil, err
	}
	t := c.in.record("name", i.Name, "family", i.Family, "cube_cores", i.CubeCores, "vector_cores", i.VectorCores,
		"memory", i.Memory, "max_streams", i.MaxStreams, "max_events", i.MaxEvents, "queue_depth", i.QueueDepth,
		"simulated", i.Simulated)
	for _, key := range deviceKeys { // what the backend does not tell
		if t.RawGetString(key) == lua.LNumber(0) {
			t.RawSetString(key, lua.LNil)
		}
	}
	for key, number := range map[string]int{"logical": ids.Logical, "physical": ids.Physical} {
		if number >= 0 {
			t.RawSetString(key, lua.LNumber(number))
		}
	}
	return t, nil
}
