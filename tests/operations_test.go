package tests

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
	"go.yaml.in/yaml/v3"
)

const operations = "../docs/operations.md"

// snippet is a code block of a document.
type snippet struct {
	language, text string
	file           string // that its first comment names; "": none
	line           int
}

var fileComment = regexp.MustCompile(`(?m)^# (\S+\.\S+|/\S+)$`)

// snippets are the code blocks of a document.
func snippets(t *testing.T, path string) (out []snippet) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var current *snippet
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && current == nil:
			current = &snippet{language: strings.TrimSpace(language), line: n}
		case fence:
			head := strings.Join(strings.SplitN(current.text, "\n", 3)[:2], "\n")
			if m := fileComment.FindStringSubmatch(head); m != nil {
				current.file = m[1]
			}
			out, current = append(out, *current), nil
		case current != nil:
			current.text += line
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s has no code", path)
	}
	return out
}

// named are the snippets that are files with this extension.
func named(list []snippet, ext string) (out []snippet) {
	for _, s := range list {
		if s.file != "" && filepath.Ext(s.file) == ext {
			out = append(out, s)
		}
	}
	return out
}

// documents are those of a YAML file.
func (s snippet) document(t *testing.T, v any) {
	t.Helper()
	d := yaml.NewDecoder(strings.NewReader(s.text))
	d.KnownFields(true)
	if err := d.Decode(v); err != nil {
		t.Errorf("line %d: %s: %v", s.line, s.file, err)
	}
}

var commandLine = regexp.MustCompile("(?:^|[\\s=/(`])npulua(?:-acl)? ([^|>&;)`\n]*)")

// commands are the command lines of npulua in a snippet, without its name.
func (s snippet) commands(t *testing.T) (out [][]string) {
	if s.language == "yaml" {
		var v any
		s.document(t, &v)
		return yamlCommands(v)
	}
	for line := range strings.Lines(s.text) {
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "Description=") || strings.Contains(line, "logger -t npulua") {
			continue
		}
		for _, m := range commandLine.FindAllStringSubmatch(strings.ReplaceAll(line, "2>&1", ""), -1) {
			out = append(out, slices.DeleteFunc(strings.Fields(m[1]), func(w string) bool { return w == `"$@"` }))
		}
	}
	return out
}

// yamlCommands are those of containers: command and args.
func yamlCommands(v any) (out [][]string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			out = append(out, yamlCommands(e)...)
		}
	case map[string]any:
		var words []string
		for _, key := range []string{"command", "args"} {
			list, _ := v[key].([]any)
			for _, w := range list {
				words = append(words, fmt.Sprint(w))
			}
		}
		if len(words) > 0 && words[0] == "npulua" {
			out = append(out, words[1:])
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, yamlCommands(v[key])...)
		}
	}
	return out
}

// rehearsal puts the simulator in the place of hardware.
func rehearsal(words []string) []string {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "--backend=acl" })
	if len(words) > 0 && words[0] == "--sim" {
		return words
	}
	return append([]string{"--sim", "910b:2"}, words...)
}

// TestOperationsCommands gives every command line of the document to the binary: those that would go on or take long only up to
// their help, which is shown where all before it was understood.
func TestOperationsCommands(t *testing.T) {
	long(t, "what the commands run is tested by itself")
	t.Parallel()
	list, err := exec.Command(binary, "run").Output()
	if err != nil {
		t.Fatal(err)
	}
	scripts := regexp.MustCompile(`(?m)^(\w+) `).FindAllStringSubmatch(string(list), -1)
	there := func(name string) bool {
		return slices.ContainsFunc(scripts, func(m []string) bool { return m[1] == name })
	}
	run := func(t *testing.T, words ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary, words...)
		cmd.Env, cmd.Dir = serveEnv, t.TempDir()
		if out, err := cmd.CombinedOutput(); err != nil || len(out) == 0 {
			t.Errorf("npulua %s: %v\n%s", strings.Join(words, " "), err, out)
		}
	}
	missing := map[string]bool{}
	seen := map[string]bool{}
	for _, s := range snippets(t, operations) {
		for _, words := range s.commands(t) {
			line := strings.Join(words, " ")
			if seen[line] || line == "--backend=acl" { // of the script that all others call
				continue
			}
			seen[line] = true
			words = rehearsal(words)
			verb := slices.IndexFunc(words, func(w string) bool { return w == "run" || w == "serve" })
			if verb < 0 || verb+1 == len(words) {
				t.Errorf("line %d: npulua %s is neither run nor serve", s.line, line)
				continue
			}
			name, rest := words[verb+1], words[verb+2:]
			embedded := !strings.Contains(name, "/")
			if embedded && !there(name) {
				missing[name] = true
				continue
			}
			if words[verb] == "run" {
				run(t, words...)
				continue
			}
			run(t, append(words[:verb+1:verb+1], append([]string{"--help"}, rest...)...)...)
			if end := slices.Index(rest, "--"); end >= 0 && embedded {
				run(t, append([]string{"--sim", "910b:2", "run", name}, rest[end+1:]...)...)
			}
		}
	}
	if len(seen) < 5 {
		t.Errorf("only %d command lines were found: %v", len(seen), seen)
	}
	if len(missing) > 0 {
		t.Errorf("docs/operations.md uses scripts that do not come with npulua: %v", slices.Sorted(maps.Keys(missing)))
	}
}

