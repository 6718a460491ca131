package luabind

import (
	"time"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

// synchronize is the method of that name of everything that work is queued on.
func synchronize[T interface {
	Synchronize(*npu.Thread, time.Duration) error
}](c *call, self T) error {
	timeout, err := c.timeout(1)
	if err != nil {
		return err
	}
	return self.Synchronize(c.t, timeout)
}

// query is the method of that name: whether the work is done, without waiting.
func query[T interface {
	Query(*npu.Thread) (bool, error)
}](c *call, self T) error {
	done, err := self.Query(c.t)
	c.push(lua.LBool(done))
	return err
}
