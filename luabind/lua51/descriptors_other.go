//go:build !linux

package lua51

// There are no libraries here that open devices.
func openDescriptors() []int { return nil }

func closeOnExec(int) {}