// TestOperationsYAML reads the files for Prometheus and Kubernetes as they do, as far as the fields go that are used.
func TestOperationsYAML(t *testing.T) {
	list := named(snippets(t, operations), ".yaml")
	list = append(list, named(snippets(t, operations), ".yml")...)
	if len(list) != 5 {
		t.Errorf("%d files in YAML", len(list))
	}
	for _, s := range list {
		switch {
		case s.file == "prometheus.yml":
			var v struct {
				Configs []struct {
					Name     string `yaml:"job_name"`
					Interval string `yaml:"scrape_interval"`
					Static   []struct {
						Targets []string `yaml:"targets"`
					} `yaml:"static_configs"`
				} `yaml:"scrape_configs"`
			}
			s.document(t, &v)
			if len(v.Configs) != 1 || len(v.Configs[0].Static[0].Targets) == 0 {
				t.Errorf("%s: %+v", s.file, v)
			}
		case strings.Contains(s.file, "rules"):
			s.checkRules(t)
		default:
			var v struct {
				API      string `yaml:"apiVersion"`
				Kind     string
				Metadata map[string]string
				Spec     map[string]any
			}
			s.document(t, &v)
			want := map[string]string{"Job": "batch/v1", "CronJob": "batch/v1", "DaemonSet": "apps/v1"}[v.Kind]
			if v.API != want || v.Metadata["name"] == "" || len(yamlCommands(v.Spec)) != 1 {
				t.Errorf("%s: %+v", s.file, v)
			}
		}
	}
}

// checkRules reads alert rules, and their expressions as PromQL.
func (s snippet) checkRules(t *testing.T) {
	var v struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For string
				Annotations      map[string]string
			}
		}
	}
	s.document(t, &v)
	n := 0
	for _, g := range v.Groups {
		for _, r := range g.Rules {
			n++
			if _, err := metricsql.Parse(r.Expr); err != nil || r.Alert == "" || r.Annotations["summary"] == "" {
				t.Errorf("%s: %+v: %v", s.file, r, err)
			}
		}
	}
	if n == 0 {
		t.Errorf("%s has no rules", s.file)
	}
}

// TestOperationsMetrics compares the metrics that the document names with those that there are.
func TestOperationsMetrics(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(operations)
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, name := range regexp.MustCompile(`npulua_[a-z_]+[a-z]`).FindAllString(string(text), -1) {
		documented[name] = true
	}
	s := serveScript(t, []string{"--sim", "910b:2"}, []string{"--every", "1h", script(t, "devices.lua", devicesScript), "--", "10"})
	s.until("a result", func(st serveStatus) bool { return st.Last != nil })
	served := map[string]bool{}
	for name := range s.samples() {
		if name, _, _ = strings.Cut(name, "{"); strings.HasPrefix(name, "npulua_") {
			served[name] = true
		}
	}
	if !maps.Equal(documented, served) {
		t.Errorf("documented: %q\nserved: %q", slices.Sorted(maps.Keys(documented)), slices.Sorted(maps.Keys(served)))
	}
}

