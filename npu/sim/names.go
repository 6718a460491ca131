package sim

import "npulua/npu/internal/driver"

// Has implements driver.Namer: what the simulator can do stands for every function that the module makes use of,
// of the newest release.
func (d *Driver) Has(symbol string) bool {
	_, ok := driver.Since(symbol)
	return ok
}
