package fault_test

import (
	"strings"
	"testing"
	"time"

	"npulua/npu/internal/fault"
)

func TestParseSpec(t *testing.T) {
	for _, tt := range []struct {
		spec string
		want fault.Rule
		text string // what String gives
	}{
		{"op=copy,device=0,nth=3,code=507054", fault.Rule{Kind: fault.Failure, Op: fault.OpCopy, Device: 0, Nth: 3, Count: 1, Code: 507054, Bytes: 1, Size: 1},
			"code=507054,op=copy,device=0,nth=3"},
		{"device=1,lost", fault.Rule{Kind: fault.Lost, Device: 1, Nth: 1, Bytes: 1, Size: 1}, "lost,device=1"},
		{" kind = hang , op = launch ", fault.Rule{Kind: fault.Hang, Op: fault.OpLaunch, Device: -1, Nth: 1, Count: 1, Bytes: 1, Size: 1}, "hang,op=launch"},
		{"hang,count=always", fault.Rule{Kind: fault.Hang, Device: -1, Nth: 1, Bytes: 1, Size: 1}, "hang,count=always"},
		{"seconds=0.5", fault.Rule{Kind: fault.Delay, Device: -1, Nth: 1, Delay: time.Second / 2, Bytes: 1, Size: 1}, "delay,seconds=0.5"},
		{"delay,seconds=1e-9,count=1", fault.Rule{Kind: fault.Delay, Device: -1, Nth: 1, Count: 1, Delay: 1, Bytes: 1, Size: 1}, "delay,count=1,seconds=1e-09"},
		{"factor=0.1,direction=p2p", fault.Rule{Kind: fault.Slow, Op: fault.OpCopy, Device: -1, Nth: 1, Factor: 0.1, Direction: "p2p", Bytes: 1, Size: 1}, "slow,factor=0.1,direction=p2p"},
		{"wrong", fault.Rule{Kind: fault.Wrong, Op: fault.OpCopy, Device: -1, Nth: 1, Count: 1, Bytes: 1, Size: 1}, "wrong"},
		{"bytes=4,op=any", fault.Rule{Kind: fault.Wrong, Device: -1, Nth: 1, Count: 1, Bytes: 4, Size: 1}, "wrong,op=any,bytes=4"},
		{"oom", fault.Rule{Kind: fault.OutOfMemory, Op: fault.OpAlloc, Device: -1, Nth: 1, Bytes: 1, Size: 1}, "oom"},
		{"size=4096,in_use=1e6", fault.Rule{Kind: fault.OutOfMemory, Op: fault.OpAlloc, Device: -1, Nth: 1, Bytes: 1, Size: 4096, InUse: 1000000}, "oom,size=4096,in_use=1000000"},
		{"errors=single,op=fill", fault.Rule{Kind: fault.ECC, Op: fault.OpFill, Device: -1, Nth: 1, Count: 1, Bytes: 1, Size: 1, Single: true}, "ecc,op=fill,errors=single"},
		{"code=ACL_ERROR_RT_LOST_HEARTBEAT,count=0", fault.Rule{Kind: fault.Failure, Device: -1, Nth: 1, Code: 507010, Bytes: 1, Size: 1}, "code=507010,count=always"},
	} {
		got, err := fault.ParseSpec(tt.spec)
		if err != nil || got != tt.want {
			t.Errorf("ParseSpec(%q) = %+v, %v, want %+v", tt.spec, got, err, tt.want)
			continue
		}
		if text := got.String(); text != tt.text {
			t.Errorf("ParseSpec(%q).String() = %q, want %q", tt.spec, text, tt.text)
		}
		if again, err := fault.ParseSpec(got.String()); err != nil || again != got {
			t.Errorf("ParseSpec(%q) = %+v, %v, want %+v", got.String(), again, err, got)
		}
	}
}

