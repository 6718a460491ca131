package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

// TestServeLog has readers of a log that take nothing, or are gone.
func TestServeLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		l := newServeLog(w)
		defer close(l)
		for i := range 3 * serveLogKept { // nobody reads: it does not wait
			l.printf("line %d", i)
		}
		l.flush()
		_ = r.Close()
		l.flush()
	})
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		l := newServeLog(&b)
		defer close(l)
		l.printf("run %d\n", 1)
		l.printf("run %d", 2)
		l.flush()
		if want := "npulua: serve: run 1\nnpulua: serve: run 2\n"; b.String() != want {
			t.Errorf("%q, want %q", b.String(), want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		_ = r.CloseWithError(errors.New("gone"))
		l := newServeLog(w)
		defer close(l)
		l.printf("to nobody")
		l.flush()
	})
}
