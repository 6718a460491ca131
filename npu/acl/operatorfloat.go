//go:build linux && (amd64 || arm64)

package acl

import (
	"github.com/ebitengine/purego"

	"npulua/npu/internal/driver"
)

// floatFunction is a function with four words before its number and five behind it, which is what the only
// operator with one has (layer_norm).
type floatFunction func(a, b, c, d uintptr, v float64, e, f, g, h, i uintptr) int32

// planWithFloat calls the first function of an operator with v in a floating-point register, behind at words.
func (d *Driver) planWithFloat(op *operator, v float64, at int, args []uintptr) error {
	const before, behind = 4, 5
	if at != before || len(args) != before+behind {
		return driver.Errorf(driver.CodeNotSupported, op.plan.name, "a number behind %d of %d words cannot be passed", at, len(args))
	}
	if op.floatPlan == nil {
		purego.RegisterFunc(&op.floatPlan, op.plan.address)
	}
	if c := driver.Code(op.floatPlan(args[0], args[1], args[2], args[3], v, args[4], args[5], args[6], args[7], args[8])); c != driver.OK {
		return d.failure(&op.plan, c)
	}
	return nil
}
