package luabind

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

var modelClass = &class[*npu.Model]{
	name: "model",
	text: "An offline model (`npu.model`): a network that was compiled before, which runs as one command. It belongs to the context that was current when it was loaded, and closes with it.",
	methods: []method[*npu.Model]{
		{"run", doc{"(stream, inputs, outputs [, options])", "", "Queues one run on a stream of the model's context. `inputs` and `outputs` are device buffers: lists in the order of the fields `inputs` and `outputs`, or tables by their names; a buffer by itself is a list of one. Types must match, and sizes be large enough; a shape is not looked at. Runs of one model follow each other in the order in which they were queued, on whichever streams. What only an operator can tell is a fault of the stream.", "100017 and 100018 for inputs and outputs that do not fit; 145013 for a batch that is none of `batches`; 100019 for one where there are none; 107004 for a stream of another context; 107027 for a stream that records a graph; 107017 for a closed model or buffer", `m:run(s, {x}, {y}, {batch = 2})`}, []option{
			{"batch", "one of `batches`; left out where there are none", anything},
		}, modelRun},
		{"close", doc{"()", "", "Waits for runs that are queued or running and unloads the model. Calling it again does nothing.", "", `m:close()`}, nil, modelClose},
	},
	fields: []field[*npu.Model]{
		{"name", doc{Text: "What the file calls the model, else the file's name without folder and ending."}, func(c *call, m *npu.Model) (lua.LValue, error) { return lua.LString(m.Name()), nil }},
		{"path", doc{Text: "The file, as `npu.model` was given it."}, func(c *call, m *npu.Model) (lua.LValue, error) { return lua.LString(m.Path()), nil }},
		{"context", doc{Text: "The context of the model."}, func(c *call, m *npu.Model) (lua.LValue, error) { return c.in.context(m.Context()), nil }},
		{"inputs", doc{Text: "The inputs in order: tables with `name`, `dtype`, `shape` (a list, where -1 stands for the batch), and `count` (of elements) and `bytes` with the largest batch."}, func(c *call, m *npu.Model) (lua.LValue, error) { return c.in.tensors(m.Inputs()), nil }},
		{"outputs", doc{Text: "The outputs in order, as `inputs`."}, func(c *call, m *npu.Model) (lua.LValue, error) { return c.in.tensors(m.Outputs()), nil }},
		{"batches", doc{Text: "List of the batches that `run` takes, in ascending order; empty where the sizes are fixed."}, func(c *call, m *npu.Model) (lua.LValue, error) { return c.in.numbers(m.Batches()), nil }},
		{"work_bytes", doc{Text: "Device memory that the model takes for what is between its operators, in bytes."}, func(c *call, m *npu.Model) (lua.LValue, error) {
			work, _ := m.Memory()
			return lua.LNumber(work), nil
		}},
		{"weight_bytes", doc{Text: "Device memory that its constants take, in bytes."}, func(c *call, m *npu.Model) (lua.LValue, error) {
			_, weights := m.Memory()
			return lua.LNumber(weights), nil
		}},
		{"closed", doc{Text: "Whether the model was closed, by itself or with its context."}, func(c *call, m *npu.Model) (lua.LValue, error) { return lua.LBool(m.Closed()), nil }},
	},
	str: func(m *npu.Model) string {
		return fmt.Sprintf("model(%s, %d in, %d out, device %d%s", m.Name(), len(m.Inputs()), len(m.Outputs()), m.Context().Device().ID(), closedMark(m.Closed()))
	},
}

func (in *Interp) model(m *npu.Model) lua.LValue { return in.models.wrap(m, &m.Bound) }

// tensors is a list of tables that describe inputs or outputs.
func (in *Interp) tensors(tensors []npu.ModelTensor) *lua.LTable {
	list := in.L.NewTable()
	for _, t := range tensors {
		list.Append(in.record("name", t.Name, "dtype", t.Type.String(), "shape", in.numbers(t.Shape), "count", t.Bytes/int64(t.Type.Size()), "bytes", t.Bytes))
	}
	return list
}

