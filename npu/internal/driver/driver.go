// Package driver is the contract between the executor and what runs its commands: the simulator,
// the vendor's runtime library, or nothing at all. Its calls are the vendor's, one method a call,
// with the vendor's return codes.
//
// Threading: every method is called from one thread, the executor's. The current context is a
// property of that thread, as in AscendCL. A driver never calls back into the executor, except
// through Command.Func and KernelSource.Run, which it calls where the work takes place.
//
// Errors are *Error values (or a bare Code). A method that returns an error has changed nothing,
// unless its comment says otherwise.
package driver

import "time"

// Handles are opaque and never zero. A driver must survive a stale or invented one with
// CodeInvalidHandle or the code in its contract. The executor never passes a closed one down.
type (
	Context uintptr
	Stream  uintptr // zero is the default stream of the current context
	Event   uintptr
	Kernel  uintptr
	Graph   uintptr
	Ptr     uint64 // address of device or host memory; zero is no memory
)

// Driver is what both backends share. Calls marked "needs a context" return CodeContextNull where
// the thread has no current context.
type Driver interface {
	// Init starts the runtime. A second call returns CodeRepeatInitialize, which is benign.
	Init() error
	// Finalize ends it. It succeeds without Init and with live objects, which stay usable; once
	// finalized, another call returns CodeRepeatFinalize until the next Init.
	Finalize() error

	// DeviceCount is the number of visible devices. It needs neither Init nor a context.
	DeviceCount() (int, error)
	// SetDevice retains device, creating its default context at first, and makes that context
	// current. CodeInvalidDevice where there is no such device. Each call counts.
	SetDevice(device int) error
	// ResetDevice undoes one SetDevice (all of them with force). When the count falls to zero it drops
	// the work of the default context, without waiting, and destroys its streams: what was running has
	// undefined results. Device memory is gone once no explicit context of the device is left either.
	// CodeDeviceNotSet where the count is zero already, CodeInvalidDevice where there is no such device.
	ResetDevice(device int, force bool) error
	// Device is the device of the current context. Needs a context.
	Device() (int, error)

	// CreateContext makes a context on device with its own default stream and makes it current.
	// CodeInvalidDevice where there is no such device. It does not count as SetDevice.
	CreateContext(device int) (Context, error)
	// DestroyContext drops the work of c, without waiting, and destroys its streams: what was running
	// has undefined results. Device memory survives. A
	// thread in which c is current has no context afterwards. CodeInvalidParam for zero,
	// CodeContextNull for a default context, one already destroyed, or no context at all.
	DestroyContext(c Context) error
	// SetCurrentContext makes c current, and its device with it. CodeInvalidParam for zero,
	// CodeRtParamInvalid for a context that is not live; the current one stays.
	SetCurrentContext(c Context) error
	// CurrentContext needs a context.
	CurrentContext() (Context, error)
	// SetContextOption sets an option of the current context. CodeInvalidParam for an option that
	// does not exist. Needs a context.
	SetContextOption(opt ContextOption, value int64) error
	// ContextOption reads it: CodeOptionNotSet where it was never set. Needs a context.
	ContextOption(opt ContextOption) (int64, error)

	// CreateStream makes a stream in the current context. CodeResourceStream where the device has
	// no more. Needs a context.
	CreateStream(cfg StreamConfig) (Stream, error)
	// DestroyStream waits for the work of s, or drops what has not started with force.
	// CodeInvalidParam for zero, CodeInvalidHandle for a stream that is not live, CodeStreamContext
	// for one of another context.
	DestroyStream(s Stream, force bool) error
	// SetStreamFailureMode sets what a failed command does to the whole context of s. Back from
	// stop to continue on the same stream: CodeNotSupported; continue on another one changes nothing.
	SetStreamFailureMode(s Stream, m FailureMode) error
	// QueryStream reports whether all work of s is done, never blocks for long and never reports
	// faults: of a stream whose context has stopped it is true. After a failed command it may be false
	// for a while longer than there is work. s may belong to any context.
	QueryStream(s Stream) (done bool, err error)
	// SynchronizeStream waits until the work queued on s before the call is done, and returns the
	// first fault of it, once, and then, in a context that has stopped on a failure, that failure, always. A negative
	// timeout waits forever, zero is CodeRtParamInvalid, and after a positive one CodeStreamSyncTimeout says that work
	// remains; it goes on. s may belong to any context, but the thread needs one.
	SynchronizeStream(s Stream, timeout time.Duration) error
	// SynchronizeDevice does the same for every stream of the current context.
	SynchronizeDevice(timeout time.Duration) error

	// CreateEvent makes an event in the current context. CodeResourceEvent where the device has no
	// more, CodeRtParamInvalid for flags that do not exist. Needs a context.
	CreateEvent(flags EventFlags) (Event, error)
	// DestroyEvent never waits and needs no context. CodeInvalidParam for zero.
	DestroyEvent(e Event) error
	// QueryEvent reports whether the work captured by the last record is done, as QueryStream does; it
	// may be false for a while longer for an event with EventTiming. Before any record it is true for an
	// event with flags and false for a legacy one.
	QueryEvent(e Event) (done bool, err error)
	// SynchronizeEvent waits for it, and returns what SynchronizeStream would of the stream of the record; timeout as
	// there, with CodeEventSyncTimeout. An event that was never recorded is no wait. One that was reached before a
	// failure stopped the context does not return that.
	SynchronizeEvent(e Event, timeout time.Duration) error
	// ElapsedTime is the time on the device between two records, negative where stop came first.
	// CodeInternal for an event never recorded, CodeEventNotComplete for one whose record is still
	// pending. An event without EventTiming has some time too, which means nothing.
	ElapsedTime(start, stop Event) (time.Duration, error)

	// Malloc takes size bytes of the current device, contents undefined. CodeInvalidParam for zero,
	// CodeMemoryAllocation where that much is not free. Needs a context.
	Malloc(size int64, policy MemPolicy) (Ptr, error)
	// Free does not wait for queued work and needs no context. CodeInvalidParam for zero,
	// CodeRtParamInvalid for what is no allocation. The address of a host allocation is accepted
	// and ignored.
	Free(p Ptr) error
	// MallocHost takes size bytes of pinned host memory: the address is valid in this process until
	// FreeHost. CodeInvalidParam for zero. Needs a context.
	MallocHost(size int64) (Ptr, error)
	FreeHost(p Ptr) error
	// Memcpy copies at once and does not wait for queued work. Any host address is accepted; the
	// caller keeps its memory alive. Zero bytes succeed before any other check. CodeInvalidParam
	// for a zero address or a kind that does not exist, CodeRtParamInvalid where dstMax < size or a
	// range leaves its allocation. The direction follows the addresses where both are known,
	// whatever kind says. Needs a context.
	Memcpy(dst Ptr, dstMax int64, src Ptr, size int64, kind CopyKind) error
	// Memset writes size bytes of value at once. Checks as in Memcpy, but that it looks for a context
	// before dstMax. Both work in a context that has stopped on a failure.
	Memset(dst Ptr, dstMax int64, value byte, size int64) error

	// Enqueue queues c and returns before it is done; CodeQueueFull means that it was not queued
	// and can be tried again once time has passed. c and c.Args are the caller's again on return.
	// Needs a context. CodeInvalidHandle for a stream, event or kernel that is not live,
	// CodeStreamContext for a stream that is not of the current context (not zero), CodeModelContext
	// for a graph or model of another one. In a context that has stopped on a failure, that failure, once
	// somebody has waited; until then c is skipped.
	Enqueue(c *Command) error
}

