//go:build linux && (amd64 || arm64)

package loader

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A call that begins while another one has installed a handler does not take that for what was there before.
func TestGuardSignalsOverlap(t *testing.T) {
	const sig = int(unix.SIGUSR2)
	var before, foreign, after action
	get(sig, &before)
	inside, leave, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		_ = GuardSignals(func() error {
			foreign = before
			foreign.flags ^= 0x10000000 // SA_RESTART: another action, as harmless
			set(sig, &foreign)
			close(inside)
			<-leave
			return nil
		})
	}()
	<-inside
	_ = GuardSignals(func() error {
		set(sig, &foreign)
		close(leave)
		<-left
		return nil
	})
	if get(sig, &after); after != before {
		t.Errorf("the action is %+v, was %+v", after, before)
	}
}
