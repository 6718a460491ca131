//go:build linux && (amd64 || arm64)

package acl

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"npulua/npu/internal/driver"
)

// docs/hardware.md lists the operators, and the functions that are not in every release.
func TestHardwareDocument(t *testing.T) {
	data, err := os.ReadFile("../../docs/hardware.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for kernel, row := range operatorRows {
		if !strings.Contains(text, fmt.Sprintf("| `%s` | `aclnn%s`", kernel, row.name)) {
			t.Errorf("no row for kernel %s, which aclnn%s computes", kernel, row.name)
		}
	}
	for _, s := range driver.Symbols {
		if s.Since == "" {
			continue
		}
		_, line, _ := strings.Cut(text, "\n| "+s.Since+" | ")
		line, _, _ = strings.Cut(line, "\n")
		if !strings.Contains(line, "`"+s.Name+"`") {
			t.Errorf("%s is not among those of release %s", s.Name, s.Since)
		}
	}
}
