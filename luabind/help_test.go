package luabind

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite API.md")

// TestReference fails where API.md is not what the tables say.
func TestReference(t *testing.T) {
	const file = "API.md"
	want := Reference()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Fatal("API.md is stale: run make docs")
	}
}

// TestRowsAreDocumented checks that no row of the API lacks its text.
func TestRowsAreDocumented(t *testing.T) {
	for _, h := range helpClasses() {
		if h.text == "" {
			t.Errorf("%s has no text", h.name)
		}
		for _, m := range h.methods {
			if m.doc.Args == "" || m.doc.Text == "" || m.doc.Example == "" {
				t.Errorf("%s:%s lacks arguments, text or example", h.name, m.name)
			}
		}
		for _, f := range h.fields {
			if f.doc.Text == "" {
				t.Errorf("%s.%s has no text", h.name, f.name)
			}
		}
	}
}
