package npu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/executor"
	"npulua/npu/internal/fault"
	"npulua/npu/internal/span"
)

// Options of Open. The zero value takes hardware where there is some, else the simulator.
type Options struct {
	Backend  string      // "auto" (or ""), "sim", "acl", "null"
	Sim      string      // profile and number of devices, "910b", "310p:4", "my.json:2"; "": 910b
	Wall     bool        // pace the simulator in real time
	Blocking bool        // wait after every queued command, so that its error is raised at the call
	Faults   []FaultRule // to rehearse, on the simulator, which they choose as hardware has none
	// History has the method of that name tell of streams that were closed, too: of the last ones.
	History bool
	// Memory is asked before memory of the host is taken; nil: nobody is.
	Memory HostMemory
	// Guarded, for tests, has memory end at pages that cannot be touched, and has nothing lie where memory was given
	// back, so that every misuse ends the process.
	Guarded bool
	// Held is called after a call of the driver that held its caller for long, on that one's goroutine; nil: nothing is.
	// A signal that came meanwhile may have ended the call.
	Held func()
	// Where turns a Site into text for messages; nil: no places are known.
	Where func(Site) string
}

// HostMemory bounds what a session takes of the host's memory.
type HostMemory = driver.HostMemory

// memory is what is asked for host memory.
func (s *Session) memory() HostMemory {
	if s.opts.Memory == nil {
		return driver.Unbounded{}
	}
	return s.opts.Memory
}

// Session is one process's use of the runtime: the only way down to the executor.
type Session struct {
	info     Info
	opts     Options
	drv      driver.Driver
	exec     *executor.Executor
	main     *Thread
	prober   driver.Prober // nil where the backend cannot tell
	loader   driver.Loader
	peers    driver.Peers
	injector *fault.Injector // nil where the backend is not simulated
	count    int             // visible devices
	piece    int64           // bytes that one blocking call copies

	exceptions exceptions
	sensors    sensors
	host       hostRoom
	outside    outside
	unwatch    func() bool // stops watching the context of Open

	closings atomic.Uint64 // handles closed so far
	threads  atomic.Int64  // registered
	tasks    atomic.Int32  // that have not ended

	mu       sync.Mutex
	root     *resource
	live     map[string]int   // open handles by kind
	leaked   map[Leak]int     // found by garbage collection; Count is not set in the keys
	gone     []StreamCommands // of streams that were closed, where Options.History is set
	untold   []error          // faults for Close: the call that found them returned another error
	devices  map[int]*Device
	pins     map[*span.Block]pin // pinned memory that somebody holds
	channels int                 // made so far
	closing  bool
	ended    bool

	faults   []*Fault    // in force
	hangTold atomic.Bool // an error said that work hangs by a fault

	schedulers []*Scheduler // that have not ended
	hangs      []hang
	hungQueues []string
}

// Open starts a backend. When ctx is done, waits of the main thread end and queued commands are
// dropped. Close ends the session.
func Open(ctx context.Context, opts Options) (*Session, error) {
	if opts.Backend != "" && opts.Backend != "auto" {
		return open(ctx, opts, opts.Backend)
	}
	if len(opts.Faults) > 0 {
		return open(ctx, opts, "sim")
	}
	s, err := open(ctx, opts, "acl")
	if err == nil {
		return s, nil
	}
	if s, err2 := open(ctx, opts, "sim"); err2 == nil {
		s.info.Notice = strings.TrimSuffix(noHardware(err)+", using the simulator: "+s.info.Detail+"\n"+s.info.Notice, "\n")
		return s, nil
	} else {
		return nil, err2
	}
}

// open starts the backend of that name. Every call of the driver is made on the executor's thread.
func open(ctx context.Context, opts Options, backend string) (*Session, error) {
	if len(opts.Faults) > 0 && backend != "sim" {
		return nil, errorf(ErrInvalidParam, "%s", noRehearsal(backend))
	}
	d, info, err := openBackend(backend, opts)
	if err != nil {
		return nil, err
	}
	s := &Session{
		info: info, opts: opts, drv: d, live: make(map[string]int), devices: make(map[int]*Device), leaked: make(map[Leak]int),
		pins: make(map[*span.Block]pin),
		root: &resource{kind: "session"},
	}
	s.root.session = s
	s.prober, _ = d.(driver.Prober)
	s.loader, _ = d.(driver.Loader)
	s.peers, _ = d.(driver.Peers)
	s.injector, _ = d.(*fault.Injector)
	s.piece = copyPiece
	if _, ok := d.(driver.Clock); ok { // which nothing holds up
		s.piece = math.MaxInt64
	}
	s.exec = executor.New(d, executor.Options{Wall: opts.Wall, Held: opts.Held})
	s.openOutside()
	s.main = s.NewThread(ctx)
	err = s.main.call(0, func(d driver.Driver) error { return s.begin(d) })
	for _, r := range opts.Faults {
		if err == nil {
			err = s.injectFirst(r)
		}
	}
	if err != nil {
		s.main.c.Close()
		s.exec.Close()
		return nil, err
	}
	s.unwatch = context.AfterFunc(ctx, s.exec.Abort)
	return s, nil
}

// begin starts the runtime and finds its devices.
func (s *Session) begin(d driver.Driver) (err error) {
	if err := d.Init(); err != nil && !errors.Is(err, driver.CodeRepeatInitialize) {
		return err
	}
	if s.count, err = d.DeviceCount(); err != nil {
		return err
	}
	if x, ok := d.(describer); ok {
		s.info.Detail, err = x.Describe(s.count)
	}
	s.info.visible = unseen(s.info.visible, s.count)
	s.info.Notice = s.info.visible.Warnings()
	return err
}