// TestOperationsUnits has systemd look at the units, where it is there. Programs of the document are those of the test.
func TestOperationsUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	dir := t.TempDir()
	var names []string
	list := snippets(t, operations)
	for _, s := range append(named(list, ".service"), named(list, ".timer")...) {
		path := filepath.Join(dir, filepath.Base(s.file))
		text := strings.NewReplacer("/usr/local/bin/npulua-acl", binary, "/usr/bin/logger", "/bin/true").Replace(s.text)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, "@.service") {
			path = strings.Replace(path, "@", "@x", 1)
		}
		names = append(names, path)
	}
	if len(names) != 4 {
		t.Errorf("%d units", len(names))
	}
	cmd := exec.CommandContext(t.Context(), analyze, append([]string{"verify", "--man=no", "--recursive-errors=no"}, names...)...)
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, dir) || strings.Contains(line, "npulua") {
			t.Errorf("systemd-analyze: %s", line)
		}
	}
	if err != nil && !t.Failed() {
		t.Errorf("systemd-analyze: %v\n%s", err, out)
	}
}

// TestOperationsShell runs the shell scripts with an npulua whose exit status the test chooses.
func TestOperationsShell(t *testing.T) {
	t.Parallel()
	files := map[string]snippet{}
	for _, s := range snippets(t, operations) {
		if strings.HasPrefix(s.text, "#!") {
			files[filepath.Base(s.file)] = s
		}
	}
	for _, c := range []struct {
		file   string
		status int // of npulua
		job    string
		want   int
		stdout string
		called string // commands that were given to other programs
	}{
		{"npulua-check", 0, "", 0, "", ""},
		{"npulua-check", 3, "", 3, "node7: a check failed\n\nwhat npulua says\n", ""},
		{"npulua-check", 4, "", 4, "node7: the NPUs could not be checked, exit status 4\n\nwhat npulua says\n", ""},
		{"npulua-node.sh", 0, "", 0, "", ""},
		{"npulua-node.sh", 2, "", 0, "", "logger -t npulua -p daemon.err what npulua says\n"},
		{"npulua-node.sh", 3, "", 1, "", "logger -t npulua -p daemon.err npulua: an NPU check failed: what npulua says\nscontrol update nodename=node7 state=drain reason=npulua: an NPU check failed\n"},
		{"npulua-node.sh", 124, "", 1, "", "logger -t npulua -p daemon.err npulua: NPUs could not be checked, status 124: what npulua says\nscontrol update nodename=node7 state=drain reason=npulua: NPUs could not be checked, status 124\n"},
		{"npulua-node.sh", 3, "17", 1, "", "logger -t npulua -p daemon.err npulua: an NPU check failed: what npulua says\n"},
	} {
		t.Run(fmt.Sprintf("%s %d %s", c.file, c.status, c.job), func(t *testing.T) {
			dir := t.TempDir()
			write := func(name, text string) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			write("npulua-acl", fmt.Sprintf("#!/bin/sh\necho what npulua says\nexit %d\n", c.status))
			write("hostname", "#!/bin/sh\necho node7\n")
			for _, name := range []string{"logger", "scontrol"} {
				write(name, fmt.Sprintf("#!/bin/sh\necho %s \"$@\" >> '%s/called'\n", name, dir))
			}
			text := strings.ReplaceAll(files[c.file].text, "/usr/local/bin", dir)
			write(c.file, text)
			cmd := exec.CommandContext(t.Context(), filepath.Join(dir, c.file))
			cmd.Env = []string{"PATH=" + dir + ":/usr/bin:/bin", "SLURM_JOB_ID=" + c.job}
			stdout, err := cmd.Output()
			if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			called, _ := os.ReadFile(filepath.Join(dir, "called")) // nothing: no call
			if got := cmd.ProcessState.ExitCode(); got != c.want || string(stdout) != c.stdout || string(called) != c.called {
				t.Errorf("status %d, want %d; it wrote %q, want %q; it called\n%s, want\n%s", got, c.want, stdout, c.stdout, called, c.called)
			}
		})
	}
	// The script that all others call loads the environment and refuses the simulator.
	dir := t.TempDir()
	env := filepath.Join(dir, "set_env.sh")
	if err := os.WriteFile(env, []byte("export ASCEND_HOME_PATH=/nowhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("/usr/local/Ascend/ascend-toolkit/set_env.sh", env, "/usr/local/bin/npulua", binary).Replace(files["npulua-acl"].text)
	cmd := exec.CommandContext(t.Context(), "bash", "-c", text, "npulua-acl", "-e", `print("ran")`)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + dir}
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the vendor's runtime library cannot be used") || strings.Contains(string(out), "ran\n") {
		t.Errorf("npulua-acl: %v\n%s", err, out)
	}
}