// CodeQueueFull is returned by Enqueue alone, to the executor alone: the stream's queue is full.
const CodeQueueFull Code = -1

// Clock is implemented by a driver with a time of its own.
type Clock interface {
	// Now is the driver's time since Open.
	Now() time.Duration
	// Next is the time of the next thing that will happen; false where nothing is left to happen.
	Next() (time.Duration, bool)
	// Advance moves time to the next thing that happens and lets it happen, if that is not beyond
	// limit (negative: no limit). Otherwise it moves time to limit, where that lies ahead, and
	// reports false.
	Advance(limit time.Duration) bool
	// Changes counts up whenever a wait that was not over may be: a stream or a record is done, or a
	// stream or event is gone.
	Changes() uint64
	// Untimed calls fn, in which host calls take no time.
	Untimed(fn func())
}

// Prober is implemented by a driver that can describe its devices.
type Prober interface {
	// DeviceInfo describes a device; CodeInvalidDevice where there is none. Needs no context.
	DeviceInfo(device int) (DeviceInfo, error)
	// MemInfo is free and total memory of the current device in bytes. Needs a context.
	MemInfo() (free, total int64, err error)
	// StreamsFree is how many streams can still be made on the current device. Needs a context.
	StreamsFree() (int, error)
	// Utilization is how busy the device was since the last call for it. Needs no context.
	Utilization(device int) (Utilization, error)
	// StreamID is the number of s in its device. Needs a context.
	StreamID(s Stream) (int, error)
}

