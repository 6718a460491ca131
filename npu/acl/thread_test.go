//go:build linux && (amd64 || arm64)

package acl_test

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"npulua/npu/acl"
	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
)

// A million calls of eight goroutines, with the collector busy, come from one thread: the stand-in ends the process
// at a call from another one.
func TestOneThread(t *testing.T) {
	lib := open(t)
	calls := 1_000_000
	if testing.Short() {
		calls /= 20
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	d, err := acl.Open()
	if err != nil {
		t.Fatal(err)
	}
	lib.set("restart", 1)
	e := executor.New(d, executor.Options{})
	c := e.NewCaller(context.Background())
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	must(c.Call(0, func(d driver.Driver) error { return d.Init() }))
	must(c.Call(0, func(d driver.Driver) error { return d.SetDevice(0) }))
	var ctx driver.Context
	var stream driver.Stream
	must(c.Call(0, func(d driver.Driver) (err error) {
		if ctx, err = d.CreateContext(0); err != nil {
			return err
		}
		stream, err = d.CreateStream(driver.StreamConfig{})
		return err
	}))
	before := lib.get("calls")
	stop := make(chan struct{})
	var garbage sync.WaitGroup
	garbage.Go(func() {
		for keep := make([][]byte, 256); ; {
			select {
			case <-stop:
				runtime.KeepAlive(keep)
				return
			default:
				for i := range keep {
					keep[i] = make([]byte, 4096)
				}
				runtime.GC()
			}
		}
	})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			c := e.NewCaller(context.Background())
			defer c.Close()
			for range calls / 8 {
				err := c.Call(ctx, func(d driver.Driver) error {
					_, err := d.QueryStream(stream)
					return err
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	close(stop)
	garbage.Wait()
	if got := lib.get("calls") - before; got < int64(calls) {
		t.Errorf("the library counted %d calls, want %d", got, calls)
	}
	must(c.Call(0, func(d driver.Driver) error {
		must(d.DestroyContext(ctx))
		must(d.ResetDevice(0, false))
		return d.Finalize()
	}))
	c.Close()
	e.Close()
}
