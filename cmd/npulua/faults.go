package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"npulua/npu"
	"npulua/scripts"
)

// faultFlag collects the rules of --fault, and of the scenarios between them, in their order.
type faultFlag struct{ to *[]npu.FaultRule }

func (f faultFlag) Set(s string) error {
	r, err := npu.ParseFault(s)
	if err != nil {
		return err
	}
	*f.to = append(*f.to, r)
	return nil
}
func (f faultFlag) String() string { return "" }
func (f faultFlag) Type() string   { return "RULE" }

// scenarioFlag adds the rules of a scenario: one that comes with npulua, or a file.
type scenarioFlag struct{ to *[]npu.FaultRule }

func (f scenarioFlag) Set(name string) error {
	s, err := scenario(name)
	if err != nil {
		return err
	}
	*f.to = append(*f.to, s.Rules...)
	return nil
}
func (f scenarioFlag) String() string { return "" }
func (f scenarioFlag) Type() string   { return "NAME|FILE" }

// scenarios are those that come with npulua.
func scenarios() []npu.FaultScenario {
	var out []npu.FaultScenario
	for _, s := range scripts.Scenarios() {
		x, err := npu.ParseScenario(s.Data)
		if err != nil {
			panic(fmt.Errorf("scenario %s: %w", s.Name, err))
		}
		out = append(out, x)
	}
	return out
}

// scenario finds a scenario by its name, or reads the file of that name.
func scenario(name string) (npu.FaultScenario, error) {
	list := scripts.Scenarios()
	if i := slices.IndexFunc(list, func(s scripts.Scenario) bool { return s.Name == name }); i >= 0 {
		return npu.ParseScenario(list[i].Data)
	}
	if !strings.HasSuffix(name, ".json") {
		var names []string
		for _, s := range list {
			names = append(names, s.Name)
		}
		if near := npu.Suggest(name, names); near != "" {
			return npu.FaultScenario{}, fmt.Errorf("no scenario %q%s", name, near)
		}
		return npu.FaultScenario{}, fmt.Errorf("no scenario %q: want %s, or a file that ends in .json", name, strings.Join(names, ", "))
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return npu.FaultScenario{}, err
	}
	s, err := npu.ParseScenario(data)
	if err != nil {
		return s, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}
