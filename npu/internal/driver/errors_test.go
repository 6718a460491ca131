package driver

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// codeNames says what each constant of errors.go is in the vendor's headers.
var codeNames = map[string]struct {
	code Code
	name string
}{
	"OK":                    {OK, "ACL_SUCCESS"},
	"CodeInvalidParam":      {CodeInvalidParam, "ACL_ERROR_INVALID_PARAM"},
	"CodeUninitialized":     {CodeUninitialized, "ACL_ERROR_UNINITIALIZE"},
	"CodeRepeatInitialize":  {CodeRepeatInitialize, "ACL_ERROR_REPEAT_INITIALIZE"},
	"CodeInvalidFile":       {CodeInvalidFile, "ACL_ERROR_INVALID_FILE"},
	"CodeWriteFile":         {CodeWriteFile, "ACL_ERROR_WRITE_FILE"},
	"CodeParseFile":         {CodeParseFile, "ACL_ERROR_PARSE_FILE"},
	"CodeRepeatFinalize":    {CodeRepeatFinalize, "ACL_ERROR_REPEAT_FINALIZE"},
	"CodeRtParamInvalid":    {CodeRtParamInvalid, "ACL_ERROR_RT_PARAM_INVALID"},
	"CodeInvalidDevice":     {CodeInvalidDevice, "ACL_ERROR_RT_INVALID_DEVICEID"},
	"CodeContextNull":       {CodeContextNull, "ACL_ERROR_RT_CONTEXT_NULL"},
	"CodeStreamContext":     {CodeStreamContext, "ACL_ERROR_RT_STREAM_CONTEXT"},
	"CodeEventNotComplete":  {CodeEventNotComplete, "ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID"},
	"CodeInvalidHandle":     {CodeInvalidHandle, "ACL_ERROR_RT_INVALID_HANDLE"},
	"CodeOptionNotSet":      {CodeOptionNotSet, "ACL_ERROR_RT_SYSPARAMOPT_NOT_SET"},
	"CodePeerFlags":         {CodePeerFlags, "ACL_ERROR_FEATURE_UNSUPPORTED"},
	"CodeNotSupported":      {CodeNotSupported, "ACL_ERROR_RT_FEATURE_NOT_SUPPORT"},
	"CodeMemoryAllocation":  {CodeMemoryAllocation, "ACL_ERROR_RT_MEMORY_ALLOCATION"},
	"CodeResourceStream":    {CodeResourceStream, "ACL_ERROR_RT_RESOURCE_ALLOC_FAIL"},
	"CodeResourceEvent":     {CodeResourceEvent, "ACL_ERROR_RT_NO_EVENT_RESOURCE"},
	"CodeInternal":          {CodeInternal, "ACL_ERROR_RT_INTERNAL_ERROR"},
	"CodeDeviceNotSet":      {CodeDeviceNotSet, "ACL_ERROR_RT_CONTEXT_RELEASE_ERROR"},
	"CodeAICoreException":   {CodeAICoreException, "ACL_ERROR_RT_AICORE_EXCEPTION"},
	"CodeAICoreTimeout":     {CodeAICoreTimeout, "ACL_ERROR_RT_AICORE_TIMEOUT"},
	"CodeVectorException":   {CodeVectorException, "ACL_ERROR_RT_VECTOR_CORE_EXCEPTION"},
	"CodeStreamSyncTimeout": {CodeStreamSyncTimeout, "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT"},
	"CodeEventSyncTimeout":  {CodeEventSyncTimeout, "ACL_ERROR_RT_EVENT_SYNC_TIMEOUT"},
	"CodeCaptureDependency": {CodeCaptureDependency, "ACL_ERROR_RT_CAPTURE_DEPENDENCY"},
	"CodeStreamUnjoined":    {CodeStreamUnjoined, "ACL_ERROR_RT_STREAM_UNJOINED"},
	"CodeStreamCaptured":    {CodeStreamCaptured, "ACL_ERROR_RT_STREAM_CAPTURED"},
	"CodeEventCaptured":     {CodeEventCaptured, "ACL_ERROR_RT_EVENT_CAPTURED"},
	"CodeStreamNotCaptured": {CodeStreamNotCaptured, "ACL_ERROR_RT_STREAM_NOT_CAPTURED"},
	"CodeCaptureMode":       {CodeCaptureMode, "ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT"},
	"CodeCaptureImplicit":   {CodeCaptureImplicit, "ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT"},
	"CodeCaptureConflict":   {CodeCaptureConflict, "ACL_ERROR_STREAM_CAPTURE_CONFLICT"},
	"CodeCaptureUnmatched":  {CodeCaptureUnmatched, "ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED"},
	"CodeCaptureAsync":      {CodeCaptureAsync, "ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC"},
	"CodeTaskAbort":         {CodeTaskAbort, "ACL_ERROR_RT_TASK_ABORT_STOP"},
	"CodeGraphRunning":      {CodeGraphRunning, "ACL_ERROR_RT_MODEL_RUNNING"},
	"CodeCaptureInvalid":    {CodeCaptureInvalid, "ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED"},
	"CodeModelInput":        {CodeModelInput, "ACL_ERROR_MODEL_INPUT_NOT_MATCH"},
	"CodeModelOutput":       {CodeModelOutput, "ACL_ERROR_MODEL_OUTPUT_NOT_MATCH"},
	"CodeModelNotDynamic":   {CodeModelNotDynamic, "ACL_ERROR_MODEL_NOT_DYNAMIC"},
	"CodeModelContext":      {CodeModelContext, "ACL_ERROR_RT_MODEL_CONTEXT"},
	"CodeModelPath":         {CodeModelPath, "ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID"},
	"CodeModelID":           {CodeModelID, "ACL_ERROR_GE_EXEC_MODEL_ID_INVALID"},
	"CodeModelData":         {CodeModelData, "ACL_ERROR_GE_EXEC_MODEL_DATA_SIZE_INVALID"},
	"CodeBatchSize":         {CodeBatchSize, "ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID"},
	"CodeModelExecute":      {CodeModelExecute, "ACL_ERROR_GE_INTERNAL_ERROR"},
	"CodeLostHeartbeat":     {CodeLostHeartbeat, "ACL_ERROR_RT_LOST_HEARTBEAT"},
	"CodeGraphFailed":       {CodeGraphFailed, "ACL_ERROR_RT_MODEL_EXECUTE"},
	"CodeMultiBitECC":       {CodeMultiBitECC, "ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR"},
	"CodeInternalError":     {CodeInternalError, "ACL_ERROR_INTERNAL_ERROR"},
}

