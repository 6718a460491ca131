package luabind

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

// errorObject is an error as scripts see it: a table with what is known, whose tostring is one
// readable paragraph. here is the place of the call that raises it, op its name.
func (in *Interp) errorObject(e *npu.Error, op, here string) *lua.LTable {
	t := in.L.NewTable()
	t.Metatable = in.errorMeta
	set := func(key, s string) {
		if s != "" {
			t.RawSetString(key, lua.LString(s))
		}
	}
	where := here
	if fault := in.sites.text(e.Site); fault != "" && fault != here {
		// It is the work of an earlier command that failed.
		set("raised_at", here)
		set("raised_by", op)
		where = fault
	} else if e.Fault != 0 && e.Site == 0 && !npu.IsDeadlock(e) { // of a command that the driver cannot name
		set("raised_at", here)
		set("raised_by", op)
		where, op = "", "queued work"
	}
	if e.Op != "" {
		op = e.Op
	}
	message := e.Detail
	if message == "" {
		message = strings.ToLower(strings.TrimSuffix(e.Code.Meaning(), "."))
	}
	t.RawSetString("code", lua.LNumber(e.Code))
	set("name", e.Code.Name())
	call := e.Call
	if call == "" {
		call = vendorCalls[op]
	}
	set("call", call)
	set("op", op)
	set("message", message)
	set("hint", e.HintText())
	set("where", where)
	if e.Injected {
		t.RawSetString("injected", lua.LTrue)
	}
	if e.Host {
		t.RawSetString("host", lua.LTrue)
	}
	if len(e.Affected) > 0 {
		list := in.L.NewTable()
		seen := make(map[string]bool)
		for _, site := range e.Affected {
			if at := in.sites.text(site); at != "" && !seen[at] {
				seen[at] = true
				list.Append(lua.LString(at))
			}
		}
		t.RawSetString("affected", list)
	}
	if len(e.Report) > 0 {
		list := in.L.NewTable()
		for _, line := range e.Report {
			list.Append(lua.LString(line))
		}
		t.RawSetString("report", list)
	}
	var script *scriptError
	if errors.As(e.Cause, &script) {
		cause := script.value
		if script.in != in { // a worker's, which has ended
			cause = lua.LString(script.Error())
		}
		t.RawSetString("cause", cause)
	}
	return t
}

// vendorCalls are the C functions behind our calls, for errors that are found before they are called.
var vendorCalls = map[string]string{
	"device": "aclrtSetDevice", "reset": "aclrtResetDeviceForce", "memory": "aclrtGetMemInfo", "streams_free": "aclrtGetStreamAvailableNum", "utilization": "aclrtGetDeviceUtilizationRate",
	"can_access_peer": "aclrtDeviceCanAccessPeer", "enable_peer_access": "aclrtDeviceEnablePeerAccess", "disable_peer_access": "aclrtDeviceDisablePeerAccess",
	"create_context": "aclrtCreateContext", "set_current": "aclrtSetCurrentContext", "use": "aclrtSetCurrentContext",
	"set_option": "aclrtCtxSetSysParamOpt", "get_option": "aclrtCtxGetSysParamOpt",
	"create_stream": "aclrtCreateStreamWithConfig", "create_event": "aclrtCreateEventExWithFlag", "alloc": "aclrtMalloc", "host": "aclrtMallocHost",
	"copy": "aclrtMemcpyAsync", "fill": "aclrtMemsetAsync", "launch": "aclrtLaunchKernelWithConfig", "record": "aclrtRecordEvent",
	"wait": "aclrtStreamWaitEvent", "callback": "aclrtLaunchHostFunc", "synchronize": "aclrtSynchronizeStreamWithTimeout", "query": "aclrtStreamQuery",
	"capture": "aclmdlRICaptureBegin", "replay": "aclmdlRIExecuteAsync", "update": "aclmdlRICaptureTaskUpdateBegin",
	"elapsed": "aclrtEventElapsedTime", "upload": "aclrtMemcpy", "download": "aclrtMemcpy", "kernel": "aclrtBinaryGetFunction",
	"model": "aclmdlLoadFromFileWithMem", "run": "aclmdlExecuteAsync",
}

