package serve

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestHosts(t *testing.T) {
	s := New(Config{Every: time.Hour, Timeout: time.Hour, Hosts: []string{"npu7.Example", "rack"}})
	any := New(Config{Every: time.Hour, Timeout: time.Hour, Hosts: []string{AnyHost}})
	for host, want := range map[string]bool{
		"": true, "localhost": true, "localhost:9400": true, "LOCALHOST.": true, "127.0.0.1": true, "127.0.0.1:9400": true, "[::1]:9400": true, "[::1]": true, "10.1.2.3:80": true, "[fe80::1%25eth0]:1": true,
		"npu7.example": true, "NPU7.example.:9400": true, "rack:9400": true,
		"attacker.example": false, "attacker.example:9400": false, "localhost.attacker.example": false, "127.0.0.1.attacker.example": false, "npu7.example.attacker.example": false, "xnpu7.example": false,
		"attacker.example:127.0.0.1": false, "127.0.0.1@attacker.example": false, "2130706433": false, "0x7f.1": false, "rack.local": false, "localhost:x:y": false, "*": false, " localhost": false,
	} {
		for _, path := range []string{"/", "/metrics", "/status.json", "/healthz", "/timeline.svg", "/none"} {
			req := httptest.NewRequest("GET", path, nil)
			req.Host = host
			w := httptest.NewRecorder()
			s.guard(s.Handler()).ServeHTTP(w, req)
			if got := w.Code != http.StatusMisdirectedRequest; got != want {
				t.Errorf("Host: %q, %s: %d", host, path, w.Code)
			}
			w = httptest.NewRecorder()
			any.guard(any.Handler()).ServeHTTP(w, req)
			if w.Code == http.StatusMisdirectedRequest {
				t.Errorf("Host: %q is not answered, though any is", host)
			}
		}
	}
}

// large is a report of many tests with 10 metrics each, and of many series.
func large(t *testing.T, dir string) {
	var checks, metrics strings.Builder
	checks.WriteString(`{"verdict": "pass", "tests": [`)
	for i := range 400 {
		if i > 0 {
			checks.WriteString(",")
		}
		fmt.Fprintf(&checks, `{"name": "test %d", "result": "pass", "device": %d, "metrics": [`, i, i%8)
		for j := range 10 {
			if j > 0 {
				checks.WriteString(",")
			}
			fmt.Fprintf(&checks, `{"name": "metric %d", "value": %d.5, "unit": "B/s"}`, j, i)
		}
		checks.WriteString("]}")
	}
	checks.WriteString("]}")
	metrics.WriteString("# TYPE a_total counter\n")
	for i := range 5_000 {
		fmt.Fprintf(&metrics, "a_total{n=\"%d\"} %d\n", i, i)
	}
	write(t, dir, map[string]string{SessionFile: `{"backend": "acl"}`, CheckFile: checks.String(), MetricsFile: metrics.String()})
}

// shared is a writer that keeps what it was given, without a copy.
type shared struct {
	header http.Header
	code   int
	body   []byte
}

func (w *shared) Header() http.Header  { return w.header }
func (w *shared) WriteHeader(code int) { w.code = code }
func (w *shared) Write(p []byte) (int, error) {
	w.body = p
	return len(p), nil
}

// TestSharedDocuments checks that requests get the same bytes in memory, until something has changed.
func TestSharedDocuments(t *testing.T) {
	s := New(Config{Every: time.Hour, Timeout: time.Hour, Now: func() time.Time { return time.Unix(1e9, 0) }, Run: func(_ context.Context, dir string) Output { large(t, dir); return Output{} }})
	s.begin()
	s.done.Wait()
	h := s.Handler()
	get := func(path, encoding string) *shared {
		req := httptest.NewRequest("GET", path, nil)
		req.Header.Set("Accept-Encoding", encoding)
		w := &shared{header: make(http.Header), code: 200}
		h.ServeHTTP(w, req)
		if w.code != 200 || len(w.body) < 1000 {
			t.Fatalf("%s: %d, %d B", path, w.code, len(w.body))
		}
		return w
	}
	for _, path := range []string{"/", "/metrics", "/status.json"} {
		plain := get(path, "gzip;q=0")
		for range 3 {
			if again := get(path, ""); &again.body[0] != &plain.body[0] {
				t.Errorf("%s is rendered again", path)
			}
		}
		packed := get(path, "br, gzip")
		if again := get(path, "gzip;q=0.5"); &again.body[0] != &packed.body[0] || packed.header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s is packed again", path)
		}
		z, err := gzip.NewReader(bytes.NewReader(packed.body))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(z); err != nil || !bytes.Equal(text, plain.body) {
			t.Errorf("%s: what is packed is another text", path)
		}
		before := string(plain.body)
		s.begin()
		s.done.Wait()
		if next := get(path, ""); &next.body[0] == &plain.body[0] || path != "/metrics" && string(next.body) == before {
			t.Errorf("%s is that of the run before", path)
		}
		if string(plain.body) != before {
			t.Errorf("%s was changed under its readers", path)
		}
	}
}

