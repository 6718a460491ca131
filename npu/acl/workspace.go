//go:build linux && (amd64 || arm64)

package acl

// workspace is device memory that an operator computes in.
type workspace struct {
	memory uintptr
	size   uint64
}

// workspaces are memory for operators that run one after the other: those of a stream, or the replays of one
// recorded launch. Only the last is given out; the others may be in use still, and stay until all go.
type workspaces []workspace

// workspace is size bytes for an operator, 0 where it wants none.
func (d *Driver) workspace(w *workspaces, size uint64) (uintptr, error) {
	if size == 0 {
		return 0, nil
	}
	if n := len(*w); n > 0 {
		last := (*w)[n-1]
		if last.size >= size {
			return last.memory, nil
		}
		size = max(size, 2*last.size) // so that those that are kept are fewer than it
	}
	const hugeFirst = 0
	if err := d.call(&d.malloc, d.out.at(0), uintptr(size), hugeFirst); err != nil {
		return 0, err
	}
	*w = append(*w, workspace{uintptr(d.out[0]), size})
	return uintptr(d.out[0]), nil
}

// dropWorkspaces frees what operators used that have ended.
func (d *Driver) dropWorkspaces(w *workspaces) {
	for _, x := range *w {
		_ = d.call(&d.free, x.memory) // gone with its device, where that fails
	}
	*w = nil
}
