package supervise

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"npulua/internal/proc"
)

// lean is set in the environment of a process that Lean has run again: the size of stacks that its programs get, 0: the
// same.
const lean = "NPULUA_LEAN"

// Lean has the process begin anew, where the system limits its memory, with less address space for the C library and for
// stacks: each thread takes 75 MB else, and where there is no room for one the Go runtime ends the process. Call it
// before anything else.
func Lean() {
	if stack, again := os.LookupEnv(lean); again {
		_ = os.Unsetenv(lean)
		_ = os.Unsetenv(arenas)
		size, _ := strconv.ParseUint(stack, 10, 64) // else the programs have small stacks, too
		setStacks(size)
		return
	}
	_, watched := os.LookupEnv(mark)
	_, set := os.LookupEnv(arenas)
	if _, _, limited := proc.TightestSpace(); !limited || watched || set {
		return
	}
	env := append(os.Environ(), arenas+"=1")
	stack, restore := smallStacks(os.Args, env)
	_ = syscall.Exec("/proc/self/exe", os.Args, append(env, fmt.Sprintf("%s=%d", lean, stack))) // else it goes on as it is
	restore()
}

// setStacks gives the programs that this process starts stacks of that size; 0: they have it. Threads of this process keep
// theirs.
func setStacks(size uint64) {
	var limit syscall.Rlimit
	if size > 0 && syscall.Getrlimit(syscall.RLIMIT_STACK, &limit) == nil {
		limit.Cur = size
		_ = syscall.Setrlimit(syscall.RLIMIT_STACK, &limit)
	}
}

// childStack is how much of its address space a thread of a process with small stacks takes.
const childStack = 2 << 20

// mostArguments is how much of arguments and environment the system takes with a stack of that size.
const mostArguments = childStack / 8

// smallStacks lets the threads of a process that is started now have small stacks, where its command line fits. It
// returns the size that programs have else, 0: the same.
func smallStacks(args, env []string) (before uint64, restore func()) {
	size := 0
	for _, list := range [][]string{args, env} {
		for _, s := range list {
			size += len(s) + 16
		}
	}
	var old, small syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_STACK, &old) != nil || size > mostArguments || old.Cur <= childStack {
		return 0, func() {}
	}
	small = old
	small.Cur = childStack
	_ = syscall.Setrlimit(syscall.RLIMIT_STACK, &small)
	return old.Cur, func() { _ = syscall.Setrlimit(syscall.RLIMIT_STACK, &old) }
}
