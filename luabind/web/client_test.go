package web

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	os.Setenv("NO_PROXY", "*") // no host of these tests is anywhere else
	os.Exit(m.Run())
}

// handler answers as the tests need it; hang waits until release is closed.
func handler(release chan struct{}) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s auth=%q body=%q", r.Method, r.URL.RawQuery, r.Header.Get("Authorization"), body)
	})
	mux.HandleFunc("/from", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RemoteAddr) })
	mux.HandleFunc("/bytes", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(make([]byte, 1000)) })
	mux.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
		for range 10 {
			_, _ = w.Write(make([]byte, 100))
			w.(http.Flusher).Flush()
		}
	})
	mux.HandleFunc("/zip", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write(make([]byte, 1<<20))
		_ = z.Close()
	})
	mux.HandleFunc("/hang", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/half", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("begin"))
		w.(http.Flusher).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("begin"))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/abort", func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) })
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.Query().Get("at"))
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	return mux
}

// servers are one of HTTP, one of HTTPS, and one that wants a certificate of the client.
type servers struct{ plain, secure, mutual *httptest.Server }

func start(t *testing.T) servers {
	t.Helper()
	release := make(chan struct{})
	s := servers{httptest.NewServer(handler(release)), httptest.NewTLSServer(handler(release)), httptest.NewUnstartedServer(handler(release))}
	s.mutual.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	s.mutual.StartTLS()
	for _, one := range []*httptest.Server{s.plain, s.secure, s.mutual} {
		one.Config.ErrorLog = log.New(io.Discard, "", 0) // what clients do wrong here is meant
		t.Cleanup(one.Close)
	}
	t.Cleanup(func() { close(release) })
	return s
}

