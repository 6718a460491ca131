package lua51

import (
	"math"
	"reflect"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// maxArray bounds the array part of tables: gopher-lua fills it up to any index that is set, and
// keeps what lies beyond in a hash. It is a setting of the library, the same for all machines.
const maxArray = 1 << 22

func init() { lua.MaxArrayIndex = maxArray }

// The private fields of tables that are read here, at offsets that are checked by name and type when
// the program starts. tableKnown is false where this version of the library looks otherwise; then
// arrays stay as long as they were, and next takes any key.
var arrayOffset, keysOffset, placesOffset, tableKnown = func() (array, keys, places uintptr, ok bool) {
	t, list := reflect.TypeOf(lua.LTable{}), reflect.TypeOf([]lua.LValue{})
	a, ok1 := t.FieldByName("array")
	k, ok2 := t.FieldByName("keys")
	p, ok3 := t.FieldByName("k2i")
	ok = ok1 && ok2 && ok3 && a.Type == list && k.Type == list && p.Type == reflect.TypeOf(map[lua.LValue]int{})
	return a.Offset, k.Offset, p.Offset, ok
}()

func arrayOf(t *lua.LTable) []lua.LValue {
	return *(*[]lua.LValue)(unsafe.Add(unsafe.Pointer(t), arrayOffset))
}

// hashOf is the keys that the hash of t ever had, those that were removed included, and their places
// in the list.
func hashOf(t *lua.LTable) (keys []lua.LValue, places map[lua.LValue]int) {
	p := unsafe.Pointer(t)
	return *(*[]lua.LValue)(unsafe.Add(p, keysOffset)), *(*map[lua.LValue]int)(unsafe.Add(p, placesOffset))
}

// isArrayKey reports whether k belongs into the array part.
func isArrayKey(k lua.LValue) (int, bool) {
	n, ok := k.(lua.LNumber)
	if !ok || !(n >= 1 && n < maxArray) || n != lua.LNumber(int(n)) {
		return 0, false
	}
	return int(n), true
}

// next is what follows key in t; ok is false where key never was in t. The array may have become
// shorter than key by trim.
func next(t *lua.LTable, key lua.LValue) (k, v lua.LValue, ok bool) {
	if !tableKnown || key == lua.LNil {
		k, v = t.Next(key)
		return k, v, true
	}
	keys, places := hashOf(t)
	if i, inArray := isArrayKey(key); inArray {
		array := arrayOf(t)
		if i > cap(array) {
			return lua.LNil, lua.LNil, false
		}
		for ; i < len(array); i++ {
			if v := array[i]; v != lua.LNil {
				return lua.LNumber(i + 1), v, true
			}
		}
	} else {
		place, seen := places[key]
		if !seen {
			return lua.LNil, lua.LNil, false
		}
		keys = keys[place+1:]
	}
	for _, k := range keys {
		if v := t.RawGetH(k); v != lua.LNil {
			return k, v, true
		}
	}
	return lua.LNil, lua.LNil, true
}

// place is where key stands in the order of next. nil stands before all keys or, as what next gives, behind them.
func place(t *lua.LTable, key lua.LValue, behind bool) int {
	keys, places := hashOf(t)
	n := len(arrayOf(t))
	if key == lua.LNil {
		if behind {
			return n + len(keys)
		}
		return 0
	}
	if i, inArray := isArrayKey(key); inArray {
		return i
	}
	return n + places[key]
}

// chargeNext counts what next passed over between two keys: places that were set to nil, perhaps a million.
func chargeNext(L *lua.LState, t *lua.LTable, from, to lua.LValue) {
	if m := meterOf(L); m != nil && m.counting && tableKnown {
		charge(L, max(place(t, to, true)-place(t, from, false), 0)/valuesPerInstruction)
	}
}

// Items is how many places for items t has, those that were set to nil included.
func Items(t *lua.LTable) int {
	if !tableKnown {
		return t.Len()
	}
	keys, _ := hashOf(t)
	return len(arrayOf(t)) + len(keys)
}

// tableSteps is what it takes to look at all items of t.
func tableSteps(t *lua.LTable) int {
	if !tableKnown {
		return 0
	}
	keys, _ := hashOf(t)
	return len(arrayOf(t))/valuesPerInstruction + len(keys)
}

// trim takes the nils from the end of an array whose last item is n: the library looks for the last
// item from the end of the array, so a list that got short would be slow for ever.
func trim(t *lua.LTable, n int) {
	if !tableKnown {
		return
	}
	for i := len(arrayOf(t)); i > n; i-- {
		t.Remove(i)
	}
}

// Length is a border of t: the number of its items where it is a list.
func Length(t *lua.LTable) int {
	n := t.Len()
	if n < maxArray-1 {
		trim(t, n)
		return n
	}
	// The array part is full: items may go on in the hash.
	item, none := n, n+1
	for Item(t, none) != lua.LNil {
		item, none = none, none*2
		if none > math.MaxInt32 { // no list is that long: the keys are there to confuse the search
			for item = n; Item(t, item+1) != lua.LNil; item++ {
			}
			return item
		}
	}
	for none-item > 1 {
		if middle := item + (none-item)/2; Item(t, middle) != lua.LNil {
			item = middle
		} else {
			none = middle
		}
	}
	return item
}

// border is Length for a library function, and counts what it looked at.
func border(L *lua.LState, t *lua.LTable) int {
	if !tableKnown {
		return Length(t)
	}
	before := len(arrayOf(t))
	n := Length(t)
	if more := max(before-n, n-before); more >= valuesPerInstruction {
		charge(L, more/valuesPerInstruction)
	}
	return n
}

// Item is t[i] without metamethods.
func Item(t *lua.LTable, i int) lua.LValue {
	if i >= 1 && i < maxArray {
		return t.RawGetInt(i)
	}
	return t.RawGetH(lua.LNumber(i))
}

// SetItem sets t[i] without metamethods; a nil does not make the array longer.
func SetItem(t *lua.LTable, i int, v lua.LValue) {
	if v == lua.LNil && Item(t, i) == lua.LNil {
		return
	}
	t.RawSetInt(i, v)
}
