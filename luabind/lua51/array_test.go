package lua51

import (
	"bytes"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// long makes t a list of size items, some of which are in the hash.
const long = `local size = 2^20 + 50 local t = {} for i = 1, size do t[i] = i end `

// TestLists prints what PUC Lua prints.
func TestLists(t *testing.T) {
	longTest(t, "one goroutine runs Lua here")
	var out bytes.Buffer
	L := newTestState(t, &out)
	for _, c := range []struct{ statement, want string }{
		{`local t = {} t[2^20 - 1] = 1 t[2^20] = 2 t[2^24] = 3 print(t[2^20 - 1], t[2^20], t[2^24])`, "1\t2\t3"},
		{long + `print(#t, t[size], t[size + 1])`, "1048626\t1048626\tnil"},
		{long + `t[#t + 1] = "x" print(#t, t[size + 1]) t[#t] = nil t[#t] = nil print(#t)`, "1048627\tx\n1048625"},
		{long + `for i = size, 2^20 - 3, -1 do t[#t] = nil end print(#t)`, "1048572"},
		{long + `print(table.remove(t), #t) for i = 1, 60 do table.remove(t) end print(#t, t[#t])`, "1048626\t1048625\n1048565\t1048565"},
		{long + `print(table.remove(t, 2^20 - 5), #t, t[2^20 - 6], t[2^20 - 5], t[2^20], t[#t], t[#t + 1])`, "1048571\t1048625\t1048570\t1048572\t1048577\t1048626\tnil"},
		{long + `table.insert(t, "x") table.insert(t, 2^20 - 2, "y") print(#t, t[2^20 - 3], t[2^20 - 2], t[2^20], t[#t])`, "1048628\t1048573\ty\t1048575\tx"},
		{long + `print(table.concat(t, " ", 2^20 - 2, 2^20 + 1)) print(unpack(t, 2^20 - 2, 2^20 + 1)) print(select("#", unpack(t, size)))`, "1048574 1048575 1048576 1048577\n1048574\t1048575\t1048576\t1048577\n1"},
		{long + `t[1], t[size] = t[size], t[1] t[2], t[2^20] = t[2^20], t[2] table.sort(t) print(#t, t[1], t[2], t[2^20], t[size])`, "1048626\t1\t2\t1048576\t1048626"},
		{long + `local n = 0 for i, v in ipairs(t) do n = n + 1 end print(n, table.maxn(t), table.getn(t))`, "1048626\t1048626\t1048626"},
		{long + `local n = 0 for k in pairs(t) do t[k] = nil n = n + 1 end print(n, #t, next(t))`, "1048626\t0\tnil"},
		{`local t = {} for i = 20, 60 do t[2^i] = i end for i = 1, 2^20 - 1 do t[i] = i end print(#t >= 2^20)`, "true"},
		{`local t = {1, nil, 3} print(t[3], #t) t[#t] = nil print(#t) t[#t + 1] = "x" print(#t, t[2])`, "3\t3\n1\n2\tx"},
		{`local t = {} for i = 1, 100 do t[i] = i end for i = 1, 100 do t[i] = nil end print(#t, next(t)) t[1] = 1 print(#t) t[3] = 3 t[2] = 2 print(#t)`, "0\tnil\n1\n3"},
		{`local t = {1, 2, 3} t[#t] = nil table.insert(t, "x") table.insert(t, 1, "y") print(table.concat(t, " "), table.remove(t), table.remove(t), #t)`, "y 1 2 x\tx\t2\t2"},
	} {
		out.Reset()
		runCases(t, L, "list", c.statement)
		if got := strings.TrimSuffix(out.String(), "\n"); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.statement, got, c.want)
		}
	}
}

