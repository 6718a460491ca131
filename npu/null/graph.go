package null

import "npulua/npu/internal/driver"

// BeginCapture implements driver.Capturer: host functions are kept for the replays from now on. Of the
// other commands there is nothing to keep.
func (d *Driver) BeginCapture(driver.Stream) error {
	d.capturing, d.recorded = true, nil
	return nil
}

// EndCapture implements driver.Capturer.
func (d *Driver) EndCapture(driver.Stream) (driver.Graph, error) {
	g := driver.Graph(d.handle())
	d.graphs[g] = d.recorded
	d.capturing, d.recorded = false, nil
	return g, nil
}

// UpdateGraph implements driver.Capturer.
func (d *Driver) UpdateGraph(driver.Graph, int, []uint64) error { return nil }

// DestroyGraph implements driver.Capturer.
func (d *Driver) DestroyGraph(g driver.Graph) error {
	delete(d.graphs, g)
	return nil
}

// replay runs the host functions of a graph.
func (d *Driver) replay(g driver.Graph) error {
	for _, fn := range d.graphs[g] {
		if err := fn(); err != nil {
			return err
		}
	}
	return nil
}