// Main is the thread of the goroutine that opened the session.
func (s *Session) Main() *Thread { return s.main }

// Info tells what runs the commands.
func (s *Session) Info() Info { return s.info }

// SimSpec is what Options.Sim would have to be for a session like this one in this environment, "910b:4".
func (s *Session) SimSpec() string {
	profile := cmp.Or(s.opts.Sim, defaultSim)
	if i := strings.LastIndexByte(profile, ':'); i >= 0 {
		profile = profile[:i]
	}
	return fmt.Sprintf("%s:%d", profile, s.info.system)
}

// DeviceCount is the number of visible devices.
func (s *Session) DeviceCount() int { return s.count }

// Symbols lists the functions of the vendor's runtime library that this module makes use of.
func Symbols() []string {
	var names []string
	for _, s := range driver.Symbols {
		names = append(names, s.Name)
	}
	return names
}

// Has reports whether a function of the vendor's runtime library, "aclmdlRICaptureBegin", can be called here. The
// simulator stands for all that this module makes use of. It asks the backend, and waits for the answer.
func (s *Session) Has(t *Thread, symbol string) (bool, error) {
	namer, ok := s.drv.(driver.Namer)
	if !ok {
		return false, need(s, namer, "tell its functions")
	}
	err := t.call(0, func(driver.Driver) error {
		ok = namer.Has(symbol)
		return nil
	})
	return ok, err
}

// Where is the text of a place, "" where it is not known.
func (s *Session) Where(site Site) string {
	if site == 0 || s.opts.Where == nil {
		return ""
	}
	return s.opts.Where(site)
}

// Close waits for all queued work, destroys what is left in reverse order of creation, resets the
// devices and ends the runtime. It returns the faults that nobody has been told. With force
// nothing is waited for: queued work is dropped, for a program that was interrupted. Only the
// goroutine of the main thread may call it, and the other threads should have ended: callbacks of theirs
// that have not run fail. Further calls do nothing.
func (s *Session) Close(force bool) error {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return nil
	}
	s.closing, s.ended = true, true
	s.root.ending.Store(true)
	s.mu.Unlock()
	s.unwatch()
	s.endOutside()
	t := s.main
	if t.task != nil {
		t.task.sch.over = true // what is left of its tasks does not run again
	}
	s.exec.Last(t.c)
	if g := t.recording; g != nil { // the program ended inside Capture
		t.recording = nil
		_ = g.end(t, s.drv.(driver.Capturer)) // nobody wants the graph
	}
	var err error
	if !force && s.rehearsesHangs(t) { // one wait for all work, instead of one for each handle that hung work uses
		told := s.hangTold.Load()
		err = s.synchronizeAll(t, s.root, -1, toClose)
		force = err != nil
		if told {
			err = unlessHangs(err)
		}
		err = errors.Join(append(s.untold, err)...)
		_ = s.root.closeChildren(t, force)
	} else if err = s.root.closeChildren(t, force); !force {
		err = errors.Join(append(s.untold, err)...)
	}
	s.unpinRest(t)
	if e := t.c.Call(0, func(d driver.Driver) error { return d.Finalize() }); err == nil {
		err = own(e)
	}
	t.c.Close()
	s.exec.Close()
	if c, ok := s.drv.(driver.Closer); ok {
		if e := c.Close(); err == nil {
			err = e
		}
	}
	return err
}

// Settle waits for all queued work, and returns the faults of it that nobody has been told.
func (s *Session) Settle(t *Thread) error {
	err := s.synchronizeAll(t, s.root, -1, toClose)
	if t.c.Err() != nil { // it says only that t was ended
		return nil
	}
	s.mu.Lock()
	untold := s.untold
	s.untold = nil
	s.mu.Unlock()
	return errors.Join(append(untold, err)...)
}

// closeChildren closes everything below the session and joins the errors.
func (r *resource) closeChildren(t *Thread, force bool) error {
	var errs []error
	if force {
		r.session.mu.Lock()
		workLast(r.children)
		r.session.mu.Unlock()
	}
	for {
		r.session.mu.Lock()
		n := len(r.children)
		if n == 0 {
			r.session.mu.Unlock()
			break
		}
		c := r.children[n-1]
		r.session.mu.Unlock()
		if err := c.close(t, "session", force); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Stats counts what passed through the executor, and what is open.
type Stats struct {
	executor.Stats
	Time time.Duration  // of the backend's clock
	Live map[string]int // open handles by kind, "stream": 2
}

// Stats reads the counters.
func (s *Session) Stats(t *Thread) (Stats, error) {
	var out Stats
	err := t.call(0, func(driver.Driver) error {
		out.Stats = s.exec.Stats()
		out.Time = s.exec.Now()
		return nil
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Live = make(map[string]int)
	for k, n := range s.live {
		if n > 0 {
			out.Live[k] = n
		}
	}
	return out, err
}

// need fails where the backend lacks an optional part.
func need[T comparable](s *Session, part T, what string) error {
	var none T
	if part == none {
		return errorf(ErrNotSupported, "the %s backend cannot %s", s.info.Name, what)
	}
	return nil
}

// String names the backend.
func (s *Session) String() string { return fmt.Sprintf("session(%s)", s.info.Name) }
