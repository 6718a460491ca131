package npu

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/null"
)

// slowSensors is a driver whose time is real, and whose readings take as long as read does.
type slowSensors struct {
	*null.Driver
	read driver.SensorReader
}

func (d *slowSensors) Sensors(device int) (driver.SensorReader, error) {
	if device != 0 {
		return nil, driver.Errorf(driver.CodeInvalidDevice, "", "there is no device %d", device)
	}
	return d.read, nil
}

// openSlow is a session over it.
func openSlow(t *testing.T, ctx context.Context) (*Session, *slowSensors) {
	t.Helper()
	s := checked[*Session](t)(Open(ctx, Options{Backend: "null"}))
	t.Cleanup(func() { _ = s.Close(true) })
	d := &slowSensors{Driver: s.drv.(*null.Driver)}
	s.drv = d
	return s, d
}

// turns is a Machine of tasks that share nothing.
type turns struct{}

func (turns) Leave(*Task) {}
func (turns) Enter(*Task) {}

var warm = SensorReadings{Source: "test", Temperature: KnownReading(50)}

// Other tasks run while one reads, and what they do may be what the reading waits for.
func TestSensorsLetTasksGoOn(t *testing.T) {
	s, d := openSlow(t, t.Context())
	sch := s.NewScheduler(s.Main(), turns{})
	defer sch.Abandon()
	release := make(chan struct{})
	d.read = func(context.Context) (SensorReadings, error) { <-release; return warm, nil }
	var got SensorReadings
	reader := checked[*Task](t)(sch.Spawn(s.Main(), func(th *Thread) (err error) {
		got, err = s.Sensors(th, 0)
		return err
	}))
	other := checked[*Task](t)(sch.Spawn(s.Main(), func(*Thread) error { close(release); return nil }))
	if err := sch.Finish(); err != nil || reader.Err() != nil || other.Err() != nil || got.Temperature.Value != 50 {
		t.Errorf("%v, %v, %v, %+v", err, reader.Err(), other.Err(), got)
	}
}

// No deadlock is told as long as a reading is under way: its task may go on.
func TestSensorsAreNoDeadlock(t *testing.T) {
	s, d := openSlow(t, t.Context())
	sch := s.NewScheduler(s.Main(), turns{})
	defer sch.Abandon()
	ch := checked[*Channel](t)(s.Main().NewChannel(0))
	d.read = func(context.Context) (SensorReadings, error) {
		for waits := s.Waits(); len(waits) < 2; waits = s.Waits() {
			runtime.Gosched()
		}
		if text := strings.Join(s.Waits(), "\n"); !strings.Contains(text, "waits for libdcmi") {
			return SensorReadings{}, errors.New(text)
		}
		return warm, nil
	}
	reader := checked[*Task](t)(sch.Spawn(s.Main(), func(th *Thread) error {
		if _, err := s.Sensors(th, 0); err != nil {
			return err
		}
		return ch.Send(th, 7, -1)
	}))
	if v, _, err := ch.Receive(s.Main(), -1); err != nil || v != 7 {
		t.Errorf("%v, %v, %v", v, err, reader.Err())
	}
	if _, _, err := ch.Receive(s.Main(), -1); err == nil || !strings.Contains(err.Error(), "deadlock") {
		t.Errorf("%v: afterwards there is one", err)
	}
}

func TestSensorsAreCancelled(t *testing.T) {
	s, d := openSlow(t, t.Context())
	sch := s.NewScheduler(s.Main(), turns{})
	defer sch.Abandon()
	given := make(chan struct{})
	d.read = func(ctx context.Context) (SensorReadings, error) {
		<-ctx.Done()
		close(given)
		return SensorReadings{}, ctx.Err()
	}
	reader := checked[*Task](t)(sch.Spawn(s.Main(), func(th *Thread) error {
		_, err := s.Sensors(th, 0)
		return err
	}))
	checked[*Task](t)(sch.Spawn(s.Main(), func(th *Thread) error { reader.Cancel(th); return nil }))
	if err := sch.Finish(); err != nil || reader.State() != TaskCancelled {
		t.Errorf("%v, %v", err, reader.State())
	}
	<-given // the reading learns of it
}

// A library that does not answer is waited for once; as long as it has not come back it is left alone.
func TestSensorsHang(t *testing.T) {
	for _, scheduled := range []bool{false, true} {
		s, d := openSlow(t, t.Context())
		s.sensors.limit = time.Millisecond
		if scheduled {
			defer s.NewScheduler(s.Main(), turns{}).Abandon()
		}
		release := make(chan struct{})
		d.read = func(context.Context) (SensorReadings, error) { <-release; return warm, nil }
		for _, want := range []string{"libdcmi did not answer within 1ms", "libdcmi has not come back from an earlier reading"} {
			_, err := s.Sensors(s.Main(), 0)
			if !errors.Is(err, ErrNotSupported) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		close(release)
		for s.sensors.stuck.Load() > 0 {
			runtime.Gosched()
		}
		s.sensors.limit = 0
		if r, err := s.Sensors(s.Main(), 0); err != nil || r.Source != "test" {
			t.Errorf("%v, %v", r, err)
		}
	}
}

func TestSensorsAreInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s, d := openSlow(t, ctx)
	stop := errors.New("stop")
	d.read = func(c context.Context) (SensorReadings, error) {
		cancel(stop)
		<-c.Done()
		return SensorReadings{}, c.Err()
	}
	if _, err := s.Sensors(s.Main(), 0); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
}

func TestSensorsFail(t *testing.T) {
	s, d := openSlow(t, t.Context())
	if _, err := s.Sensors(s.Main(), 1); !errors.Is(err, ErrInvalidDevice) {
		t.Errorf("%v", err)
	}
	d.read = func(context.Context) (SensorReadings, error) { panic("a defect") }
	var p *PanicError
	if _, err := s.Sensors(s.Main(), 0); !errors.As(err, &p) || p.Value != "a defect" {
		t.Errorf("%v", err)
	}
	if err := s.SetSensors(s.Main(), 0, nil); !errors.Is(err, ErrNotSupported) {
		t.Errorf("%v", err)
	}
	s.drv = d.Driver
	if _, err := s.Sensors(s.Main(), 0); !errors.Is(err, ErrNotSupported) || !strings.Contains(err.Error(), "the null backend has no sensors") {
		t.Errorf("%v", err)
	}
}
