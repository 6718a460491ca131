package main

import (
	"context"
	"fmt"
	"time"
)

// timed calls run and returns what it took of the host's time and of the backend's.
func (s *interactive) timed(run func() error) (host, device time.Duration, err error) {
	before, begin := s.Now(), time.Now()
	err = run()
	return time.Since(begin), s.Now() - before, err
}

// clock names the time of the backend.
func (s *interactive) clock() string {
	if s.in.Session().Info().Simulated {
		return "virtual"
	}
	return "device"
}

func dotTime(s *interactive, ctx context.Context, code string) error {
	host, device, err := s.timed(func() error { return s.Eval(ctx, code) })
	if err == nil {
		fmt.Fprintf(s.out, "%v on the host, %v %s\n", rounded(host), rounded(device), s.clock())
	}
	return err
}

// How long .bench measures: until that much of the host's time has passed, or of the backend's, of which a day may
// pass in a moment.
const (
	benchTime   = 300 * time.Millisecond
	benchDevice = time.Second
)

func dotBench(s *interactive, ctx context.Context, code string) error {
	run, err := s.Measure(code)
	if err != nil {
		return err
	}
	runs, begin := 0, s.Now()
	enough := func() bool { // to ask for the backend's time takes time: after 4, 8, 16... runs
		return runs >= 4 && runs&(runs-1) == 0 && s.Now()-begin >= benchDevice
	}
	host, device, err := s.timed(func() error {
		for end := time.Now().Add(benchTime); time.Now().Before(end) && !enough(); runs++ {
			if err := run(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	n := time.Duration(runs)
	fmt.Fprintf(s.out, "%d runs: %v each on the host, %v %s\n", runs, rounded(host/n), rounded(device/n), s.clock())
	return nil
}

// rounded is d with four digits.
func rounded(d time.Duration) time.Duration {
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 10000*unit {
			return d.Round(unit)
		}
	}
}
