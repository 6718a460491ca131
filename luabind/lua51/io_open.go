package lua51

import (
	"os"
	"syscall"

	lua "github.com/yuin/gopher-lua"
)

// maxMode is how many characters of a mode glibc looks at.
const maxMode = 7

// openFlags reads a mode as glibc's fopen does: only the first letter must be right.
func openFlags(mode string) (flags int, ok bool) {
	if mode == "" {
		return 0, false
	}
	switch mode[0] {
	case 'r':
	case 'w':
		flags = os.O_CREATE | os.O_TRUNC
	case 'a':
		flags = os.O_CREATE | os.O_APPEND
	default:
		return 0, false
	}
	access := os.O_WRONLY
	if mode[0] == 'r' {
		access = os.O_RDONLY
	}
	for _, c := range []byte(mode[1:min(len(mode), maxMode)]) {
		switch c {
		case '+':
			access = os.O_RDWR
		case 'x':
			flags |= os.O_EXCL
		}
	}
	return flags | access, true
}

// fopen opens a file. Opening a named pipe waits for the other end, so anything but a regular file
// is opened in the background.
func (x *IO) fopen(L *lua.LState, name, mode string) (*lua.LUserData, error) {
	flags, ok := openFlags(mode)
	if !ok {
		return nil, syscall.EINVAL
	}
	charge(L, systemSteps)
	type opened struct {
		disk *os.File
		err  error
	}
	open := func() opened {
		disk, err := x.streams.system().OpenFile(name, flags, 0o666)
		return opened{disk, err}
	}
	var got opened
	if info, err := x.streams.system().Stat(name); err != nil || info.Mode().IsRegular() {
		got = open()
	} else if got, err = await(contextOf(L), open, func(o opened) {
		if o.err == nil {
			o.disk.Close()
		}
	}); err != nil {
		return nil, err
	}
	if got.err != nil {
		return nil, got.err
	}
	if flags&(os.O_APPEND|os.O_RDWR) == os.O_APPEND {
		got.disk.Seek(0, 2) // a pipe has no end, and needs none
	}
	return x.adopt(L, x.diskFile(got.disk, flags)), nil
}

func (x *IO) diskFile(disk *os.File, flags int) *file {
	f := &file{seek: disk, end: disk}
	if flags&os.O_WRONLY == 0 {
		f.in = newInput(disk)
	}
	if flags&(os.O_WRONLY|os.O_RDWR) != 0 {
		f.out = NewOutput(disk, BlockBuffered)
		f.out.ask = x.streams.system().Write
	}
	return f
}

func (x *IO) openFile(L *lua.LState) int {
	name := cString(checkString(L, 1))
	ud, err := x.fopen(L, name, cString(optString(L, 2, "r")))
	if err != nil {
		return pushResult(L, err, name)
	}
	L.Push(ud)
	return 1
}

// openOrRaise is for functions that make a file that cannot be opened an error.
func (x *IO) openOrRaise(L *lua.LState, mode string) *lua.LUserData {
	name := cString(checkString(L, 1))
	ud, err := x.fopen(L, name, mode)
	if err != nil {
		raiseInterruption(L, err)
		text, _ := errnoText(err)
		argError(L, 1, name+": "+text)
	}
	return ud
}

func (x *IO) tmpFile(L *lua.LState) int {
	charge(L, systemSteps)
	disk, name, err := x.streams.tempFile()
	if err != nil {
		return pushResult(L, err)
	}
	x.streams.system().Remove(name)
	L.Push(x.adopt(L, x.diskFile(disk, os.O_RDWR)))
	return 1
}

// popenMode reads a mode as glibc's popen does: r or w, once, and e.
func popenMode(mode string) (read, ok bool) {
	n := 0
	for _, c := range []byte(mode) {
		switch c {
		case 'r', 'w':
			read = c == 'r'
			n++
		case 'e':
		default:
			return false, false
		}
	}
	return read, n == 1
}

func (x *IO) popen(L *lua.LState) int {
	command := cString(checkString(L, 1))
	read, ok := popenMode(cString(optString(L, 2, "r")))
	if !ok {
		return pushResult(L, syscall.EINVAL, command)
	}
	if err := x.streams.system().Run(); err != nil {
		return pushResult(L, err, command)
	}
	f, err := x.startPipe(L, command, read)
	if err != nil {
		return pushResult(L, err, command)
	}
	L.Push(x.adopt(L, f))
	return 1
}

// startPipe starts a child with one end of a pipe; the file has the other.
func (x *IO) startPipe(L *lua.LState, command string, read bool) (*file, error) {
	if err := x.streams.Stdout.Flush(contextOf(L)); isInterruption(err) {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := x.streams.command(command)
	ours, theirs := r, w
	if read {
		cmd.Stdout = w
	} else {
		cmd.Stdin = r
		ours, theirs = w, r
	}
	inGroup := x.streams.StdinTerminal
	if x.streams.Interactive {
		inGroup = false
		if read {
			cmd.Stdin = nil // the loop reads from the terminal while the child runs
		}
	}
	child, err := x.streams.startProcess(cmd, inGroup)
	theirs.Close()
	if err != nil {
		ours.Close()
		return nil, err
	}
	child.noted = x.streams.blocker("io.popen", command)
	child.killAfter(machineContext(x.main))
	f := &file{end: ours, child: child}
	if read {
		f.in = newInput(r)
		f.in.src.child = child
	} else {
		f.out = NewOutput(w, BlockBuffered)
	}
	return f, nil
}
