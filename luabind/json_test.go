package luabind

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"npulua/npu"
)

// TestRequireOffersModules checks that completion knows every module.
func TestRequireOffersModules(t *testing.T) {
	in, err := Open(context.Background(), Options{Session: npu.Options{Backend: "null"}})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close(true)
	_, got := in.NewEvaluator().Complete(`require "`, len(`require "`))
	for _, m := range modules {
		if !slices.Contains(got, m.name) {
			t.Errorf("require offers %q, without %s", got, m.name)
		}
	}
}

// FuzzJSON decodes text, and what comes of it survives another round; what it takes, encoding/json takes too.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{"null", `{"a": [1, -0, 1e3, "\ud83d\ude00"]}`, "[[], {}]", "9007199254740993", `"\u2028"`, "[1,", `{"a":1,"a":2}`} {
		f.Add(s)
	}
	in, err := Open(context.Background(), Options{Session: npu.Options{Backend: "null"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { in.Close(true) })
	f.Fuzz(func(t *testing.T, text string) {
		v, err := in.decodeJSON(text, "", jsonDepth)
		if err != nil {
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("%q was decoded, and is no JSON", text)
		}
		once, err := in.encodeJSON(v, 0, jsonDepth)
		if err != nil {
			t.Fatalf("%q was decoded, and cannot be encoded: %v", text, err)
		}
		w, err := in.decodeJSON(once, "", jsonDepth)
		if err != nil {
			t.Fatalf("%q became %q, which cannot be decoded: %v", text, once, err)
		}
		if twice, err := in.encodeJSON(w, 2, jsonDepth); err != nil || !json.Valid([]byte(twice)) {
			t.Fatalf("%q became %q, then %q (%v)", text, once, twice, err)
		}
	})
}
