package serve

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// write leaves the files of a report in dir.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// passed is a run on hardware that has passed.
func passed(dir string) Output {
	if err := os.WriteFile(filepath.Join(dir, SessionFile), []byte(`{"backend": "acl"}`), 0o600); err != nil {
		return Output{Status: -1, Problem: err.Error()}
	}
	return Output{}
}

// bubble runs a schedule in a time of its own, without a listener.
func bubble(t *testing.T, cfg Config, fn func(s *Server, stop func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := New(cfg)
		ended := make(chan struct{})
		go func() {
			s.keep(ctx)
			close(ended)
		}()
		fn(s, cancel)
		cancel()
		<-ended
		_ = s.drain(0) // a test may have a run that takes its time
		s.done.Wait()
	})
}

func get(t *testing.T, s *Server, path string) (status int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Code, w.Body.String()
}

func TestSchedule(t *testing.T) {
	runs := 0
	cfg := Config{Every: 10 * time.Second, Timeout: 25 * time.Second, Run: func(ctx context.Context, dir string) Output {
		runs++
		switch runs {
		case 1:
			return passed(dir)
		case 2: // over the next two
			time.Sleep(22 * time.Second)
			passed(dir)
			return Output{Status: 3}
		}
		<-ctx.Done()
		return Output{Status: -1}
	}}
	bubble(t, cfg, func(s *Server, _ func()) {
		time.Sleep(5 * time.Second)
		if st := s.status(); st.Counts[Passed] != 1 || st.Last.Outcome != Passed {
			t.Errorf("after 5 s: %+v", st)
		}
		time.Sleep(30 * time.Second) // at 35 s: begun at 10 s, ended at 32 s, skipped at 20 s and 30 s
		if st := s.status(); st.Counts[Failed] != 1 || st.Skipped != 2 || st.Last.Seconds != 22 || st.Running != 0 {
			t.Errorf("after 35 s: %+v", st)
		}
		time.Sleep(31 * time.Second) // at 66 s: begun at 40 s, ended by its timeout at 65 s
		if st := s.status(); st.Counts[TimedOut] != 1 || st.Last.Outcome != TimedOut || st.Last.Problem != "it took longer than 25s" {
			t.Errorf("after 66 s: %+v, %+v", st, st.Last)
		}
	})
}

func TestStale(t *testing.T) {
	cfg := Config{Every: time.Second, Timeout: time.Hour, Run: func(context.Context, string) Output {
		time.Sleep(2 * time.Hour) // whatever it is told
		return Output{Status: -1}
	}}
	bubble(t, cfg, func(s *Server, _ func()) {
		if status, body := get(t, s, "/healthz"); status != 200 || body != "ok\n" {
			t.Errorf("healthz at the start: %d %q", status, body)
		}
		if st := s.status(); st.State != StateNone {
			t.Errorf("state at the start: %q", st.State)
		}
		time.Sleep(time.Hour + 6*time.Second) // ending a run that is late may take endTime
		if status, body := get(t, s, "/healthz"); status != 200 {
			t.Errorf("healthz while a run is ended: %d %q", status, body)
		}
		time.Sleep(2 * time.Second)
		if status, body := get(t, s, "/healthz"); status != 503 || !strings.Contains(body, "no run has ended since the start for 1h0m8s") {
			t.Errorf("healthz without results: %d %q", status, body)
		}
		if _, body := get(t, s, "/"); !strings.Contains(body, "The figures are old") {
			t.Error("the page does not say that the figures are old")
		}
	})
}

// TestStaleLooksOld lets a run hang after one that has passed.
func TestStaleLooksOld(t *testing.T) {
	release := make(chan struct{})
	run := 0
	s := New(Config{Every: time.Second, Timeout: time.Second})
	s.cfg.Run = func(_ context.Context, dir string) Output {
		if run++; run == 1 {
			return passed(dir)
		}
		<-release
		return Output{Status: -1}
	}
	late := time.Duration(0)
	s.cfg.Now = func() time.Time { return s.began.Add(late) }
	s.begin()
	s.done.Wait()
	green := iconStyles[State(Passed)]
	if _, icon := get(t, s, "/icon.svg"); !strings.Contains(icon, green) || s.status().State != State(Passed) {
		t.Errorf("after the run: state %q, icon %s", s.status().State, icon)
	}
	s.begin()
	late = time.Minute
	if _, icon := get(t, s, "/icon.svg"); strings.Contains(icon, green) || !strings.Contains(icon, iconStyles[StateStale]) {
		t.Errorf("the icon of an old result: %s", icon)
	}
	if _, body := get(t, s, "/"); !strings.Contains(body, `<div class="last old">too old: passed 1m ago</div>`) || !strings.Contains(body, "<title>too old: ") || strings.Contains(body, `class="last passed"`) {
		t.Errorf("the page of an old result:\n%s", body)
	}
	if st := s.status(); st.State != StateStale || st.Stale == "" {
		t.Errorf("state of an old result: %+v", st)
	}
	close(release)
	s.done.Wait()
}

