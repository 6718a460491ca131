//go:build linux && (amd64 || arm64)

package acl

import (
	"regexp"
	"strings"
	"sync"

	"github.com/ebitengine/purego"

	"npulua/npu/internal/driver"
)

// message takes the library's words on the last error of this thread: one sentence, and the vendor's code behind it.
func (d *Driver) message(code driver.Code) string {
	if d.recentErrMsg.address == 0 {
		return ""
	}
	r, _, _ := purego.SyscallN(d.recentErrMsg.address)
	if d.current == nil && code != driver.CodeContextNull {
		return "" // the call asks the device of the current context, and what it says without one is of itself
	}
	return sentence(goString(r))
}

// frames are the parts of a line of the library's that are no sentence.
type frames struct{ id, author, name, source *regexp.Regexp }

var messageFrames = sync.OnceValue(func() frames {
	return frames{
		id:     regexp.MustCompile(`^([EWI][A-Z0-9][A-Z0-9]{4}): *`),        // the code
		author: regexp.MustCompile(`^\[PID: *\d+\] *[-\d:.]* *`),            // who wrote it and when
		name:   regexp.MustCompile(`^\w*\(([EWI][A-Z0-9][A-Z0-9]{4})\): *`), // of the error, with its code
		source: regexp.MustCompile(` *\[(?:FUNC|FILE|LINE|THREAD):.*$`),     // where in the library that was
	}
})

// sentence is the first thing that a message of the library says, with its code: "the stream is of another context
// (EE1010)". A line may say nothing, or no more than that the error is an internal one: that counts where there is no
// other.
func sentence(message string) string {
	id, empty := "", ""
	for _, line := range strings.Split(message, "\n") {
		line, found := bare(line)
		if found != "" {
			id = found
		}
		switch lower := strings.ToLower(line); {
		case line == "", line == id, strings.HasPrefix(lower, "traceback"), strings.Contains(line, "rtGetDevMsg"):
			// rtGetDevMsg: the call for the message has failed itself
		case strings.HasPrefix(lower, "internal error"), strings.HasPrefix(lower, "inner error"):
			if empty == "" {
				empty = withID(line, id)
			}
		default:
			return withID(line, id)
		}
	}
	return empty
}

// bare takes from a line what is no sentence. id is its code, "" where it has none.
func bare(line string) (text, id string) {
	f := messageFrames()
	line = f.source.ReplaceAllString(strings.TrimSpace(line), "")
	for {
		before := line
		if m := f.id.FindStringSubmatch(line); m != nil {
			id, line = m[1], line[len(m[0]):]
		}
		line = f.author.ReplaceAllString(line, "")
		if m := f.name.FindStringSubmatch(line); m != nil {
			id, line = m[1], line[len(m[0]):]
		}
		if line = strings.TrimSpace(line); line == before {
			return strings.TrimRight(line, ".! "), id
		}
	}
}

func withID(text, id string) string {
	if id == "" {
		return text
	}
	return text + " (" + id + ")"
}
