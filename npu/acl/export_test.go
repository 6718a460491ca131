//go:build linux && (amd64 || arm64)

package acl

// CallForBenchmark makes one call that does next to nothing.
func CallForBenchmark(d *Driver) error { return d.call(&d.getContext, d.out.at(0)) }

// ForgetAbort makes the library one without aclrtStreamAbort.
func ForgetAbort(d *Driver) { d.abortStream.address = 0 }
