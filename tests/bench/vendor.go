package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"npulua/npu/acl/standin"
)

// callTime is what the host side of a queued copy takes in the vendor's library, measured in C, of which the stand-in
// needs some for its own book-keeping.
const callTime = "absorb_ns=700"

// vendor compares a queued copy of 4 KiB over a runtime library with the same from a Stream type written in C for
// Python. The library is the stand-in, whose calls take as long as the vendor's and copy nothing: on a server the
// copies are not the host's work.
func vendor(b *bench) ([]row, error) {
	dir, err := standin.Make(standin.Options{})
	if errors.Is(err, standin.ErrNoCompiler) {
		return nil, errSkip{err.Error()}
	}
	if err != nil {
		return nil, err
	}
	if err := b.buildExtension(); err != nil {
		return nil, err
	}
	library := filepath.Join(dir, "libascendcl.so")
	b.env = []string{"LD_LIBRARY_PATH=" + dir, "ACL_STANDIN=" + callTime}
	defer func() { b.env = nil }()
	const thousands = 500
	var ours, theirs, ratios []float64
	for range rounds {
		r, err := b.lua("--backend=acl", "-e", fmt.Sprintf(copyLoop, thousands))
		if err != nil {
			return nil, err
		}
		lua, err := number(r.out)
		if err != nil {
			return nil, err
		}
		python, err := b.pythonLoop("object", thousands, library)
		if err != nil {
			return nil, err
		}
		ours, theirs, ratios = append(ours, lua), append(theirs, python), append(ratios, lua/python)
	}
	ratio := median(ratios)
	return []row{{"queued copy over a runtime library / Stream type in C over the same", fmt.Sprintf("%.2f (%s / %s)", ratio, nanoseconds(median(ours)), nanoseconds(median(theirs))),
		"0.85, aim 0.75", within(ratio <= 0.85)}}, nil
}
