package npu

import "slices"

// CurrentContext is the context that t works in: the last one made current that is still open.
// ErrContextNull where there is none.
func (t *Thread) CurrentContext() (*Context, error) {
	if c := t.current(); c != nil {
		return c, nil
	}
	return nil, hinted(errorf(ErrContextNull, "this thread has no current context"), t.contextHint(", or ctx:set_current()"))
}

// contextHint is what to do where a current context is needed; or is another way.
func (t *Thread) contextHint(or string) string {
	if t.task != nil && t.task.number > 0 {
		return "a task starts without a context: call npu.device(0) in it" + or
	}
	return "call npu.device(0) first" + or
}

func (t *Thread) current() *Context {
	for _, c := range slices.Backward(t.history) {
		if !c.Closed() {
			return c
		}
	}
	return nil
}

// maxHistory bounds how many explicit contexts a thread remembers, and with that keeps from garbage collection.
const maxHistory = 32

func (t *Thread) setCurrent(c *Context) {
	if t.current() == c {
		return
	}
	explicit := 0
	kept := slices.DeleteFunc(t.history, func(x *Context) bool { return x == c || x.Closed() })
	for i, x := range slices.Backward(kept) {
		if x.IsDefault() {
			continue
		}
		if explicit++; explicit == maxHistory {
			kept = slices.Delete(kept, i, i+1) // the oldest one
			break
		}
	}
	t.history = append(kept, c)
}

// Use makes c current, calls fn, and makes current again what was before, also after an error or a panic: whatever fn
// made current does not stay. Where fn has closed it, the one that was current before it is.
func (t *Thread) Use(c *Context, fn func() error) error {
	before := slices.Clone(t.history)
	if err := c.SetCurrent(t); err != nil {
		return err
	}
	defer func() { t.history = before }()
	return fn()
}
