package driver

// HostMemory is asked before memory of the host is taken, so that a program can bound it. It is called from the
// executor's thread and others.
type HostMemory interface {
	// Take asks for n bytes outside of Go's heap, which Give gives back: pinned memory, and what a simulated device has.
	Take(n int64) error
	Give(n int64)
	// Room asks whether n bytes of Go's heap may be taken.
	Room(n int64) error
}

// Unbounded is a HostMemory that grants everything.
type Unbounded struct{}

// Take implements HostMemory.
func (Unbounded) Take(int64) error { return nil }

// Give implements HostMemory.
func (Unbounded) Give(int64) {}

// Room implements HostMemory.
func (Unbounded) Room(int64) error { return nil }
