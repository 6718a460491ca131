package luabind

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

// This file is the only one that looks at Lua arguments. Positions count from 1 without self.

// arg is argument i.
func (c *call) arg(i int) lua.LValue { return c.L.Get(i + c.skip) }

// count is the number of arguments.
func (c *call) count() int { return c.L.GetTop() - c.skip }

// typeName is the type of a value as messages say it: the class of a handle, else the Lua type.
func typeName(v lua.LValue) string {
	if ud, ok := v.(*lua.LUserData); ok {
		switch ud.Value.(type) {
		case *npu.Device:
			return "a device"
		case *npu.Context:
			return "a context"
		case *npu.Stream:
			return "a stream"
		case *npu.Event:
			return "an event"
		case *npu.Buffer:
			return "a buffer"
		case *npu.Kernel:
			return "a kernel"
		case *npu.Graph:
			return "a graph"
		case *npu.Model:
			return "a model"
		case *task:
			return "a task"
		case *npu.Channel:
			return "a channel"
		case *worker:
			return "a worker"
		case *npu.Fault:
			return "a fault"
		}
		if mt, ok := ud.Metatable.(*lua.LTable); ok { // of a module
			if name, ok := strings.CutPrefix(mt.RawGetString("__metatable").String(), "npu."); ok {
				return article(name)
			}
		}
	}
	if v == lua.LNil {
		return "nothing"
	}
	return "a " + v.Type().String()
}

// fail makes an error of this call.
func (c *call) fail(code npu.Code, format string, args ...any) error {
	if c.plain {
		return &libraryError{fmt.Sprintf(format, args...)}
	}
	return &npu.Error{Code: code, Op: c.name, Detail: fmt.Sprintf(format, args...)}
}

// hostFull makes an error of this call that the host has no room.
func (c *call) hostFull(format string, args ...any) error {
	err := c.fail(npu.ErrMemoryAllocation, format, args...)
	if e, ok := err.(*npu.Error); ok {
		e.OfHost()
	}
	return err
}

// refuse makes an error of this call of what a sandbox withholds, or of another failure.
func (c *call) refuse(code npu.Code, what string, err error) error {
	failed := c.fail(code, "%s%v", what, err)
	var w *withheld
	if e, ok := failed.(*npu.Error); ok && errors.As(err, &w) {
		e.Hint = w.hint
	}
	return failed
}

func (c *call) errorf(format string, args ...any) error {
	return c.fail(npu.ErrInvalidParam, format, args...)
}

func (c *call) wrongType(i int, name, want string) error {
	return c.errorf("argument %d (%s) must be %s, got %s", i, name, want, typeName(c.arg(i)))
}

// handle reads a handle of type T.
func handle[T comparable](c *call, i int, name, want string) (T, error) {
	if ud, ok := c.arg(i).(*lua.LUserData); ok {
		if v, ok := ud.Value.(T); ok {
			return v, nil
		}
	}
	var none T
	return none, c.wrongType(i, name, want)
}

func (c *call) buffer(i int, name string) (*npu.Buffer, error) {
	return handle[*npu.Buffer](c, i, name, "a buffer")
}

// operands reads the buffers of a copy.
func (c *call) operands() (dst, src *npu.Buffer, err error) {
	if dst, err = c.buffer(1, "dst"); err != nil {
		return nil, nil, err
	}
	src, err = c.buffer(2, "src")
	return dst, src, err
}

func (c *call) number(i int, name string) (float64, error) {
	if n, ok := c.arg(i).(lua.LNumber); ok {
		return float64(n), nil
	}
	return 0, c.wrongType(i, name, "a number")
}

// whole checks a number that must be whole and exact.
func (c *call) whole(name string, n lua.LNumber) (int64, error) {
	if i, ok := exact(n); ok {
		return i, nil
	}
	f := float64(n)
	if math.IsNaN(f) || f != math.Trunc(f) {
		return 0, c.errorf("%s must be a whole number, got %s", name, number(float64(n)))
	}
	if f < 0 {
		return 0, c.errorf("%s must be at least -2^53, got %s", name, number(f))
	}
	return 0, c.errorf("%s must be at most 2^53, got %s", name, number(f))
}

// exact is n as an integer where that loses nothing: whole numbers up to 2^53.
func exact(n lua.LNumber) (int64, bool) {
	i := int64(n)
	return i, lua.LNumber(i) == n && i <= npu.MaxBytes && i >= -npu.MaxBytes
}

// int reads a whole number.
func (c *call) int(i int, name string) (int64, error) {
	n, ok := c.arg(i).(lua.LNumber)
	if !ok {
		return 0, c.wrongType(i, name, "a number")
	}
	if v, ok := exact(n); ok {
		return v, nil
	}
	return c.whole(fmt.Sprintf("argument %d (%s)", i, name), n)
}

