// Package web asks servers over HTTP within bounds: of time, of the size of an answer, of redirects. What goes wrong it
// says in plain words.
package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Request is what is asked.
type Request struct {
	Method    string
	URL       *url.URL // of ParseURL
	Header    http.Header
	Host      string // in place of that of URL; "": none
	Body      string
	Timeout   time.Duration // for all of it, the body of the answer included
	MaxBytes  int64         // of the body of the answer, unpacked
	Redirects int           // how many are followed; 0: a redirect is the answer
	TLS       TLS
}

// Response is what was answered.
type Response struct {
	Status   int
	Reason   string // "Not Found"; "" for a status without one
	Header   http.Header
	Body     string
	URL      string // the last one, after redirects, without user and password
	Duration time.Duration
}

// Client keeps connections for requests that follow. The zero value is ready; its methods may be called from any
// goroutine.
type Client struct {
	mu         sync.Mutex
	transports map[TLS]*http.Transport
	ctx        context.Context // ends at Close
	end        context.CancelFunc
}

// maxHeader is how many bytes the header of an answer may have.
const maxHeader = 1 << 20

// idle is how long a connection is kept that nobody uses.
const idle = 30 * time.Second

// transport is the one for a kind of TLS.
func (c *Client) transport(t TLS) (*http.Transport, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if tr := c.transports[t]; tr != nil {
		return tr, nil
	}
	config, err := t.config()
	if err != nil {
		return nil, err
	}
	if c.transports == nil {
		c.transports = make(map[TLS]*http.Transport)
		c.ctx, c.end = context.WithCancel(context.Background())
	}
	tr := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: c.dial, TLSClientConfig: config, ForceAttemptHTTP2: true,
		IdleConnTimeout: idle, MaxResponseHeaderBytes: maxHeader, MaxIdleConnsPerHost: 4,
	}
	c.transports[t] = tr
	return tr, nil
}

// dial connects. A connection may be waited for by none of the requests any more: then Close ends it.
func (c *Client) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}

// Close closes all connections. No request may be under way.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, tr := range c.transports {
		tr.CloseIdleConnections()
	}
	if c.end != nil {
		c.end()
	}
	c.transports = nil
}

var errTime = errors.New("the time is over")

// phase is what a request is doing.
type phase struct{ atomic.Value }

func (p *phase) trace() *httptrace.ClientTrace {
	p.Store("it had not begun")
	return &httptrace.ClientTrace{
		DNSStart:             func(httptrace.DNSStartInfo) { p.Store("the host was being looked up") },
		ConnectStart:         func(_, addr string) { p.Store("connecting to " + addr) },
		TLSHandshakeStart:    func() { p.Store("the TLS handshake was under way") },
		GotConn:              func(httptrace.GotConnInfo) { p.Store("the request was being sent") },
		WroteRequest:         func(httptrace.WroteRequestInfo) { p.Store("the server had the request") },
		GotFirstResponseByte: func() { p.Store("the answer had begun") },
	}
}

// Do sends a request and reads the answer. Statuses are no errors. Where ctx ends, so does the request.
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	tr, err := c.transport(r.TLS)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.Timeout, errTime)
	defer cancel()
	var at phase
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, at.trace()), r.Method, r.URL.String(), strings.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	req.Header = r.Header
	if r.Host != "" {
		req.Host = r.Host
	}
	begin := time.Now()
	client := http.Client{Transport: tr, CheckRedirect: r.redirect}
	resp, err := client.Do(req)
	if err == nil {
		defer resp.Body.Close()
		var body string
		body, err = read(resp, r.MaxBytes)
		if err == nil {
			return &Response{resp.StatusCode, http.StatusText(resp.StatusCode), resp.Header, body, plainURL(resp.Request.URL), time.Since(begin)}, nil
		}
	}
	where := r.Method + " " + Shown(r.URL)
	if last := lastURL(resp, err); last != nil && plainURL(last) != plainURL(r.URL) {
		where += ", redirected to " + Shown(last)
	}
	switch {
	case errors.Is(context.Cause(ctx), errTime):
		return nil, fmt.Errorf("%s: no whole answer within %v: %v (option timeout)", where, r.Timeout, at.Load())
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, fmt.Errorf("%s: %s", where, reason(err))
}

// lastURL is where a request failed; nil where that is not known, or the error says it.
func lastURL(resp *http.Response, err error) *url.URL {
	var e *url.Error
	if !errors.As(err, &e) { // the answer could not be read
		return resp.Request.URL
	}
	if _, ok := e.Err.(plainError); ok {
		return nil
	}
	u, _ := url.Parse(e.URL)
	if u != nil && u.Host == "" {
		return nil
	}
	return u
}

// redirect is asked before one is followed.
func (r *Request) redirect(next *http.Request, via []*http.Request) error {
	last := via[len(via)-1].URL
	switch {
	case r.Redirects == 0:
		return http.ErrUseLastResponse
	case len(via) > r.Redirects:
		return plainError(fmt.Sprintf("more than %d redirects (option redirects), the next one to %s", r.Redirects, Shown(next.URL)))
	case next.URL.Scheme != "http" && next.URL.Scheme != "https":
		return plainError(fmt.Sprintf("a redirect to %s is not followed: only http and https are known", Shown(next.URL)))
	case last.Scheme == "https" && next.URL.Scheme == "http":
		return plainError(fmt.Sprintf("a redirect from https to http is not followed, to %s", Shown(next.URL)))
	}
	if err := clean(next.URL); err != nil {
		return plainError(fmt.Sprintf("a redirect to %s is not followed: %v", Shown(next.URL), err))
	}
	return nil
}

// read reads the body of an answer.
func read(resp *http.Response, limit int64) (string, error) {
	var b strings.Builder
	if n := resp.ContentLength; n > 0 && n <= limit {
		b.Grow(int(min(n, 1<<20)))
	}
	n, err := io.Copy(&b, io.LimitReader(resp.Body, limit+1))
	switch {
	case n > limit:
		return "", plainError(fmt.Sprintf("the answer has more than %d B (option max_bytes)", limit))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "", plainError(fmt.Sprintf("the connection was closed within the answer, after %d B of its body", n))
	}
	return b.String(), err
}
