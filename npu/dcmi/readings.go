//go:build linux && (amd64 || arm64)

package dcmi

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"npulua/npu/internal/driver"
)

// reading is one reading of a device.
type reading struct {
	l       *library
	c       chip
	out     driver.SensorReadings
	refused *callError // the first call that this user or container may not make
}

// steps read what there is, the health first, in case the rest does not come back in time.
var steps = []func(*reading){
	(*reading).health, (*reading).faults, (*reading).ecc, (*reading).temperature, (*reading).power, (*reading).voltage, (*reading).hbm, (*reading).utilization,
}

// Types of dcmi_get_device_utilization_rate.
const (
	utilMemory       = 1
	utilCores        = 2
	utilHBMBandwidth = 10
	utilVector       = 12
)

// Types of dcmi_get_device_ecc_info. Parts have one of them: the 910B has HBM, the 310P DDR.
const (
	eccDDR = 0
	eccHBM = 2
)

// What the library answers in place of a value.
const (
	invalidSensor = 0x7FFD     // temperature, power, voltage: the sensor has no valid value
	failedSensor  = 0x7FFF     // the sensor could not be read
	deviceGone    = 0xFFFFFFFF // health: the device does not exist
)

// healths are the levels by the library's number.
var healths = []driver.Health{driver.HealthOK, driver.HealthWarning, driver.HealthAlarm, driver.HealthCritical}

// why notes a failed call, and is the reason for an absent reading.
func (s *reading) why(err error) string {
	var e *callError
	if errors.As(err, &e) && s.refused == nil && (e.code == notPermitted || e.code == notInContainer) {
		s.refused = e
	}
	return err.Error()
}

// sensor asks for a number, of which so many make a unit, and which is not below least. The library marks values that
// mean nothing.
func (s *reading) sensor(f *function, unit float64, least int32, args ...uintptr) driver.Reading {
	var v int32
	if err := ask(s.l, f, &v, args...); err != nil {
		return driver.Absent(s.why(err))
	}
	return valid(f, unit, least, v)
}

// valid is a reading of v, where v means something.
func valid(f *function, unit float64, least, v int32) driver.Reading {
	switch {
	case v == invalidSensor:
		return driver.Absent(f.name + ": the sensor has no valid value (0x7ffd)")
	case v == failedSensor:
		return driver.Absent(f.name + ": the sensor could not be read (0x7fff)")
	case v < least:
		return driver.Absent(fmt.Sprintf("%s: %d cannot be", f.name, v))
	}
	return driver.Known(float64(v) / unit)
}

// share asks for a utilization in percent.
func (s *reading) share(kind uintptr) driver.Reading {
	f := &s.l.utilization
	var v uint32
	if err := ask(s.l, f, &v, append(s.c.ids(), kind)...); err != nil {
		return driver.Absent(s.why(err))
	}
	if v > 100 {
		return driver.Absent(fmt.Sprintf("%s: %d %% cannot be", f.name, v))
	}
	return driver.Known(float64(v) / 100)
}

const coldest = -273 // °C

func (s *reading) temperature() {
	s.out.Temperature = s.sensor(&s.l.temperature, 1, coldest, s.c.ids()...)
}

func (s *reading) voltage() { s.out.Voltage = s.sensor(&s.l.voltage, 100, 0, s.c.ids()...) }

// power asks the chip, and the card where the chip does not tell.
func (s *reading) power() {
	s.out.Power = s.sensor(&s.l.power, 10, 0, s.c.ids()...)
	s.out.CardPower = driver.Absent("asked for only where the chip does not tell its power")
	if !s.out.Power.Known {
		s.out.CardPower = s.sensor(&s.l.cardPower, 10, 0, uintptr(s.c.card))
	}
}

// hbmInfo is struct dcmi_hbm_info.
type hbmInfo struct {
	size    uint64 // MB
	_       uint32 // frequency in MHz
	used    uint64 // MB
	celsius int32
	_       uint32 // bandwidth, percent in use
}

