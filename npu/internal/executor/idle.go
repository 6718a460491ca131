package executor

// The states of a caller. It goes from running to idling by itself; whoever takes it out of idling, the
// executor to answer it or Wake, does so by compare-and-swap.
const (
	running int32 = iota
	idling        // waits for answers: nothing of it runs
	claimed       // the executor answers it, or it polls
)

// idle suspends c until the executor has claimed it, or Wake was called. The error is ErrDeadlock, that of
// a clock that failed, the cause of the end of c's context, or the end of the executor.
func (c *Caller) idle() error {
	e := c.e
	c.failure = nil
	c.state.Store(idling)
	if !c.poked.Load() || !c.state.CompareAndSwap(idling, running) {
		e.turns.Add(1) // before: who counts c as idle has to look at its targets first
		e.idle.Add(1)
		e.turns.Add(1) // and after, so that the thread looks again and does not park
		e.kick()
		if !c.block(func() bool { return c.state.Load() == running }, c.Wake) {
			return errEnded()
		}
	}
	c.poked.Store(false)
	c.runPosted()
	if c.failure != nil {
		return c.failure
	}
	return cause(c.ctx)
}

// Wake makes the wait of c that is under way, or else its next one, return. It may be called from
// anywhere.
func (c *Caller) Wake() {
	c.poked.Store(true)
	if c.state.CompareAndSwap(idling, running) {
		c.e.idle.Add(-1)
		c.notify()
	}
}

// claim takes c out of its wait, to answer it; settle and fail wake what they claimed. It reports
// false where c runs.
func (e *Executor) claim(c *Caller) bool {
	if c.state.Load() == claimed {
		return true
	}
	if !c.state.CompareAndSwap(idling, claimed) {
		return false
	}
	e.idle.Add(-1)
	e.settling = append(e.settling, c)
	return true
}
