package drivertest

import (
	"slices"

	"npulua/npu/internal/driver"
)

func exceptionCases() []testCase {
	const needs = watcher | loader
	return []testCase{
		{"exception: every failed command is told, in order, with its stream and place", needs, func(t *tester) {
			c := t.current()
			s, other := t.stream(), t.stream()
			seen := t.exceptions()
			t.fault(s, 20)
			t.spin(other, pause)
			t.fault(other, 30)
			t.fault(s, 21)
			t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "SynchronizeStream")
			t.want(driver.CodeVectorException, t.SynchronizeStream(other, forever), "SynchronizeStream of the other")
			want := []exception{{c, s, 20}, {c, s, 21}, {c, other, 30}}
			if !slices.Equal(*seen, want) {
				t.Errorf("told %v, want %v", *seen, want)
			}
		}},
		{"exception: told before the wait ends, once, and not after the end of it", needs, func(t *tester) {
			s := t.stream()
			seen := t.exceptions()
			t.fault(s, 20)
			for range 2 {
				_ = t.SynchronizeStream(s, forever)
				if len(*seen) != 1 {
					t.Fatalf("told %v, want one", *seen)
				}
			}
			t.watcher.OnException(nil)
			t.fault(s, 21)
			t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "SynchronizeStream")
			if len(*seen) != 1 {
				t.Errorf("told %v after the end", *seen)
			}
		}},
		{"exception: a failed command of a graph counts by the stream of its replay", needs | capturer, func(t *tester) {
			s, other := t.stream(), t.stream()
			seen := t.exceptions()
			x := t.filled(64, 0)
			bad := t.vectorAdd(s, x, x, x, 64, 1<<20, 1)
			bad.Site = 20
			g := t.captured(s, func() { t.enqueue(bad) })
			t.replay(other, g)
			t.want(driver.CodeVectorException, t.SynchronizeStream(other, forever), "SynchronizeStream")
			if want := []exception{{t.current(), other, 20}}; !slices.Equal(*seen, want) {
				t.Errorf("told %v, want %v", *seen, want)
			}
		}},
		{"exception: stop mode tells of the failure, not of what it skips", needs, func(t *tester) {
			before, p := t.current(), t.filled(64, 0)
			c := t.context(0)
			s := t.stream()
			t.must(t.SetStreamFailureMode(s, driver.StopOnFailure), "SetStreamFailureMode")
			seen := t.exceptions()
			t.spin(s, pause) // so that all is queued before the first fails
			t.fault(s, 20)
			t.fault(s, 21)
			t.fill(s, p, 64, 1)
			t.want(driver.CodeVectorException, t.SynchronizeStream(s, forever), "SynchronizeStream")
			if want := []exception{{c, s, 20}}; !slices.Equal(*seen, want) {
				t.Errorf("told %v, want %v", *seen, want)
			}
			t.destroyContext(c)
			t.setCurrent(before)
		}},
	}
}

// exception is what matters of a driver.Exception.
type exception struct {
	context driver.Context
	stream  driver.Stream
	site    driver.Site
}

// exceptions collects what is told from now on.
func (t *tester) exceptions() *[]exception {
	seen := new([]exception)
	t.watcher.OnException(func(e driver.Exception) {
		*seen = append(*seen, exception{e.Context, e.Stream, e.Fault.Site})
	})
	return seen
}
