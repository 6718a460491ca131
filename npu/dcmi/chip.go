//go:build linux && (amd64 || arm64)

package dcmi

import (
	"fmt"
	"runtime"
	"unsafe"

	"npulua/npu/internal/driver"
)

// chip is a device by the ids of the library: the card's, and that of the chip on it.
type chip struct{ card, device int32 }

func (c chip) ids() []uintptr { return []uintptr{uintptr(c.card), uintptr(c.device)} }

// find is the chip with a logical id.
func (l *library) find(logical int) (chip, error) {
	if l.fromLogicID.address == 0 {
		return l.search(logical)
	}
	out := new(struct{ card, device int32 })
	var pin runtime.Pinner
	pin.Pin(out)
	defer pin.Unpin()
	err := l.call(&l.fromLogicID, uintptr(unsafe.Pointer(&out.card)), uintptr(unsafe.Pointer(&out.device)), uintptr(uint32(logical)))
	return chip(*out), err
}

// maxCards is how many the library has at most.
const maxCards = 64

// search asks every chip of every card for its logical id, where the library has no function for the other way.
func (l *library) search(logical int) (chip, error) {
	type list struct {
		n   int32
		ids [maxCards]int32
	}
	cards := new(list)
	var pin runtime.Pinner
	pin.Pin(cards)
	defer pin.Unpin()
	if err := l.call(&l.cards, uintptr(unsafe.Pointer(&cards.n)), uintptr(unsafe.Pointer(&cards.ids)), maxCards); err != nil {
		return chip{}, err
	}
	counts := new(struct{ chips, mcu, cpu int32 })
	pin.Pin(counts)
	for _, card := range cards.ids[:min(max(cards.n, 0), maxCards)] {
		err := l.call(&l.chipsInCard, uintptr(card), uintptr(unsafe.Pointer(&counts.chips)), uintptr(unsafe.Pointer(&counts.mcu)), uintptr(unsafe.Pointer(&counts.cpu)))
		if err != nil {
			return chip{}, err
		}
		for device := range counts.chips {
			got := new(int32)
			pin.Pin(got)
			if err := l.call(&l.logicID, uintptr(unsafe.Pointer(got)), uintptr(card), uintptr(device)); err != nil {
				continue // a chip that this container or user does not see
			}
			if int(*got) == logical {
				return chip{card, device}, nil
			}
		}
	}
	return chip{}, &callError{l.logicID.name, noDevice}
}

// checkPhysical fails where both libraries tell the physical id and do not agree: the readings would be those of
// another device.
func (l *library) checkPhysical(d Device) error {
	if l.phyID.address == 0 || d.Physical < 0 {
		return nil
	}
	var physical uint32
	if ask(l, &l.phyID, &physical, uintptr(uint32(d.Logical))) != nil || int(physical) == d.Physical {
		return nil
	}
	return &driver.Error{Code: driver.CodeNotSupported, Call: l.phyID.name,
		Detail: fmt.Sprintf("not available: AscendCL says that device %d is %d in the server, libdcmi says %d: the readings would be another device's", d.User, d.Physical, physical),
		Hint:   "ASCEND_RT_VISIBLE_DEVICES renumbers devices for AscendCL alone: unset it to compare, and see npu-smi info -m"}
}
