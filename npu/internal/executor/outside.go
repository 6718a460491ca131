package executor

// BeginOutside says that a goroutine will end a wait, by Wake: there is no deadlock until EndOutside. It may be called
// from anywhere.
func (e *Executor) BeginOutside() { e.outside.Add(1) }

// EndOutside says that the goroutine has called Wake, or that nobody waits any more.
func (e *Executor) EndOutside() {
	e.turns.Add(1) // before: who has counted idle callers before Wake sees this where it does not see the wait
	e.outside.Add(-1)
	e.turns.Add(1)
	e.kick()
}
