package executor_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
)

// stream is a target for stream s, and timer one for a time, that tests tell by their owners.
func stream(s driver.Stream) *executor.Target {
	return &executor.Target{Context: 1, Stream: s, Timeout: -1, Owner: fmt.Sprint("stream ", s)}
}

func timer(d time.Duration) *executor.Target {
	return &executor.Target{Kind: executor.WaitTimer, Timeout: d, Owner: fmt.Sprint("timer ", d)}
}

// owners is what list answers.
func owners(list []*executor.Target) (out []string) {
	for _, t := range list {
		out = append(out, t.Owner.(string))
	}
	return out
}

// await is one Await that must return within the guard.
func await(t *testing.T, c *executor.Caller) (got []string, err error) {
	t.Helper()
	within(t, "Await", func() {
		var list []*executor.Target
		list, err = c.Await()
		got = owners(list)
	})
	return got, err
}

// wantAwait checks whom the next Await answers.
func wantAwait(t *testing.T, c *executor.Caller, want ...string) {
	t.Helper()
	if got, err := await(t, c); err != nil || !slices.Equal(got, want) {
		t.Errorf("Await() = %q, %v, want %q", got, err, want)
	}
}

// What is reached at the same time is answered at once, in the order of posting.
func TestAnswersComeInOrderOfPosting(t *testing.T) {
	f, e := newClockFake(t)
	c := e.NewCaller(background)
	defer c.Close()
	done := map[driver.Stream]bool{}
	f.query = func(s driver.Stream) (bool, error) { return done[s], nil }
	f.todo = []todo{
		{2, func() { done[3], done[1] = true, true }},
		{4, func() { done[2] = true }},
	}
	for _, x := range []*executor.Target{stream(2), timer(3), stream(3), timer(5), stream(1), timer(2)} {
		c.Post(x)
	}
	wantAwait(t, c, "stream 3", "stream 1", "timer 2ns")
	wantAwait(t, c, "timer 3ns")
	wantAwait(t, c, "stream 2")
	c.Post(timer(1)) // from now, 4, on
	wantAwait(t, c, "timer 5ns", "timer 1ns")
}

// Timers of one deadline are answered in the order of posting, however far apart that was.
func TestTimersOfOneDeadline(t *testing.T) {
	_, e := newClockFake(t)
	c := e.NewCaller(background)
	defer c.Close()
	var want []string
	for i := range 100 {
		x := timer(time.Second)
		x.Owner = fmt.Sprint(i)
		want = append(want, fmt.Sprint(i))
		c.Post(x)
	}
	wantAwait(t, c, want...)
}

// Nothing is answered while the caller runs; Poll answers what is reached after its time, and no more.
func TestPollAnswersWhatIsReached(t *testing.T) {
	f, e := newClockFake(t)
	c, other := e.NewCaller(background), e.NewCaller(background)
	defer c.Close()
	defer other.Close()
	done := false
	f.query = func(driver.Stream) (bool, error) { return done, nil }
	f.todo = []todo{{5, func() { done = true }}}
	x, y := stream(1), timer(10)
	c.Post(x)
	c.Post(y)
	for _, row := range []struct {
		pass time.Duration
		now  time.Duration
		want []string
	}{
		{0, 0, nil}, {4, 4, nil}, {1, 5, []string{"stream 1"}}, {0, 5, nil}, {3, 8, nil}, {100, 108, []string{"timer 10ns"}},
	} {
		c.Spend(row.pass)
		list, err := c.Poll()
		if got := owners(list); err != nil || !slices.Equal(got, row.want) {
			t.Errorf("Poll(%d) = %q, %v, want %q", row.pass, got, err, row.want)
		}
		look(t, other, func() {
			if f.now != row.now {
				t.Errorf("after Poll(%d) it is %d, want %d", row.pass, f.now, row.now)
			}
		})
	}
}

// The executor looks at the targets of a caller that has just gone idle before it lets time go on.
func TestNoTimePassesForWhatIsReached(t *testing.T) {
	f, e := newClockFake(t)
	c := e.NewCaller(background)
	defer c.Close()
	for i := range 50000 {
		end := timer(time.Second)
		c.Post(end)
		c.Post(stream(1)) // done
		for range i % 1000 {
		}
		list, err := c.Await()
		c.Withdraw(end)
		if err != nil || !slices.Equal(owners(list), []string{"stream 1"}) {
			t.Fatalf("round %d: Await() = %q, %v, want the stream alone", i, owners(list), err)
		}
		var now time.Duration
		look(t, c, func() { now = f.now })
		if now != 0 {
			t.Fatalf("round %d: it is %v, want 0", i, now)
		}
	}
}

