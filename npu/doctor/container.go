package doctor

import (
	"context"
	"os"
	"regexp"
)

// containerFiles are there in containers.
var containerFiles = []string{"/.dockerenv", "/run/.containerenv"}

// containerGroup is in the control group of the first process of a container.
var containerGroup = regexp.MustCompile(`docker|kubepods|containerd|libpod|lxc`)

// inContainer reports whether this is a container, and what shows it.
func (x *examination) inContainer() (inside bool, sign string) {
	for _, f := range containerFiles {
		if x.exists(f) {
			return true, f
		}
	}
	if x.env["KUBERNETES_SERVICE_HOST"] != "" {
		return true, "KUBERNETES_SERVICE_HOST"
	}
	groups, err := os.ReadFile(x.path("/proc/1/cgroup"))
	if err == nil && containerGroup.Match(groups) {
		return true, "/proc/1/cgroup"
	}
	return false, ""
}

func (x *examination) container(context.Context) {
	c := &Container{}
	x.report.Container = c
	if c.Inside, c.Sign = x.inContainer(); !c.Inside {
		x.note("none")
		return
	}
	x.note("inside one: " + c.Sign)
	if x.nodes == 0 {
		x.find(Warn, "no device of the host was passed to the container",
			"docker run --device=/dev/davinci0 --device=/dev/davinci_manager --device=/dev/devmm_svm --device=/dev/hisi_hdc "+
				"-v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro ..., or use the Ascend Docker Runtime with -e ASCEND_VISIBLE_DEVICES=0")
		return
	}
	x.note("physical ids are those of the host, logical ids count from 0 in here")
}
