package tests

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"npulua/npu/acl/standin"
)

// standinReports are scripts that measure, with arguments that make them short.
var standinReports = map[string][]string{
	"burnin":    {"--device", "0", "--duration", "0.3", "--rounds", "2", "--size", "64", "--memory", "1M"},
	"leakcheck": {"--rounds", "3"},
}

// Scripts that measure pass over the vendor's library, too, and their reports keep to their schemas.
func TestStandinReports(t *testing.T) {
	libraries := standin.Build(t)
	env := []string{"LD_LIBRARY_PATH=" + libraries, "NPULUA_KERNELS=" + standinKernels(t)}
	scripts, err := filepath.Abs("../scripts")
	if err != nil {
		t.Fatal(err)
	}
	for name, args := range standinReports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema, err := jsonschema.NewCompiler().Compile("../docs/" + name + ".schema.json")
			if err != nil {
				t.Fatal(err)
			}
			_, stdout, stderr, err := npulua(t, env, append([]string{"--backend=acl", filepath.Join(scripts, name+".lua"), "--json"}, args...)...)
			if err != nil {
				t.Fatalf("%v\n%s\n%s", err, stdout, stderr)
			}
			report, err := jsonschema.UnmarshalJSON(bytes.NewReader(stdout))
			if err == nil {
				err = schema.Validate(report)
			}
			if err != nil {
				t.Errorf("%v in\n%s", err, stdout)
			}
		})
	}
}
