package npu

import (
	"slices"
	"strings"

	"npulua/npu/acl"
	"npulua/npu/internal/driver"
	"npulua/npu/sim"
)

// What a report on an installation needs beside a session.
type (
	Library       = acl.Library      // the vendor's library
	LoadAttempt   = acl.Attempt      // one place where it was looked for
	LoadError     = acl.LoadError    // why it cannot be used
	DeviceIDs     = driver.DeviceIDs // the numbers of a device
	LibrarySymbol = acl.Symbol       // a function of the library
	PartVersion   = acl.Version      // the version of a part of the installation
)

// InspectLibrary loads the vendor's library, if it can be, and tells about it: also where no session can be opened.
// The error is the one that a session with the backend "acl" would get; LoadError is one of those.
func InspectLibrary() (Library, error) {
	l, err := acl.Inspect()
	return l, own(err)
}

// DeviceIDs are the numbers of a visible device, by its user id.
func (s *Session) DeviceIDs(t *Thread, user int) (ids DeviceIDs, err error) {
	ids = DeviceIDs{User: user, Logical: user, Physical: user}
	numberer, ok := s.drv.(driver.Numberer)
	if !ok {
		return ids, nil
	}
	err = t.call(0, func(driver.Driver) error {
		ids = numberer.DeviceIDs(user)
		return nil
	})
	return ids, err
}

// ModelSource tells where figures of a simulated part are from.
type ModelSource struct{ Figures, Source string }

// ModelSources are those of the part that Options.Sim names, in the order of the figures' names.
func ModelSources(spec string) ([]ModelSource, error) {
	if spec == "" {
		spec = defaultSim
	}
	p, _, err := sim.ParseSpec(spec)
	if err != nil {
		return nil, errorf(ErrInvalidParam, "%v", err)
	}
	var list []ModelSource
	for figures, source := range p.Sources {
		list = append(list, ModelSource{figures, source})
	}
	slices.SortFunc(list, func(a, b ModelSource) int { return strings.Compare(a.Figures, b.Figures) })
	return list, nil
}
