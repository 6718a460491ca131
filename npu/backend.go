package npu

import (
	"errors"
	"fmt"
	"strings"

	"npulua/npu/acl"
	"npulua/npu/internal/driver"
	"npulua/npu/internal/fault"
	"npulua/npu/internal/visible"
	"npulua/npu/null"
	"npulua/npu/sim"
)

// Info tells what runs the commands.
type Info struct {
	Name      string // "sim", "null": what npu.backend shows
	Simulated bool   // no result of it says anything about real hardware
	Detail    string // one line for people: the profile, or why the backend was chosen
	Notice    string // to be shown on standard error once, lines; "" for nothing

	visible visible.Devices
	system  int // devices that there are, visible or not, of the simulator
}

// backends is what Options.Backend can name, besides "auto": hardware where there is some, else the simulator.
var backends = []struct {
	name string
	open func(Options) (driver.Driver, Info, error)
}{
	{"sim", openSim},
	{"acl", openACL},
	{"null", openNull},
}

// BackendNames lists what Options.Backend can be.
func BackendNames() []string {
	names := []string{"auto"}
	for _, b := range backends {
		names = append(names, b.name)
	}
	return names
}

func openBackend(name string, opts Options) (driver.Driver, Info, error) {
	for _, b := range backends {
		if b.name == name {
			return b.open(opts)
		}
	}
	return nil, Info{}, errorf(ErrInvalidParam, "unknown backend %q%s", name, Suggest(name, BackendNames()))
}

// defaultSim is the part that is simulated where none is named.
const defaultSim = "910b"

func openSim(opts Options) (driver.Driver, Info, error) {
	spec := opts.Sim
	if spec == "" {
		spec = defaultSim
	}
	p, count, err := sim.ParseSpec(spec)
	if err != nil {
		return nil, Info{}, errorf(ErrInvalidParam, "%v", err)
	}
	v := visible.FromEnvironment(count)
	ids := v.Visible(count)
	d, err := sim.Open(sim.Config{Profile: p, Devices: len(ids), Logical: ids, Memory: opts.Memory, Guarded: opts.Guarded})
	if err != nil {
		return nil, Info{}, err
	}
	return fault.New(d), Info{Name: "sim", Simulated: true, Detail: fmt.Sprintf("simulated %s, %d device(s), timing modelled", p.SoC, len(ids)),
		visible: v, system: count}, nil
}

// describer is a driver that can say in a line what it drives. The error says why nothing can be done with it.
type describer interface {
	Describe(devices int) (string, error)
}

func openACL(Options) (driver.Driver, Info, error) {
	d, err := acl.Open()
	if err != nil {
		return nil, Info{}, own(err)
	}
	return d, Info{Name: "acl", visible: visible.FromEnvironment(visible.Unknown)}, nil
}

// noHardware says in a few words why no hardware is used. Whoever has no library has no use for all the places
// where there is none.
func noHardware(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	var unloaded *acl.LoadError
	if errors.As(err, &unloaded) {
		if !unloaded.Found() {
			return "no NPU runtime is installed"
		}
		text = unloaded.Short()
	}
	return "no NPU can be used (" + text + "; npulua doctor tells more)"
}

func openNull(Options) (driver.Driver, Info, error) {
	return null.Open(), Info{Name: "null", Simulated: true, Detail: "accepts every command and does nothing"}, nil
}
