package sim

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

//go:embed profiles/*.json
var profileFiles embed.FS

// Profile is the part that a simulated device stands for. Every figure is per device.
type Profile struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases"`
	SoC     string   `json:"soc"`
	Family  string   `json:"family"`

	SplitCores          bool    `json:"split_cores"` // cube and vector cores apart; otherwise cube_cores serve both
	CubeCores           int     `json:"cube_cores"`
	VectorCores         int     `json:"vector_cores"`
	ClockMHz            float64 `json:"clock_mhz"`
	CubeFlopsPerClock   float64 `json:"cube_flops_per_clock"`   // float16, one core
	VectorFlopsPerClock float64 `json:"vector_flops_per_clock"` // float16, one core
	CoreBytesPerClock   float64 `json:"core_bytes_per_clock"`   // memory bytes that one core can ask for

	MemoryBytes int64   `json:"memory_bytes"`
	MemoryGBps  float64 `json:"memory_gb_per_s"`
	H2DGBps     float64 `json:"h2d_gb_per_s"` // pinned
	D2HGBps     float64 `json:"d2h_gb_per_s"`
	PeerGBps    float64 `json:"peer_gb_per_s"`

	PeerNeedsEnable bool `json:"peer_needs_enable"`
	MaxDevices      int  `json:"max_devices"`
	Streams         int  `json:"streams"` // default streams included
	Events          int  `json:"events"`
	QueueDepth      int  `json:"queue_depth"` // commands that one stream holds

	Sensors *Thermal `json:"sensors"` // nil: it has no temperature and no power

	Sources map[string]string `json:"sources"` // where the figures are from
}

// ParseSpec reads "910b", "310p:4" or "my.json:2": a profile and a number of devices (1 where none
// is given).
func ParseSpec(spec string) (*Profile, int, error) {
	name, count := spec, 1
	if i := strings.LastIndexByte(spec, ':'); i >= 0 {
		n, err := strconv.Atoi(spec[i+1:])
		if err != nil || n < 0 {
			return nil, 0, fmt.Errorf("profile %q: the number of devices must be a whole number", spec)
		}
		name, count = spec[:i], n
	}
	p, err := findProfile(name)
	if err != nil {
		return nil, 0, err
	}
	if count > p.MaxDevices {
		return nil, 0, fmt.Errorf("profile %q: %d devices, at most %d", spec, count, p.MaxDevices)
	}
	return p, count, nil
}

// Profiles lists the built-in profiles by name.
func Profiles() []*Profile {
	entries, err := profileFiles.ReadDir("profiles")
	if err != nil {
		panic(err)
	}
	var out []*Profile
	for _, e := range entries {
		data, err := profileFiles.ReadFile("profiles/" + e.Name())
		if err != nil {
			panic(err)
		}
		p, err := parseProfile(data)
		if err != nil {
			panic("sim: " + e.Name() + ": " + err.Error())
		}
		out = append(out, p)
	}
	return out
}

func findProfile(name string) (*Profile, error) {
	var known []string
	for _, p := range Profiles() {
		if p.Name == strings.ToLower(name) || slices.Contains(p.Aliases, strings.ToLower(name)) {
			return p, nil
		}
		known = append(known, p.Name)
	}
	if !strings.HasSuffix(name, ".json") {
		return nil, fmt.Errorf("unknown profile %q: want %s, or a file that ends in .json", name, strings.Join(known, ", "))
	}
	data, err := os.ReadFile(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("profile file %q does not exist", name)
		}
		return nil, fmt.Errorf("profile file: %w", err)
	}
	p, err := parseProfile(data)
	if err != nil {
		return nil, fmt.Errorf("profile file %q: %w", name, err)
	}
	return p, nil
}

func parseProfile(data []byte) (*Profile, error) {
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	p := new(Profile)
	if err := dec.Decode(p); err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, errors.New("there is more after the profile")
	}
	for _, f := range []struct {
		name string
		v    float64
	}{
		{"cube_cores", float64(p.CubeCores)}, {"vector_cores", float64(p.VectorCores)},
		{"clock_mhz", p.ClockMHz}, {"cube_flops_per_clock", p.CubeFlopsPerClock},
		{"vector_flops_per_clock", p.VectorFlopsPerClock}, {"core_bytes_per_clock", p.CoreBytesPerClock},
		{"memory_bytes", float64(p.MemoryBytes)}, {"memory_gb_per_s", p.MemoryGBps},
		{"h2d_gb_per_s", p.H2DGBps}, {"d2h_gb_per_s", p.D2HGBps}, {"peer_gb_per_s", p.PeerGBps},
		{"max_devices", float64(p.MaxDevices)}, {"streams", float64(p.Streams)},
		{"events", float64(p.Events)}, {"queue_depth", float64(p.QueueDepth)},
	} {
		if !(f.v > 0) {
			return nil, fmt.Errorf("%s must be greater than 0, got %v", f.name, f.v)
		}
	}
	if p.Sensors != nil {
		if name, why := p.Sensors.check(); name != "" {
			return nil, fmt.Errorf("sensors: %s %s", name, why)
		}
	}
	if p.MaxDevices > maxDevices {
		return nil, fmt.Errorf("max_devices is %d, at most %d", p.MaxDevices, maxDevices)
	}
	if p.SoC == "" || p.Name == "" {
		return nil, errors.New("name and soc must be set")
	}
	return p, nil
}