// TestTraversal clears fields, and asks for the length, while it goes through tables.
func TestTraversal(t *testing.T) {
	var out bytes.Buffer
	L := newTestState(t, &out)
	for _, c := range []struct{ statement, want string }{
		{`for k, v in pairs(t) do t[k] = nil note(k, #t >= 0) end`, "1 2 3 a b "},
		{`for i = 3, 1, -1 do t[i] = nil end print(#t) for k in pairs(t) do note(k) end`, "0\na b "},
		{`local k = next(t, 2) for i = 3, 1, -1 do t[i] = nil end print(#t) while k do note(k) k = next(t, k) end`, "0\n3 a b "},
		{`for k in pairs(t) do while #t > 0 do t[#t] = nil end note(k) end`, "1 a b "},
		{`for k in pairs(t) do table.remove(t) note(k) end`, "1 2 a b "},
		{`table.foreach(t, function(k) t[k] = nil note(k, #t) end)`, "1 2 3 a b "},
		{`for k in pairs(t) do t.a = nil t.b = nil note(k) end`, "1 2 3 "},
		{`for k in pairs(t) do if k == "a" then t.a = nil end note(k) end`, "1 2 3 a b "},
		{`print(next(t, 3), next(t, "b"), next({}), next({1}, 1))`, "a\tnil\tnil\tnil\n"},
		{`print(next({[0] = 1}, 0), next({[-1] = 1}, -1), next({[0.5] = 1}, 0.5), next({[2^53] = 1}, 2^53))`, "nil\tnil\tnil\tnil\n"},
		{`print(pcall(next, t, "c"))`, "false\tinvalid key to 'next'\n"},
		{`print(pcall(next, t, 1e6))`, "false\tinvalid key to 'next'\n"},
		{`print(pcall(next, t, 1e7))`, "false\tinvalid key to 'next'\n"},
		{`print(pcall(next, t, -1))`, "false\tinvalid key to 'next'\n"},
		{`print(pcall(next, t, 1.5))`, "false\tinvalid key to 'next'\n"},
		{`print(pcall(next, t, 0/0))`, "false\tinvalid key to 'next'\n"},
		{`print(pcall(next, {}, 1))`, "false\tinvalid key to 'next'\n"},
		{`print(pcall(next, {}, {}))`, "false\tinvalid key to 'next'\n"},
	} {
		out.Reset()
		runCases(t, L, "traversal", `
			local seen = ""
			local t = {1, 2, 3} t.a = 1 t.b = 2
			local function note(k) seen = seen .. tostring(k) .. " " end
			`+c.statement+`
			if seen ~= "" then print(seen) end`)
		if got := strings.TrimSuffix(out.String(), "\n"); got != strings.TrimSuffix(c.want, "\n") {
			t.Errorf("%s\n got %q\nwant %q", c.statement, got, c.want)
		}
	}
}

// TestTrim counts the slots that the length has to look at.
func TestTrim(t *testing.T) {
	if !tableKnown {
		t.Fatal("this version of gopher-lua keeps tables in another way")
	}
	for _, c := range []struct {
		statement string
		slots     int
	}{
		{`t = {} for i = 1, 1000 do t[#t + 1] = i end for i = 1, 990 do t[#t] = nil end return #t`, 10},
		{`t = {} for i = 1, 1000 do t[i] = i end for i = 1, 1000 do t[i] = nil end return #t`, 0},
		{`t = {} for i = 1, 1000 do t[i] = i end for i = 1, 1000 do table.remove(t) end return #t`, 0},
		{`t = {} t[100] = 1 return #t`, 100},
		{`t = {} t[100] = 1 t[50] = 2 t[100] = nil return #t`, 50},
		{`t = {} t[2^22] = 1 return #t`, 0},
	} {
		L := newTestState(t, new(bytes.Buffer))
		runCases(t, L, "trim", c.statement)
		if n := len(arrayOf(L.GetGlobal("t").(*lua.LTable))); n != c.slots {
			t.Errorf("%s: %d slots, want %d", c.statement, n, c.slots)
		}
	}
}
