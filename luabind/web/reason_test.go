package web

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"
)

// The same cause is said in the same words, whichever way through the library it came.
func TestReasonOfOneCause(t *testing.T) {
	alert := &net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}
	const want = "the server wants another certificate of the client, or one at all (options cert_file and key_file): remote error: tls: certificate required"
	for _, err := range []error{alert, fmt.Errorf("readLoopPeekFailLocked: %w", alert), fmt.Errorf("net/http: %w", alert)} {
		if got := reason(&url.Error{Op: "Get", URL: "https://host", Err: err}); got != want {
			t.Errorf("%v: %s", err, got)
		}
	}
}
