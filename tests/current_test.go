package tests

import (
	"bytes"
	"path/filepath"
	"testing"

	"npulua/npu/acl/standin"
)

// What is current, over random nestings, is what a model says, on every backend.
func TestCurrentContext(t *testing.T) {
	for _, b := range []struct {
		name  string
		args  []string
		seeds string
		env   func(t *testing.T) []string
	}{
		{"sim", []string{"--sim=910b:3"}, "150", nil},
		{"null", []string{"--backend=null"}, "50", nil},
		{"standin", []string{"--backend=acl"}, "10", func(t *testing.T) []string {
			return []string{"LD_LIBRARY_PATH=" + standin.Build(t), "ACL_STANDIN=devices=3"}
		}},
	} {
		script, err := filepath.Abs("testdata/current.lua")
		if err != nil {
			t.Fatal(err)
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			var env []string
			if b.env != nil {
				env = b.env(t)
			}
			_, out, stderr, err := npulua(t, env, append(b.args, script, "1", b.seeds)...)
			if err != nil || !bytes.Equal(out, []byte("ok\n")) {
				t.Errorf("%v\n%s%s", err, out, stderr)
			}
		})
	}
}
