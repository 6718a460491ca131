package tests

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// served is an npulua serve that is under way.
type served struct {
	t     *testing.T
	base  string // "http://127.0.0.1:port"
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process is over

	mu     sync.Mutex
	stderr strings.Builder
}

var servedAt = regexp.MustCompile(`on (http://\S+)/$`)

// serveEnv are variables of the environment of servers and of what they run.
var serveEnv = append(os.Environ(), "ASCEND_LAUNCH_BLOCKING=", "GORACE=atexit_sleep_ms=0")

// serveScript starts a server in a folder of its own on a port that is free. before are options of npulua, after those of serve, the
// script and its arguments.
func serveScript(t *testing.T, before, after []string) *served {
	t.Helper()
	s := &served{t: t, ended: make(chan struct{})}
	args := append(append(append([]string{}, before...), "serve", "--listen", "127.0.0.1:0"), after...)
	s.cmd = exec.Command(binary, args...)
	s.cmd.Env, s.cmd.Dir = append(serveEnv[:len(serveEnv):len(serveEnv)], "TMPDIR="+t.TempDir()), t.TempDir()
	s.start()
	return s
}

// start starts the server and waits until it answers.
func (s *served) start() {
	t := s.t
	t.Helper()
	pipe, err := s.cmd.StderrPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan string, 1)
	go func() {
		defer close(s.ended)
		for lines := bufio.NewScanner(pipe); lines.Scan(); {
			s.mu.Lock()
			fmt.Fprintln(&s.stderr, lines.Text())
			s.mu.Unlock()
			if m := servedAt.FindStringSubmatch(lines.Text()); m != nil {
				select {
				case begun <- m[1]:
				default:
				}
			}
		}
		_ = s.cmd.Wait() // ProcessState has its status
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it is over, usually
		<-s.ended
		if t.Failed() {
			t.Logf("%s wrote:\n%s", strings.Join(s.cmd.Args, " "), s.said())
		}
	})
	select {
	case s.base = <-begun:
	case <-s.ended:
		t.Fatalf("the server ended: %v\n%s", s.cmd.ProcessState, s.said())
	case <-t.Context().Done():
	}
}

func (s *served) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stderr.String()
}

