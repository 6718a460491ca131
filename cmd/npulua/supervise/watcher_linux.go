package supervise

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Watcher is the process that watches this one. A nil one is none.
type Watcher struct {
	control *os.File
	signals chan os.Signal
}

// Find finds it, and makes standard error what the watcher has; nil: there is none. Call it before anything is opened.
func Find() *Watcher {
	var errors, control, ours int
	var stack uint64
	n, _ := fmt.Sscanf(os.Getenv(mark), "%d,%d,%d,%d", &errors, &control, &ours, &stack)
	_ = os.Unsetenv(mark)
	if n < 4 {
		return nil
	}
	if kind, err := unix.GetsockoptInt(control, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || kind != unix.SOCK_STREAM {
		return nil
	}
	if ours == 1 {
		_ = os.Unsetenv(arenas)
	}
	setStacks(stack)
	unix.CloseOnExec(errors)
	unix.CloseOnExec(control)
	os.Stderr = os.NewFile(uintptr(errors), os.Stderr.Name())
	w := &Watcher{control: os.NewFile(uintptr(control), "control"), signals: make(chan os.Signal, 8)}
	go func() {
		b := make([]byte, 1)
		for {
			if n, err := w.control.Read(b); n == 0 || err != nil {
				os.Exit(1) // nobody watches
			}
			w.signals <- syscall.Signal(b[0])
		}
	}()
	return w
}

// Tell tells the watcher that this process begins to end, with an exit status.
func (w *Watcher) Tell(status int) {
	if w != nil {
		_, _ = w.control.Write([]byte{byte(status)}) // it may be gone
	}
}

// Signals are those that the watcher has got. This process may have got them, too.
func (w *Watcher) Signals() <-chan os.Signal {
	if w == nil {
		return nil
	}
	return w.signals
}
