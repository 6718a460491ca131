package npu

import "sync"

// hostRoom bounds what open host buffers may take together by what the machine can have, since the system grants memory
// that is not there, and kills who then writes to it.
type hostRoom struct {
	mu      sync.Mutex
	granted int64 // to open host buffers
	asked   int64 // up to here the machine was asked
	room    func(granted int64) int64
}

// roomStep is how much is granted between two looks at the machine.
const roomStep = 64 << 20

// noHostMemory is ErrMemoryAllocation of the host.
func noHostMemory(format string, args ...any) *Error {
	return errorf(ErrMemoryAllocation, format, args...).OfHost()
}

const hostHint = "close host buffers that are no longer used, or work on parts of the data"

// take grants n bytes. ErrMemoryAllocation where the machine cannot have as much.
func (h *hostRoom) take(n int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.granted+n > h.asked {
		room := h.machine()
		if h.granted+n > room {
			return hinted(noHostMemory("requested %d B of host memory, the machine has room for %d B", n, max(room-h.granted, 0)), hostHint)
		}
		h.asked = min(room, h.granted+n+roomStep)
	}
	h.granted += n
	return nil
}

// give takes n bytes back.
func (h *hostRoom) give(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.granted -= n
	h.asked = min(h.asked, h.granted+roomStep) // others may have taken some meanwhile
}

// machine is how much all host buffers may have.
func (h *hostRoom) machine() int64 {
	if h.room != nil {
		return h.room(h.granted)
	}
	return machineRoom(h.granted)
}