func (s *served) get(path string) (int, string) {
	s.t.Helper()
	client := http.Client{Timeout: time.Minute}
	resp, err := client.Get(s.base + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// serveStatus is /status.json, as far as the tests look at it.
type serveStatus struct {
	SchemaVersion int            `json:"schema_version"`
	Running       int            `json:"running"`
	Skipped       int            `json:"skipped"`
	Counts        map[string]int `json:"counts"`
	Last          *struct {
		Number  int    `json:"number"`
		Status  int    `json:"exit_status"`
		Outcome string `json:"outcome"`
		Problem string `json:"problem"`
		Stderr  string `json:"stderr"`
		Stdout  string `json:"stdout"`
		Session struct {
			Simulated bool `json:"simulated"`
		} `json:"session"`
		Check struct {
			Verdict string `json:"verdict"`
		} `json:"check"`
	} `json:"last"`
	History []struct {
		Number  int    `json:"number"`
		Problem string `json:"problem"`
	} `json:"history"`
}

func (s *served) status() (st serveStatus) {
	s.t.Helper()
	if code, body := s.get("/status.json"); code != 200 || json.Unmarshal([]byte(body), &st) != nil {
		s.t.Fatalf("/status.json: %d %s", code, body)
	}
	return st
}

// until asks the server again and again until its status is as wanted.
func (s *served) until(what string, good func(serveStatus) bool) serveStatus {
	s.t.Helper()
	limit, again := time.After(time.Minute), time.NewTicker(10*time.Millisecond)
	defer again.Stop()
	for {
		st := s.status()
		if good(st) {
			return st
		}
		select {
		case <-again.C:
		case <-limit:
			s.t.Fatalf("after a minute not %s: %+v", what, st)
		}
	}
}

// samples are the values on /metrics by name and labels: "name{a=1,b=2}", labels without a value left out.
func (s *served) samples() map[string]float64 {
	s.t.Helper()
	_, body := s.get("/metrics")
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		s.t.Fatalf("Prometheus does not read\n%s\n%v", body, err)
	}
	out := make(map[string]float64)
	for name, f := range families {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				if l.GetValue() != "" {
					labels = append(labels, l.GetName()+"="+l.GetValue())
				}
			}
			key := name
			if labels != nil {
				key += "{" + strings.Join(labels, ",") + "}"
			}
			out[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return out
}

// end waits for the end of the server and returns its exit status.
func (s *served) end() int {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(2 * time.Minute):
		s.t.Fatal("the server has not ended after two minutes")
	}
	return s.cmd.ProcessState.ExitCode()
}

func (s *served) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// script writes a script into a folder of the test and returns its path.
func script(t *testing.T, name, code string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// devicesScript checks every device and measures something; its argument is the least sum that is good.
const devicesScript = `
local metrics, check = require "metrics", require "check"
local free = metrics.gauge("npu_memory_free_bytes", "Free memory of the device.", {labels = {"device"}})
local copies = metrics.histogram("copy_seconds", "Times of copies.", {labels = {"device"}})
for id = 0, npu.device_count() - 1 do
  free:set(npu.device(id):memory().free, {device = id})
  check.test("copies", {device = id, group = "memory"}, function(t)
    local x = npu.current_context():alloc("float32", 4)
    local before = npu.time()
    if not t:try(function() x:upload{1, 2, 3, 4} end) then return end
    copies:observe(npu.time() - before, {device = id})
    local s = npu.current_context():create_stream()
    s:launch(npu.kernel "scale", 1, x, x, 1, 4)
    s:synchronize()
    t:metric("sum", x:download():sum(), "", {min = tonumber(arg[1])})
  end)
end
print("checked with " .. arg[1])
`

func TestServe(t *testing.T) {
	t.Parallel()
	s := serveScript(t, []string{"--sim", "910b:2"}, []string{"--every", "1h", script(t, "devices.lua", devicesScript), "--", "10"})
	st := s.until("a result", func(st serveStatus) bool { return st.Last != nil })
	if st.Last.Outcome != "passed" || st.Last.Check.Verdict != "pass" || !st.Last.Session.Simulated || !strings.Contains(st.Last.Stdout, "checked with 10") || len(st.History) != 1 || st.SchemaVersion != 1 {
		t.Errorf("%+v, %+v", st, st.Last)
	}
	got := s.samples()
	for name, want := range map[string]float64{
		"npulua_serve_runs_total{outcome=passed,simulated=true}":                            1,
		"npulua_run_success{simulated=true}":                                                1,
		"npulua_run_simulated":                                                              1,
		"npulua_check_result{device=0,group=memory,result=pass,simulated=true,test=copies}": 1,
		"npulua_check_result{device=1,group=memory,result=pass,simulated=true,test=copies}": 1,
		"npulua_check_metric{device=1,group=memory,metric=sum,simulated=true,test=copies}":  10,
		"copy_seconds{device=1,simulated=true}":                                             1,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v (there: %v), want %v", name, v, ok, want)
		}
	}
	if free := got["npu_memory_free_bytes{device=1,simulated=true}"]; free < 1<<30 {
		t.Errorf("free memory of device 1 is %v in %v", free, got)
	}
	if end := got["npulua_run_timestamp_seconds{simulated=true}"]; time.Since(time.UnixMilli(int64(end*1e3))).Abs() > time.Hour {
		t.Errorf("the run ended at %v", end)
	}
	if code, body := s.get("/healthz"); code != 200 || body != "ok\n" {
		t.Errorf("/healthz: %d %q", code, body)
	}
	if code, body := s.get("/"); code != 200 || !strings.Contains(body, "devices.lua") || !strings.Contains(body, "npu_memory_free_bytes") || !strings.Contains(body, "Simulated") {
		t.Errorf("/: %d\n%s", code, body)
	}
	if code, body := s.get("/timeline.svg"); code != 200 || !strings.Contains(body, "<svg") {
		t.Errorf("/timeline.svg: %d %.200s", code, body)
	}
	s.untilSaid("run 1 was simulated: its results say nothing about real hardware")
	s.signal(syscall.SIGTERM)
	if status := s.end(); status != 0 {
		t.Errorf("exit status %d after SIGTERM", status)
	}
}

func TestServeFailures(t *testing.T) {
	for _, c := range []struct {
		name    string
		before  []string
		code    string
		outcome string
		status  int
		stderr  string
		metrics map[string]float64
	}{
		{"a check fails", []string{"--sim", "910b:2", "--fault", "op=copy,device=1,code=507054"}, devicesScript, "failed", 3, "", map[string]float64{
			"npulua_run_success{simulated=true}": 0, "npulua_serve_runs_total{outcome=failed,simulated=true}": 1,
			"npulua_check_result{device=0,group=memory,result=pass,simulated=true,test=copies}": 1,
			"npulua_check_result{device=1,group=memory,result=fail,simulated=true,test=copies}": 1,
		}},
		{"an error", []string{"--sim", "910b"}, `require("metrics").counter("steps_total", "Steps."):inc() error("broken, you see")`, "error", 1, "broken, you see", map[string]float64{
			"npulua_run_success{simulated=true}": 0, "npulua_run_exit_status{simulated=true}": 1, "steps_total{simulated=true}": 1,
		}},
		{"nothing is checked", []string{"--sim", "910b"}, `require "check".setup{title = "empty"}`, "error", 4, "", map[string]float64{"npulua_run_exit_status{simulated=true}": 4}},
		{"a reserved name", []string{"--sim", "910b"}, `require("metrics").gauge("npulua_run_success", "Mine."):set(1)`, "error", 1, "names that begin with npulua_ are npulua's own", map[string]float64{
			"npulua_run_success{simulated=true}": 0,
		}},
		{"the report is removed", []string{"--sim", "910b"}, `os.execute("rm -rf $TMPDIR/npulua-serve-*")`, "error", 1, "session.json", map[string]float64{
			"npulua_run_success": 0, "npulua_serve_runs_total{outcome=passed}": 0, "npulua_serve_runs_total{outcome=error}": 1,
		}},
		{"the report is removed, and the process with it", []string{"--sim", "910b"}, `os.execute("rm -rf $TMPDIR/npulua-serve-*; kill -9 $PPID")`, "error", -1, "", map[string]float64{"npulua_run_success": 0}},
		{"no syntax", []string{"--sim", "910b"}, `what is this`, "error", 1, "script.lua:1:", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serveScript(t, c.before, []string{"--every", "1h", script(t, "script.lua", c.code), "--", "10"})
			st := s.until("a result", func(st serveStatus) bool { return st.Last != nil })
			if st.Last.Outcome != c.outcome || st.Last.Status != c.status || !strings.Contains(st.Last.Stderr, c.stderr) || st.Counts[c.outcome] != 1 {
				t.Errorf("%+v", st.Last)
			}
			got := s.samples()
			for name, want := range c.metrics {
				if v, ok := got[name]; !ok || v != want {
					t.Errorf("%s is %v (there: %v), want %v, of\n%v", name, v, ok, want, got)
				}
			}
			if code, _ := s.get("/healthz"); code != 200 {
				t.Errorf("/healthz: %d, though the schedule is kept", code)
			}
			s.untilSaid(fmt.Sprintf("run 1: %s, exit status %d: %s", c.outcome, c.status, st.Last.Problem))
			if st.Last.Problem == "" || st.History[0].Problem != st.Last.Problem || !strings.Contains(st.Last.Problem, c.stderr) {
				t.Errorf("the problem is %q, in the history %q", st.Last.Problem, st.History[0].Problem)
			}
		})
	}
}

