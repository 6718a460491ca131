package doctor

import (
	"context"

	"npulua/npu"
)

// simulator tells where the figures of the simulated part are from.
func (x *examination) simulator(context.Context) {
	if !x.simulated() {
		return
	}
	x.note("figures and timing are modelled: they say nothing about real hardware")
	sources, err := npu.ModelSources(x.Session.Sim)
	if err != nil {
		return // the session says it
	}
	for _, s := range sources {
		x.report.Simulator = append(x.report.Simulator, Figures{s.Figures, s.Source})
		x.note(s.Figures + ": " + s.Source)
	}
	if len(sources) == 0 {
		x.find(Warn, "the profile does not say where its figures are from", `add "sources" to it, as docs/simulator.md tells`)
	}
}
