package scripts

import (
	"path"
	"strings"
)

// Scenario is a list of faults to rehearse that comes with npulua, as npu.ParseScenario reads it.
type Scenario struct {
	Name string
	Data []byte
}

const scenarioFolder = "data/scenarios"

// Scenarios returns all of them by name. One of them, healthy, has no faults.
func Scenarios() []Scenario {
	entries, err := files.ReadDir(scenarioFolder)
	if err != nil {
		panic(err)
	}
	var out []Scenario
	for _, e := range entries {
		data, err := files.ReadFile(path.Join(scenarioFolder, e.Name()))
		if err != nil {
			panic(err)
		}
		out = append(out, Scenario{strings.TrimSuffix(e.Name(), ".json"), data})
	}
	return out
}
