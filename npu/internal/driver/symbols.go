package driver

// Symbol is a function of the vendor's libraries that this module can make use of.
type Symbol struct {
	Name  string
	Since string // CANN release in which it appeared first; "" where every release from 7.0 on has it
}

// Symbols are the functions of the runtime library in use, by subject. Those with a release are optional: a driver
// over a library without one answers CodeNotSupported where it would call it.
var Symbols = []Symbol{
	{"aclInit", ""}, {"aclFinalize", ""}, {"aclGetRecentErrMsg", ""}, {"aclrtGetVersion", ""},
	{"aclrtGetRunMode", ""}, {"aclrtGetSocName", ""}, {"aclsysGetVersionStr", "8.5"},

	{"aclrtGetDeviceCount", ""}, {"aclrtGetDevice", ""}, {"aclrtSetDevice", ""}, {"aclrtResetDevice", ""}, {"aclrtResetDeviceForce", "8.5"},
	{"aclrtQueryDeviceStatus", "8.5"}, {"aclrtGetDeviceInfo", "8.5"}, {"aclrtGetDeviceUtilizationRate", ""},
	{"aclrtGetMemInfo", ""}, {"aclrtSynchronizeDevice", ""}, {"aclrtSynchronizeDeviceWithTimeout", "8.5"},
	{"aclrtGetLogicDevIdByUserDevId", "8.5"}, {"aclrtGetPhyDevIdByLogicDevId", "8.5"}, {"aclrtGetPhyDevIdByUserDevId", "9.1"},
	{"aclrtDeviceCanAccessPeer", ""}, {"aclrtDeviceEnablePeerAccess", ""}, {"aclrtDeviceDisablePeerAccess", ""},
	{"aclrtDevicePeerAccessStatus", "8.5"},

	{"aclrtCreateContext", ""}, {"aclrtDestroyContext", ""}, {"aclrtSetCurrentContext", ""}, {"aclrtGetCurrentContext", ""},
	{"aclrtCtxSetSysParamOpt", ""}, {"aclrtCtxGetSysParamOpt", "8.5"},

	{"aclrtCreateStreamWithConfig", ""}, {"aclrtDestroyStream", ""}, {"aclrtDestroyStreamForce", ""},
	{"aclrtSetStreamFailureMode", ""}, {"aclrtStreamQuery", ""}, {"aclrtSynchronizeStream", ""},
	{"aclrtSynchronizeStreamWithTimeout", ""}, {"aclrtStreamGetId", "8.5"}, {"aclrtGetStreamAvailableNum", "8.5"}, {"aclrtStreamAbort", "8.5"},

	{"aclrtCreateEvent", ""}, {"aclrtCreateEventExWithFlag", "8.0"}, {"aclrtCreateEventWithFlag", ""}, {"aclrtDestroyEvent", ""},
	{"aclrtRecordEvent", ""}, {"aclrtResetEvent", ""}, {"aclrtStreamWaitEvent", ""}, {"aclrtQueryEventStatus", ""},
	{"aclrtSynchronizeEvent", ""}, {"aclrtSynchronizeEventWithTimeout", "8.5"}, {"aclrtEventElapsedTime", ""},

	{"aclrtMalloc", ""}, {"aclrtFree", ""}, {"aclrtMallocHost", ""}, {"aclrtFreeHost", ""}, {"aclrtMemcpy", ""},
	{"aclrtMemcpyAsync", ""}, {"aclrtMemset", ""}, {"aclrtMemsetAsync", ""}, {"aclrtMemsetD32Async", "9.1"},

	{"aclrtBinaryLoadFromFile", "8.5"}, {"aclrtBinaryGetFunction", "8.5"}, {"aclrtBinaryUnLoad", "8.5"},
	{"aclrtLaunchKernelWithHostArgs", "8.5"}, {"aclrtLaunchHostFunc", "8.5"}, {"aclrtGetThreadLastTaskId", "8.5"},
	{"aclrtSetExceptionInfoCallback", ""}, {"aclrtGetTaskIdFromExceptionInfo", ""}, {"aclrtGetStreamIdFromExceptionInfo", ""},
	{"aclrtGetDeviceIdFromExceptionInfo", ""}, {"aclrtGetErrorCodeFromExceptionInfo", ""},

	{"aclmdlRICaptureBegin", "8.2"}, {"aclmdlRICaptureEnd", "8.2"}, {"aclmdlRICaptureTaskGrpBegin", "8.2"},
	{"aclmdlRICaptureTaskGrpEnd", "8.2"}, {"aclmdlRICaptureTaskUpdateBegin", "8.2"}, {"aclmdlRICaptureTaskUpdateEnd", "8.2"},
	{"aclmdlRIExecuteAsync", "8.2"}, {"aclmdlRIDestroy", "8.2"},

	{"aclmdlQuerySize", ""}, {"aclmdlLoadFromFileWithMem", ""}, {"aclmdlUnload", ""}, {"aclmdlExecuteAsync", ""},
	{"aclmdlSetDynamicBatchSize", ""}, {"aclmdlCreateDesc", ""}, {"aclmdlDestroyDesc", ""}, {"aclmdlGetDesc", ""},
	{"aclmdlGetNumInputs", ""}, {"aclmdlGetNumOutputs", ""}, {"aclmdlGetDynamicBatch", ""},
	{"aclmdlGetInputNameByIndex", ""}, {"aclmdlGetInputDataType", ""}, {"aclmdlGetInputDims", ""}, {"aclmdlGetInputSizeByIndex", ""},
	{"aclmdlGetOutputNameByIndex", ""}, {"aclmdlGetOutputDataType", ""}, {"aclmdlGetOutputDims", ""}, {"aclmdlGetOutputSizeByIndex", ""},
	{"aclmdlCreateDataset", ""}, {"aclmdlDestroyDataset", ""}, {"aclmdlAddDatasetBuffer", ""},
	{"aclCreateDataBuffer", ""}, {"aclDestroyDataBuffer", ""}, {"aclUpdateDataBuffer", ""},
}

// Since is the release of a symbol in Symbols; ok is false for another name.
func Since(name string) (release string, ok bool) {
	for _, s := range Symbols {
		if s.Name == name {
			return s.Since, true
		}
	}
	return "", false
}
