//go:build !linux

package proc

import (
	"errors"
	"time"
)

// Adopt fails here: what has lost its parent is out of reach.
func Adopt() error { return errors.ErrUnsupported }

// Rest is what a program leaves behind; here nobody knows.
type Rest struct{}

// Before notes nothing here.
func Before() Rest { return Rest{} }

// End ends nothing here.
func (Rest) End(time.Duration) int { return 0 }
