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

// A handler that comes while no call is under way is taken back, and a change of Go's own is kept.
func TestTakeBack(t *testing.T) {
	g := guardState{}
	g.before.read()
	const sig, other = int(unix.SIGUSR1), int(unix.SIGUSR2)
	before := g.before[sig]
	foreign := before
	foreign.handler = g.before[unix.SIGURG].handler + 1 // nobody sends the signal
	set(sig, &foreign)
	ignored := g.before[other]
	ignored.handler = 1
	old := g.before[other]
	set(other, &ignored)
	defer set(other, &old)
	for _, want := range []bool{true, false} {
		if got := g.takeBack(); got != want {
			t.Errorf("takeBack() = %v, want %v", got, want)
		}
		var now action
		if get(sig, &now); now != before {
			t.Errorf("the action is %+v, was %+v", now, before)
		}
		if get(other, &now); now != ignored {
			t.Errorf("the ignored signal has the action %+v", now)
		}
	}
}
