package npu

import (
	"fmt"

	"npulua/npu/internal/driver"
	"npulua/npu/null"
	"npulua/npu/sim"
)

// Info tells what runs the commands.
type Info struct {
	Name      string // "sim", "null": what npu.backend shows
	Simulated bool   // no result of it says anything about real hardware
	Detail    string // one line for people: the profile, or why the backend was chosen
	Notice    string // to be shown on standard error once, "" for nothing
}

// backends is what Options.Backend can name.
var backends = []struct {
	name string
	open func(Options) (driver.Driver, Info, error)
}{
	{"auto", openAuto},
	{"sim", openSim},
	{"acl", openACL},
	{"null", openNull},
}

// BackendNames lists what Options.Backend can be.
func BackendNames() []string {
	var names []string
	for _, b := range backends {
		names = append(names, b.name)
	}
	return names
}

func openBackend(opts Options) (driver.Driver, Info, error) {
	name := opts.Backend
	if name == "" {
		name = "auto"
	}
	for _, b := range backends {
		if b.name == name {
			return b.open(opts)
		}
	}
	return nil, Info{}, errorf(ErrInvalidParam, "unknown backend %q%s", name, Suggest(name, BackendNames()))
}

func openSim(opts Options) (driver.Driver, Info, error) {
	spec := opts.Sim
	if spec == "" {
		spec = "910b"
	}
	p, count, err := sim.ParseSpec(spec)
	if err != nil {
		return nil, Info{}, errorf(ErrInvalidParam, "%v", err)
	}
	d, err := sim.Open(sim.Config{Profile: p, Devices: count})
	if err != nil {
		return nil, Info{}, err
	}
	return d, Info{Name: "sim", Simulated: true, Detail: fmt.Sprintf("simulated %s, %d device(s), timing modelled", p.SoC, count)}, nil
}

// openAuto takes hardware where there is some; this version drives none.
func openAuto(opts Options) (driver.Driver, Info, error) {
	d, info, err := openSim(opts)
	info.Notice = "this version drives no hardware, using the simulator: " + info.Detail
	return d, info, err
}

func openACL(Options) (driver.Driver, Info, error) {
	return nil, Info{}, hinted(errorf(ErrNotSupported, "this version cannot drive hardware: the acl backend is not built yet"),
		"use --backend=sim to run on the simulator")
}

func openNull(Options) (driver.Driver, Info, error) {
	return null.Open(), Info{Name: "null", Simulated: true, Detail: "accepts every command and does nothing"}, nil
}
