package tests

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// runWeb is the command `web`: servers on loopback until the script ends. $HTTP and $HTTPS are their addresses, ca.pem
// has whom to trust for the second, which wants the client certificate client.pem with client.key. /done answers when
// /release was asked for.
func runWeb(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: web")
	}
	plain, secure := httptest.NewServer(webHandler()), httptest.NewUnstartedServer(webHandler())
	secure.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // refused clients are meant
	secure.StartTLS()
	ts.Defer(func() {
		for _, s := range []*httptest.Server{plain, secure} {
			s.CloseClientConnections()
			s.Close()
		}
	})
	ts.Setenv("HTTP", plain.URL)
	ts.Setenv("HTTPS", secure.URL)
	key, err := x509.MarshalPKCS8PrivateKey(secure.TLS.Certificates[0].PrivateKey)
	ts.Check(err)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), cert, 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("client.pem"), cert, 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("client.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
}

func webHandler() http.Handler {
	released := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s?%s body=%q", r.Method, r.URL.Path, r.URL.RawQuery, body)
		var names []string
		for name := range r.Header {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			fmt.Fprintf(w, " %s=%s", name, strings.Join(r.Header[name], "|"))
		}
	})
	mux.HandleFunc("/host", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host) })
	mux.HandleFunc("/json", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header()["X-Many"] = []string{"a", "b"}
		fmt.Fprint(w, `{"devices": [{"id": 0, "ok": true}], "none": null}`)
	})
	mux.HandleFunc("/bytes", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("a\x00\xff")) })
	mux.HandleFunc("/broken", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, "busy\x1b[31m\r\ntry later\n")
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(make([]byte, 1000)) })
	mux.HandleFunc("/hang", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/done", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-released:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/release", func(w http.ResponseWriter, r *http.Request) { close(released) })
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "file:///etc/passwd")
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/host?new", http.StatusMovedPermanently)
	})
	return mux
}
