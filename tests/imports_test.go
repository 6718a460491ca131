package tests

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// allowed says which packages of ours, and which of others, each package may import. A package
// that is not listed fails the test: the list is the picture of the layers.
var allowed = map[string][]string{
	"npulua/internal/printable":      {},
	"npulua/internal/whole":          {},
	"npulua/internal/proc":           {"golang.org/x/sys/unix"},
	"npulua/cmd/npulua/serve":        {"npulua/internal/printable", "npulua/luabind/quantity", "npulua/internal/proc", "golang.org/x/sys/unix", "github.com/prometheus/client_golang/prometheus", "github.com/prometheus/client_model/go", "github.com/prometheus/common/expfmt", "github.com/prometheus/common/model"},
	"npulua/cmd/npulua/supervise":    {"npulua/internal/proc", "golang.org/x/sys/unix"},
	"npulua/cmd/npulua":              {"npulua/cmd/npulua/supervise", "npulua/internal/proc", "npulua/internal/whole", "npulua/internal/printable", "npulua/cmd/npulua/serve", "npulua/npu/doctor", "npulua/repl", "npulua/luabind", "npulua/luabind/quantity", "npulua/luabind/display", "npulua/luabind/check", "npulua/npu", "npulua/scripts", "github.com/spf13/pflag", "golang.org/x/sys/unix", "golang.org/x/term"},
	"npulua/npu/doctor":              {"npulua/internal/printable", "npulua/npu"},
	"npulua/repl":                    {"github.com/chzyer/readline", "github.com/mattn/go-runewidth", "golang.org/x/sys/unix", "golang.org/x/term"},
	"npulua/repl/repltest":           {"github.com/creack/pty", "github.com/mattn/go-runewidth", "golang.org/x/sys/unix", "golang.org/x/term"},
	"npulua/scripts":                 {},
	"npulua/luabind":                 {"npulua/internal/proc", "npulua/internal/whole", "npulua/internal/printable", "npulua/luabind/check", "npulua/luabind/csv", "npulua/luabind/lua51", "npulua/npu", "github.com/go-json-experiment/json/jsontext", "github.com/yuin/gopher-lua", "npulua/luabind/cmdline", "npulua/luabind/quantity", "npulua/luabind/tabulate", "npulua/luabind/web", "golang.org/x/term", "npulua/luabind/metrics", "github.com/prometheus/client_golang/prometheus", "npulua/luabind/display"},
	"npulua/luabind/check":           {"npulua/internal/printable", "npulua/luabind/quantity"},
	"npulua/luabind/csv":             {},
	"npulua/luabind/cmdline":         {"npulua/luabind/quantity", "npulua/npu", "github.com/mattn/go-runewidth"},
	"npulua/luabind/display":         {"github.com/mattn/go-runewidth", "github.com/vbauerster/mpb/v8", "github.com/vbauerster/mpb/v8/decor", "golang.org/x/sys/unix", "golang.org/x/term"},
	"npulua/luabind/metrics":         {"npulua/npu", "github.com/prometheus/client_golang/prometheus", "github.com/prometheus/client_model/go", "github.com/prometheus/common/expfmt"},
	"npulua/luabind/quantity":        {},
	"npulua/luabind/tabulate":        {"github.com/mattn/go-runewidth"},
	"npulua/luabind/web":             {},
	"npulua/luabind/lua51":           {"npulua/internal/proc", "github.com/yuin/gopher-lua", "github.com/yuin/gopher-lua/ast", "golang.org/x/sys/unix"},
	"npulua/npu":                     {"npulua/internal/whole", "npulua/npu/internal/driver", "npulua/npu/internal/dtype", "npulua/npu/internal/executor", "npulua/npu/internal/fault", "npulua/npu/internal/guard", "npulua/npu/internal/hostfile", "npulua/npu/internal/span", "npulua/npu/internal/spell", "npulua/npu/acl", "npulua/npu/null", "npulua/npu/sim", "npulua/npu/sim/kernel", "golang.org/x/sys/unix", "npulua/npu/dcmi", "npulua/npu/internal/visible"},
	"npulua/npu/sim":                 {"npulua/npu/internal/driver", "npulua/npu/internal/dtype", "npulua/npu/internal/guard", "npulua/npu/internal/hostfile", "npulua/npu/sim/kernel", "golang.org/x/sys/unix"},
	"npulua/npu/sim/kernel":          {"npulua/npu/internal/dtype", "gonum.org/v1/gonum/blas", "gonum.org/v1/gonum/blas/gonum"},
	"npulua/npu/null":                {"npulua/npu/internal/driver"},
	"npulua/npu/internal/driver":     {"npulua/npu/internal/dtype"},
	"npulua/npu/internal/drivertest": {"npulua/npu/internal/driver", "npulua/npu/internal/dtype"},
	"npulua/npu/internal/dtype":      {"github.com/x448/float16"},
	"npulua/npu/internal/executor":   {"npulua/npu/internal/driver", "golang.org/x/sys/unix"},
	"npulua/npu/internal/fault":      {"npulua/npu/internal/driver", "npulua/npu/internal/spell"},
	"npulua/npu/internal/guard":      {"golang.org/x/sys/unix"},
	"npulua/npu/internal/span":       {"npulua/npu/internal/driver", "npulua/npu/internal/executor"},
	"npulua/npu/internal/spell":      {},
	"npulua/npu/internal/hostfile":   {"npulua/internal/whole", "npulua/npu/internal/dtype"},
	"npulua/npu/internal/visible":    {},
	"npulua/npu/internal/loader":     {"github.com/ebitengine/purego", "golang.org/x/sys/unix"},
	"npulua/npu/acl":                 {"npulua/npu/dcmi", "npulua/npu/internal/driver", "npulua/npu/internal/dtype", "npulua/npu/internal/loader", "npulua/npu/internal/visible", "github.com/ebitengine/purego", "golang.org/x/sys/unix"},
	"npulua/npu/dcmi":                {"npulua/npu/internal/driver", "npulua/npu/internal/loader", "github.com/ebitengine/purego"},
	"npulua/npu/acl/standin":         {},
	"npulua/tests":                   {},
	"npulua/tests/bench":             {"npulua/npu/acl/standin"},
}

func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "npulua/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	manual, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		may, ok := allowed[f[0]]
		if !ok {
			t.Errorf("%s is not in the table of layers", f[0])
		}
		if name := "`" + strings.TrimPrefix(f[0], "npulua/") + "`"; !strings.Contains(string(manual), "\n| "+name) && !strings.Contains(string(manual), ", "+name+" |") {
			t.Errorf("%s has no row in CONTRIBUTING.md", f[0])
		}
		for _, imp := range f[1:] {
			ours := strings.HasPrefix(imp, "npulua/")
			if (ours || strings.Contains(strings.SplitN(imp, "/", 2)[0], ".")) && !slices.Contains(may, imp) {
				t.Errorf("%s imports %s, which the table of layers does not allow", f[0], imp)
			}
		}
	}
}