func TestParseSpecRefuses(t *testing.T) {
	for _, tt := range []struct{ spec, want string }{
		{"", "want fields with commas between"},
		{"op", "op needs a value"},
		{"lots", `there is no kind "lots", did you mean "lost"?`},
		{"gone", `"gone" is no field, and no kind`},
		{"code=1,=2", `unknown field ""`},
		{"code", `code needs code`},
		{"code=-1", "code must be a return code above 0"},
		{"code=2147483648", "code must be a return code above 0"},
		{"code=1,device=1e300", "device must be the number of a device"},
		{"code=1,nth=9007199254740993e1", "nth must be a whole number"},
		{"hang,hang", "kind is given twice"},
		{"delay", "kind delay needs seconds"},
		{"seconds=1e10", "at most 1e9"},
		{"seconds=1e-10", "above 0"},
		{"slow,op=fill,factor=0.5", "kind slow does not go with op fill: it is for copy"},
		{"lost,count=1", "count does not go with kind lost"},
		{"wrong,seconds=1", "seconds does not go with kind wrong, but with delay"},
	} {
		if r, err := fault.ParseSpec(tt.spec); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseSpec(%q) = %+v, %v, want an error with %q", tt.spec, r, err, tt.want)
		}
	}
}

func TestParseScenario(t *testing.T) {
	s, err := fault.ParseScenario([]byte(`{"name": "two", "text": "both", "faults": [{"kind": "lost", "device": 1}, {"op": "copy", "nth": 3, "code": 507054, "count": "always"}]}`))
	if err != nil || s.Name != "two" || s.Text != "both" || len(s.Rules) != 2 {
		t.Fatalf("ParseScenario = %+v, %v", s, err)
	}
	for i, want := range []string{"lost,device=1", "code=507054,op=copy,nth=3,count=always"} {
		if got := s.Rules[i].String(); got != want {
			t.Errorf("rule %d is %q, want %q", i+1, got, want)
		}
	}
	for _, tt := range []struct{ data, want string }{
		{``, "the text ends too early"},
		{`[]`, "a scenario must be an object"},
		{`{}`, "name is missing"},
		{`{"name": "x"}`, "faults is missing"},
		{`{"name": "", "faults": []}`, "name is missing"},
		{`{"name": 3, "faults": []}`, "name must be a string"},
		{`{"name": "x", "faults": {}}`, "faults must be a list"},
		{`{"name": "x", "faults": null}`, "faults must be a list"},
		{`{"name": "x", "fault": []}`, `unknown field "fault", did you mean "faults"?`},
		{`{"name": "x", "name": "y", "faults": []}`, "name is given twice"},
		{`{"name": "x", "faults": []} 1`, "there is more after the scenario"},
		{`{"name": "x", "faults": [3]}`, "fault 1: a fault must be an object"},
		{`{"name": "x", "faults": [{}]}`, "fault 1: nothing goes wrong"},
		{`{"name": "x", "faults": [{"kind": "lost"}, {"kind": "lost", "device": "0"}]}`, `fault 2: device must be the number of a device, from 0 on, got "0"`},
		{`{"name": "x", "faults": [{"kind": "lost", "device": null}]}`, "got null"},
		{`{"name": "x", "faults": [{"kind": ["lost"]}]}`, "fault 1: kind must be a number or a string"},
		{`{"name": "x", "faults": [{"kind": 7}]}`, "fault 1: kind must be code, hang"},
		{`{"name": "x", "faults": [{"kind": "lost"} {}]}`, "not JSON near byte"},
		{`{"name": "x", "faults": [{"kind": "lost"`, "fault 1: the text ends too early"},
		{`{"name": "` + strings.Repeat("x", 1<<20) + `"}`, "at most 1048576 B"},
	} {
		if s, err := fault.ParseScenario([]byte(tt.data)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseScenario(%.80q) = %+v, %v, want an error with %q", tt.data, s, err, tt.want)
		}
	}
}

// FuzzParse: whatever is read can be written and read again, and nothing makes the parsers panic.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"op=copy,device=0,nth=3,code=507054", "device=1,lost", "seconds=1e-3,count=always", "size=4096,in_use=1", "bytes=7,op=launch", "factor=0.3,direction=d2h",
		`{"name": "x", "faults": [{"kind": "ecc", "errors": "single"}, {"code": "ACL_ERROR_RT_LOST_HEARTBEAT"}]}`, `{"name": "\u0000", "faults": [`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var rules []fault.Rule
		if r, err := fault.ParseSpec(text); err == nil {
			rules = append(rules, r)
		}
		if s, err := fault.ParseScenario([]byte(text)); err == nil {
			rules = append(rules, s.Rules...)
		}
		for _, r := range rules {
			again, err := fault.ParseSpec(r.String())
			if err != nil || again != r {
				t.Fatalf("%q reads as %+v, whose text %q reads as %+v, %v", text, r, r.String(), again, err)
			}
		}
	})
}
