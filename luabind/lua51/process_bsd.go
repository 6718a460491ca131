//go:build unix && !linux

package lua51

import (
	"os"
	"os/exec"
	"syscall"
)

func setAttributes(cmd *exec.Cmd, ownGroup bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: ownGroup}
}

// killTree reaches only the child itself here.
func killTree(root *os.Process) { root.Kill() }

// killGroup leaves the group alone once its leader has been collected: the id may be somebody else's.
func killGroup(leader *os.Process) {
	if leader.Signal(syscall.Signal(0)) == nil {
		syscall.Kill(-leader.Pid, syscall.SIGKILL)
	}
}
