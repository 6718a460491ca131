package lua51

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	lua "github.com/yuin/gopher-lua"
)

// pushResult pushes true, or nil, the message and the error number; about starts the
// message. An interruption is raised instead.
func pushResult(L *lua.LState, err error, about ...string) int {
	if err == nil {
		L.Push(lua.LTrue)
		return 1
	}
	raiseInterruption(L, err)
	text, number := errnoText(err)
	for _, name := range about {
		text = name + ": " + text
	}
	L.Push(lua.LNil)
	L.Push(lua.LString(text))
	L.Push(lua.LNumber(number))
	return 3
}

func raiseInterruption(L *lua.LState, err error) {
	if isInterruption(err) {
		raise(L, "%s", err.Error())
	}
}

// plainError is an error that says in its own words what is told of it.
type plainError interface {
	error
	PlainText() (string, syscall.Errno)
}

// errnoText is strerror's text and the number of the system's error in err. Go writes the same texts
// without the capital. One that has a PlainText is known by that.
func errnoText(err error) (string, int) {
	var plain plainError
	if errors.As(err, &plain) {
		text, no := plain.PlainText()
		return text, int(no)
	}
	var no syscall.Errno
	if !errors.As(err, &no) {
		switch {
		case errors.Is(err, os.ErrClosed):
			no = syscall.EBADF
		case errors.Is(err, io.ErrClosedPipe):
			no = syscall.EPIPE
		case errors.Is(err, os.ErrNotExist):
			no = syscall.ENOENT
		default:
			no = syscall.EIO
		}
	}
	text := no.Error()
	return strings.ToUpper(text[:1]) + text[1:], int(no)
}
