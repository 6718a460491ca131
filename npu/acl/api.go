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

	createStream, destroyStream, destroyStreamForce, setFailureMode, queryStream, syncStream, syncStreamTimeout, streamID, streamsFree, abortStream function

	createEvent, createEventEx, createEventFlag, destroyEvent, record, reset, wait, queryEvent function
	syncEvent, syncEventTimeout, elapsed                                                       function

	malloc, free, mallocHost, freeHost, memcpy, memcpyAsync, memset, memsetAsync, memsetD32Async function

	loadBinary, getFunction, unloadBinary, launch, hostFunc, lastTask function
	onException, excTask, excStream, excDevice, excCode               function

	captureBegin, captureEnd, groupBegin, groupEnd, updateBegin, updateEnd, replay, destroyGraph function

	model modelAPI
}

// modelAPI are the functions for models. They are in a library of their own, which the rest can do without.
type modelAPI struct {
	querySize, load, unload, run, setBatch                                        function
	createDesc, destroyDesc, describe, inputs, outputs, batches                   function
	inputName, inputType, inputDims, inputSize                                    function
	outputName, outputType, outputDims, outputSize                                function
	createDataset, destroyDataset, add, createBuffer, destroyBuffer, changeBuffer function
}

// binding is a field with the name that it has in the library.
type binding struct {
	f    *function
	name string
}

// functions lists the fields, but for those of modelAPI.
func (a *api) functions() []binding {
	return []binding{
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
		{&a.syncStreamTimeout, "aclrtSynchronizeStreamWithTimeout"}, {&a.streamID, "aclrtStreamGetId"}, {&a.streamsFree, "aclrtGetStreamAvailableNum"},
		{&a.abortStream, "aclrtStreamAbort"},

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

func (a *modelAPI) functions() []binding {
	return []binding{
		{&a.querySize, "aclmdlQuerySize"}, {&a.load, "aclmdlLoadFromFileWithMem"}, {&a.unload, "aclmdlUnload"},
		{&a.run, "aclmdlExecuteAsync"}, {&a.setBatch, "aclmdlSetDynamicBatchSize"}, {&a.createDesc, "aclmdlCreateDesc"},
		{&a.destroyDesc, "aclmdlDestroyDesc"}, {&a.describe, "aclmdlGetDesc"}, {&a.inputs, "aclmdlGetNumInputs"},
		{&a.outputs, "aclmdlGetNumOutputs"}, {&a.batches, "aclmdlGetDynamicBatch"},
		{&a.inputName, "aclmdlGetInputNameByIndex"}, {&a.inputType, "aclmdlGetInputDataType"}, {&a.inputDims, "aclmdlGetInputDims"},
		{&a.inputSize, "aclmdlGetInputSizeByIndex"}, {&a.outputName, "aclmdlGetOutputNameByIndex"},
		{&a.outputType, "aclmdlGetOutputDataType"}, {&a.outputDims, "aclmdlGetOutputDims"}, {&a.outputSize, "aclmdlGetOutputSizeByIndex"},
		{&a.createDataset, "aclmdlCreateDataset"}, {&a.destroyDataset, "aclmdlDestroyDataset"}, {&a.add, "aclmdlAddDatasetBuffer"},
		{&a.createBuffer, "aclCreateDataBuffer"}, {&a.destroyBuffer, "aclDestroyDataBuffer"}, {&a.changeBuffer, "aclUpdateDataBuffer"},
	}
}

// bind looks every function up, and returns the names of those that every release should have and this library
// has not; models are left out of that.
func (a *api) bind(lookup func(name string) uintptr) (missing []string) {
	for _, x := range a.functions() {
		x.f.name, x.f.address = x.name, lookup(x.name)
		if since, _ := driver.Since(x.name); since == "" && x.f.address == 0 {
			missing = append(missing, x.name)
		}
	}
	for _, x := range a.model.functions() {
		x.f.name, x.f.address = x.name, lookup(x.name)
	}
	return missing
}