func (s *reading) hbm() {
	f := &s.l.hbmInfo
	var info hbmInfo
	if err := ask(s.l, f, &info, s.c.ids()...); err != nil {
		s.out.HBM = driver.Absent(s.why(err))
		s.out.HBMTemperature = s.out.HBM
		return
	}
	s.out.HBMTemperature = valid(f, 1, coldest, info.celsius)
	s.out.HBM = driver.Absent(f.name + ": the device tells no size")
	if info.size > 0 {
		s.out.HBM = driver.Known(min(float64(info.used)/float64(info.size), 1))
	}
}

func (s *reading) utilization() {
	s.out.HBMBandwidth = s.share(utilHBMBandwidth)
	s.out.Memory = s.share(utilMemory)
	s.out.Cores = s.share(utilCores) // the library answers 0 while a profiler runs
	s.out.Vector = s.share(utilVector)
}

// eccInfo is struct dcmi_ecc_info.
type eccInfo struct {
	enabled                  int32
	single, double           uint32 // since the system was started
	totalSingle, totalDouble uint32
	_                        uint32 // pages isolated after single errors: reserved, always 0
	doublePages              uint32 // and after double ones
}

func (s *reading) ecc() {
	var info eccInfo
	err := ask(s.l, &s.l.eccInfo, &info, append(s.c.ids(), eccHBM)...)
	var e *callError
	if errors.As(err, &e) && e.code == notSupported {
		err = ask(s.l, &s.l.eccInfo, &info, append(s.c.ids(), eccDDR)...)
	}
	o := &s.out
	to := []*driver.Reading{&o.SingleBit, &o.DoubleBit, &o.TotalSingleBit, &o.TotalDoubleBit, &o.IsolatedPages}
	for i, n := range []uint32{info.single, info.double, info.totalSingle, info.totalDouble, info.doublePages} {
		switch {
		case err != nil:
			*to[i] = driver.Absent(s.why(err))
		case info.enabled == 0:
			*to[i] = driver.Absent("detection of memory errors is switched off")
		default:
			*to[i] = driver.Known(float64(n))
		}
	}
}

func (s *reading) health() {
	var v uint32
	err := ask(s.l, &s.l.health, &v, s.c.ids()...)
	switch {
	case err != nil:
		s.out.HealthWhy = s.why(err)
	case v < uint32(len(healths)):
		s.out.Health = healths[v]
	case v == deviceGone:
		s.out.HealthWhy = "the driver says that the device does not exist (0xffffffff)"
	default:
		s.out.HealthWhy = fmt.Sprintf("%s: level %d is not known", s.l.health.name, v)
	}
}

// maxFaults is how many the library lists at most; faultBytes is what it wants for the words on one.
const (
	maxFaults  = 128
	faultBytes = 256
)

func (s *reading) faults() {
	list := new(struct {
		n     int32
		codes [maxFaults]uint32
	})
	var pin runtime.Pinner
	pin.Pin(list)
	defer pin.Unpin()
	err := s.l.call(&s.l.faults, append(s.c.ids(), uintptr(unsafe.Pointer(&list.n)), uintptr(unsafe.Pointer(&list.codes)), maxFaults)...)
	if err != nil {
		s.out.FaultsWhy = s.why(err)
		return
	}
	s.out.FaultsKnown = true
	for _, c := range list.codes[:min(max(list.n, 0), maxFaults)] {
		s.out.Faults = append(s.out.Faults, driver.SensorFault{Code: c, Text: s.faultText(c)})
	}
}

// faultText is what the library says of a fault, "" where it has no words.
func (s *reading) faultText(c uint32) string {
	text := new([faultBytes]byte)
	var pin runtime.Pinner
	pin.Pin(text)
	defer pin.Unpin()
	if s.l.call(&s.l.faultText, append(s.c.ids(), uintptr(c), uintptr(unsafe.Pointer(text)), faultBytes)...) != nil {
		return ""
	}
	return cString(text[:])
}
