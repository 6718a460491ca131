package lua51

import (
	"bufio"
	"errors"
	"io"
	"math"

	lua "github.com/yuin/gopher-lua"
)

func (x *IO) read(L *lua.LState) int       { return read(L, standard(L, x.input, "input"), 1) }
func (x *IO) methodRead(L *lua.LState) int { return read(L, openFileOf(L), 2) }

// read does the formats from argument first on, up to the first that fails, which gives nil.
func read(L *lua.LState, f *file, first int) int {
	top := L.GetTop()
	in, err := f.reader(contextOf(L))
	raiseInterruption(L, err)
	if top < first {
		L.Push(lua.LString("*l"))
		top = first
	}
	for n := first; n <= top; n++ {
		format := formatOf(L, n)
		if err != nil {
			if f.in == nil && isNumberFormat(L, n) { // scanf does not tell that a file cannot be read
				L.Push(lua.LNil)
				return 1
			}
			return pushResult(L, err)
		}
		var v lua.LValue
		v, err = format(L, in.Reader)
		if err != nil && !errors.Is(err, io.EOF) {
			return pushResult(L, err)
		}
		L.Push(v)
		if v == lua.LNil {
			return n - first + 1
		}
		err = nil
	}
	return top - first + 1
}

// formatOf is the reader for the format in argument n. Readers give nil if nothing is there.
func formatOf(L *lua.LState, n int) func(*lua.LState, *bufio.Reader) (lua.LValue, error) {
	if count, ok := L.Get(n).(lua.LNumber); ok {
		size := int64(math.MaxInt64) // a negative count is a huge one
		if n := truncate(float64(count)); n >= 0 && n < 1<<62 {
			size = n
		}
		return func(L *lua.LState, r *bufio.Reader) (lua.LValue, error) { return readCount(L, r, size) }
	}
	s, _ := L.Get(n).(lua.LString)
	if s == "" || s[0] != '*' {
		argError(L, n, "invalid option")
	}
	switch {
	case len(s) == 1:
	case s[1] == 'n':
		return func(_ *lua.LState, r *bufio.Reader) (lua.LValue, error) { return readNumber(r) }
	case s[1] == 'l':
		return readLine
	case s[1] == 'a':
		return readAll
	}
	argError(L, n, "invalid format")
	return nil
}

func isNumberFormat(L *lua.LState, n int) bool {
	s, ok := L.Get(n).(lua.LString)
	return ok && len(s) > 1 && s[1] == 'n'
}

// readLine leaves out only the newline; the line may hold any other byte, also NUL.
func readLine(L *lua.LState, r *bufio.Reader) (lua.LValue, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if err == nil {
			part = part[:len(part)-1]
			chargeBytes(L, len(part))
			if line == nil {
				return lua.LString(part), nil
			}
			return lua.LString(append(line, part...)), nil
		}
		if len(line)+len(part) > cap(line) {
			room(L, 2*len(line))
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if len(line) > 0 && errors.Is(err, io.EOF) {
			return lua.LString(line), nil
		}
		return lua.LNil, err
	}
}

func readAll(L *lua.LState, r *bufio.Reader) (lua.LValue, error) {
	data, err := take(L, r, math.MaxInt64)
	return lua.LString(data), err
}

func readCount(L *lua.LState, r *bufio.Reader, size int64) (lua.LValue, error) {
	if size == 0 {
		if _, err := r.Peek(1); err != nil {
			return lua.LNil, err
		}
		return lua.LString(""), nil
	}
	data, err := take(L, r, size)
	if len(data) == 0 {
		return lua.LNil, err
	}
	return lua.LString(data), err
}

// take reads up to size bytes; it needs no more memory than there is data.
func take(L *lua.LState, r *bufio.Reader, size int64) ([]byte, error) {
	var data []byte
	for size > 0 {
		if _, err := r.Peek(1); err != nil {
			return data, err
		}
		part, _ := r.Peek(int(min(size, int64(r.Buffered()))))
		if len(data)+len(part) > cap(data) {
			room(L, 2*len(data))
		}
		chargeBytes(L, len(part))
		data = append(data, part...)
		size -= int64(len(part))
		r.Discard(len(part))
	}
	return data, nil
}

func (x *IO) lines(L *lua.LState) int {
	if L.GetTop() == 0 {
		L.Push(x.input)
		return x.methodLines(L)
	}
	if L.Get(1) == lua.LNil {
		typeError(L, 1, fileType)
	}
	return lineIterator(L, x, x.openOrRaise(L, "r"), true)
}

func (x *IO) methodLines(L *lua.LState) int {
	openFileOf(L)
	return lineIterator(L, x, L.Get(1).(*lua.LUserData), false)
}

// lineIterator pushes the function that gives the next line of ud at each call.
func lineIterator(L *lua.LState, x *IO, ud *lua.LUserData, closes bool) int {
	L.Push(L.NewFunction(func(L *lua.LState) int {
		f := ud.Value.(*file)
		if f.closed {
			raise(L, "file is already closed")
		}
		v, err := nextLine(L, f)
		if err != nil && !errors.Is(err, io.EOF) {
			raiseInterruption(L, err)
			text, _ := errnoText(err)
			raise(L, "%s", text)
		}
		if v == lua.LNil && closes {
			x.finish(L, f)
		}
		L.Push(v)
		return 1
	}))
	return 1
}

func nextLine(L *lua.LState, f *file) (lua.LValue, error) {
	in, err := f.reader(contextOf(L))
	if err != nil {
		return lua.LNil, err
	}
	return readLine(L, in.Reader)
}