func TestCodeNames(t *testing.T) {
	for constant, tt := range codeNames {
		if got := tt.code.Name(); got != tt.name {
			t.Errorf("%s.Name() = %q, want %q", constant, got, tt.name)
		}
	}
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Code" {
				for _, id := range spec.Names {
					if _, ok := codeNames[id.Name]; !ok {
						t.Errorf("%s is not in the table of this test", id.Name)
					}
				}
			}
		}
		return true
	})
}

func TestErrorsTable(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(errorsTSV), "\n")
	names := map[string]Code{}
	for _, line := range lines[1:] {
		if n := strings.Count(line, "\t"); n != 3 {
			t.Errorf("%q has %d tabs, want 3", line, n)
		}
	}
	if got := len(Codes()); got != len(lines)-1 {
		t.Errorf("%d codes in %d rows: a number is there twice", got, len(lines)-1)
	}
	for _, c := range Codes() {
		if c.Name() == "" || strings.Trim(c.Name(), "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
			t.Errorf("%d: name %q, want capitals", int(c), c.Name())
		}
		if other, ok := names[c.Name()]; ok {
			t.Errorf("%s is %d and %d", c.Name(), int(c), int(other))
		}
		names[c.Name()] = c
		if text := c.Meaning(); text != strings.TrimSpace(text) || !strings.HasSuffix(text, ".") {
			t.Errorf("%d: meaning %q, want a sentence", int(c), text)
		}
		if text := c.Hint(); text == "" || text != strings.TrimSpace(text) || strings.HasSuffix(text, ".") {
			t.Errorf("%d: hint %q, want a phrase without full stop", int(c), text)
		}
	}
}

func TestErrorText(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"whole", &Error{Code: CodeMemoryAllocation, Call: "aclrtMalloc", Op: "alloc", Detail: "requested 4096 B, 1024 B free"},
			"npu: alloc: requested 4096 B, 1024 B free [207001 ACL_ERROR_RT_MEMORY_ALLOCATION]"},
		{"no op", Errorf(CodeInvalidParam, "aclrtMalloc", "size is %d B", 0),
			"npu: aclrtMalloc: size is 0 B [100000 ACL_ERROR_INVALID_PARAM]"},
		{"no call", Errorf(CodeInternal, "", "lost"), "npu: lost [507000 ACL_ERROR_RT_INTERNAL_ERROR]"},
		{"no detail", &Error{Code: CodeContextNull, Op: "alloc"},
			"npu: alloc: the calling thread has no usable current context [107002 ACL_ERROR_RT_CONTEXT_NULL]"},
		{"names in the meaning keep their capitals", &Error{Code: CodeUninitialized, Op: "open"},
			"npu: open: the needed subsystem is not initialized (aclInit, dump or profiling init missing) [100001 ACL_ERROR_UNINITIALIZE]"},
		{"a name in front", &Error{Code: CodeAICoreTimeout, Op: "synchronize"},
			"npu: synchronize: AI Core task timed out [507014 ACL_ERROR_RT_AICORE_TIMEOUT]"},
		{"number without a row", &Error{Code: 123456, Op: "alloc"}, "npu: alloc: failed [123456]"},
		{"negative number", &Error{Code: -1, Op: "alloc", Detail: "odd"}, "npu: alloc: odd [-1]"},
		{"code alone", CodeInvalidHandle, "107017 ACL_ERROR_RT_INVALID_HANDLE"},
		{"number alone", Code(123456), "123456"},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("%s: Error() = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestErrorIs(t *testing.T) {
	err := fmt.Errorf("more: %w", Errorf(CodeContextNull, "aclrtMalloc", "none"))
	if !errors.Is(err, CodeContextNull) {
		t.Errorf("errors.Is(%v, CodeContextNull) = false, want true", err)
	}
	if errors.Is(err, CodeInvalidParam) {
		t.Errorf("errors.Is(%v, CodeInvalidParam) = true, want false", err)
	}
	cause := errors.New("disk full")
	if err := (&Error{Code: CodeInternal, Cause: cause}); !errors.Is(err, cause) || !errors.Is(err, CodeInternal) {
		t.Errorf("errors.Is(%v) does not find both the code and the cause", err)
	}
	if e, ok := errors.AsType[*Error](err); !ok || e.Call != "aclrtMalloc" {
		t.Errorf("errors.AsType(%v) = %v, %t, want the *Error", err, e, ok)
	}
}

func TestHintText(t *testing.T) {
	tests := []struct {
		err  Error
		want string
	}{
		{Error{Code: CodeInvalidFile}, "check the path and its permissions"},
		{Error{Code: CodeInvalidFile, Hint: "look twice"}, "look twice"},
		{Error{Code: 123456}, ""},
	}
	for _, tt := range tests {
		if got := tt.err.HintText(); got != tt.want {
			t.Errorf("HintText() of %v = %q, want %q", &tt.err, got, tt.want)
		}
	}
}
