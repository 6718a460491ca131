package lua51

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

func numbered(n int, format string) string {
	var out strings.Builder
	for i := 1; i <= n; i++ {
		out.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
	}
	return out.String()
}

func TestCompileRuns(t *testing.T) {
	for _, tt := range []struct{ name, source, want string }{
		{"hexadecimal", `print(0xffffffffffffffff, 0x10, 0Xff, 0x20000000000001, 0x8000000000000000 == 2^63)`, "1.844674407371e+19\t16\t255\t9.007199254741e+15\ttrue\n"},
		{"decimal", `print(0010, 1e400, -1e400, 1e-400, .5, 3., 1e2, 0.1 == 1/10, 1e400 == 1/0)`, "10\tinf\t-inf\t0\t0.5\t3\t100\ttrue\ttrue\n"},
		{"exact", `print(string.format("%.17g %.17g", 0.1, 123456789012345678))`, "0.10000000000000001 1.2345678901234568e+17\n"},
		{"link names", `local a = "\0concat" .. "x" print(#a, type("\0length"), #(("\0power")..2), _G["\0mod"])`, "8\tstring\t7\tnil\n"},
		{"string bounds", `for i = "1", "3", "2" do print(i) end for i = "0x2", 2 do print(i) end`, "1\n3\n2\n"},
		{"bad init", `print(pcall(function()
			for i = nil, 2 do end end))`, "false\tname:2: 'for' initial value must be a number\n"},
		{"bad limit", `print(pcall(function() for i = 1, "x" do end end))`, "false\tname:1: 'for' limit must be a number\n"},
		{"bad step", `print(pcall(function() for i = 1, 2, {} do end end))`, "false\tname:1: 'for' step must be a number\n"},
		{"bound calls", `local function f() return 1, 2, 3 end for i = f(), f() do print(i) end local t = {2, 3} for i = t[1], t[2] do print(i) end`, "1\n2\n3\n"},
		{"crowded local", "local function f() " + numbered(190, "local v#=#\n") + "local a, b, c = (v1 + v2) * v3, math.max(v1, v2, v190) return a, b, c end print(f())", "9\t190\tnil\n"},
		{"local functions", numbered(150, "local function f#() return # end\n") + "print(f150())", "150\n"},
		{"crowded operand", "local function f() " + numbered(185, "local v#=#\n") + "local function g() v1 = 7 return 1 end v2 = v1 + g() return v2 end print(f())", "8\n"},
		{"long block operand", "local n = 0 local function more() n = n + 1 return 1 end " + numbered(1200, "z = #\n") + "n = n + more() print(n)\n" + numbered(1200, "z = #\n"), "2\n"},
		{"long block recursion", "function F(n) local r\n" + numbered(600, "z = 1\n") + "if n > 0 then r = 1 + F(n - 1) else r = 0 end\n" + numbered(600, "z = 1\n") + "return r end print(F(200))", "200\n"},
		{"full group, then a key", "local t = {" + strings.Repeat("7, ", 50) + "x = math.max(1, 2, 3), 8} print(#t, t[1], t[2], t[51], t.x)", "51\t7\t7\t8\t3\n"},
		{"full group, then its own key", "local t = {" + strings.Repeat("7, ", 100) + "[1] = 'one', 8, [102] = 9, 10} print(#t, t[1], t[2], t[101], t[102])", "102\tone\t7\t8\t10\n"},
		{"full group, then an open end", "local function f(...) local t = {" + strings.Repeat("7, ", 50) + "...} print(#t, t[50], t[51], t[53]) end f(1, 2, 3) f()", "53\t7\t1\t3\n50\t7\tnil\tnil\n"},
		{"long list with a number key", "local t = {" + strings.Repeat("7, ", 2100) + "[2] = 'y', 8} print(#t, t[1], t[2], t[2101])", "2101\t7\ty\t8\n"},
		{"long concat", `local x = "a" local s = ` + strings.Repeat("x..", 12000) + `x print(#s)`, "12001\n"},
		{"long concat order", `local log = {} local function f(n) log[#log + 1] = n return n end
			local s = ` + numbered(60, "f(#)..") + `f(0) print(s == table.concat(log), #log)`, "true\t61\n"},
		{"long concat metamethod", `local m = setmetatable({}, {__concat = function(a, b) return type(a) .. "," .. type(b) end})
			print(` + strings.Repeat("1 ..", 30) + "m" + strings.Repeat(" ..2", 30) + `)`, strings.Repeat("1", 30) + "table,string\n"},
		{"long sum", `local x = 1 print(x` + strings.Repeat("+x", 5000) + `)`, "5001\n"},
		{"long index", `local a = {} a.a = a print(a` + strings.Repeat(".a", 5000) + ` == a)`, "true\n"},
		{"elseif", "local x = 2999 if x == 0 then " + numbered(3000, "elseif x == # then print(#) ") + "end", "2999\n"},
		{"parentheses", `print(` + strings.Repeat("(", 150) + "1" + strings.Repeat(")", 150) + `)`, "1\n"},
		{"sections", "local n, t = 0, {}\n" + numbered(3000, "g# = # t[#] = g# n = n + 1\n") + "print(n, #t, g3000, g1)", "3000\t3000\t3000\t1\n"},
		{"sections with jumps", "local n = 0 local function f(...)\n" + numbered(1500, "n = n + 1\n") + "for i = 1, 3 do if i == 2 then break end n = n + 1 end\n" + numbered(300, "n = n + (...)\n") + "return n end print(f(1, 2))", "1801\n"},
	} {
		var out bytes.Buffer
		L := newTestState(t, &out)
		start := time.Now()
		t.Run(tt.name, func(t *testing.T) {
			runCases(t, L, "name", tt.source)
			if out.String() != tt.want {
				t.Errorf("got %q, want %q", out.String(), tt.want)
			}
			if d := time.Since(start); d > 30*time.Second { // minutes, if it grew with the square
				t.Errorf("took %v", d)
			}
		})
	}
}

