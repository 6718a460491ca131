//go:build linux && (amd64 || arm64)

package acl

import (
	"path/filepath"
	"strings"

	"npulua/npu/internal/loader"
)

// loadHint says what to do, by what was found.
func loadHint(attempts []Attempt) string {
	for _, a := range attempts {
		switch {
		case strings.HasPrefix(a.Problem, "it needs "):
			return "install the NPU driver, or add its folder (/usr/local/Ascend/driver/lib64 and those below it) to LD_LIBRARY_PATH; " +
				"--backend=sim runs on the simulator"
		case strings.HasPrefix(a.Problem, loader.Denied):
			return "have the file made readable to this user, or add the user to the group that owns it; --backend=sim runs on the simulator"
		case a.Problem != "" && !strings.HasPrefix(a.Problem, loader.NotFound):
			return "install CANN for " + loader.Machine() + " again, or take its folder out of LD_LIBRARY_PATH and ASCEND_HOME_PATH if it is not meant; " +
				"--backend=sim runs on the simulator"
		}
	}
	for _, a := range attempts {
		if a.From != "" {
			return a.From + " names a folder without lib64/" + filepath.Base(a.Path) + ": set it to an installation of CANN, as its set_env.sh does; " +
				"--backend=sim runs on the simulator"
		}
	}
	return "install CANN, and source its set_env.sh (as in: source /usr/local/Ascend/ascend-toolkit/set_env.sh), " +
		"or set ASCEND_HOME_PATH or LD_LIBRARY_PATH; --backend=sim runs on the simulator"
}
