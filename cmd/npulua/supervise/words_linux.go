package supervise

import (
	"bytes"
	"io"
	"strings"
	"sync/atomic"
)

// mostWords bounds the last words that are kept, in bytes.
const mostWords = 256 << 10

// lastWords passes on what a child writes to standard error, but keeps the last words of its Go runtime.
type lastWords struct {
	w     io.Writer
	line  []byte      // may be the beginning of last words
	rest  bool        // of a line that is none
	text  []byte      // from the first line of the last words on
	found func()      // is called once they are, before more is read
	asked atomic.Bool // what is said from now on was asked for, by SIGQUIT: it is for people
}

// beginnings are those of last words.
var beginnings = []string{
	"fatal error: ", "runtime: ", "runtime/cgo: ", "fakecgo: ", "panic: ", "unexpected fault address ",
	"SIGABRT: ", "SIGBUS: ", "SIGFPE: ", "SIGILL: ", "SIGSEGV: ", "SIGSYS: ", "SIGTRAP: ",
}

func (t *lastWords) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if t.text != nil {
			t.text = append(t.text, p[:min(len(p), max(mostWords-len(t.text), 0))]...)
			break
		}
		end := bytes.IndexByte(p, '\n') + 1
		piece := p
		if end > 0 {
			piece = p[:end]
		}
		p = p[len(piece):]
		if !t.rest {
			t.line = append(t.line, piece...)
			yes, maybe := begins(string(t.line))
			if t.asked.Load() {
				yes, maybe = false, false
			}
			if yes {
				t.text, t.line = append(make([]byte, 0, mostWords), t.line...), nil
				t.found()
			}
			if yes || maybe {
				continue
			}
			piece, t.line = t.line, nil
		}
		_, _ = t.w.Write(piece) // nobody may read it any more
		t.rest = end == 0
	}
	return n, nil
}

// begins reports whether a line is the beginning of last words, or may become it.
func begins(line string) (yes, maybe bool) {
	for _, b := range beginnings {
		yes = yes || strings.HasPrefix(line, b)
		maybe = maybe || strings.HasPrefix(b, line)
	}
	return yes, maybe
}

// flush passes on what was held back and is no beginning.
func (t *lastWords) flush() {
	_, _ = t.w.Write(t.line)
	t.line = nil
}

// outOfMemory reports whether last words are for want of memory, which a thread needs, too.
func outOfMemory(text []byte) bool {
	for _, s := range []string{"out of memory", "cannot allocate memory", "pthread_create failed", "failed to create new OS thread", "Resource temporarily unavailable"} {
		if bytes.Contains(text, []byte(s)) {
			return true
		}
	}
	return false
}
