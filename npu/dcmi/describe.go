package dcmi

import "npulua/npu/internal/loader"

// Library is what can be told of libdcmi without a device.
type Library struct {
	Attempts  []loader.Attempt // every place where it was looked for, in order
	Path      string           // the file that was loaded, "" for none
	Version   string           // that it tells of itself, "" where it does not
	Functions []Function       // that are made use of
}

// Function is a function of the library.
type Function struct {
	Name    string
	Present bool
}
