package acl

// Library is what can be told of the vendor's library without a device.
type Library struct {
	Attempts []Attempt // every place where it was looked for, in order
	Path     string    // the file that was loaded, "" for none
	Files    []string  // files of the vendor's that are loaded with it
	Versions []Version // of what it tells
	Symbols  []Symbol  // functions that this module can make use of
}

// Version is the version of a part of the installation.
type Version struct {
	Part string // "AscendCL" (the interface), "runtime", "driver"
	Text string
}

// Symbol is a function of the library.
type Symbol struct {
	Name    string
	Since   string // release of CANN in which it came, "" where every one from 7.0 on has it
	Present bool
}
