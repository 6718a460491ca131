package dcmi

// Device is a device by AscendCL's numbers.
type Device struct {
	User     int // among the visible ones
	Logical  int // in this system or container
	Physical int // in the server; -1: not known
}
