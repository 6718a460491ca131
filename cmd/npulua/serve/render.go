package serve

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// document is an answer whose bytes many requests share: it is rendered once for what it shows, and never changed. So
// what requests take does not grow with their number.
type document struct {
	kind   string // its Content-Type
	timed  bool   // it shows how long ago things were
	render func(*Server) ([]byte, error)

	mu     sync.Mutex
	of     moment
	plain  []byte
	packed []byte // by gzip; nil: nobody has asked for it
}

// moment is what a document shows: it has to be rendered again where another one has come.
type moment struct {
	change int // of the server
	stale  bool
	second int64 // of documents that are timed
}

func (s *Server) moment(timed bool) moment {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := moment{change: s.changes, stale: s.stale() != ""}
	if timed {
		m.second = s.cfg.Now().Unix()
	}
	return m
}

// bytes renders the document, unless what is there is of this moment.
func (d *document) bytes(s *Server, packed bool) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := s.moment(d.timed); d.plain == nil || d.of != now {
		text, err := d.render(s)
		if err != nil {
			return nil, err
		}
		d.of, d.plain, d.packed = now, text, nil
	}
	if !packed || d.plain == nil {
		return d.plain, nil
	}
	if d.packed == nil {
		var b bytes.Buffer
		z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // the level is good
		if _, err := z.Write(d.plain); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		d.packed = b.Bytes()
	}
	return d.packed, nil
}

// retryAfter is when a client should ask again that found all busy, in seconds.
const retryAfter = 1

func (d *document) serve(s *Server, w http.ResponseWriter, req *http.Request) {
	packed := takesGzip(req)
	text, err := d.bytes(s, packed)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if text == nil {
		http.NotFound(w, req)
		return
	}
	select {
	case s.answers <- struct{}{}:
		defer func() { <-s.answers }()
	case <-time.After(answerWait):
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		http.Error(w, "too many requests are being answered", http.StatusServiceUnavailable)
		return
	case <-req.Context().Done():
		return
	}
	h := w.Header()
	h.Set("Content-Type", d.kind)
	h.Set("Vary", "Accept-Encoding")
	if packed {
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text)
}

func takesGzip(req *http.Request) bool {
	for _, list := range req.Header.Values("Accept-Encoding") {
		for part := range strings.SplitSeq(list, ",") {
			name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") && !zeroWeight(weight) {
				return true
			}
		}
	}
	return false
}

// zeroWeight reports whether the weight of an encoding, as in "q=0.5", says that it must not be used.
func zeroWeight(text string) bool {
	value, ok := strings.CutPrefix(strings.ReplaceAll(text, " ", ""), "q=")
	f, err := strconv.ParseFloat(value, 64)
	return ok && err == nil && f == 0
}
