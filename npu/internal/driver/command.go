package driver

import "fmt"

// Op is what a command does.
type Op uint8

// The operations. Fields of Command that an operation does not name are ignored by it.
const (
	OpNone       Op = iota
	OpCopy          // Dst, Src, Size, Kind
	OpFill          // Dst, Size, Value, Width: repeat the low Width bytes of Value
	OpLaunch        // Kernel, Blocks, Args
	OpRecord        // Event
	OpWait          // Event
	OpResetEvent    // Event
	OpHostFunc      // Func
	OpReplay        // Graph
	OpModel         // Model, Args, Value: the batch, 0 where the sizes are fixed
)

var opNames = [...]string{"none", "copy", "fill", "launch", "record", "wait", "reset", "callback", "replay", "run"}

// String is the operation's name as scripts write it.
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return fmt.Sprintf("op(%d)", uint8(o))
}

var opCalls = [...]string{"", "aclrtMemcpyAsync", "aclrtMemsetAsync", "aclrtLaunchKernelWithConfig",
	"aclrtRecordEvent", "aclrtStreamWaitEvent", "aclrtResetEvent", "aclrtLaunchHostFunc", "aclmdlRIExecuteAsync", "aclmdlExecuteAsync"}

// Call is the vendor's function for the operation.
func (o Op) Call() string {
	if int(o) < len(opCalls) {
		return opCalls[o]
	}
	return ""
}

// Command is one piece of stream-ordered work, as a plain value: filling one allocates nothing.
// The first fields share a cache line; most commands touch no other.
type Command struct {
	Op    Op
	Kind  CopyKind
	Width uint8 // bytes of a fill pattern: 1, 2, 4 or 8
	// Site is where the script issued the command; faults carry it.
	Site    Site
	Stream  Stream
	Context Context // owner of Stream; the executor makes it current first
	Dst     Ptr
	Src     Ptr
	Size    int64 // bytes
	Value   uint64

	Event  Event
	Kernel Kernel
	Graph  Graph
	Model  Model
	Blocks uint32 // block dim
	// Args are the words of a launch in signature order: two for a pointer parameter (address,
	// then length of the operand in bytes), one for a scalar (see dtype.Bits). Of a run of a model
	// they are two for each input, then for each output.
	Args []uint64
	// Func runs on the host when the stream reaches the command; later commands of the stream wait
	// for it. Its error is a fault of the stream. It must not call the driver.
	Func func() error
}
