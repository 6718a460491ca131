package doctor

// Schema is the version of Report as JSON: it grows when a key changes its meaning or goes away.
const Schema = 1

// Report is what was found. Its JSON form is described in docs/doctor.md. Times are seconds, sizes bytes.
type Report struct {
	Schema      int            `json:"schema"`
	Program     Program        `json:"program"`
	Usable      bool           `json:"usable"` // hardware, or the simulator that was asked for: the exit status says the same
	Backend     Backend        `json:"backend"`
	Simulator   []Figures      `json:"simulator,omitempty"` // where its figures are from; only where it was asked for
	Library     *Library       `json:"library,omitempty"`   // nil where the simulator was asked for, as the driver and what follows it
	Driver      *Driver        `json:"driver,omitempty"`
	Sensors     *SensorLibrary `json:"sensors,omitempty"`
	Environment []Variable     `json:"environment"`
	Visible     *Visible       `json:"visible_devices,omitempty"`
	Container   *Container     `json:"container,omitempty"`
	Devices     []Device       `json:"devices"`
	Findings    []Finding      `json:"findings"`
}

// Program is this one.
type Program struct {
	Version string `json:"version"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// Backend is what runs a script's commands.
type Backend struct {
	Asked     string `json:"asked"`     // "auto", "acl", "sim"
	Name      string `json:"name"`      // what a script gets: "acl", "sim", "" where it cannot start
	Simulated bool   `json:"simulated"` // figures and timing are modelled
	Detail    string `json:"detail"`    // what is driven
	Why       string `json:"why"`
	Error     string `json:"error,omitempty"` // why no hardware is driven, every line of it
	Code      int    `json:"code,omitempty"`  // the vendor's, of that error
}

// Figures are names in a profile, and where their values are from.
type Figures struct {
	Names  string `json:"names"`
	Source string `json:"source"`
}

// Library is the vendor's runtime library.
type Library struct {
	Path     string    `json:"path"` // "": none was loaded
	Places   []Place   `json:"places"`
	Files    []string  `json:"files"`
	Versions []Version `json:"versions"`
	Symbols  []Symbol  `json:"symbols"`
}

// Place is where the library was looked for.
type Place struct {
	Path    string `json:"path"`
	From    string `json:"from,omitempty"` // the variable that names the place
	Problem string `json:"problem,omitempty"`
}

// Version is the version of a part.
type Version struct {
	Part    string `json:"part"`
	Version string `json:"version"`
}

// Symbol is a function that is made use of.
type Symbol struct {
	Name    string `json:"name"`
	Since   string `json:"since,omitempty"` // release of CANN; "": every one
	Present bool   `json:"present"`
}

// SensorLibrary is the driver's library libdcmi, which is optional.
type SensorLibrary struct {
	Path      string   `json:"path"` // "": none was loaded
	Version   string   `json:"version"`
	Error     string   `json:"error,omitempty"` // why it cannot be used
	Places    []Place  `json:"places"`
	Functions []Symbol `json:"functions"`
}

// Driver is what the kernel driver shows of itself.
type Driver struct {
	Version     string `json:"version"` // "" where no file tells
	VersionFile string `json:"version_file"`
	NPUSMI      string `json:"npu_smi"` // path, "" where it is not found
	Nodes       []Node `json:"nodes"`
}

// Node is a device file.
type Node struct {
	Path       string `json:"path"`
	Present    bool   `json:"present"`
	Accessible bool   `json:"accessible"` // this user may read and write it
}

// Variable is an environment variable that is in force.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Visible is ASCEND_RT_VISIBLE_DEVICES as the runtime reads it.
type Visible struct {
	Value string `json:"value"`
	IDs   []int  `json:"ids"` // logical ids that are left, in the order of user ids
}

// Container tells whether this is one.
type Container struct {
	Inside bool   `json:"inside"`
	Sign   string `json:"sign,omitempty"` // what shows it
}

// Device is a visible device, and how it did in the self-test.
type Device struct {
	User     int            `json:"user"`
	Logical  int            `json:"logical"`  // -1: not told
	Physical int            `json:"physical"` // -1: not told
	Name     string         `json:"name"`
	Memory   int64          `json:"memory_bytes"`
	State    string         `json:"state"` // "passed", "failed", "hung", "not tested"
	Steps    []Step         `json:"steps"`
	Sensors  map[string]any `json:"sensors,omitempty"` // as dev:sensors returns it; nil: not read
}

// States of a device, and of a step.
const (
	Passed    = "passed"
	Failed    = "failed"
	Hung      = "hung"
	NotTested = "not tested"
	Skipped   = "skipped" // a step that this installation has no means for
)

// Step is one step of a self-test.
type Step struct {
	Name    string  `json:"name"`
	State   string  `json:"state"`
	Seconds float64 `json:"seconds"` // of the backend's clock
	Detail  string  `json:"detail,omitempty"`
}

// Finding is one line of the report.
type Finding struct {
	Section string `json:"section"`
	Level   Level  `json:"level"`
	Text    string `json:"text"`
	Remedy  string `json:"remedy,omitempty"` // of a warning or a failure: what to do
}

// Level says how bad a finding is.
type Level string

// The levels.
const (
	Note Level = "note"
	OK   Level = "ok"
	Warn Level = "warn"
	Fail Level = "fail"
)
