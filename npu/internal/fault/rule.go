// Package fault rehearses failures: an Injector wraps the simulator's driver and lets calls and queued work go
// wrong by rules. What no rule matches goes through unchanged.
//
// Which operation a rule hits is decided when the operation is issued, in the order in which the driver gets them,
// so that two runs of one program fail alike. A command that a graph records counts once, when it is recorded, and
// goes wrong in every replay.
package fault

import (
	"slices"
	"strings"
	"time"

	"npulua/npu/internal/driver"
)

// Rule is one fault: what goes wrong, with which operations. Make one with ParseSpec, FromFields or ParseScenario,
// which check it.
type Rule struct {
	Kind   Kind
	Op     Op
	Device int   // -1: every device
	Nth    int64 // the first operation that goes wrong, counting those that match from 1
	Count  int64 // how many do, in a row; 0: for ever

	Code      driver.Code   // of a Failure
	Delay     time.Duration // of a Delay: how much longer
	Factor    float64       // of Slow: the share of the bandwidth that is left
	Direction string        // of Slow: "h2d", "d2h", "d2d", "p2p"; "": all
	Bytes     int64         // of Wrong: how many
	Size      int64         // of OutOfMemory: allocations of that many bytes or more
	InUse     int64         // of OutOfMemory: those that would bring the device above that many bytes; 0: whatever is in use
	Single    bool          // of ECC: an error that was corrected
}

// Kind is what goes wrong.
type Kind uint8

// The kinds.
const (
	kindNone    Kind = iota
	Failure          // it fails with a code
	Hang             // it never ends
	Delay            // it takes longer
	Slow             // a copy has less bandwidth
	Lost             // from then on everything of the device fails
	Wrong            // some bytes of the result are not what they should be
	OutOfMemory      // an allocation fails
	ECC              // a memory error is found
	Leak             // memory is not given back, and nothing tells
)

// kindRow describes a kind.
type kindRow struct {
	kind  Kind
	name  string
	ops   []Op  // that it is for; any stands for all of them
	op    Op    // where the rule names none
	count int64 // where the rule names none
	text  string
}

var (
	queuedOps = []Op{OpCopy, OpFill, OpLaunch, OpRecord, OpWait, OpCallback, OpReplay, OpRun}
	dataOps   = []Op{OpCopy, OpFill, OpLaunch, OpRun}
)

var kindRows = []kindRow{
	{Failure, "code", nil, OpAny, 1, "it fails with `code`: codes from 500000 on, which the device finds, when the work runs; smaller ones, and those of calls that wait for an answer, at the call. It has changed nothing"},
	{Hang, "hang", queuedOps, OpAny, 1, "a queued command never ends, and what comes after it waits"},
	{Delay, "delay", nil, OpAny, 0, "it takes `seconds` more"},
	{Slow, "slow", []Op{OpCopy}, OpCopy, 0, "copies have `factor` times the bandwidth, of `direction` where one is given"},
	{Lost, "lost", nil, OpAny, 0, "from then on the device is lost: its queued work and calls fail with 507010, but those that give something back"},
	{Wrong, "wrong", dataOps, OpCopy, 1, "`bytes` of what it writes are inverted, and nothing tells"},
	{OutOfMemory, "oom", []Op{OpAlloc, OpHostAlloc}, OpAlloc, 0, "allocations of `size` bytes or more, or those that would bring the device above `in_use`, fail with 207001"},
	{ECC, "ecc", append(slices.Clone(dataOps), OpReplay), OpAny, 1, "a memory error is found: 507054, and counted; with `errors` = single it is corrected and only counted"},
	{Leak, "leak", []Op{OpFree}, OpFree, 0, "giving memory back succeeds, and the memory stays in use until the device is reset"},
}

func (k Kind) row() *kindRow {
	for i := range kindRows {
		if kindRows[i].kind == k {
			return &kindRows[i]
		}
	}
	return &kindRow{name: "none"}
}

// String is the name that rules have for the kind.
func (k Kind) String() string { return k.row().name }

// Op is an operation, by what scripts call it.
type Op uint8

// The operations.
const (
	OpAny Op = iota // all but OpQuery, which waits use as often as they like
	OpCopy
	OpFill
	OpLaunch
	OpRecord
	OpWait
	OpCallback
	OpReplay
	OpRun
	OpAlloc
	OpHostAlloc
	OpFree
	OpCreateStream
	OpCreateContext
	OpCreateEvent
	OpSetDevice
	OpSynchronize
	OpQuery
	OpModel
	OpKernel
)

// opRows are the operations in the order of their numbers.
var opRows = []struct{ name, text string }{
	{"any", "all of these but `query`"},
	{"copy", "queued and blocking copies"},
	{"fill", "queued and blocking fills"},
	{"launch", "launches, those of `npu.ops` too"},
	{"record", "records of events"},
	{"wait", "waits of streams for events"},
	{"callback", "callbacks"},
	{"replay", "replays of graphs"},
	{"run", "runs of models"},
	{"alloc", "device memory"},
	{"host_alloc", "pinned host memory"},
	{"free", "giving memory back"},
	{"create_stream", "new streams"},
	{"create_context", "new contexts"},
	{"create_event", "new events"},
	{"set_device", "opening a device"},
	{"synchronize", "ends of waits of the host"},
	{"query", "questions whether work is done; waits ask too, and how often is their own affair"},
	{"model", "loading a model"},
	{"kernel", "loading a kernel, at its first launch"},
}

// String is the name of the operation.
func (o Op) String() string { return opRows[o].name }

// commandOps are the operations of queued commands.
var commandOps = [...]Op{
	driver.OpCopy: OpCopy, driver.OpFill: OpFill, driver.OpLaunch: OpLaunch, driver.OpRecord: OpRecord, driver.OpWait: OpWait,
	driver.OpHostFunc: OpCallback, driver.OpReplay: OpReplay, driver.OpModel: OpRun,
}

// covers reports whether the rule is for operation op.
func (r *Rule) covers(op Op) bool {
	if r.Op != OpAny {
		return r.Op == op
	}
	ops := r.Kind.row().ops
	return op != OpQuery && (ops == nil || slices.Contains(ops, op))
}

// deferred is the smallest code that is found when work runs: those of the runtime and the device (507xxx), of
// models (545xxx) and of what went wrong inside. Below it are codes that a call returns.
const deferred = 500000

// String is the rule as ParseSpec reads it, without what is understood.
func (r *Rule) String() string {
	var parts []string
	if r.Kind != Failure {
		parts = append(parts, r.Kind.String())
	}
	for i := range fields {
		f := &fields[i]
		if f.get == nil || !f.isOf(r.Kind) {
			continue
		}
		if text := f.get(r); text != "" {
			parts = append(parts, f.name+"="+text)
		}
	}
	return strings.Join(parts, ",")
}
