package dcmi

import "fmt"

// code is what a function of the library returns.
type code int32

// The codes that are handled by themselves.
const (
	ok             code = 0
	notPermitted   code = -8002
	noDevice       code = -8008
	notInContainer code = -8013
	notSupported   code = -8255
)

// What to do.
const (
	remedyOfUser       = "run as root, or as a member of the driver's group (usermod -aG HwHiAiUser NAME)"
	remedyOfContainer  = "read on the host, or start the container privileged"
	remedyOfDriver     = "npu-smi info tells whether the driver is loaded and sees the device"
	remedyOfMissing    = "libdcmi.so comes with the NPU driver, in /usr/local/dcmi: install the driver, mount that folder and /usr/local/Ascend/driver into a container, or add the folder to LD_LIBRARY_PATH"
	remedyOfDependency = "install the NPU driver, or add its folders (/usr/local/Ascend/driver/lib64 and those below it) to LD_LIBRARY_PATH"
	remedyOfBad        = "install the NPU driver for this machine again, or take the file's folder out of LD_LIBRARY_PATH"
	remedyOfIncomplete = "install the NPU driver again: the file is another library, or damaged"
)

// codes are those of the vendor's reference, in words.
var codes = []struct {
	code code
	text string
}{
	{-8001, "invalid parameter"},
	{notPermitted, "not permitted to this user, or in this container"},
	{-8003, "a memory operation failed"},
	{-8004, "a safety function failed"},
	{-8005, "internal error of the driver"},
	{-8006, "the device did not answer in time"},
	{-8007, "invalid device id"},
	{noDevice, "the device does not exist"},
	{-8009, "the kernel driver refused or failed"},
	{-8010, "no message could be sent to the device"},
	{-8011, "no message came from the device"},
	{-8012, "the device is not ready"},
	{notInContainer, "not supported in a container"},
	{-8014, "a file could not be used"},
	{-8015, "the reset failed"},
	{-8016, "the operation was aborted"},
	{-8017, "the device is being upgraded"},
	{-8020, "the resource is occupied"},
	{-8022, "the partition is not right"},
	{notSupported, "not supported by this device"},
}

// broken reports whether it says that something is wrong, and not that nothing can be read here.
func (c code) broken() bool {
	return c != notPermitted && c != notInContainer && c != notSupported
}

// String is the meaning with the number.
func (c code) String() string {
	for _, row := range codes {
		if row.code == c {
			return fmt.Sprintf("%s (%d)", row.text, int(c))
		}
	}
	return fmt.Sprintf("code %d", int(c))
}

// remedy is what to do about a code.
func (c code) remedy() string {
	switch c {
	case notPermitted:
		return remedyOfUser
	case notInContainer:
		return remedyOfContainer
	}
	return remedyOfDriver
}

// callError is a call that failed.
type callError struct {
	call string
	code code
}

func (e *callError) Error() string { return e.call + ": " + e.code.String() }

// missing is a function that the library does not have.
type missing string

func (m missing) Error() string { return "this libdcmi.so has no " + string(m) }
