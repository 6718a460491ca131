package lua51

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// hook is a function that is called before lines, or every so many instructions, of a coroutine.
type hook struct {
	fn      *lua.LFunction
	mask    string
	count   int // 0: not by count
	left    int // until it is called by count
	running bool

	frame *frame // that ran last
	pc    int    // of its last instruction
}

// hooks are those of the coroutines of a machine; a coroutine has the one of its maker.
type hooks map[*lua.LState]*hook

// debugSethook is debug.sethook([thread,] hook, mask [, count]). Calls and returns are out of its sight.
func (t *Threads) debugSethook(L *lua.LState) int {
	th, shift := t.hooked(L)
	if L.Get(shift+1) == lua.LNil {
		delete(t.hooks, th)
		t.watch()
		return 0
	}
	mask := cString(checkString(L, shift+2))
	fn := checkFunction(L, shift+1)
	count := optInt(L, shift+3, 0)
	if strings.ContainsAny(mask, "cr") {
		raise(L, "hooks for calls and returns are not there, only for lines and counts")
	}
	h := &hook{fn: fn, count: count, left: count}
	if strings.Contains(mask, "l") {
		h.mask = "l"
	}
	if t.hooks == nil {
		t.hooks = make(hooks)
	}
	if old := t.hooks[th]; old != nil {
		h.running = old.running
	}
	t.hooks[th] = h
	t.watch()
	return 0
}

func (t *Threads) debugGethook(L *lua.LState) int {
	th, _ := t.hooked(L)
	h := t.hooks[th]
	if h == nil {
		h = &hook{}
	}
	if h.fn == nil {
		L.Push(lua.LNil)
	} else {
		L.Push(h.fn)
	}
	L.Push(lua.LString(h.mask))
	L.Push(lua.LNumber(h.count))
	return 3
}

// hooked is the coroutine that a call of a hook function is about, and how many arguments stand for it.
func (t *Threads) hooked(L *lua.LState) (th *lua.LState, shift int) {
	if th, ok := L.Get(1).(*lua.LState); ok {
		return th, 1
	}
	return t.logical(L), 0
}

// active reports whether h is ever called; debug.gethook knows it all the same.
func (h *hook) active() bool { return h.mask != "" || h.count > 0 }

// watch has the hooks asked before each instruction, or not.
func (t *Threads) watch() {
	t.meter.step = nil
	for _, h := range t.hooks {
		if h.active() {
			t.meter.step = t.step
		}
	}
}

// inheritHook gives a new coroutine the hook of its maker.
func (t *Threads) inheritHook(L, th *lua.LState) {
	if h := t.hooks[t.logical(L)]; h != nil && h.active() {
		for old := range t.hooks {
			if old.Dead {
				delete(t.hooks, old)
			}
		}
		t.hooks[th] = &hook{fn: h.fn, mask: h.mask, count: h.count, left: h.count}
	}
}

// step calls the hook of the coroutine that runs, where the instruction that comes now is one for it.
func (t *Threads) step() {
	L := t.main.G.CurrentThread
	if L == nil || !frameKnown {
		return
	}
	h := t.hooks[t.logical(L)]
	f := currentFrame(L)
	if h == nil || h.running || f == nil || isC(f.fn) {
		return
	}
	if h.count > 0 {
		if h.left--; h.left == 0 {
			h.left = h.count
			t.callHook(L, h, lua.LString("count"), lua.LNil)
		}
	}
	if h.mask == "" {
		return
	}
	pc, lines := f.pc-1, f.fn.Proto.DbgSourcePositions
	last := pc - 1 // where the frame goes on after a call
	if f == h.frame {
		last = h.pc
	}
	h.frame, h.pc = f, pc
	if pc < len(lines) && (pc == 0 || pc <= last || last >= len(lines) || lines[pc] != lines[last]) {
		t.callHook(L, h, lua.LString("line"), lua.LNumber(lines[pc]))
	}
}

func (t *Threads) callHook(L *lua.LState, h *hook, event, line lua.LValue) {
	h.running = true
	_, err := t.Call(L, h.fn, event, line)
	h.running = false
	if now := t.hooks[t.logical(L)]; now != nil {
		now.running = false
	}
	if err != nil {
		L.Error(ErrorValue(err), 0)
	}
}
