package npu

import (
	"slices"
	"testing"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/dtype"
)

// What is closed by force does not wait for work, which may use memory until its stream is gone: memory goes last.
func TestForcedCloseKeepsMemoryForWork(t *testing.T) {
	s := checked[*Session](t)(Open(t.Context(), Options{Backend: "sim", Sim: "910b:1"}))
	t.Cleanup(func() { _ = s.Close(true) })
	th := s.Main()
	dev := checked[*Device](t)(th.Device(0))
	ctx := checked[*Context](t)(dev.CreateContext(th))
	stream := checked[*Stream](t)(ctx.CreateStream(th, StreamOptions{}))
	typ, _ := dtype.Parse("float32")
	device, host := checked[*Buffer](t)(ctx.Alloc(th, typ, 4, "")), checked[*Buffer](t)(th.Host(typ, 4, true))
	event := checked[*Event](t)(ctx.CreateEvent(th, false))
	var order []string
	for _, r := range []*resource{dev.res, ctx.res, stream.res, device.root.res, event.res, host.root.res} {
		destroy := r.destroy
		r.destroy = func(d driver.Driver, force bool) error {
			order = append(order, r.kind)
			return destroy(d, force)
		}
	}
	if err := s.Close(true); err != nil {
		t.Fatal(err)
	}
	if want := []string{"stream", "event", "context", "device memory", "device", "pinned memory"}; !slices.Equal(order, want) {
		t.Errorf("destroyed %v, want %v", order, want)
	}
}
