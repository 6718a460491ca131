package proc

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Adopt makes this process the parent of descendants whose own parent has ended, so that Rest finds them.
func Adopt() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// Rest is what a program that this process has started, and has waited for, leaves behind.
type Rest struct{ before map[int]bool }

// Before notes which children this process has before it starts the program: they are not of it.
func Before() Rest {
	before := make(map[int]bool)
	for pid, p := range List() {
		if p.Parent == os.Getpid() {
			before[pid] = true
		}
	}
	return Rest{before}
}

// End ends all descendants that are new since Before, also those that made a session of their own, and collects them.
// It gives up after limit: what waits in the kernel, or belongs to another user, stays. It reports how many it ended.
func (r Rest) End(limit time.Duration) (ended int) {
	seen := make(map[int]bool)
	for begin, wait := time.Now(), time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		found, grown := r.descendants(), false
		for pid, p := range found {
			if !seen[pid] {
				seen[pid], grown = true, true
				if !p.Stopped {
					ended++
					_ = syscall.Kill(pid, syscall.SIGSTOP) // it starts no more of them
				}
			}
		}
		if len(found) == 0 || time.Since(begin) > limit {
			return ended
		}
		if grown && time.Since(begin) < limit/2 {
			continue
		}
		for pid := range found {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		for pid, p := range found {
			if p.Parent == os.Getpid() {
				_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
			}
		}
		time.Sleep(wait)
	}
}

// descendants are those of this process, without the ones below children that are not of the program.
func (r Rest) descendants() map[int]Info {
	all, mine := List(), make(map[int]Info)
	for pid, p := range all {
		top, parent := pid, p.Parent
		for depth := 0; parent > 1 && parent != os.Getpid() && depth < len(all); depth++ {
			top, parent = parent, all[parent].Parent
		}
		if parent == os.Getpid() && !r.before[top] {
			mine[pid] = p
		}
	}
	return mine
}