// TestDrain ends the server during a run.
func TestDrain(t *testing.T) {
	for _, c := range []struct {
		name  string
		takes time.Duration
		want  Outcome
	}{{"in time", 5 * time.Second, Passed}, {"too long", time.Minute, Stopped}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Config{Every: time.Hour, Timeout: time.Hour, Run: func(ctx context.Context, dir string) Output {
					select {
					case <-time.After(c.takes):
						return passed(dir)
					case <-ctx.Done():
						return Output{Status: -1}
					}
				}})
				s.begin()
				time.Sleep(time.Second)
				began := time.Now()
				if err := s.drain(10 * time.Second); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("the drain took %v", took)
				}
				if last := s.status().Last; last == nil || last.Outcome != c.want {
					t.Errorf("last = %+v, want %v", last, c.want)
				}
			})
		})
	}
}

// TestDrainSignal has the run get the signal that ends the server, as a service manager sends it to all of a unit.
func TestDrainSignal(t *testing.T) {
	for status, want := range map[int]Outcome{143: Stopped, 130: Stopped, -1: Stopped, 1: Broken} {
		synctest.Test(t, func(t *testing.T) {
			s := New(Config{Every: time.Hour, Timeout: time.Hour, Run: func(context.Context, string) Output {
				time.Sleep(2 * time.Second)
				return Output{Status: status}
			}})
			s.begin()
			time.Sleep(time.Second)
			if err := s.drain(10 * time.Second); err != nil {
				t.Error(err)
			}
			if last := s.status().Last; last.Outcome != want {
				t.Errorf("status %d: %+v, want %v", status, last, want)
			}
		})
	}
}

// TestDrainGivesUp has a run that nothing ends, as in a call of the kernel that hangs.
func TestDrainGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Every: time.Hour, Timeout: time.Hour, Run: func(context.Context, string) Output {
			time.Sleep(time.Hour)
			return Output{Status: -1}
		}})
		s.begin()
		began := time.Now()
		if err := s.drain(10 * time.Second); err == nil || !strings.Contains(err.Error(), "run 1 was killed and has not ended") {
			t.Errorf("drain: %v", err)
		}
		if took := time.Since(began); took > 10*time.Second+3*endTime {
			t.Errorf("the drain took %v", took)
		}
		s.done.Wait()
	})
}

// samples are the values on /metrics by name and labels: "name{a=1,b=2}"; empty labels are left out, as Prometheus does.
func samples(t *testing.T, s *Server) map[string]float64 {
	t.Helper()
	_, body := get(t, s, "/metrics")
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
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
			out[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()
		}
	}
	return out
}

