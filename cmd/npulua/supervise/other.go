//go:build !linux

package supervise

import (
	"errors"
	"os"
)

// Run fails here.
func Run(Config) (End, error) { return End{}, errors.ErrUnsupported }

// Lean does nothing here.
func Lean() {}

// Watcher would be the process that watches this one.
type Watcher struct{}

// Find finds none here.
func Find() *Watcher { return nil }

// Tell does nothing here.
func (*Watcher) Tell(int) {}

// Signals are none here.
func (*Watcher) Signals() <-chan os.Signal { return nil }
