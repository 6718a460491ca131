package luabind

import (
	"testing"

	"npulua/npu"
)

// Events of one context print differently: only so does a session tell them apart.
func TestEventText(t *testing.T) {
	s := openSession(t, npu.Options{})
	s.eval(`dev = npu.device(0) c = dev:create_context() a = c:create_event{timing = true} b = c:create_event() b:close()`)
	for _, c := range []struct{ chunk, want string }{
		{`tostring(a)`, `"event(1, context 1, device 0, timing)"`},
		{`tostring(b)`, `"event(2, context 1, device 0, closed)"`},
		{`tostring(c:create_stream():record())`, `"event(3, context 1, device 0, timing)"`},
		{`tostring(dev.context:create_event())`, `"event(1, context 0, device 0)"`},
	} {
		if got := s.eval(c.chunk); got != c.want+"\n" {
			t.Errorf("%s: %q, want %q", c.chunk, got, c.want)
		}
	}
}