func TestMetrics(t *testing.T) {
	const checks = `{"verdict": "fail", "tests": [
		{"name": "copy", "device": 0, "result": "pass", "metrics": [{"name": "rate", "value": 1, "unit": "B/s"}, {"name": "rate", "value": 2.5, "unit": "B/s"}]},
		{"name": "copy", "device": 1, "result": "fail", "group": "memory", "metrics": [{"name": "rate", "value": null, "unit": "B/s"}]},
		{"name": "twice", "device": null, "result": "skip"}, {"name": "twice", "result": "skip"}]}`
	run := 0
	var release chan struct{}
	var s *Server
	cfg := Config{Every: 10 * time.Second, Timeout: 10 * time.Second, Run: func(_ context.Context, dir string) Output {
		switch run++; run {
		case 1: // on hardware
			write(t, dir, map[string]string{SessionFile: `{"backend": "acl"}`, MetricsFile: "free_bytes 7\n", CheckFile: checks})
			return Output{Status: 3}
		case 2:
			write(t, dir, map[string]string{SessionFile: `{"backend": "sim", "simulated": true}`, MetricsFile: "free_bytes 8\n", CheckFile: checks})
			return Output{}
		}
		<-release
		return Output{Status: -1}
	}}
	check := func(what string, want map[string]float64, absent ...string) {
		t.Helper()
		got := samples(t, s)
		for name, v := range want {
			if g, ok := got[name]; !ok || g != v {
				t.Errorf("%s: %s = %v (there: %v), want %v", what, name, g, ok, v)
			}
		}
		for name := range got {
			for _, prefix := range absent {
				if strings.HasPrefix(name, prefix) {
					t.Errorf("%s: %s is there", what, name)
				}
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		s, release = New(cfg), make(chan struct{})
		began := float64(time.Now().Unix())
		check("before the first run", map[string]float64{"npulua_serve_runs_total{outcome=passed}": 0, "npulua_serve_running": 0, "npulua_serve_interval_seconds": 10}, "npulua_run_", "npulua_check_")
		s.begin()
		s.done.Wait()
		check("after a failure", map[string]float64{
			"npulua_serve_runs_total{outcome=failed}": 1, "npulua_run_success": 0, "npulua_run_exit_status": 3, "npulua_run_simulated": 0, "npulua_run_timestamp_seconds": began,
			"free_bytes": 7, "npulua_check_result{device=0,result=pass,test=copy}": 1, "npulua_check_result{device=1,group=memory,result=fail,test=copy}": 1,
			"npulua_check_result{result=skip,test=twice}": 2, "npulua_check_metric{device=0,metric=rate,test=copy,unit=B/s}": 2.5,
		}, "npulua_check_metric{device=1")
		time.Sleep(time.Second)
		s.begin()
		s.done.Wait()
		check("after a simulated run", map[string]float64{
			"npulua_serve_runs_total{outcome=passed,simulated=true}": 1, "npulua_serve_runs_total{outcome=passed}": 0, "npulua_run_success{simulated=true}": 1, "npulua_run_simulated": 1,
			"npulua_run_timestamp_seconds{simulated=true}": began + 1, "free_bytes{simulated=true}": 8, "npulua_check_result{device=0,result=pass,simulated=true,test=copy}": 1,
			"npulua_check_metric{device=0,metric=rate,simulated=true,test=copy,unit=B/s}": 2.5,
		}, "npulua_run_success{}")
		s.begin() // hangs
		time.Sleep(36 * time.Second)
		check("when all that is too old", map[string]float64{"npulua_run_success{simulated=true}": 0, "npulua_serve_running": 1, "npulua_run_timestamp_seconds{simulated=true}": began + 1}, "free_bytes", "npulua_check_")
		close(release)
		s.done.Wait()
		check("after a run without a report", map[string]float64{"npulua_run_success": 0, "npulua_run_exit_status": -1, "npulua_serve_runs_total{outcome=timed_out}": 1}, "free_bytes", "npulua_check_", "npulua_run_simulated")
	})
}

func TestReport(t *testing.T) {
	var s *Server
	run := 0
	cfg := Config{Script: "<b>.lua", Every: time.Second, Timeout: time.Second, Run: func(_ context.Context, dir string) Output {
		switch run++; run {
		case 1:
			write(t, dir, map[string]string{
				SessionFile:  `{"backend": "sim", "simulated": true, "detail": "simulated Ascend910B3"}`,
				MetricsFile:  "# HELP npu_temperature_celsius Temperature.\n# TYPE npu_temperature_celsius gauge\nnpu_temperature_celsius{device=\"0\",zone=\"hbm\"} 41.5\n",
				CheckFile:    `{"schema_version": 1, "verdict": "pass", "tests": [{"name": "memory <i>", "result": "pass", "device": 0, "seconds": 0.5, "reason": "fine"}]}`,
				TimelineFile: "<svg/>",
			})
			return Output{Stderr: "<script>alert(1)</script>"}
		case 2:
			write(t, dir, map[string]string{MetricsFile: "what is this", CheckFile: "{", SessionFile: "[]"})
			return Output{}
		case 3:
			write(t, dir, map[string]string{MetricsFile: "npulua_serve_mine 1\nmine 2\n"})
			return Output{}
		}
		return Output{Status: 1, Problem: "it broke"}
	}}
	s = New(cfg)
	step := func() *Result {
		s.begin()
		s.done.Wait()
		return s.status().Last
	}

	if r := step(); r.Outcome != Passed || r.Problem != "" || !r.Session.Simulated {
		t.Errorf("run 1: %+v", r)
	}
	_, body := get(t, s, "/metrics")
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if f := families["npu_temperature_celsius"]; f == nil || f.Metric[0].GetGauge().GetValue() != 41.5 || len(f.Metric[0].Label) != 3 || f.Metric[0].Label[1].GetName() != "simulated" {
		t.Errorf("metric of the script: %v", f)
	}
	if families["npulua_serve_runs_total"] == nil || families["npulua_run_simulated"].Metric[0].GetGauge().GetValue() != 1 {
		t.Error("metrics of the server are missing")
	}
	_, body = get(t, s, "/")
	for _, want := range []string{"Simulated: these results say nothing about real hardware", "&lt;b&gt;.lua", "memory &lt;i&gt;", "npu_temperature_celsius", "41.5", `src="/timeline.svg"`, "&lt;script&gt;"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(body, "<script") {
		t.Error("the page has a script")
	}
	if status, body := get(t, s, "/timeline.svg"); status != 200 || body != "<svg/>" {
		t.Errorf("timeline: %d %q", status, body)
	}
	_, body = get(t, s, "/status.json")
	var st Status
	if err := json.Unmarshal([]byte(body), &st); err != nil || st.Last.Number != 1 || st.SchemaVersion != SchemaVersion {
		t.Errorf("status.json: %v, %+v", err, st)
	}

	if r := step(); r.Outcome != Broken || !strings.Contains(r.Problem, MetricsFile) || !strings.Contains(r.Problem, CheckFile) || !strings.Contains(r.Problem, SessionFile) {
		t.Errorf("run 2: %+v", r)
	}
	if r := step(); r.Outcome != Broken || !strings.Contains(r.Problem, "npulua_serve_mine") {
		t.Errorf("run 3: %+v", r)
	}
	if _, body := get(t, s, "/metrics"); strings.Contains(body, "npu_temperature") || !strings.Contains(body, "\nmine 2\n") {
		t.Errorf("metrics are not those of the last run:\n%s", body)
	}
	if r := step(); r.Outcome != Broken || r.Problem != "it broke" {
		t.Errorf("run 4: %+v", r)
	}
	if _, body := get(t, s, "/metrics"); strings.Contains(body, "\nmine") {
		t.Error("metrics of an earlier run are still there")
	}
	for range kept {
		step()
	}
	if r := step(); r.Check != nil || r.timeline != nil {
		t.Errorf("what an earlier run has left is still there: %+v", r)
	}
	if st := s.status(); len(st.History) != kept || st.History[0].Number != 6 {
		t.Errorf("history has %d runs from %d on", len(st.History), st.History[0].Number)
	}
}

// TestServe answers over a connection, and ends.
func TestServe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := New(Config{Every: time.Hour, Timeout: time.Hour, Run: func(_ context.Context, dir string) Output { return passed(dir) }})
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l, time.Minute) }()
	for _, c := range []struct {
		method, path string
		want         int
	}{{"GET", "/", 200}, {"GET", "/metrics", 200}, {"GET", "/healthz", 200}, {"GET", "/timeline.svg", 404}, {"GET", "/etc/passwd", 404}, {"POST", "/", 405}} {
		req, _ := http.NewRequestWithContext(ctx, c.method, "http://"+l.Addr().String()+c.path, nil)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.want || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, resp.StatusCode, c.want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// pipeListener has one connection, without a network.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l pipeListener) Close() error   { close(l.closed); return nil }
func (l pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// TestSlowClients have requests that never end.
func TestSlowClients(t *testing.T) {
	for _, request := range []string{"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n", "GET /met", "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", ""} {
		synctest.Test(t, func(t *testing.T) {
			l := pipeListener{make(chan net.Conn), make(chan struct{})}
			ctx, cancel := context.WithCancel(t.Context())
			s := New(Config{Every: time.Hour, Timeout: time.Hour, Run: func(_ context.Context, dir string) Output { return passed(dir) }})
			ended := make(chan error, 1)
			go func() { ended <- s.Serve(ctx, l, time.Minute) }()
			ours, theirs := net.Pipe()
			l.conns <- theirs
			began := time.Now()
			_ = ours.SetDeadline(began.Add(time.Hour))
			go func() { _, _ = ours.Write([]byte(request)) }()
			_, _ = io.Copy(io.Discard, ours) // until the server closes it
			if held := time.Since(began); held > 2*time.Minute {
				t.Errorf("%q holds a connection for %v", request, held)
			}
			_ = ours.Close()
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNoReport has runs that say they are done and do not say what they ran on.
func TestNoReport(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(dir string) Output
		says string
	}{
		"nothing":        {func(string) Output { return Output{} }, "left no report"},
		"folder is gone": {func(dir string) Output { _ = os.RemoveAll(dir); return Output{} }, "left no report"},
		"a check fails":  {func(string) Output { return Output{Status: 3} }, "left no report"},
		"no backend":     {func(dir string) Output { write(t, dir, map[string]string{SessionFile: "{}"}); return Output{} }, "names no backend"},
		"null":           {func(dir string) Output { write(t, dir, map[string]string{SessionFile: "null"}); return Output{} }, "names no backend"},
		"half a document": {func(dir string) Output {
			write(t, dir, map[string]string{SessionFile: `{"backend": "acl"`})
			return Output{}
		}, SessionFile},
	} {
		s := New(Config{Every: time.Hour, Timeout: time.Hour, Run: func(_ context.Context, dir string) Output { return c.run(dir) }})
		s.begin()
		s.done.Wait()
		if r := s.status().Last; r.Outcome != Broken || !strings.Contains(r.Problem, c.says) {
			t.Errorf("%s: %s, %q", name, r.Outcome, r.Problem)
		}
		if got := samples(t, s); got["npulua_run_success"] != 0 || got["npulua_serve_runs_total{outcome=passed}"] != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestProblem(t *testing.T) {
	failing := &checked{Tests: []checkedTest{{Name: "copy", Result: "fail", Reason: "too slow"}}}
	for _, c := range []struct {
		r    Result
		want string
	}{
		{Result{Outcome: Passed, Stderr: "npulua: a notice\n"}, ""},
		{Result{Outcome: Broken, Stderr: "npulua: a notice\nnpulua: err.lua:1: on fire\n  hint: water\nstack traceback:\n\t[C]: in function 'error'\n"}, "npulua: err.lua:1: on fire"},
		{Result{Outcome: Broken, Stderr: "one\ntwo\n\n"}, "two"},
		{Result{Outcome: Broken}, ""},
		{Result{Outcome: Broken, Status: 4, checks: new(checked)}, "no test has passed"},
		{Result{Outcome: Broken, Stderr: "npulua: x\n", Problem: "signal: killed"}, "signal: killed"},
		{Result{Outcome: Failed, Stderr: "npulua: x\n", checks: failing}, "copy: too slow"},
		{Result{Outcome: TimedOut, Problem: "it took longer than 1s", checks: failing}, "it took longer than 1s; copy: too slow"},
		{Result{Outcome: Broken, Stderr: strings.Repeat("ü", 2*maxBlame)}, strings.Repeat("ü", maxBlame) + "..."},
	} {
		if c.r.explain(); c.r.Problem != c.want {
			t.Errorf("%q, want %q", c.r.Problem, c.want)
		}
	}
}

func TestRemoveLeft(t *testing.T) {
	dir := t.TempDir()
	live, err := newFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{folderPrefix + "12": 0o700, folderPrefix + "data": 0o700, folderPrefix + "34": 0o755, "other": 0o700} {
		if err := os.Mkdir(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, folderPrefix+"12"), map[string]string{SessionFile: "{}"})
	if err := os.Symlink(filepath.Join(dir, "other"), filepath.Join(dir, folderPrefix+"56")); err != nil {
		t.Fatal(err)
	}
	if n := RemoveLeft(dir); n != 1 {
		t.Errorf("%d folders removed", n)
	}
	if _, err := os.Lstat(filepath.Join(dir, folderPrefix+"12")); err == nil {
		t.Error("the folder that was left is there")
	}
	if list, _ := os.ReadDir(dir); len(list) != 5 {
		t.Errorf("left: %v", list)
	}
	live.remove()
	if _, err := os.Lstat(live.path); err == nil {
		t.Error("a folder is there after its end")
	}
}