// Numberer is implemented by a driver whose devices have other numbers besides.
type Numberer interface {
	// DeviceIDs are the numbers of a visible device.
	DeviceIDs(user int) DeviceIDs
}

// DeviceIDs are the numbers of one device; -1: the driver does not tell.
type DeviceIDs struct {
	User     int // among the visible devices: what every call takes
	Logical  int // in this system or container
	Physical int // in the server
}

// Loader is implemented by a driver that can launch kernels.
type Loader interface {
	// LoadKernel makes the kernel usable in the current device: CodeRtParamInvalid for an unknown
	// name or a missing file. Needs a context.
	LoadKernel(src KernelSource) (Kernel, error)
	// UnloadKernel forgets it; queued launches of it still run.
	UnloadKernel(k Kernel) error
}

// Capturer is implemented by a driver that can record commands as a graph and replay them
// (OpReplay). A stream that captures records what is enqueued on it instead of running it. A wait in
// another stream for an event recorded there draws that stream into the capture; it must be joined
// back by an event before the end. Queries and waits of the host on such streams are refused with
// CodeStreamCaptured, on their events with CodeEventCaptured, replays with CodeStreamCaptured, blocking
// copies with CodeCaptureMode, queued ones with pageable memory with CodeCaptureAsync, a default stream
// that waits for their events with CodeCaptureImplicit and a wait in a capture for an event of elsewhere
// with CodeCaptureDependency, all without harm; another command that cannot be recorded spoils the
// capture. A record outside makes an ordinary event of one of theirs, but for the host, which is refused
// until the capture ends. Replays of one graph run one after the other, in the context where it was recorded.
// After a failed command of a replay the rest of it runs; where the failure stops the context, none of it does. In a
// context that has stopped, and once somebody has waited, captures neither begin nor record nor end with a graph, and no
// graph changes: all of that returns the failure.
type Capturer interface {
	// BeginCapture starts a capture with s as its origin: CodeCaptureImplicit for a default stream,
	// CodeStreamCaptured for one that captures already.
	BeginCapture(s Stream) error
	// EndCapture ends the capture of origin s: CodeStreamNotCaptured for a stream that captures
	// nothing, CodeCaptureUnmatched for one that is not the origin. CodeStreamUnjoined and
	// CodeCaptureInvalid end it too, without a graph.
	EndCapture(s Stream) (Graph, error)
	// UpdateGraph gives the launch that was recorded as command node (from 0) new arguments, for
	// replays that are enqueued later.
	UpdateGraph(g Graph, node int, args []uint64) error
	// DestroyGraph forgets g: replays that are queued still run.
	DestroyGraph(g Graph) error
}

// Peers is implemented by a driver whose devices can reach each other's memory.
type Peers interface {
	// CanAccessPeer reports whether device can reach the memory of peer. CodeInvalidParam where the
	// two are one.
	CanAccessPeer(device, peer int) (bool, error)
	// EnablePeerAccess lets the current device reach the memory of peer, one way. flags must be
	// zero (CodePeerFlags). Needs a context.
	EnablePeerAccess(peer int, flags uint32) error
	DisablePeerAccess(peer int) error
	// PeerAccess reports whether device may reach the memory of peer now.
	PeerAccess(device, peer int) (bool, error)
}

// Watcher is implemented by a driver that tells of every command that fails.
type Watcher interface {
	// OnException has fn called with each one (aclrtExceptionInfoCallbackRegister), in their order, on
	// the thread where the failure is found and before a wait for the command ends. fn must not call
	// the driver. It takes the place of an earlier one; nil ends it.
	OnException(fn func(Exception))
}