func (in *Interp) numbers(list []int64) *lua.LTable {
	t := in.L.NewTable()
	for _, n := range list {
		t.Append(lua.LNumber(n))
	}
	return t
}

// moduleModel is npu.model.
func moduleModel(c *call) error {
	path, err := c.path(1)
	if err != nil {
		return err
	}
	if !c.in.session.Info().Simulated {
		if err := c.in.mayLoadMachineCode(); err != nil {
			return c.refuse(npu.ErrInvalidFile, "", err)
		}
	}
	m, err := c.t.LoadModel(c.in.file(path))
	if err == nil {
		c.push(c.in.model(m))
	}
	return err
}

func modelRun(c *call, m *npu.Model) error {
	s, err := handle[*npu.Stream](c, 1, "stream", "a stream")
	if err != nil {
		return err
	}
	inputs, err := c.modelOperands(2, "input", m.Inputs())
	if err != nil {
		return err
	}
	outputs, err := c.modelOperands(3, "output", m.Outputs())
	if err != nil {
		return err
	}
	o, err := c.table(4)
	if err != nil {
		return err
	}
	batch, err := o.int("batch", 0)
	if err != nil {
		return err
	}
	c.charge(modelSteps(m, batch))
	return m.Run(c.t, s, inputs, outputs, batch)
}

// modelOperands reads argument i: buffers for inputs or outputs, which what says in the singular.
func (c *call) modelOperands(i int, what string, want []npu.ModelTensor) ([]*npu.Buffer, error) {
	if b, err := c.buffer(i, what+"s"); err == nil {
		return []*npu.Buffer{b}, nil
	}
	tb, ok := c.arg(i).(*lua.LTable)
	if !ok {
		return nil, c.wrongType(i, what+"s", "a table of buffers")
	}
	n := lua51.Length(tb)
	if n == 0 {
		return c.namedOperands(what, tb, want)
	}
	list := make([]*npu.Buffer, n)
	var err error
	tb.ForEach(func(k, v lua.LValue) {
		at, isNumber := k.(lua.LNumber)
		b := bufferOf(v)
		switch {
		case err != nil:
		case !isNumber || at < 1 || int(at) > n || lua.LNumber(int(at)) != at:
			err = c.errorf("%ss has a list and %s: give all by their names, or all in order", what, describe(k))
		case b == nil:
			err = c.errorf("%ss[%d] must be a buffer, got %s", what, int(at), typeName(v))
		default:
			list[int(at)-1] = b
		}
	})
	return list, err
}

// namedOperands puts buffers that a table has by name in order.
func (c *call) namedOperands(what string, tb *lua.LTable, want []npu.ModelTensor) ([]*npu.Buffer, error) {
	var names []string
	list := make([]*npu.Buffer, len(want))
	for i, w := range want {
		names = append(names, w.Name)
		v := tb.RawGetString(w.Name)
		if list[i] = bufferOf(v); list[i] == nil {
			return nil, c.errorf("%ss.%s must be a buffer, got %s", what, w.Name, typeName(v))
		}
	}
	var err error
	tb.ForEach(func(k, _ lua.LValue) {
		for _, name := range names {
			if k == lua.LString(name) {
				return
			}
		}
		if err == nil {
			err = c.errorf("the model has no %s %s%s: it has %s", what, describe(k), npu.Suggest(k.String(), names), strings.Join(names, ", "))
		}
	})
	return list, err
}

// bufferOf is the buffer that v is, or nil.
func bufferOf(v lua.LValue) *npu.Buffer {
	if ud, ok := v.(*lua.LUserData); ok {
		b, _ := ud.Value.(*npu.Buffer)
		return b
	}
	return nil
}

func modelClose(c *call, m *npu.Model) error { return m.Close(c.t) }
