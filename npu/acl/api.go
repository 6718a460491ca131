//go:build linux && (amd64 || arm64)

package acl

import "npulua/npu/internal/driver"

// function is a function of the library; address zero: this library has none of that name.
type function struct {
	address uintptr
	name    string
}

// api are the functions that the driver calls, in the order of driver.Symbols.
type api struct {
	init, finalize, recentErrMsg, getVersion, getRunMode, getSocName, versionStr function

	deviceCount, getDevice, setDevice, resetDevice, resetDeviceForce, deviceStatus, deviceInfo, utilization function
	memInfo, syncDevice, syncDeviceTimeout, logicID, physicalIDByLogic, physicalID                          function
	canAccessPeer, enablePeer, disablePeer, peerStatus                                                      function

	createContext, destroyContext, setContext, getContext, setOption, getOption function

	createStream, destroyStream, destroyStreamForce, setFailureMode, queryStream, syncStream, syncStreamTimeout, streamID function

	createEvent, createEventEx, createEventFlag, destroyEvent, record, reset, wait, queryEvent function
	syncEvent, syncEventTimeout, elapsed                                                       function

	malloc, free, mallocHost, freeHost, memcpy, memcpyAsync, memset, memsetAsync, memsetD32Async function

	loadBinary, getFunction, unloadBinary, launch, hostFunc, lastTask function
	onException, excTask, excStream, excDevice, excCode               function

	captureBegin, captureEnd, groupBegin, groupEnd, updateBegin, updateEnd, replay, destroyGraph function
}

// functions lists the fields with the names that they have in the library.
func (a *api) functions() []struct {
	f    *function
	name string
} {
	return []struct {
		f    *function
		name string
	}{
		{&a.init, "aclInit"}, {&a.finalize, "aclFinalize"}, {&a.recentErrMsg, "aclGetRecentErrMsg"}, {&a.getVersion, "aclrtGetVersion"},
		{&a.getRunMode, "aclrtGetRunMode"}, {&a.getSocName, "aclrtGetSocName"}, {&a.versionStr, "aclsysGetVersionStr"},

		{&a.deviceCount, "aclrtGetDeviceCount"}, {&a.getDevice, "aclrtGetDevice"}, {&a.setDevice, "aclrtSetDevice"}, {&a.resetDevice, "aclrtResetDevice"},
		{&a.resetDeviceForce, "aclrtResetDeviceForce"}, {&a.deviceStatus, "aclrtQueryDeviceStatus"}, {&a.deviceInfo, "aclrtGetDeviceInfo"},
		{&a.utilization, "aclrtGetDeviceUtilizationRate"}, {&a.memInfo, "aclrtGetMemInfo"}, {&a.syncDevice, "aclrtSynchronizeDevice"},
		{&a.syncDeviceTimeout, "aclrtSynchronizeDeviceWithTimeout"}, {&a.logicID, "aclrtGetLogicDevIdByUserDevId"},
		{&a.physicalIDByLogic, "aclrtGetPhyDevIdByLogicDevId"}, {&a.physicalID, "aclrtGetPhyDevIdByUserDevId"},
		{&a.canAccessPeer, "aclrtDeviceCanAccessPeer"}, {&a.enablePeer, "aclrtDeviceEnablePeerAccess"},
		{&a.disablePeer, "aclrtDeviceDisablePeerAccess"}, {&a.peerStatus, "aclrtDevicePeerAccessStatus"},

		{&a.createContext, "aclrtCreateContext"}, {&a.destroyContext, "aclrtDestroyContext"}, {&a.setContext, "aclrtSetCurrentContext"},
		{&a.getContext, "aclrtGetCurrentContext"}, {&a.setOption, "aclrtCtxSetSysParamOpt"}, {&a.getOption, "aclrtCtxGetSysParamOpt"},

		{&a.createStream, "aclrtCreateStreamWithConfig"}, {&a.destroyStream, "aclrtDestroyStream"},
		{&a.destroyStreamForce, "aclrtDestroyStreamForce"}, {&a.setFailureMode, "aclrtSetStreamFailureMode"},
		{&a.queryStream, "aclrtStreamQuery"}, {&a.syncStream, "aclrtSynchronizeStream"},
		{&a.syncStreamTimeout, "aclrtSynchronizeStreamWithTimeout"}, {&a.streamID, "aclrtStreamGetId"},

		{&a.createEvent, "aclrtCreateEvent"}, {&a.createEventEx, "aclrtCreateEventExWithFlag"}, {&a.createEventFlag, "aclrtCreateEventWithFlag"},
		{&a.destroyEvent, "aclrtDestroyEvent"}, {&a.record, "aclrtRecordEvent"}, {&a.reset, "aclrtResetEvent"}, {&a.wait, "aclrtStreamWaitEvent"},
		{&a.queryEvent, "aclrtQueryEventStatus"}, {&a.syncEvent, "aclrtSynchronizeEvent"},
		{&a.syncEventTimeout, "aclrtSynchronizeEventWithTimeout"}, {&a.elapsed, "aclrtEventElapsedTime"},

		{&a.malloc, "aclrtMalloc"}, {&a.free, "aclrtFree"}, {&a.mallocHost, "aclrtMallocHost"}, {&a.freeHost, "aclrtFreeHost"},
		{&a.memcpy, "aclrtMemcpy"}, {&a.memcpyAsync, "aclrtMemcpyAsync"}, {&a.memset, "aclrtMemset"}, {&a.memsetAsync, "aclrtMemsetAsync"},
		{&a.memsetD32Async, "aclrtMemsetD32Async"},

		{&a.loadBinary, "aclrtBinaryLoadFromFile"}, {&a.getFunction, "aclrtBinaryGetFunction"}, {&a.unloadBinary, "aclrtBinaryUnLoad"},
		{&a.launch, "aclrtLaunchKernelWithHostArgs"}, {&a.hostFunc, "aclrtLaunchHostFunc"}, {&a.lastTask, "aclrtGetThreadLastTaskId"},
		{&a.onException, "aclrtSetExceptionInfoCallback"}, {&a.excTask, "aclrtGetTaskIdFromExceptionInfo"},
		{&a.excStream, "aclrtGetStreamIdFromExceptionInfo"}, {&a.excDevice, "aclrtGetDeviceIdFromExceptionInfo"},
		{&a.excCode, "aclrtGetErrorCodeFromExceptionInfo"},

		{&a.captureBegin, "aclmdlRICaptureBegin"}, {&a.captureEnd, "aclmdlRICaptureEnd"}, {&a.groupBegin, "aclmdlRICaptureTaskGrpBegin"},
		{&a.groupEnd, "aclmdlRICaptureTaskGrpEnd"}, {&a.updateBegin, "aclmdlRICaptureTaskUpdateBegin"},
		{&a.updateEnd, "aclmdlRICaptureTaskUpdateEnd"}, {&a.replay, "aclmdlRIExecuteAsync"}, {&a.destroyGraph, "aclmdlRIDestroy"},
	}
}

// bind looks every function up, and returns the names of those that every release should have and this library
// has not.
func (a *api) bind(lookup func(name string) uintptr) (missing []string) {
	for _, x := range a.functions() {
		x.f.name, x.f.address = x.name, lookup(x.name)
		if since, _ := driver.Since(x.name); since == "" && x.f.address == 0 {
			missing = append(missing, x.name)
		}
	}
	return missing
}
