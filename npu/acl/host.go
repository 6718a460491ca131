//go:build linux && (amd64 || arm64)

package acl

import (
	"fmt"
	"sync"

	"github.com/ebitengine/purego"

	"npulua/npu/internal/driver"
)

// Functions that C code can call are few and are never given back, so there is one of each kind for the process;
// they find their work by a number.
var callbacks struct {
	once      sync.Once
	host      uintptr
	exception uintptr

	mu      sync.Mutex
	last    uintptr
	pending map[uintptr]hostFunction
	told    func(info uintptr) // of the driver that is open
}

// hostFunction is a function that the library will call.
type hostFunction struct {
	run  func()
	kept bool // recorded in a graph: every replay calls it
}

// openCallbacks makes them.
func openCallbacks() {
	callbacks.once.Do(func() {
		callbacks.pending = make(map[uintptr]hostFunction)
		callbacks.host = purego.NewCallback(func(number uintptr) {
			callbacks.mu.Lock()
			f := callbacks.pending[number]
			if !f.kept {
				delete(callbacks.pending, number)
			}
			callbacks.mu.Unlock()
			if f.run != nil {
				f.run()
			}
		})
		callbacks.exception = purego.NewCallback(func(info uintptr) {
			callbacks.mu.Lock()
			told := callbacks.told
			callbacks.mu.Unlock()
			if told != nil {
				told(info)
			}
		})
	})
}

// expect makes a number by which the library can call f.
func expect(f hostFunction) uintptr {
	openCallbacks()
	callbacks.mu.Lock()
	defer callbacks.mu.Unlock()
	callbacks.last++
	callbacks.pending[callbacks.last] = f
	return callbacks.last
}

// unexpect forgets functions that are not called any more.
func unexpect(numbers ...uintptr) {
	callbacks.mu.Lock()
	defer callbacks.mu.Unlock()
	for _, n := range numbers {
		delete(callbacks.pending, n)
	}
}

// queueHostFunc queues c.Func, which runs on a thread of the library's.
func (d *Driver) queueHostFunc(s *stream, c *driver.Command) error {
	if c.Func == nil {
		return driver.Errorf(driver.CodeInvalidParam, d.hostFunc.name, "the function is NULL")
	}
	fn, site := c.Func, c.Site
	number := expect(hostFunction{kept: s.capture != nil, run: func() {
		if err := protected(fn); err != nil {
			d.exceptions.add(exception{stream: s, site: site, host: err})
		}
	}})
	err := d.queue(&d.hostFunc, s.raw, callbacks.host, number)
	switch {
	case err != nil:
		unexpect(number)
	case s.capture != nil:
		s.capture.functions = append(s.capture.functions, number)
	}
	return err
}

// protected calls fn; a panic must not leave Go.
func protected(fn func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return fn()
}
