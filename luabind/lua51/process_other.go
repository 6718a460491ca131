//go:build !unix

package lua51

import (
	"os"
	"os/exec"
	"time"
)

func shellArgs(command string) []string { return []string{"cmd.exe", "/c", command} }

// hasShell is what os.execute gives without a command.
func hasShell() int { return 1 }

func setAttributes(*exec.Cmd, bool) {}

func killTree(root *os.Process)  { root.Kill() }
func killGroup(root *os.Process) { root.Kill() }

func waitStatus(s *os.ProcessState) int { return s.ExitCode() }

var started = time.Now()

// processClock is the time since the start, which stands in for CPU time.
func processClock() float64 { return time.Since(started).Seconds() }

// exitOf splits a status.
func exitOf(status int) (code int, signal string) { return status, "" }
