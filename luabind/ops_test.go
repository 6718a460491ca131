package luabind

import (
	"slices"
	"strings"
	"testing"

	"npulua/npu"
)

// Operators are completed and explained as other functions are.
func TestOperatorsInSessions(t *testing.T) {
	s := openSession(t, npu.Options{})
	if _, got := s.Complete("npu.ops.so", len("npu.ops.so")); !slices.Equal(got, []string{"softmax"}) {
		t.Errorf("completion gives %v", got)
	}
	for _, c := range []struct{ chunk, want string }{
		{`npu.ops.matmul?`, "npu.ops.matmul(stream, c, a, b, m, n, k)\n"},
		{`help(npu.ops.matmul)`, "npu.ops.matmul(stream, c, a, b, m, n, k)\n"},
		{`help "npu.ops.matmul"`, "npu.ops.matmul(stream, c, a, b, m, n, k)\n"},
		{`help(npu.ops)`, "  npu.ops.argmax(stream, index, x)"},
		{`npu.ops?`, "  npu.ops.argmax(stream, index, x)"},
		{`help "npu.ops.softmx"`, `did you mean "npu.ops.softmax"?`},
		{`help "relu"`, "npu.ops.relu(stream, y, x)"},
		{`help "relu"`, "kernel"},
		{`npu.ops`, "npu.ops"},
		{`print(npu.worker(function() return npu.ops.add ~= nil end):join())`, "true"},
	} {
		if got := s.eval(c.chunk); !strings.Contains(got, c.want) {
			t.Errorf("%s gives\n%s\nwant %s", c.chunk, got, c.want)
		}
	}
}