func pemOf(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func caOf(s *httptest.Server) string { return pemOf("CERTIFICATE", s.Certificate().Raw) }

// pairOf is certificate and key of a server, which serve a client as well.
func pairOf(t *testing.T, s *httptest.Server) (cert, key string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(s.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return caOf(s), pemOf("PRIVATE KEY", der)
}

// request is one with what a script asks for without options.
func request(t *testing.T, address string) Request {
	t.Helper()
	u, err := ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	return Request{Method: "GET", URL: u, Header: make(http.Header), Timeout: time.Minute, MaxBytes: 1 << 20, Redirects: 10}
}

func TestDo(t *testing.T) {
	s := start(t)
	ca := TLS{CA: caOf(s.secure)}
	cert, key := pairOf(t, s.mutual)
	soon := 100 * time.Millisecond
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	nobody := closed.Addr().String()
	for _, test := range []struct {
		name, address string
		change        func(r *Request)
		want          string // of the body, or of the error
		failed        bool
	}{
		{"get", s.plain.URL + "/echo?a=1", nil, `GET a=1 auth="" body=""`, false},
		{"body", s.plain.URL + "/echo", func(r *Request) { r.Method, r.Body = "POST", "x" }, `POST  auth="" body="x"`, false},
		{"user in the address", strings.Replace(s.plain.URL, "//", "//me:pw@", 1) + "/echo", nil, `auth="Basic bWU6cHc="`, false},
		{"tls", s.secure.URL + "/echo", func(r *Request) { r.TLS = ca }, "GET", false},
		{"tls without verification", s.secure.URL + "/echo", func(r *Request) { r.TLS.Insecure = true }, "GET", false},
		{"tls of an unknown signer", s.secure.URL + "/echo", nil, "is signed by nobody who is trusted (option ca_file)", true},
		{"tls for another name", strings.Replace(s.secure.URL, "127.0.0.1", "localhost", 1) + "/echo", func(r *Request) { r.TLS = ca }, "is for example.com, *.example.com, 127.0.0.1, ::1, not for localhost", true},
		{"no tls there", strings.Replace(s.plain.URL, "http", "https", 1), nil, "does not speak TLS there", true},
		{"bad authority", s.secure.URL, func(r *Request) { r.TLS.CA = "x" }, "ca_file has no certificate in PEM", true},
		{"bad pair", s.secure.URL, func(r *Request) { r.TLS.Cert, r.TLS.Key = caOf(s.secure), "x" }, "are no pair in PEM", true},
		{"client certificate", s.mutual.URL + "/echo", func(r *Request) { r.TLS = TLS{CA: cert, Cert: cert, Key: key} }, "GET", false},
		{"no client certificate", s.mutual.URL + "/echo", func(r *Request) { r.TLS.CA = cert }, "wants another certificate of the client, or one at all (options cert_file and key_file): remote error: tls: certificate required", true},
		{"as large as allowed", s.plain.URL + "/bytes", func(r *Request) { r.MaxBytes = 1000 }, "\x00", false},
		{"too large", s.plain.URL + "/bytes", func(r *Request) { r.MaxBytes = 999 }, "the answer has more than 999 B", true},
		{"too large, of unknown length", s.plain.URL + "/stream", func(r *Request) { r.MaxBytes = 999 }, "the answer has more than 999 B", true},
		{"too large when unpacked", s.plain.URL + "/zip", func(r *Request) { r.MaxBytes = 1 << 16 }, "the answer has more than 65536 B", true},
		{"hangs", s.plain.URL + "/hang", func(r *Request) { r.Timeout = soon }, "no whole answer within 100ms: the server had the request", true},
		{"hangs within", s.plain.URL + "/half", func(r *Request) { r.Timeout = soon }, "no whole answer within 100ms: the answer had begun", true},
		{"cut off", s.plain.URL + "/cut", nil, "closed within the answer, after 5 B of its body", true},
		{"no answer", s.plain.URL + "/abort", nil, "closed the connection without an answer", true},
		{"loop", s.plain.URL + "/loop", func(r *Request) { r.Redirects = 3 }, "more than 3 redirects", true},
		{"redirect", s.plain.URL + "/to?at=/echo%3Fb", func(r *Request) { r.Method, r.Body = "PUT", "y" }, `PUT b auth="" body="y"`, false},
		{"redirect not followed", s.plain.URL + "/to?at=/echo", func(r *Request) { r.Redirects = 0 }, "", false},
		{"redirect to a file", s.plain.URL + "/to?at=file:///etc/passwd", nil, "only http and https are known", true},
		{"redirect to what is no URL", s.plain.URL + "/to?at=http://a%3Cb/", nil, "a redirect to http://a<b/ is not followed: invalid character", true},
		{"redirect to what needs percents", s.plain.URL + "/to?at=/echo%3Fa%20b%3D%C3%BC%22", nil, `GET a%20b=%C3%BC%22 auth="" body=""`, false},
		{"redirect with a bad percent", s.plain.URL + "/to?at=/echo%3Fa%3D%25zz", nil, "is not followed: invalid URL escape", true},
		{"redirect to no port", s.plain.URL + "/to?at=http://127.0.0.1:70000/", nil, `is not followed: invalid port "70000"`, true},
		{"redirect to nobody", s.plain.URL + "/to?at=http://" + nobody, nil, ", redirected to http://" + nobody + ": nobody listens at " + nobody, true},
		{"redirect out of tls", s.secure.URL + "/to?at=" + s.plain.URL, func(r *Request) { r.TLS = ca }, "a redirect from https to http is not followed", true},
		{"an unknown host", "http://npulua.invalid", nil, `the host "npulua.invalid"`, true},
		{"nobody", "http://" + nobody, nil, "nobody listens at " + nobody, true},
		{"secrets", "http://me:secret@" + nobody + "/?token=secret", nil, "http://me:xxxxx@" + nobody + "/?...", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c Client
			defer c.Close()
			r := request(t, test.address)
			if test.change != nil {
				test.change(&r)
			}
			got, err := c.Do(t.Context(), r)
			text := ""
			if err != nil {
				text = err.Error()
			} else {
				text = got.Body
			}
			if (err != nil) != test.failed || !strings.Contains(text, test.want) || strings.Contains(text, "secret") {
				t.Errorf("got %.300q, %v, want %q", text, err, test.want)
			}
		})
	}
}

// TestRedirectKeepsSecrets checks that what proves who asks does not go to another host.
func TestRedirectKeepsSecrets(t *testing.T) {
	s := start(t)
	other := strings.Replace(s.plain.URL, "127.0.0.1", "localhost", 1)
	var c Client
	defer c.Close()
	r := request(t, s.plain.URL+"/to?at="+other+"/echo")
	r.Header.Set("Authorization", "secret")
	got, err := c.Do(t.Context(), r)
	if err != nil || !strings.Contains(got.Body, `auth=""`) || !strings.HasPrefix(got.URL, other) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestDoEnds cancels a request that the server has.
func TestDoEnds(t *testing.T) {
	reached := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(reached)
		<-r.Context().Done()
	}))
	defer s.Close()
	var c Client
	defer c.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	done := make(chan error)
	go func() {
		_, err := c.Do(ctx, request(t, s.URL))
		done <- err
	}()
	<-reached
	cancel(why)
	if err := <-done; !errors.Is(err, why) {
		t.Errorf("the request ended with %v", err)
	}
}

// TestClientKeepsConnections asks twice over one connection, and with another authority over another one.
func TestClientKeepsConnections(t *testing.T) {
	s := start(t)
	var c Client
	r := request(t, s.secure.URL+"/echo")
	r.TLS.CA = caOf(s.secure)
	from := make(map[string]bool)
	r.URL.Path = "/from"
	for range 3 {
		got, err := c.Do(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		from[got.Body] = true
	}
	if len(from) != 1 {
		t.Errorf("three requests came from %v", from)
	}
	r.TLS = TLS{}
	if _, err := c.Do(t.Context(), r); err == nil {
		t.Error("a connection was used that another authority vouched for")
	}
	if len(c.transports) != 2 {
		t.Errorf("%d kinds of connections", len(c.transports))
	}
	c.Close()
	c.Close()
}
