package npu

// Pinned is how many blocks of pinned memory the driver has not got back.
func (s *Session) Pinned() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pins)
}

// HostBytes is how many bytes open host buffers have.
func (s *Session) HostBytes() int64 {
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	return s.host.granted
}

// SetHostRoom has room, instead of the machine, say how much host buffers may have.
func (s *Session) SetHostRoom(room int64) { s.host.room = func(int64) int64 { return room } }