// errorMark is in the metatable of error objects alone.
const errorMark = "\x00npu error"

func isErrorObject(t *lua.LTable) bool {
	mt, ok := t.Metatable.(*lua.LTable)
	return ok && mt.RawGetString(errorMark) != lua.LNil
}

// errorText is the paragraph of an error object, and those of the errors that came with it.
func errorText(t *lua.LTable) string {
	text := errorParagraph(t)
	if list, ok := t.RawGetString("also").(*lua.LTable); ok {
		var b strings.Builder
		b.WriteString(text)
		list.ForEach(func(_, v lua.LValue) {
			if other, ok := v.(*lua.LTable); ok {
				b.WriteString("\nalso: " + errorParagraph(other)) // scripts can make it one that came with itself
			}
		})
		text = b.String()
	}
	return text
}

func errorParagraph(t *lua.LTable) string {
	get := func(key string) string {
		if v := t.RawGetString(key); v != lua.LNil {
			return v.String()
		}
		return ""
	}
	var b strings.Builder
	if where := get("where"); where != "" {
		b.WriteString(where + ": ")
	}
	fmt.Fprintf(&b, "npu: %s: %s [%s]", cmp.Or(get("op"), get("call"), "runtime"), get("message"), strings.TrimSpace(get("code")+" "+get("name")))
	if at := get("raised_at"); at != "" {
		fmt.Fprintf(&b, "\n  raised by %s at %s", get("raised_by"), at)
	}
	if list, ok := t.RawGetString("affected").(*lua.LTable); ok && list.Len() > 0 {
		var lines []string
		list.ForEach(func(_, v lua.LValue) { lines = append(lines, v.String()) })
		b.WriteString("\n  affected, because it ran after: " + strings.Join(lines, ", "))
	}
	if list, ok := t.RawGetString("report").(*lua.LTable); ok {
		list.ForEach(func(_, v lua.LValue) { b.WriteString("\n  " + v.String()) })
	}
	if hint := get("hint"); hint != "" {
		b.WriteString("\n  hint: " + hint)
	}
	return b.String()
}

// errorObjects is the object of the first of joined errors, with those of the others in its field
// also.
func (in *Interp) errorObjects(err error, op, here string) *lua.LTable {
	var first *lua.LTable
	var also *lua.LTable
	for _, err := range flatten(err) {
		e, ok := err.(*npu.Error)
		if !ok {
			e = &npu.Error{Code: npu.ErrInternal, Detail: err.Error()}
		}
		t := in.errorObject(e, op, here)
		switch {
		case first == nil:
			first = t
		case also == nil:
			also = in.L.NewTable()
			first.RawSetString("also", also)
			fallthrough
		default:
			also.Append(t)
		}
	}
	return first
}

// flatten lists the errors that errors.Join put together, in order.
func flatten(err error) []error {
	if _, ok := err.(*npu.Error); ok {
		return []error{err}
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range j.Unwrap() {
			out = append(out, flatten(e)...)
		}
		return out
	}
	return []error{err}
}

// newErrorMeta makes the metatable of error objects.
func (in *Interp) newErrorMeta() *lua.LTable {
	mt := in.L.NewTable()
	mt.RawSetString(errorMark, lua.LTrue)
	mt.RawSetString("__metatable", lua.LString("npu.error"))
	mt.RawSetString("__tostring", in.L.NewFunction(func(L *lua.LState) int {
		text := "npu error"
		if t, ok := L.Get(1).(*lua.LTable); ok {
			text = errorText(t)
		}
		L.Push(lua.LString(text))
		return 1
	}))
	return mt
}
