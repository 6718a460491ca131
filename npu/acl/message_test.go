//go:build linux && (amd64 || arm64)

package acl

import "testing"

func TestSentence(t *testing.T) {
	for message, want := range map[string]string{
		"": "",
		"[PID: 7255] 2026-12-01-02:33:35.040.175 Execution_Error_Invalid_Context(EE1010): The stream is of another context.[FUNC:Launch][FILE:api.cc][LINE:12]":                              "The stream is of another context (EE1010)",
		"[PID: 7255] 2026-12-01-02:33:35.040.175 (EE1010): The stream is of another context":                                                                                                 "The stream is of another context (EE1010)",
		"EE1001: [PID: 7255] 2026-12-01-02:33:35.040.175 The argument is invalid.Reason: device id 8\n        Solution: Try again":                                                           "The argument is invalid.Reason: device id 8 (EE1001)",
		"EZ9999: Internal error!\n[PID: 1] 2026-12-01-02:33:35.040.175 (EZ9999):  An error occurs on the device(chipId:0, dieId:0), the error is aivec error[FUNC:F][FILE:f.cc][LINE:1]":     "An error occurs on the device(chipId:0, dieId:0), the error is aivec error (EZ9999)",
		"EE9999: Inner Error!\nEE9999  \n        TraceBack (most recent call last):\n        rtStreamSynchronize execution failed, reason=vector core exception[FUNC:F][FILE:f.cc][LINE:61]": "rtStreamSynchronize execution failed, reason=vector core exception (EE9999)",
		"EE9999: Internal error!\n        TraceBack (most recent call last):\n        rtStreamSynchronize execution failed, reason=vector core exception[FUNC:F][FILE:f.cc][LINE:61]":        "rtStreamSynchronize execution failed, reason=vector core exception (EE9999)",
		"EE9999: Internal error!":                   "Internal error (EE9999)",
		"EH0002: Argument path must not be null.\n": "Argument path must not be null (EH0002)",
		"no frame at all":                           "no frame at all",
		"[PID: 1] 2026-12-01-02:33:35.040.175 Execution_Error_Invalid_Context(EE1018): aclGetRecentErrMsg failed. Reason: rtGetDevMsg execution failed[FUNC:F]": "",
		"E39999: [PID: 1] 2026-12-01-02:33:35.040.175 TsdOpen failed. devId=0[FUNC:F][FILE:f.cc][LINE:1]":                                                       "TsdOpen failed. devId=0 (E39999)",
	} {
		if got := sentence(message); got != want {
			t.Errorf("%q\ngives %q, want %q", message, got, want)
		}
	}
}