// A target that was withdrawn never comes, whether it was reached before or not, and its deadline holds
// no time up.
func TestWithdrawnTargetsNeverCome(t *testing.T) {
	f, e := newClockFake(t)
	c := e.NewCaller(background)
	defer c.Close()
	early, late, reached := timer(1), timer(7), stream(1)
	for _, x := range []*executor.Target{early, reached, late, timer(3)} {
		c.Post(x)
	}
	c.Withdraw(early)
	wantAwait(t, c, "stream 1")
	c.Withdraw(reached) // was answered: nothing
	wantAwait(t, c, "timer 3ns")
	look(t, c, func() {
		if f.now != 3 {
			t.Errorf("it is %v, want 3ns", f.now)
		}
	})
	c.Withdraw(late)
	if got, err := await(t, c); err != executor.ErrDeadlock || got != nil {
		t.Errorf("Await() = %q, %v, want a deadlock", got, err)
	}
}

// A target that a wait for another one has answered meanwhile can be withdrawn before it is told.
func TestWithdrawnAfterAnswer(t *testing.T) {
	_, e := newClockFake(t)
	c := e.NewCaller(background)
	defer c.Close()
	a, b := timer(1), timer(2)
	c.Post(a)
	c.Post(b)
	if err := c.Wait(timer(5)); err != nil { // a and b are answered on the way
		t.Fatal(err)
	}
	c.Withdraw(a)
	wantAwait(t, c, "timer 2ns")
}

// A question does not wait, and leaves faults to a wait where asked to.
func TestTry(t *testing.T) {
	f, e := newClockFake(t)
	c := e.NewCaller(background)
	defer c.Close()
	fault, done := errors.New("fault"), false
	f.query = func(driver.Stream) (bool, error) { return done, nil }
	try := func(x *executor.Target) error { x.Timeout = 0; return c.Try(x) }
	if err := try(stream(1)); codeOf(err) != driver.CodeStreamSyncTimeout {
		t.Errorf("Try(pending) = %v, want a timeout", err)
	}
	look(t, c, func() { done, f.fault = true, fault })
	keeps := stream(1)
	keeps.KeepFaults = true
	if err := try(keeps); err != nil {
		t.Errorf("Try(done, KeepFaults) = %v, want nil", err)
	}
	if err := try(stream(1)); err != fault {
		t.Errorf("Try(done) = %v, want %v", err, fault)
	}
	if err := try(timer(0)); err != nil {
		t.Errorf("Try(timer) = %v, want nil", err)
	}
	look(t, c, func() {
		if f.now != 0 {
			t.Errorf("it is %v, want 0", f.now)
		}
	})
}

// The error of one target is that one's alone.
func TestErrorsOfTargets(t *testing.T) {
	f, e := newClockFake(t)
	c := e.NewCaller(background)
	defer c.Close()
	broken := errors.New("broken")
	f.query = func(s driver.Stream) (bool, error) {
		switch s {
		case 1:
			return false, broken
		case 2:
			panic("worse")
		case 3:
			return false, nil
		}
		return true, nil
	}
	list := []*executor.Target{stream(1), stream(2), stream(3), stream(4)}
	list[2].Timeout = 9
	for _, x := range list {
		c.Post(x)
	}
	wantAwait(t, c, "stream 1", "stream 2", "stream 4")
	wantAwait(t, c, "stream 3")
	var p *executor.PanicError
	if list[0].Err != broken || !errors.As(list[1].Err, &p) || codeOf(list[2].Err) != driver.CodeStreamSyncTimeout || list[3].Err != nil {
		t.Errorf("errors %v, %v, %v, %v", list[0].Err, list[1].Err, list[2].Err, list[3].Err)
	}
}

// Several callers post, wait, withdraw and poll at once; each gets its own answers, in order.
func TestManyCallersPost(t *testing.T) {
	for _, clock := range []bool{true, false} {
		t.Run(fmt.Sprint("clock ", clock), func(t *testing.T) {
			var e *executor.Executor
			if clock {
				_, e = newClockFake(t)
			} else {
				_, e = newFake(t, executor.Options{})
			}
			var wg sync.WaitGroup
			for k := range 6 {
				c := e.NewCaller(background)
				wg.Go(func() {
					defer c.Close()
					for i := range 100 {
						left := map[string]bool{}
						var drop *executor.Target
						for j := range 5 {
							x := timer(time.Duration((i+j)%3+1) * time.Microsecond)
							if j == k%5 {
								x = stream(driver.Stream(j + 1))
							}
							x.Owner = fmt.Sprint(k, i, j)
							c.Post(x)
							if j == i%5 {
								drop = x
							} else {
								left[x.Owner.(string)] = true
							}
						}
						c.Withdraw(drop)
						for len(left) > 0 {
							list, err := c.Await()
							if i%3 == 0 && err == nil {
								var more []*executor.Target
								list = slices.Clone(list)
								c.Spend(time.Microsecond)
								more, err = c.Poll()
								list = append(list, more...)
							}
							if err != nil {
								t.Error(err)
								return
							}
							for _, x := range list {
								if !left[x.Owner.(string)] {
									t.Errorf("caller %d, round %d: got %v of %q; left %v, dropped %v", k, i, x.Owner, owners(list), left, drop.Owner)
									return
								}
								delete(left, x.Owner.(string))
							}
						}
					}
				})
			}
			within(t, "the callers", wg.Wait)
		})
	}
}
