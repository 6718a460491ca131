//go:build linux && (amd64 || arm64)

package acl

// CanAccessPeer implements driver.Peers.
func (d *Driver) CanAccessPeer(device, peer int) (bool, error) {
	err := d.call(&d.canAccessPeer, d.out.at(0), uintptr(int32(device)), uintptr(int32(peer)))
	return d.out.int32(0) == 1, err
}

// EnablePeerAccess implements driver.Peers.
func (d *Driver) EnablePeerAccess(peer int, flags uint32) error {
	if d.current == nil {
		return d.noContext(&d.enablePeer)
	}
	return d.call(&d.enablePeer, uintptr(int32(peer)), uintptr(flags))
}

// DisablePeerAccess implements driver.Peers.
func (d *Driver) DisablePeerAccess(peer int) error {
	if d.current == nil {
		return d.noContext(&d.disablePeer)
	}
	return d.call(&d.disablePeer, uintptr(int32(peer)))
}

// PeerAccess implements driver.Peers.
func (d *Driver) PeerAccess(device, peer int) (bool, error) {
	err := d.call(&d.peerStatus, uintptr(int32(device)), uintptr(int32(peer)), d.out.at(0))
	return d.out.int32(0) == 1, err
}