// pipe makes a named pipe, which a script waits for until the test has written.
func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const waitingScript = `
local f = assert(io.open(arg[1]))
local word = f:read("*l")
f:close()
local to = assert(io.open(arg[2], "w"))
to:write(word)
to:close()
`

// TestServeOverlap lets runs become due while one waits.
func TestServeOverlap(t *testing.T) {
	t.Parallel()
	gate, out := pipe(t), filepath.Join(t.TempDir(), "out")
	s := serveScript(t, []string{"--sim", "910b"}, []string{"--every", "20ms", "--timeout", "1h", script(t, "wait.lua", waitingScript), "--", gate, out})
	st := s.until("two skipped", func(st serveStatus) bool { return st.Skipped >= 2 })
	if st.Running != 1 || st.Last != nil {
		t.Errorf("%+v", st)
	}
	if err := os.WriteFile(gate, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	s.until("passed", func(st serveStatus) bool { return st.Counts["passed"] == 1 })
	if got := s.samples(); got["npulua_serve_skipped_total"] < 2 {
		t.Errorf("%v", got)
	}
	s.untilSaid("a run is due, but run 1 has not ended: skipped")
}

func TestServeTimeout(t *testing.T) {
	for _, c := range []struct{ name, code string }{
		{"in Lua", `require("metrics").gauge("begun", "It began."):set(1) while true do end`},
		{"on the device", `local s = npu.device(0):create_context():create_stream() s:callback(function() while true do end end) s:synchronize()`},
		{"outside", `require("exec").run({"sleep", "100000"})`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serveScript(t, []string{"--sim", "910b"}, []string{"--every", "1h", "--timeout", "1.5", script(t, "hang.lua", c.code)})
			st := s.until("timed out", func(st serveStatus) bool { return st.Counts["timed_out"] == 1 })
			if st.Last.Outcome != "timed_out" || st.Last.Problem != "it took longer than 1.5s" {
				t.Errorf("%+v", st.Last)
			}
			got := s.samples()
			if got["npulua_run_success{simulated=true}"]+got["npulua_run_success"] != 0 || got["npulua_serve_runs_total{outcome=timed_out,simulated=true}"]+got["npulua_serve_runs_total{outcome=timed_out}"] != 1 {
				t.Errorf("%v", got)
			}
		})
	}
}

