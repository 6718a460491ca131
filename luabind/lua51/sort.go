package lua51

import (
	lua "github.com/yuin/gopher-lua"
)

func tableSort(L *lua.LState) int {
	t := checkTable(L, 1)
	n := border(L, t)
	s := sorter{L: L, t: t}
	if L.Get(2) != lua.LNil {
		s.before = checkFunction(L, 2)
	}
	s.sort(1, n)
	return 0
}

// sorter is the quicksort of PUC Lua: it compares the same items in the same order, so equal items
// end up in the same places, and an order that is none is noticed at the same moment.
type sorter struct {
	L      *lua.LState
	t      *lua.LTable
	before *lua.LFunction // nil: by <
	steps  int
}

func (s *sorter) less(a, b lua.LValue) bool {
	if s.steps++; s.steps%loopSteps == 0 {
		interrupted(s.L)
	}
	if s.before != nil {
		charge(s.L, 1)
		return lua.LVAsBool(call(s.L, s.before, a, b))
	}
	charge(s.L, 1+comparison(a, b))
	return lessThan(s.L, a, b)
}

func (s *sorter) swap(i, j int, a, b lua.LValue) {
	SetItem(s.t, i, b)
	SetItem(s.t, j, a)
}

// order exchanges the items at i and j if they stand in the wrong order.
func (s *sorter) order(i, j int) bool {
	a, b := Item(s.t, i), Item(s.t, j)
	if !s.less(b, a) {
		return false
	}
	s.swap(i, j, a, b)
	return true
}

// sort sorts the items from low to high. It calls itself for the smaller part only.
func (s *sorter) sort(low, high int) {
	for low < high {
		s.order(low, high)
		if high-low == 1 {
			return
		}
		middle := (low + high) / 2
		if !s.order(low, middle) {
			s.order(middle, high)
		}
		if high-low == 2 {
			return
		}
		pivot := Item(s.t, middle)
		s.swap(middle, high-1, pivot, Item(s.t, high-1))
		at := s.partition(low, high, pivot)
		if at-low < high-at {
			s.sort(low, at-1)
			low = at + 1
		} else {
			s.sort(at+1, high)
			high = at - 1
		}
	}
}

// partition moves items before the pivot to its left and those after it to its right, and returns
// its place. The pivot is at high-1.
func (s *sorter) partition(low, high int, pivot lua.LValue) int {
	i, j := low, high-1
	for {
		var a, b lua.LValue
		for i++; ; i++ {
			if a = Item(s.t, i); !s.less(a, pivot) {
				break
			}
			if i > high {
				raise(s.L, "invalid order function for sorting")
			}
		}
		for j--; ; j-- {
			if b = Item(s.t, j); !s.less(pivot, b) {
				break
			}
			if j < low {
				raise(s.L, "invalid order function for sorting")
			}
		}
		if j < i {
			break
		}
		s.swap(i, j, a, b)
	}
	s.swap(high-1, i, Item(s.t, high-1), Item(s.t, i))
	return i
}

// lessThan is a < b as a library function compares: its errors have no position.
func lessThan(L *lua.LState, a, b lua.LValue) bool {
	switch x := a.(type) {
	case lua.LNumber:
		if y, ok := b.(lua.LNumber); ok {
			return x < y
		}
	case lua.LString:
		if y, ok := b.(lua.LString); ok {
			return x < y
		}
	default:
		if a.Type() == b.Type() {
			if less, ok := ordered(L, a, b, "__lt"); ok {
				return less
			}
		}
	}
	raiseBare(L, compareProblem(a.Type().String(), b.Type().String()))
	return false
}

// compareProblem tells that values of two types have no order. PUC Lua takes types for equal by
// their third letter.
func compareProblem(a, b string) string {
	if a[2] == b[2] {
		return "attempt to compare two " + a + " values"
	}
	return "attempt to compare " + a + " with " + b
}
