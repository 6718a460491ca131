// Package proc asks the system for processes: by their parents, and for their memory.
package proc

import (
	"bytes"
	"os"
	"strconv"
)

// Info is what the system says of a process.
type Info struct {
	Parent int
	// Stopped says that it does nothing: it was stopped, or has ended.
	Stopped bool
}

// List is the processes of the system, by their ids.
func List() map[int]Info {
	list := make(map[int]Info)
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
		list[pid] = Info{parent, bytes.ContainsAny(fields[0], "TtZX")}
	}
	return list
}