// TestServeDrain ends the server while a run is under way.
func TestServeDrain(t *testing.T) {
	t.Run("the run ends", func(t *testing.T) {
		t.Parallel()
		gate, out := pipe(t), filepath.Join(t.TempDir(), "out")
		s := serveScript(t, []string{"--sim", "910b"}, []string{"--every", "1h", "--drain", "1h", script(t, "wait.lua", waitingScript), "--", gate, out})
		s.until("running", func(st serveStatus) bool { return st.Running == 1 })
		s.signal(syscall.SIGTERM)
		s.untilSaid("run 1 is under way and may take 1h0m0s to end")
		if code, _ := s.get("/healthz"); code != 200 { // still answered
			t.Errorf("/healthz: %d", code)
		}
		if err := os.WriteFile(gate, []byte("done\n"), 0); err != nil {
			t.Fatal(err)
		}
		if status := s.end(); status != 0 || strings.Contains(s.said(), "run 1:") {
			t.Errorf("exit status %d", status)
		}
		if word, err := os.ReadFile(out); err != nil || string(word) != "done" {
			t.Errorf("the run did not come to its end: %q, %v", word, err)
		}
	})
	t.Run("the run is ended", func(t *testing.T) {
		t.Parallel()
		s := serveScript(t, []string{"--sim", "910b"}, []string{"--every", "1h", "--drain", "50ms", script(t, "hang.lua", "while true do end")})
		s.until("running", func(st serveStatus) bool { return st.Running == 1 })
		s.signal(syscall.SIGINT)
		if status := s.end(); status != 0 || !strings.Contains(s.said(), "run 1: stopped") {
			t.Errorf("exit status %d", status)
		}
	})
	t.Run("a second signal", func(t *testing.T) {
		t.Parallel()
		s := serveScript(t, []string{"--sim", "910b"}, []string{"--every", "1h", "--drain", "1h", script(t, "hang.lua", "while true do end")})
		s.until("running", func(st serveStatus) bool { return st.Running == 1 })
		s.signal(syscall.SIGTERM)
		s.untilSaid("run 1 is under way")
		s.signal(syscall.SIGTERM)
		if s.end(); s.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
			t.Errorf("it ended with %v", s.cmd.ProcessState)
		}
	})
}

