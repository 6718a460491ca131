package npu_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"npulua/npu"
)

// Two vectors are added on one stream, and the host looks at the result.
func Example() {
	if err := addVectors(1024); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1024 sums, from 3 to 3072
}

func addVectors(n int64) (err error) {
	s, err := npu.Open(context.Background(), npu.Options{Backend: "sim"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(false)) }() // also faults that no call has returned

	t := s.Main()
	dev, err := t.Device(0)
	if err != nil {
		return err
	}
	ctx := dev.DefaultContext()
	stream, err := ctx.CreateStream(t, npu.StreamOptions{})
	if err != nil {
		return err
	}
	add, err := s.Kernel("vector_add")
	if err != nil {
		return err
	}

	typ, _ := npu.ParseDType("float32")
	var host, device [3]*npu.Buffer // a, b and their sum
	for i := range host {
		if host[i], err = t.Host(typ, n, true); err != nil {
			return err
		}
		if device[i], err = ctx.Alloc(t, typ, n, ""); err != nil {
			return err
		}
	}
	for i, factor := range []float64{1, 2} {
		err := host[i].SetAll(n, func(j int64) (float64, error) { return factor * float64(j+1), nil })
		if err != nil {
			return err
		}
		if err := stream.Copy(t, device[i], host[i]); err != nil {
			return err
		}
	}
	args := []npu.Arg{{Buffer: device[2]}, {Buffer: device[0]}, {Buffer: device[1]}, {Number: float64(n)}}
	if err := stream.Launch(t, add, 8, args); err != nil {
		return err
	}
	if err := stream.Copy(t, host[2], device[2]); err != nil {
		return err
	}
	if err := stream.Synchronize(t, -1); err != nil {
		return err
	}
	lo, hi, err := host[2].MinMax()
	if err != nil {
		return err
	}
	fmt.Printf("%d sums, from %g to %g\n", n, lo, hi)
	return nil
}

// A fault of queued work comes back from the call that waits for it; codes are compared with
// errors.Is.
func ExampleStream_Synchronize() {
	s, err := npu.Open(context.Background(), npu.Options{Backend: "sim"})
	if err != nil {
		log.Fatal(err)
	}
	t := s.Main()
	dev, err := t.Device(0)
	if err != nil {
		log.Fatal(err)
	}
	relu, err := s.Kernel("relu")
	if err != nil {
		log.Fatal(err)
	}
	typ, _ := npu.ParseDType("float32")
	x, err := dev.DefaultContext().Alloc(t, typ, 8, "")
	if err != nil {
		log.Fatal(err)
	}
	stream := dev.DefaultContext().DefaultStream()

	err = stream.Launch(t, relu, 1, []npu.Arg{{Buffer: x}, {Buffer: x}, {Number: 16}}) // x holds 8
	fmt.Println("launch:", err)
	err = stream.Synchronize(t, -1)
	fmt.Println("synchronize:", errors.Is(err, npu.Code(507035)))
	fmt.Println("again:", stream.Synchronize(t, -1))
	fmt.Println("close:", s.Close(false))
	// Output:
	// launch: <nil>
	// synchronize: true
	// again: <nil>
	// close: <nil>
}

// noMachine is a Machine for programs that keep nothing for each task.
type noMachine struct{}

func (noMachine) Leave(*npu.Task) {}
func (noMachine) Enter(*npu.Task) {}

// Two tasks wait for two streams at once, and hand over what they find: in the same order in every run.
func ExampleScheduler() {
	s, err := npu.Open(context.Background(), npu.Options{Backend: "sim"})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(true)
	t := s.Main()
	dev, err := t.Device(0)
	if err != nil {
		log.Fatal(err)
	}
	spin, err := s.Kernel("spin")
	if err != nil {
		log.Fatal(err)
	}
	sch := s.NewScheduler(t, noMachine{})
	done, err := t.NewChannel(0)
	if err != nil {
		log.Fatal(err)
	}
	work := func(seconds float64) func(*npu.Thread) error {
		return func(t *npu.Thread) error { // t is the thread of the task
			stream, err := dev.DefaultContext().CreateStream(t, npu.StreamOptions{})
			if err != nil {
				return err
			}
			if err := stream.Launch(t, spin, 1, []npu.Arg{{Number: seconds}}); err != nil {
				return err
			}
			if err := stream.Synchronize(t, -1); err != nil { // the other task goes on
				return err
			}
			return done.Send(t, fmt.Sprintf("%g s", seconds), time.Second)
		}
	}
	var tasks []*npu.Task
	for _, seconds := range []float64{3, 2} {
		task, err := sch.Spawn(t, work(seconds))
		if err != nil {
			log.Fatal(err)
		}
		tasks = append(tasks, task)
	}
	for range tasks {
		v, _, err := done.Receive(t, -1)
		fmt.Println(v, err)
	}
	for _, task := range tasks {
		fmt.Println(task.Join(t, -1), task.State())
	}
	_, _, err = done.Receive(t, -1) // nobody is left to send
	var e *npu.Error
	fmt.Println(errors.As(err, &e) && npu.IsDeadlock(e), errors.Is(err, npu.ErrStreamTimeout))
	// Output:
	// 2 s <nil>
	// 3 s <nil>
	// <nil> done
	// <nil> done
	// true true
}
