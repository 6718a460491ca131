package npu

import "testing"

func TestSuggest(t *testing.T) {
	names := []string{"copy", "fill", "launch", "synchronize", "query", "close", "create_stream", "float32", "x"}
	for name, want := range map[string]string{
		"lauch": "launch", "luanch": "launch", "Launch": "launch", "sync": "synchronize", "create_steam": "create_stream",
		"flaot32": "float32", "cpy": "copy", "clsoe": "close",
		"nope": "", "y": "", "": "", "co": "", "wait": "", "kernel": "",
	} {
		if want != "" {
			want = `, did you mean "` + want + `"?`
		}
		if got := Suggest(name, names); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