// untilSaid waits until the server has written a text.
func (s *served) untilSaid(text string) {
	s.t.Helper()
	s.until("said: "+text, func(serveStatus) bool { return strings.Contains(s.said(), text) })
}

// TestServeEmbedded serves a script that comes with npulua, by its name.
func TestServeEmbedded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{{[]string{"quickstart"}, "1024 sums right"}, {[]string{"bandwidth", "--", "--help"}, "usage: npulua run bandwidth"}} {
		s := serveScript(t, []string{"--sim", "910b"}, append([]string{"--every", "1h"}, c.args...))
		st := s.until("a result", func(st serveStatus) bool { return st.Last != nil })
		if st.Last.Outcome != "passed" || !strings.Contains(st.Last.Stdout, c.says) {
			t.Errorf("%s: %+v", c.args, st.Last)
		}
	}
}

// TestServeOtherMachines listens where others can reach it, which has to be said.
func TestServeOtherMachines(t *testing.T) {
	t.Parallel()
	s := serveScript(t, []string{"--sim", "910b"}, []string{"--listen", "0.0.0.0:0", "--every", "1h", script(t, "empty.lua", "")})
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	s.base = "http://127.0.0.1:" + port
	s.untilSaid("other machines can reach this address, and there is no authentication")
}

// TestServeLogGone takes the reader of the log away.
func TestServeLogGone(t *testing.T) {
	t.Parallel()
	s := &served{t: t, ended: make(chan struct{})}
	s.cmd = exec.Command(binary, "--sim", "910b", "serve", "--listen", "127.0.0.1:0", "--every", "20ms", "--timeout", "1m", script(t, "fail.lua", `error("on fire")`))
	s.cmd.Env, s.cmd.Dir = serveEnv, t.TempDir()
	pipe, err := s.cmd.StderrPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.cmd.Process.Kill()
	line, err := bufio.NewReader(pipe).ReadString('\n')
	m := servedAt.FindStringSubmatch(strings.TrimSpace(line))
	if err != nil || m == nil {
		t.Fatalf("it says %q, %v", line, err)
	}
	s.base = m[1]
	if err := pipe.Close(); err != nil {
		t.Fatal(err)
	}
	before := s.status().Counts["error"]
	s.until("some more runs", func(st serveStatus) bool { return st.Counts["error"] >= before+3 })
	s.signal(syscall.SIGTERM)
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// TestServeKilled has a server clean up after one that was killed.
func TestServeKilled(t *testing.T) {
	t.Parallel()
	s := serveScript(t, []string{"--sim", "910b"}, []string{"--every", "1h", script(t, "hang.lua", "while true do end")})
	s.until("running", func(st serveStatus) bool { return st.Running == 1 })
	s.signal(syscall.SIGKILL)
	s.end()
	left, _ := filepath.Glob(filepath.Join(s.temp(), "npulua-serve-*"))
	if len(left) != 1 {
		t.Fatalf("left behind: %v", left)
	}
	next := exec.Command(binary, "--sim", "910b", "serve", "--listen", "127.0.0.1:0", script(t, "empty.lua", ""))
	next.Env = s.cmd.Env
	pipe, err := next.StderrPipe()
	if err == nil {
		err = next.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = next.Process.Kill()
		_ = next.Wait()
	}()
	if line, err := bufio.NewReader(pipe).ReadString('\n'); err != nil || !strings.Contains(line, "serve: ") {
		t.Fatalf("it says %q, %v", line, err)
	}
	if _, err := os.Lstat(left[0]); err == nil {
		t.Errorf("%s is still there", left[0])
	}
}

// TestServeHangup ends the server as a terminal does that is closed: nothing of it is left.
func TestServeHangup(t *testing.T) {
	t.Parallel()
	s := serveScript(t, []string{"--sim", "910b"}, []string{"--every", "1h", "--drain", "50ms", script(t, "hang.lua", "while true do end")})
	s.until("running", func(st serveStatus) bool { return st.Running == 1 })
	s.signal(syscall.SIGHUP)
	if status := s.end(); status != 0 || !strings.Contains(s.said(), "run 1: stopped") {
		t.Errorf("exit status %d", status)
	}
	if left, _ := filepath.Glob(filepath.Join(s.temp(), "npulua-serve-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestServeNohup has a server started by nohup, which no hangup ends.
func TestServeNohup(t *testing.T) {
	t.Parallel()
	s := &served{t: t, ended: make(chan struct{})}
	s.cmd = exec.Command("sh", "-c", `trap '' HUP; exec "$0" "$@"`, binary, "--sim", "910b", "serve", "--listen", "127.0.0.1:0", "--every", "1h", script(t, "empty.lua", ""))
	s.cmd.Env, s.cmd.Dir = append(serveEnv[:len(serveEnv):len(serveEnv)], "TMPDIR="+t.TempDir()), t.TempDir()
	s.start()
	s.signal(syscall.SIGHUP)
	s.until("a result", func(st serveStatus) bool { return st.Last != nil })
	s.signal(syscall.SIGTERM)
	if status := s.end(); status != 0 {
		t.Errorf("exit status %d", status)
	}
}

// TestServeLeavesNothing serves scripts that leave processes behind.
func TestServeLeavesNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("what has lost its parent is found on Linux only")
	}
	for _, code := range []string{`os.execute("sleep 741 &")`, `os.execute("setsid sleep 741 &")`, `io.popen("(setsid sleep 741 &) ; exit"):close()`, `require("exec").run{"sh", "-c", "setsid sleep 741 < /dev/null > /dev/null 2>&1 &"}`} {
		s := serveScript(t, []string{"--sim", "910b"}, []string{"--every", "1h", "--timeout", "1h", script(t, "leave.lua", code)})
		if st := s.until("a result", func(st serveStatus) bool { return st.Last != nil }); st.Last.Outcome != "passed" || st.Last.Problem != "" {
			t.Errorf("%s: %+v", code, st.Last)
		}
		s.untilSaid("of its processes behind, which were ended")
		list, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range list {
			if env, err := os.ReadFile(path); err == nil && strings.Contains(string(env), "TMPDIR="+s.temp()+"\x00") && filepath.Dir(path) != fmt.Sprintf("/proc/%d", s.cmd.Process.Pid) {
				t.Errorf("%s: %s is left", code, filepath.Dir(path))
			}
		}
	}
}

// TestServeEscapes serves a script that fails with what a terminal would obey.
func TestServeEscapes(t *testing.T) {
	t.Parallel()
	for _, before := range [][]string{{"--sim", "910b", "--sandbox"}, {"--sim", "910b"}} {
		s := serveScript(t, before, []string{"--every", "1h", script(t, "evil.lua", `error("\27]0;title\7\194\155red\n\27[31mnpulua: serve: all is well\r")`)})
		s.until("a result", func(st serveStatus) bool { return st.Last != nil })
		s.untilSaid("run 1: error")
		for what, text := range map[string]string{"the log": s.said(), "/": s.body("/"), "/metrics": s.body("/metrics"), "/status.json": s.body("/status.json")} {
			if strings.ContainsAny(text, "\x1b\a\r\u009b") {
				t.Errorf("%s of %v has %q", what, before, text)
			}
		}
		if strings.Contains(s.said(), "\nnpulua: serve: all is well") {
			t.Errorf("a script wrote a line of the log: %q", s.said())
		}
	}
}

func (s *served) body(path string) string {
	_, body := s.get(path)
	return body
}

// temp is the folder for temporary files of the server.
func (s *served) temp() (dir string) {
	for _, v := range s.cmd.Env {
		if d, ok := strings.CutPrefix(v, "TMPDIR="); ok {
			dir = d
		}
	}
	return dir
}

// TestServeHosts asks in names that are not the server's.
func TestServeHosts(t *testing.T) {
	t.Parallel()
	s := serveScript(t, []string{"--sim", "910b"}, []string{"--every", "1h", "--host", "npu7.example", "--host", "rack", script(t, "empty.lua", "")})
	for host, want := range map[string]int{"attacker.example": 421, "npu7.example": 200, "rack:80": 200, "localhost": 200, "127.0.0.1:1": 200} {
		for _, path := range []string{"/", "/metrics", "/healthz"} {
			req, err := http.NewRequestWithContext(t.Context(), "GET", s.base+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = host
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("Host: %s, %s: %d, want %d", host, path, resp.StatusCode, want)
			}
		}
	}
}

func TestServeRefused(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	good := script(t, "good.lua", "")
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"serve --listen " + taken.Addr().String() + " " + good, 1, "bind: address already in use\n  hint: another program answers there; --listen takes another port, and port 0 any that is free"},
		{"serve --listen :9400 " + good, 2, `--listen: ":9400" names no host: 127.0.0.1:9400 is for this machine only, 0.0.0.0:9400 for all`},
		{"serve --listen 9400 " + good, 2, `want an address such as 127.0.0.1:9400, got "9400"`},
		{"serve --listen 127.0.0.1:http " + good, 2, "want a port from 0"},
		{"serve --listen 192.0.2.1:0 " + good, 1, "cannot assign requested address"},
		{"--sim 910z serve " + good, 2, `unknown profile "910z"`},
		{"--sim 910b:2 --fault op=copy,device=7,code=507054 serve " + good, 2, "a fault of device 7: 2 visible"},
		{"--sandbox=/no/such/folder serve " + good, 2, `"/no/such/folder" is no folder`},
		{"--sandbox=/ serve " + good, 2, "where the server keeps what runs report"},
		{"--sandbox=" + os.TempDir() + " serve " + good, 2, "where the server keeps what runs report"},
		{"--sandbox=" + filepath.Dir(binary) + " serve " + good, 2, "which the server starts"},
		{"serve --host a:9400 " + good, 2, `--host: want the name of a host, without a port, got "a:9400"`},
		{"serve", 2, "want one script, got 0"},
		{"serve " + good + " 10", 2, "arguments of the script come after --"},
		{"serve /no/such.lua", 2, `"/no/such.lua" is no file, and no script that comes with npulua`},
		{"serve bandwith", 2, `did you mean "bandwidth"?`},
		{"serve " + filepath.Dir(good), 2, "is no file"},
		{"serve --every 0 " + good, 2, `--every: want a time of 1ms or more, such as 90, 500ms or 1m30s, got "0"`},
		{"serve --evry 3s " + good, 2, `did you mean "every"?`},
		{"--timeout 3 serve " + good, 2, "--timeout comes after the word serve"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // one that is not refused serves
		cmd := exec.CommandContext(ctx, binary, strings.Fields(c.args)...)
		cmd.Env = serveEnv
		out, _ := cmd.CombinedOutput() // the status tells
		cancel()
		if got := cmd.ProcessState.ExitCode(); got != c.status || !strings.Contains(string(out), c.says) {
			t.Errorf("npulua %s: status %d, want %d with %q:\n%s", c.args, got, c.status, c.says, out)
		}
	}
}
