package kernel

import (
	"fmt"
	"time"
)

// maxSpin is the longest that one launch of spin may take, in seconds.
const maxSpin = 1e9

var control = []*Kernel{
	{
		Name:      "spin",
		Signature: "float64 seconds",
		Doc:       "Occupies its cores for seconds and touches no memory; refuses seconds that are negative, not finite or above 1e9.",
		Plan:      planSpin,
		Block:     func(*Launch, int) {},
	},
}

func planSpin(l *Launch) error {
	s := l.Args[0].Float()
	if !(s >= 0 && s <= maxSpin) {
		return fmt.Errorf("seconds is %v, want 0 to %v", s, float64(maxSpin))
	}
	l.plan(Vector, 0)
	l.Cost.Fixed = time.Duration(s*float64(time.Second) + 0.5)
	return nil
}
