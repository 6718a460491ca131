//go:build !linux

package lua51

import "os/exec"

// awaitExit collects the child at once: there is no portable way to wait and leave it.
func awaitExit(cmd *exec.Cmd) { cmd.Wait() }