func (c *call) string(i int, name string) (string, error) {
	if s, ok := c.arg(i).(lua.LString); ok {
		return string(s), nil
	}
	return "", c.wrongType(i, name, "a string")
}

func (c *call) function(i int, name string) (*lua.LFunction, error) {
	if f, ok := c.arg(i).(*lua.LFunction); ok {
		return f, nil
	}
	return nil, c.wrongType(i, name, "a function")
}

// path is a string that can be a file name.
func (c *call) path(i int) (string, error) {
	s, err := c.string(i, "path")
	if err == nil && (s == "" || strings.ContainsRune(s, 0)) {
		err = c.errorf("argument %d (path) is no file name: %q", i, s)
	}
	return s, err
}

// seconds turns a number of seconds into a duration; what is too long is the longest.
func (c *call) seconds(name string, f float64) (time.Duration, error) {
	if math.IsNaN(f) || f < 0 {
		return 0, c.errorf("%s must be 0 s or more, got %s", name, number(f))
	}
	ns := math.Round(f * 1e9)
	if ns >= math.MaxInt64 {
		return math.MaxInt64, nil
	}
	return time.Duration(ns), nil
}

// duration reads a number of seconds.
func (c *call) duration(i int) (time.Duration, error) {
	f, err := c.number(i, "seconds")
	if err != nil {
		return 0, err
	}
	return c.seconds("seconds", f)
}

// timeout is an optional number of seconds; left out it is for ever (-1).
func (c *call) timeout(i int) (time.Duration, error) {
	if c.arg(i) == lua.LNil {
		return -1, nil
	}
	f, err := c.number(i, "timeout")
	if err != nil {
		return 0, err
	}
	return c.seconds("timeout", f)
}

func (c *call) dtype(i int) (npu.DType, error) {
	s, err := c.string(i, "dtype")
	if err != nil {
		return 0, err
	}
	t, ok := npu.ParseDType(s)
	if !ok {
		return 0, c.errorf("unknown dtype %q%s", s, npu.Suggest(s, npu.DTypes()))
	}
	return t, nil
}

// opts is the options table of a call; nil where it was left out.
type opts struct {
	c  *call
	tb *lua.LTable
}

// table reads argument i as the options table of the row, and refuses keys that the row lacks.
func (c *call) table(i int) (opts, error) {
	v := c.arg(i)
	if v == lua.LNil {
		return opts{c: c}, nil
	}
	tb, ok := v.(*lua.LTable)
	if !ok {
		return opts{}, c.wrongType(i, "options", "a table")
	}
	var names []string
	known := make(map[string]bool)
	for _, o := range c.options {
		names = append(names, o.name)
		known[o.name] = true
	}
	var bad error
	tb.ForEach(func(k, _ lua.LValue) {
		if s, ok := k.(lua.LString); bad == nil && (!ok || !known[string(s)]) {
			bad = c.errorf("unknown option %s%s", describe(k), npu.Suggest(k.String(), names))
		}
	})
	return opts{c, tb}, bad
}

func (o opts) get(name string) lua.LValue {
	if o.tb == nil {
		return lua.LNil
	}
	return o.tb.RawGetString(name)
}

func (o opts) bool(name string, otherwise bool) (bool, error) {
	switch v := o.get(name).(type) {
	case *lua.LNilType:
		return otherwise, nil
	case lua.LBool:
		return bool(v), nil
	default:
		return false, o.wrongType(name, "true or false", v)
	}
}

func (o opts) int(name string, otherwise int64) (int64, error) {
	switch v := o.get(name).(type) {
	case *lua.LNilType:
		return otherwise, nil
	case lua.LNumber:
		return o.c.whole(fmt.Sprintf("option %q", name), v)
	default:
		return 0, o.wrongType(name, "a number", v)
	}
}

func (o opts) string(name string) (string, error) {
	switch v := o.get(name).(type) {
	case *lua.LNilType:
		return "", nil
	case lua.LString:
		return string(v), nil
	default:
		return "", o.wrongType(name, "a string", v)
	}
}

func (o opts) function(name string) (*lua.LFunction, error) {
	switch v := o.get(name).(type) {
	case *lua.LNilType:
		return nil, nil
	case *lua.LFunction:
		return v, nil
	default:
		return nil, o.wrongType(name, "a function", v)
	}
}

func (o opts) wrongType(name, want string, got lua.LValue) error {
	return o.c.errorf("option %q must be %s, got %s", name, want, typeName(got))
}

// number is a number for a message: as Lua writes it, but with every digit of a whole one.
func number(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case f == math.Trunc(f) && math.Abs(f) < 1e21:
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return lua51.NumberText(f)
}
