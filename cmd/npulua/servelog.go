package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"npulua/internal/printable"
)

// serveLogKept is how many lines wait for whoever reads the log.
const serveLogKept = 1000

// serveLog writes the lines of serve's log. Nobody waits for its reader: lines are dropped while that takes none, and a reader that is
// gone is no error. It lasts as long as the process.
type serveLog chan logLine

// logLine is a line; written is closed then, unless it is nil.
type logLine struct {
	text    string
	written chan struct{}
}

func newServeLog(w io.Writer) serveLog {
	l := make(serveLog, serveLogKept)
	go func() {
		for line := range l {
			_, _ = io.WriteString(w, line.text) // the page and /metrics tell it, too
			if line.written != nil {
				close(line.written)
			}
		}
	}()
	return l
}

func (l serveLog) printf(format string, args ...any) {
	line := "npulua: serve: " + printable.Line(strings.TrimSpace(fmt.Sprintf(format, args...))) + "\n"
	select {
	case l <- logLine{line, nil}:
	default:
	}
}

// flush waits until all lines are written, but not long.
func (l serveLog) flush() {
	late, written := time.After(lastWords), make(chan struct{})
	select {
	case l <- logLine{"", written}:
	case <-late:
		return
	}
	select {
	case <-written:
	case <-late:
	}
}