// Exception is a queued command that failed. A command of a graph counts by the stream of its replay.
type Exception struct {
	Context Context
	Stream  Stream // zero: the default stream of Context
	Fault   *Error // with Op and Site of the command; it changes as later commands run
}

// Threads is implemented by a driver that can stand in for several host threads.
type Threads interface {
	// OnNewThread runs fn as a new host thread would: without a current context. The context of the
	// calling thread is as it was afterwards, unless fn destroyed it.
	OnNewThread(fn func())
}

// Stopper is implemented by a driver that can break off work of its own. Stop may be called from any
// thread; work that was broken off leaves its results undefined.
type Stopper interface{ Stop() }

// Aborter is implemented by a driver that can break off what one stream does.
type Aborter interface {
	// AbortStream drops what is queued on s, and ends what runs: its results are undefined. A host function that runs is
	// waited for. The stream goes on with what is queued later, and waits report no fault of what was queued before; a
	// context that stopped on a failure stays so. What waits on other streams for an event that was dropped may wait
	// for ever. Zero is the default stream of the current context. CodeInvalidHandle for a stream that is not live,
	// CodeStreamContext for one of another context, CodeStreamCaptured for one that captures, CodeNotSupported where
	// the library or the device cannot. Needs a context.
	AbortStream(s Stream) error
}

// Namer is implemented by a driver that knows which functions of the vendor's library it stands for.
type Namer interface {
	// Has reports whether the function can be called.
	Has(symbol string) bool
}

// Busy is implemented by a driver whose calls may never return.
type Busy interface {
	// UnderWay names the function of the vendor's library that has not returned; "" where there is none, or where it is
	// one that only queues a command. It may be called from any thread.
	UnderWay() string
}

// Closer is implemented by a driver that holds memory or libraries of the process.
type Closer interface{ Close() error }

// ContextOption is an option of a context (aclSysParamOpt).
type ContextOption int

// The vendor's numbers.
const (
	OptionDeterministic     ContextOption = 0
	OptionDebugKernel       ContextOption = 1
	OptionStrongConsistency ContextOption = 2
)

// FailureMode says what follows a failed command (aclrtSetStreamFailureMode).
type FailureMode uint8

// The vendor's numbers.
const (
	ContinueOnFailure FailureMode = 0 // later commands still run
	StopOnFailure     FailureMode = 1 // nothing more runs in the context
)

// StreamConfig describes a new stream.
type StreamConfig struct {
	Priority int // 0 (highest) to 7; clamped
}

// EventFlags are the vendor's bits for events of the newer kind; zero is the legacy kind, which
// can be waited for, timed and reset.
type EventFlags uint32

// The flags in use.
const (
	EventLegacy EventFlags = 0
	EventSync   EventFlags = 1 // streams can wait for it
	EventTiming EventFlags = 8 // ElapsedTime works
)

// MemPolicy is the page policy of an allocation. Unknown values count as MemHugeFirst.
type MemPolicy int

// The vendor's numbers.
const (
	MemHugeFirst     MemPolicy = 0 // 2 MiB pages above 1 MiB, else 4 KiB
	MemHugeOnly      MemPolicy = 1
	MemNormalOnly    MemPolicy = 2
	MemHugeFirstP2P  MemPolicy = 3
	MemHugeOnlyP2P   MemPolicy = 4
	MemNormalOnlyP2P MemPolicy = 5
)

// CopyKind is the direction of a copy.
type CopyKind uint8

// The vendor's numbers.
const (
	HostToHost     CopyKind = 0
	HostToDevice   CopyKind = 1
	DeviceToHost   CopyKind = 2
	DeviceToDevice CopyKind = 3
	CopyDefault    CopyKind = 4 // from the addresses
)

// DeviceInfo describes a device. Figures are those of the part; zero is unknown.
type DeviceInfo struct {
	Name        string // SoC name, "Ascend910B3"
	Family      string // "910B"
	CubeCores   int
	VectorCores int
	Memory      int64 // bytes
	MaxStreams  int
	MaxEvents   int
	QueueDepth  int // commands that a stream holds
	Simulated   bool
}

// Utilization is shares of time, 0 to 1.
type Utilization struct {
	Cores  float64 // busy AI cores, averaged over all
	Copies float64 // busiest copy engine
	Memory float64 // share of device memory in use now
}
