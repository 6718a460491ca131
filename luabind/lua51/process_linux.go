package lua51

import (
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"

	"npulua/internal/proc"
)

func setAttributes(cmd *exec.Cmd, ownGroup bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: ownGroup, Pdeathsig: syscall.SIGKILL}
}

// awaitExit waits for a child to end but leaves it to be collected.
func awaitExit(cmd *exec.Cmd) {
	const byPID, exited, noWait = 1, 0x4, 0x1000000
	var info [128]byte
	for {
		_, _, no := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(cmd.Process.Pid),
			uintptr(unsafe.Pointer(&info)), exited|noWait, 0, 0)
		if no != syscall.EINTR {
			return
		}
	}
}

// killGroup reaches the group also where its leader has ended, as long as that is not collected.
func killGroup(leader *os.Process) { syscall.Kill(-leader.Pid, syscall.SIGKILL) }

// killTree kills a process and its descendants. Each is stopped before its children are looked for:
// a stopped process starts no more of them, and since it collects none either, the ids found stay
// theirs until the end. A stop takes effect a little later than it is sent, so the search is repeated
// until all are seen stopped and no more are found. Descendants whose own parent had ended before are
// out of reach.
func killTree(root *os.Process) {
	const rounds = 10
	tree := map[int]bool{root.Pid: true}
	syscall.Kill(root.Pid, syscall.SIGSTOP)
	for range rounds {
		if settle(tree) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	for pid := range tree {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// settle stops children of tree and adds them to it; it reports whether there were none and all of
// tree has stopped.
func settle(tree map[int]bool) bool {
	settled := true
	for grown := true; grown; {
		grown = false
		for pid, p := range proc.List() {
			switch {
			case tree[pid]:
				settled = settled && p.Stopped
			case tree[p.Parent]:
				syscall.Kill(pid, syscall.SIGSTOP)
				tree[pid] = true
				grown, settled = true, false
			}
		}
	}
	return settled
}
