package luabind

import (
	"strings"
	"testing"
	"time"

	"npulua/npu"
)

// What runs at every key is fast whatever is typed.
func TestTypingIsFast(t *testing.T) {
	s := openSession(t, npu.Options{})
	for _, part := range []string{"a, ", "a.", "npu.", "(", "f(", "{", "npu.device(", "a = 1 ", "local a, ", "[", "s:launch(k) ", "\"", "npu.kernel{", ")", "x "} {
		for _, size := range []int{2 << 10, 15 << 10, 1 << 20} {
			text := strings.Repeat(part, size/len(part))
			begin := time.Now()
			s.Highlight(text)
			s.Complete(text, len(text))
			if took := time.Since(begin); took > 20*time.Second { // what grows with the square takes hours
				t.Errorf("%d B of %q take %v", len(text), part, took)
			}
		}
	}
}
