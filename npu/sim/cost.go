package sim

import (
	"math"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/sim/kernel"
)

// What a host call costs. Measured for the vendor's runtime on a small machine where the comment
// says so; otherwise assumed.
const (
	costQuery       = 1 * time.Microsecond    // stream and event queries
	costSubmit      = 1500 * time.Nanosecond  // copy, fill, record, wait: measured 1.3 to 2.5 us
	costLaunch      = 3500 * time.Nanosecond  // assumed: 3 to 5 us
	costMalloc      = 5 * time.Microsecond    // measured 4.6 to 5 us with the free
	costStream      = 5500 * time.Nanosecond  // create or destroy: measured 11 us for both
	costContext     = 90 * time.Microsecond   // create or destroy: measured 175 to 190 us for both
	costSetDevice   = 4700 * time.Nanosecond  // again: measured
	costOpenDevice  = 1500 * time.Millisecond // the first time: assumed
	costSynchronize = 150 * time.Nanosecond   // on an idle stream: measured 100 to 160 ns
	costBlocking    = 120 * time.Nanosecond   // fixed part of a blocking copy: measured 80 to 120 ns
)

// What the device spends besides the work itself. All assumed.
const (
	deviceLaunch   = 5 * time.Microsecond  // from the stream's head to the first block
	deviceEvent    = 1 * time.Microsecond  // event record, event wait
	deviceFill     = 2 * time.Microsecond  // fixed part of a fill
	hostFunction   = 30 * time.Microsecond // round trip of a host function
	linkLatency    = 8 * time.Microsecond  // copy over the host link or to a peer
	localLatency   = 2 * time.Microsecond  // copy inside a device
	pageableFixed  = 10 * time.Microsecond // staging of a copy with pageable host memory
	pageableFactor = 3                     // such a copy is that much slower
)

func perBytes(n int64, gbps float64) time.Duration {
	return time.Duration(math.Round(float64(n) / gbps))
}

// copyTime is how long a copy of n bytes occupies its engine.
func (p *Profile) copyTime(n int64, path copyPath, pageable bool) time.Duration {
	fixed, t := p.copyParts(n, path, pageable)
	return fixed + t
}

// copyParts is copyTime in two: what every copy takes, and what depends on the bandwidth.
func (p *Profile) copyParts(n int64, path copyPath, pageable bool) (fixed, t time.Duration) {
	switch path {
	case pathH2D:
		t, fixed = perBytes(n, p.H2DGBps), linkLatency
	case pathD2H:
		t, fixed = perBytes(n, p.D2HGBps), linkLatency
	case pathD2D:
		t, fixed = perBytes(2*n, p.MemoryGBps), localLatency // read and write
	case pathPeer:
		t, fixed = perBytes(n, p.PeerGBps), linkLatency
	case pathH2H:
		t, fixed = perBytes(n, hostCopyGBps), 0
	}
	if pageable && path != pathH2H {
		t, fixed = t*pageableFactor, fixed+pageableFixed
	}
	return fixed, t
}

// hostCopyGBps is the speed of a copy between two host buffers; assumed.
const hostCopyGBps = 10

// fillTime is how long a fill of n bytes takes.
func (p *Profile) fillTime(n int64) time.Duration {
	return deviceFill + perBytes(n, p.MemoryGBps)
}

// launchTime is how long a launch of blocks occupies cores of the total cores of its unit. Blocks
// that do not fit at once run in waves, all alike.
func (p *Profile) launchTime(c kernel.Cost, blocks, total int) time.Duration {
	cores := min(blocks, total)
	waves := (blocks + total - 1) / total
	perClock := p.VectorFlopsPerClock
	if c.Unit == kernel.Cube {
		perClock = p.CubeFlopsPerClock
	}
	clock := p.ClockMHz * 1e-3 // clocks per ns
	compute := c.Flops / float64(blocks) * float64(waves) / (perClock * clock)
	bandwidth := min(p.MemoryGBps, p.CoreBytesPerClock*clock*float64(cores)) // bytes per ns
	memory := c.Bytes / bandwidth
	t := time.Duration(math.Round(max(compute, memory)))
	return deviceLaunch + max(t, c.Fixed)
}

// submitCost is what queueing c costs the host.
func submitCost(c *driver.Command) time.Duration {
	if c.Op == driver.OpLaunch || c.Op == driver.OpModel {
		return costLaunch
	}
	return costSubmit
}
