package driver

import (
	"cmp"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Code is a return code of the runtime, with the vendor's number. It is an error itself, so that
// errors.Is(err, CodeContextNull) works on every error of this module.
type Code int32

// The codes that drivers and npu raise themselves; every other number keeps its value, and its
// name where errors.tsv has one.
const (
	OK                    Code = 0
	CodeInvalidParam      Code = 100000
	CodeUninitialized     Code = 100001
	CodeRepeatInitialize  Code = 100002
	CodeInvalidFile       Code = 100003
	CodeWriteFile         Code = 100004
	CodeParseFile         Code = 100006
	CodeModelInput        Code = 100017
	CodeModelOutput       Code = 100018
	CodeModelNotDynamic   Code = 100019
	CodeRepeatFinalize    Code = 100037
	CodeRtParamInvalid    Code = 107000
	CodeInvalidDevice     Code = 107001
	CodeContextNull       Code = 107002
	CodeStreamContext     Code = 107003
	CodeModelContext      Code = 107004
	CodeEventNotComplete  Code = 107006
	CodeInvalidHandle     Code = 107017
	CodeOptionNotSet      Code = 107021
	CodeCaptureDependency Code = 107024
	CodeStreamUnjoined    Code = 107025
	CodeStreamCaptured    Code = 107027
	CodeEventCaptured     Code = 107028
	CodeStreamNotCaptured Code = 107029
	CodeCaptureMode       Code = 107030
	CodeCaptureImplicit   Code = 107031
	CodeCaptureConflict   Code = 107032
	CodeCaptureUnmatched  Code = 107036
	CodeTaskAbort         Code = 107035
	CodeGraphRunning      Code = 107037
	CodeCaptureAsync      Code = 107041
	CodeModelPath         Code = 145002
	CodeModelID           Code = 145003
	CodeModelData         Code = 145006
	CodeBatchSize         Code = 145013
	CodePeerFlags         Code = 200006
	CodeNotSupported      Code = 207000
	CodeMemoryAllocation  Code = 207001
	CodeResourceStream    Code = 207005
	CodeResourceEvent     Code = 207007
	CodeInternal          Code = 507000
	CodeDeviceNotSet      Code = 507007
	CodeLostHeartbeat     Code = 507010
	CodeGraphFailed       Code = 507011
	CodeAICoreException   Code = 507015
	CodeAICoreTimeout     Code = 507014
	CodeVectorException   Code = 507035
	CodeStreamSyncTimeout Code = 507046
	CodeCaptureInvalid    Code = 507903
	CodeEventSyncTimeout  Code = 507047
	CodeMultiBitECC       Code = 507054
	CodeModelExecute      Code = 545000
	CodeInternalError     Code = 500000
)

//go:embed errors.tsv
var errorsTSV string

type codeRow struct{ name, meaning, hint string }

// codeRows reads errors.tsv once: columns code, name, meaning, hint.
var codeRows = sync.OnceValue(func() map[Code]codeRow {
	rows := make(map[Code]codeRow)
	for _, line := range strings.Split(strings.TrimSpace(errorsTSV), "\n")[1:] {
		f := strings.Split(line, "\t")
		n, err := strconv.Atoi(f[0])
		if err != nil || len(f) < 4 {
			panic("driver: errors.tsv: bad row " + strconv.Quote(line))
		}
		rows[Code(n)] = codeRow{f[1], f[2], f[3]}
	}
	return rows
})

// Codes lists every code that errors.tsv names, in no order.
func Codes() []Code {
	out := make([]Code, 0, len(codeRows()))
	for c := range codeRows() {
		out = append(out, c)
	}
	return out
}

// Name is the vendor's name ("ACL_ERROR_RT_CONTEXT_NULL"), or "" for a number no table names.
func (c Code) Name() string { return codeRows()[c].name }

// Meaning is one sentence on what the code says.
func (c Code) Meaning() string { return codeRows()[c].meaning }

// Hint is one sentence on what to do.
func (c Code) Hint() string { return codeRows()[c].hint }

// Error is the number with its name.
func (c Code) Error() string {
	if n := c.Name(); n != "" {
		return fmt.Sprintf("%d %s", int32(c), n)
	}
	return strconv.Itoa(int(c))
}

// Site stands for the place in a script that issued a command. It is opaque here: package luabind
// makes sites and turns them back into text. Zero is no place.
type Site uint32

// Error is a failure with everything a user needs. Only Code is always set.
type Error struct {
	Code     Code
	Call     string   // vendor function, "aclrtMalloc"
	Op       string   // script name of the call that raised it, "alloc"
	Detail   string   // what was got, wanted or exceeded; lower case, no full stop
	Hint     string   // what to do; "" means the hint of Code
	Site     Site     // where the failing command was issued, when that was an earlier call
	Cause    error    // what made it happen, where that was an error of its own: of a host function
	Fault    uint64   // number of the fault in this process, the same wherever it is told; 0: no fault of queued work
	Report   []string // for people: what waits for what, and the streams that have work left, a line each
	Affected []Site   // later commands of the same stream that ran after the failure, at most MaxAffected
	Injected bool     // it was asked for, to rehearse: nothing is broken
	NoAnswer bool     // of CodeNotSupported: what should answer is there, and does not
	Host     bool     // it is the host that has no room: this says nothing of a device
}

// MaxAffected bounds Error.Affected.
const MaxAffected = 8

// Affect adds the place of a later command to Affected, up to MaxAffected.
func (e *Error) Affect(site Site) {
	if len(e.Affected) < MaxAffected {
		e.Affected = append(e.Affected, site)
	}
}

// Errorf makes an *Error with a formatted detail.
func Errorf(code Code, call, format string, args ...any) *Error {
	return &Error{Code: code, Call: call, Detail: fmt.Sprintf(format, args...)}
}

// OfHost says of e, where it is CodeMemoryAllocation, that it is the host that has no memory.
func (e *Error) OfHost() *Error {
	if e.Code != CodeMemoryAllocation {
		return e
	}
	e.Host = true
	meaning := e.Code.sentence() // which speaks of the device
	if rest, ok := strings.CutPrefix(cmp.Or(e.Detail, meaning), meaning); ok {
		e.Detail = "host memory exhausted" + rest
	}
	return e
}

// Error is one line without position or report: "npu: alloc: detail [code NAME]".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("npu: ")
	if op := e.Op; op != "" {
		b.WriteString(op + ": ")
	} else if e.Call != "" {
		b.WriteString(e.Call + ": ")
	}
	detail := e.Detail
	if detail == "" {
		detail = e.Code.sentence()
	}
	b.WriteString(detail)
	b.WriteString(" [" + e.Code.Error() + "]")
	return b.String()
}

// sentence is Meaning as a detail: no capital, unless the first word is a name ("AI Core"), and no
// full stop.
func (c Code) sentence() string {
	s := strings.TrimSuffix(c.Meaning(), ".")
	if s == "" {
		return "failed"
	}
	word, _, _ := strings.Cut(s, " ")
	if rest := word[1:]; rest == strings.ToLower(rest) {
		s = strings.ToLower(word[:1]) + s[1:]
	}
	return s
}

// Unwrap returns the code, so that errors.Is compares codes, and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Cause}
}

// HintText is Hint, or the hint of the code where the error has none of its own.
func (e *Error) HintText() string {
	if e.Hint != "" {
		return e.Hint
	}
	return e.Code.Hint()
}
