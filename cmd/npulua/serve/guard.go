package serve

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// What clients may take at once.
const (
	maxAnswers     = 32              // documents that are being sent
	answerWait     = 2 * time.Second // how long a request waits for its turn
	maxConnections = 256
)

// AnyHost in Config.Hosts lets requests for any host be answered.
const AnyHost = "*"

// guard answers only requests that are for this server: a page of the web whose name leads here for a moment (DNS
// rebinding) asks in its own name. Addresses and localhost are nobody else's.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !s.answersTo(req.Host) {
			http.Error(w, "this server is not asked by that name; --host adds one", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, req)
	})
}

// answersTo reports whether host, which may have a port, is a name of this server. Clients that name none are old ones,
// and no browsers.
func (s *Server) answersTo(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = hostName(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	if _, err := netip.ParseAddr(host); err == nil || host == "" || host == "localhost" {
		return true
	}
	return slices.ContainsFunc(s.cfg.Hosts, func(name string) bool { return name == AnyHost || hostName(name) == host })
}

// hostName is a name as names are compared.
func hostName(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// limited is a listener that has maxConnections at most open at once; more wait in the system's queue.
type limited struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	once   sync.Once
}

func limit(l net.Listener) *limited {
	return &limited{Listener: l, slots: make(chan struct{}, maxConnections), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &counted{Conn: c, done: sync.OnceFunc(func() { <-l.slots })}, nil
}

// Close implements net.Listener.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type counted struct {
	net.Conn
	done func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	defer c.done()
	return c.Conn.Close()
}
