//go:build linux

package tests

import (
	"os/exec"
	"strings"
	"testing"
)

// runSession types what a transcript shows into an interactive session, on a terminal without escape codes,
// and returns the transcript as it is now: what the terminal shows, up to the last prompt.
func runSession(t *testing.T, cmd *exec.Cmd, transcript string) string {
	t.Helper()
	cmd.Env = append(cmd.Env, "TERM=dumb")
	s := startTerminal(t, cmd)
	var shown strings.Builder
	typed := prompt.FindAllStringIndex(transcript, -1)
	for _, at := range typed {
		mark := transcript[at[0]:at[1]]
		shown.WriteString(s.upTo(mark))
		line, _, _ := strings.Cut(transcript[at[1]:], "\n")
		s.send(line + "\n")
	}
	if !strings.HasSuffix(strings.TrimSpace(transcript), ".quit") {
		t.Fatalf("the transcript does not end with .quit")
	}
	s.ends(0)
	shown.WriteString(s.output())
	return shown.String()
}
