//go:build unix

package display

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watchContinue tells when the process goes on after a stop.
func watchContinue() (continued <-chan os.Signal, stop func()) {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGCONT)
	return ch, func() { signal.Stop(ch) }
}

// stopTime is how long a stop is waited for: without a shell to go back to there is none.
const stopTime = 200 * time.Millisecond

// suspend stops the process and those that were started with it, as Ctrl-Z does, and returns when it goes on.
func suspend() {
	continued, unwatch := watchContinue()
	defer unwatch()
	_ = unix.Kill(0, unix.SIGTSTP) // to one's own group it does not fail
	select {
	case <-continued:
	case <-time.After(stopTime):
	}
}

// quit ends the process as Ctrl-\ does.
func quit() {
	signal.Reset(unix.SIGQUIT)
	_ = unix.Kill(unix.Getpid(), unix.SIGQUIT) // to oneself it does not fail
}