func TestCompileRefuses(t *testing.T) {
	longTest(t, "one goroutine runs Lua here")
	levels := "name:1: chunk has too many syntax levels"
	chain := "name:1: chain of operators, indexes, calls or conditions is too long"
	nest := func(open, middle, end string, n int) string {
		return strings.Repeat(open, n) + middle + strings.Repeat(end, n)
	}
	for _, tt := range []struct{ name, source, want string }{
		{"exponent", "local x\nreturn 1e", "name:2: malformed number near '1e'"},
		{"exponent in call", "f(1e)", "name:1: malformed number near '1e'"},
		{"hexadecimal", "return 0x", "name:1: malformed number near '0x'"},
		{"suffix", "local a = 3x", "name:1: malformed number near '3x'"},
		{"dots", "x = [[\n]] -- 3x\nx = 'a3x' .. \"3x\" y = 1..2", "name:3: malformed number near '1..2'"},
		{"not", "return " + strings.Repeat("not ", 1e5) + "1", levels},
		{"length", "return " + strings.Repeat("#", 1e6) + "x", levels},
		{"power", "return " + strings.Repeat("x^", 1e5) + "x", levels},
		{"sum", "return a" + strings.Repeat("+a", 1e6), chain},
		{"index", "return a" + strings.Repeat(".a", 1e6), chain},
		{"name", "function a" + strings.Repeat(".a", 1e6) + "() end", chain},
		{"call", "return a" + strings.Repeat("()", 1e5), chain},
		{"do", nest("do ", "x = 1 ", "end ", 2e5), levels},
		{"function", "return " + nest("function() return ", "1 ", "end ", 1e5), levels},
		{"table", "return " + nest("{", "", "}", 1e5), levels},
		{"elseif", "if x then " + strings.Repeat("elseif x then ", 1e5) + "end", chain},
		{"locals", numbered(201, "local v#\n"), "name:201: main function has more than 200 local variables"},
		{"function locals", "\nfunction f()\n" + numbered(201, "local v#\n") + "end", "name:203: function at line 2 has more than 200 local variables"},
		{"long loop", "\nwhile x do\n" + numbered(900, "if x then "+strings.Repeat("x = y ", 100)+" break end\n") + "end", "name:2: control structure too long near line 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			_, err := Compile([]byte(tt.source), "name")
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %.200v, want %s", err, tt.want)
			}
			if d := time.Since(start); d > 10*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

func TestManyUpvalues(t *testing.T) {
	locals := func(level string) string {
		return numbered(130, "local "+level+"#=1\n") + "return (function()\n"
	}
	sum := func(level string) string { return strings.TrimSuffix(numbered(130, level+"#+"), "+") }
	source := locals("a") + locals("b") + "return " + sum("a") + "+" + sum("b") + " end)() end)()"
	if _, err := Compile([]byte(source), "name"); err == nil || err.Error() != "name:262: function at line 262 has more than 255 upvalues" {
		t.Errorf("got %v", err)
	}
}

func TestCompileTime(t *testing.T) {
	longTest(t, "one goroutine runs Lua here")
	for _, format := range []string{"v# = #\n", "t[#] = 'x#'\n"} {
		start := time.Now()
		if _, err := Compile([]byte("local t = {}\n"+numbered(60000, format)), "name"); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d > 30*time.Second { // minutes, if it grew with the square
			t.Errorf("%q took %v", format, d)
		}
	}
}