// TestAnswersAtOnce has clients that read nothing of what they asked for.
func TestAnswersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Every: time.Hour, Timeout: time.Hour})
		for range maxAnswers {
			s.answers <- struct{}{}
		}
		begin := time.Now()
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		if w.Code != 503 || w.Header().Get("Retry-After") != "1" || time.Since(begin) != answerWait {
			t.Errorf("%d after %v, %v", w.Code, time.Since(begin), w.Header())
		}
		w = httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/healthz", nil))
		if w.Code != 200 {
			t.Errorf("/healthz: %d", w.Code)
		}
		<-s.answers
		w = httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		if w.Code != 200 || len(s.answers) != maxAnswers-1 {
			t.Errorf("%d, %d under way", w.Code, len(s.answers))
		}
	})
}

func TestConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes := pipeListener{make(chan net.Conn), make(chan struct{})}
		l := limit(pipes)
		accepted := make(chan net.Conn)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					close(accepted)
					return
				}
				accepted <- c
			}
		}()
		var open []net.Conn
		for range maxConnections {
			_, theirs := net.Pipe()
			pipes.conns <- theirs
			open = append(open, <-accepted)
		}
		_, theirs := net.Pipe()
		select {
		case pipes.conns <- theirs:
			t.Error("there is a connection too many")
		case <-time.After(time.Hour):
		}
		_ = open[0].Close()
		_ = open[0].Close() // counts once
		pipes.conns <- theirs
		<-accepted
		_ = l.Close()
		if _, ok := <-accepted; ok {
			t.Error("a connection after the end")
		}
	})
}

// TestUntrustedReport has runs leave what no report is.
func TestUntrustedReport(t *testing.T) {
	const session = `{"backend": "acl"}`
	for _, c := range []struct {
		name string
		make func(dir string) error
		says string
	}{
		{"a link", func(dir string) error { return os.Symlink("/etc/passwd", filepath.Join(dir, MetricsFile)) }, MetricsFile + ": it is a link"},
		{"a pipe", func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, CheckFile), 0o600) }, CheckFile + ": it is no regular file"},
		{"a folder", func(dir string) error { return os.Mkdir(filepath.Join(dir, TimelineFile), 0o700) }, TimelineFile + ": it is no regular file"},
		{"a large file", func(dir string) error { return sparse(filepath.Join(dir, TimelineFile), 1<<40) }, TimelineFile + ": it has more than 16 MiB"},
		{"many lines", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, MetricsFile), bytes.Repeat([]byte("a 1\n"), mostLines+1), 0o600)
		}, MetricsFile + ": it has more than"},
		{"many objects", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, CheckFile), []byte(`{"tests":[`+strings.Repeat("{},", mostObjects)+`{}]}`), 0o600)
		}, CheckFile + ": it has more than"},
		{"another folder in its place", func(dir string) error {
			if err := os.Rename(dir, dir+".old"); err != nil {
				return err
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir + ".old") })
			return os.Symlink("/etc", dir)
		}, ""},
	} {
		s := New(Config{Every: time.Hour, Timeout: time.Hour, Run: func(_ context.Context, dir string) Output {
			write(t, dir, map[string]string{SessionFile: session})
			if err := c.make(dir); err != nil {
				t.Fatal(err)
			}
			return Output{}
		}})
		s.begin()
		s.done.Wait()
		if r := s.status().Last; (c.says != "") != (r.Outcome == Broken) || !strings.Contains(r.Problem, c.says) {
			t.Errorf("%s: %s, %q", c.name, r.Outcome, r.Problem)
		}
	}
}

func sparse(path string, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Truncate(size)
}

// TestPrintable looks for escape sequences of a run in all that is answered.
func TestPrintable(t *testing.T) {
	const evil = "\x1b]0;x\x07\u009b31m\x7f"
	s := New(Config{Every: time.Hour, Timeout: time.Hour, Run: func(_ context.Context, dir string) Output {
		write(t, dir, map[string]string{
			SessionFile: `{"backend": "acl", "detail": "\u001b\u009b"}`,
			MetricsFile: "# HELP a " + evil + "\n# TYPE a gauge\na{b=\"" + evil + "\"} 1\n",
			CheckFile:   `{"verdict": "fail\u009b", "tests": [{"name": "a\u001b\u009b", "result": "fail", "reason": "b\u001b\u009b", "metrics": [{"name": "c\u001b\u009b", "value": 1, "unit": "\u001b\u009b"}]}], "data": "` + "\u009b\x7f" + `"}`,
		})
		return Output{Status: 3, Stdout: evil, Stderr: "npulua: " + evil}
	}})
	s.begin()
	s.done.Wait()
	for _, path := range []string{"/", "/metrics", "/status.json"} {
		code, body := get(t, s, path)
		if code != 200 || strings.ContainsAny(body, "\x1b\x07\x7f\u009b") {
			t.Errorf("%s: %d, %q", path, code, body)
		}
	}
}
