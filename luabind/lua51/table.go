package lua51

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

var tableRows = map[string]lua.LGFunction{
	"concat":   tableConcat,
	"foreach":  tableForeach,
	"foreachi": tableForeachi,
	"getn":     tableGetn,
	"insert":   tableInsert,
	"maxn":     tableMaxn,
	"remove":   tableRemove,
	"setn":     tableSetn,
	"sort":     tableSort,
}

// OpenTable replaces the functions of the library table.
func OpenTable(L *lua.LState) { setRows(L, lua.TabLibName, tableRows) }

// loopSteps is how many steps a loop goes between two looks at the context.
const loopSteps = 10_000

// loopMoves is how many items an insertion or removal moves in the time of an instruction, about.
const loopMoves = 8

func tableConcat(L *lua.LState) int {
	sep := optString(L, 2, "")
	t := checkTable(L, 1)
	i := optInt(L, 3, 1)
	last := optInt(L, 4, border(L, t))
	size := 0
	charge(L, min(max(last-i, 0), loopSteps-1)) // and the rest in the loop
	for k := i; k <= last; k++ {
		v := Item(t, k)
		if !isText(v) {
			raise(L, "invalid value (%s) at index %d in table for 'concat'", v.Type(), k)
		}
		size += textRoom(v)
		if k > i {
			size += len(sep)
		}
		checkResult(L, size)
		if k%loopSteps == 0 {
			charge(L, loopSteps)
		}
	}
	room(L, size)
	var out strings.Builder
	out.Grow(size)
	for k := i; k <= last; k++ {
		if k > i {
			out.WriteString(sep)
		}
		writeText(&out, Item(t, k))
	}
	L.Push(lua.LString(out.String()))
	return 1
}

func tableForeach(L *lua.LState) int {
	t, fn := checkTable(L, 1), checkFunction(L, 2)
	for k, v, _ := next(t, lua.LNil); k != lua.LNil; k, v, _ = next(t, k) {
		charge(L, 1)
		if r := call(L, fn, k, v); r != lua.LNil {
			L.Push(r)
			return 1
		}
	}
	return 0
}

func tableForeachi(L *lua.LState) int {
	t, fn := checkTable(L, 1), checkFunction(L, 2)
	n := border(L, t)
	for i := 1; i <= n; i++ {
		charge(L, 1)
		if r := call(L, fn, lua.LNumber(i), Item(t, i)); r != lua.LNil {
			L.Push(r)
			return 1
		}
	}
	return 0
}

func tableGetn(L *lua.LState) int {
	L.Push(lua.LNumber(border(L, checkTable(L, 1))))
	return 1
}

func tableInsert(L *lua.LState) int {
	t := checkTable(L, 1)
	n := border(L, t)
	switch L.GetTop() {
	case 2:
		roomForItem(L, t, lua.LNumber(n+1))
		SetItem(t, n+1, L.Get(2))
	case 3:
		pos, v := checkInt(L, 2), L.Get(3)
		if pos >= 1 && pos <= n && n < maxArray-1 {
			charge(L, (n-pos)/loopMoves)
			roomForItem(L, t, lua.LNumber(n+1))
			t.Insert(pos, v)
			return 0
		}
		roomForItem(L, t, lua.LNumber(max(pos, n+1)))
		charge(L, min(max(n-pos, 0), loopSteps-1))
		for i := n + 1; i > pos; i-- {
			SetItem(t, i, Item(t, i-1))
			if i%loopSteps == 0 {
				charge(L, loopSteps)
			}
		}
		SetItem(t, pos, v)
	default:
		raise(L, "wrong number of arguments to 'insert'")
	}
	return 0
}

func tableMaxn(L *lua.LState) int {
	highest := lua.LNumber(0)
	t := checkTable(L, 1)
	charge(L, tableSteps(t))
	t.ForEach(func(k, _ lua.LValue) {
		if n, ok := k.(lua.LNumber); ok && n > highest {
			highest = n
		}
	})
	L.Push(highest)
	return 1
}

func tableRemove(L *lua.LState) int {
	t := checkTable(L, 1)
	n := border(L, t)
	pos := optInt(L, 2, n)
	if pos < 1 || pos > n {
		return 0
	}
	L.Push(Item(t, pos))
	if n < maxArray-1 {
		charge(L, (n-pos)/loopMoves)
		t.Remove(pos)
		return 1
	}
	charge(L, min(n-pos, loopSteps-1))
	for ; pos < n; pos++ {
		SetItem(t, pos, Item(t, pos+1))
		if pos%loopSteps == 0 {
			charge(L, loopSteps)
		}
	}
	SetItem(t, n, lua.LNil)
	return 1
}

func tableSetn(L *lua.LState) int {
	checkTable(L, 1)
	raise(L, "'setn' is obsolete")
	return 0
}

func baseUnpack(L *lua.LState) int {
	t := checkTable(L, 1)
	from := optInt(L, 2, 1)
	to := optInt(L, 3, border(L, t))
	if from > to {
		return 0
	}
	if L.GetTop()+to-from+1 > maxPushed {
		raise(L, "too many results to unpack")
	}
	charge(L, (to-from)/valuesPerInstruction)
	for i := from; i <= to; i++ {
		L.Push(Item(t, i))
	}
	return to - from + 1
}
