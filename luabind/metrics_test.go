package luabind

import (
	"context"
	"testing"

	"npulua/npu"
)

// TestMetricsOfAnotherGoroutine gathers while a script and its worker count.
func TestMetricsOfAnotherGoroutine(t *testing.T) {
	in, err := Open(context.Background(), Options{Session: npu.Options{Backend: "sim"}})
	if err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			if _, err := in.Metrics().Gather(); err != nil {
				t.Error(err)
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	err = in.RunString(`
		local function count()
			local n = require("metrics").counter("steps_total", "Steps.", {labels = {"device"}})
			for i = 1, 500 do n:inc{device = i % 2} end
		end
		local w = npu.worker(count)
		count()
		w:join()`, "=script")
	close(stop)
	<-stopped
	if err != nil {
		t.Fatal(in.FormatError(err))
	}
	families, err := in.Metrics().Gather()
	if err != nil || len(families) != 1 || len(families[0].Metric) != 2 || families[0].Metric[0].Counter.GetValue() != 500 {
		t.Errorf("gathered %v, %v", families, err)
	}
	if err := in.Close(false); err != nil {
		t.Error(err)
	}
}
