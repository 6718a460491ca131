package lua51

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
	"unsafe"
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
		for pid, p := range processes() {
			switch {
			case tree[pid]:
				settled = settled && p.stopped
			case tree[p.parent]:
				syscall.Kill(pid, syscall.SIGSTOP)
				tree[pid] = true
				grown, settled = true, false
			}
		}
	}
	return settled
}

type processInfo struct {
	parent  int
	stopped bool // or ended
}

// processes lists the processes of the system.
func processes() map[int]processInfo {
	list := make(map[int]processInfo)
	dir, err := os.Open("/proc")
	if err != nil {
		return list
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + name + "/stat")
		// The name of the program is in parentheses and may hold any byte.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 {
			continue
		}
		parent, _ := strconv.Atoi(string(fields[1]))
		list[pid] = processInfo{parent, bytes.ContainsAny(fields[0], "TtZX")}
	}
	return list
}
