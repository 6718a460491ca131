package lua51

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
)

func TestLibraryCases(t *testing.T) {
	var out bytes.Buffer
	L := newTestState(t, &out)
	runCases(t, L, "driver", caseDriver)
	for _, c := range slices.Concat(libraryCases, languageCases) {
		out.Reset()
		runCases(t, L, "case", "case(0, function() "+c.statement+" end)")
		if got := strings.TrimSuffix(strings.TrimPrefix(out.String(), "0\t"), "\n"); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.statement, got, c.want)
		}
	}
}

func TestPrint(t *testing.T) {
	var out bytes.Buffer
	L := newTestState(t, &out)
	for _, c := range []struct{ statement, want string }{
		{`print()`, "\n"},
		{`print(1, 0.1, nil, "x")`, "1\t0.1\tnil\tx\n"},
		{`print("a\0b", "c")`, "a\tc\n"},
		{`print(1, setmetatable({}, {__tostring = function() return "T" end}))`, "1\tT\n"},
		{`_, e = pcall(print, 1, setmetatable({}, {__tostring = function() end})) print(e)`, "1'tostring' must return a string to 'print'\n"},
		{`local old = tostring tostring = function(v) return "<" .. old(v) .. ">" end print(1, 2) tostring = old`, "<1>\t<2>\n"},
	} {
		out.Reset()
		runCases(t, L, "print", c.statement)
		if out.String() != c.want {
			t.Errorf("%s: %q, want %q", c.statement, out.String(), c.want)
		}
	}
}

func TestConcat(t *testing.T) {
	var out bytes.Buffer
	L := newTestState(t, &out)
	L.SetGlobal("concat", L.NewFunction(Concat))
	runCases(t, L, "concat", `
		local log = setmetatable({}, {__concat = function(a, b)
			return (type(a) == "table" and "t" or a) .. "+" .. (type(b) == "table" and "t" or b)
		end})
		print(concat("a", 1, 0.5, "b"), concat(1, 2), concat("a", log, "b", "c"), concat(log, log), concat(1, log))
		print(pcall(concat, "a", nil), pcall(concat, {}, "b"))
		print(select(2, pcall(function() local r = concat("a", "b", nil, "c") return r end)))
	`)
	want := "a10.5b\t12\tat+bc\tt+t\t1+t\n" +
		"false\tfalse\tattempt to concatenate a table value\n" +
		"concat:7: attempt to concatenate a nil value\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestLimits makes strings that are too long.
func TestLimits(t *testing.T) {
	defer func(n int) { maxResult = n }(maxResult)
	maxResult = 1 << 20
	var out bytes.Buffer
	L := newTestState(t, &out)
	for _, c := range []struct{ statement, want string }{
		{`return ("x"):rep(2^20 + 1)`, "resulting string too large"},
		{`return ("xy"):rep(2^31 - 1)`, "resulting string too large"},
		{`local t = {} for i = 1, 1025 do t[i] = kilo end return table.concat(t)`, "resulting string too large"},
		{`return table.concat({1, 2, 3}, ("x"):rep(2^19))`, "resulting string too large"},
		{`return ("x"):rep(1025):gsub("x", kilo)`, "resulting string too large"},
		{`return ("x"):rep(1025):gsub("x", function() return kilo end)`, "resulting string too large"},
		{`return ("x"):rep(1025):gsub("x", {x = kilo})`, "resulting string too large"},
		{`return kilo:gsub(".*", ("%0"):rep(2^19))`, "resulting string too large"},
		{`return ("x"):rep(2^20):gsub("x", "yy", 1)`, "resulting string too large"},
		{`return (("x"):rep(2^20):gsub(".", "%0"))`, "1048576"},
		{`return (("x"):rep(2^20):gsub("$", "1", 0))`, "1048576"},
		{`return ("x"):rep(2^20):gsub("$", 1)`, "resulting string too large"},
		{`return (("x"):rep(2^20 - 1):gsub("$", 1))`, "1048576"},
		{`return table.concat({kilo:rep(256), kilo:rep(256)}, kilo:rep(512))`, "1048576"},
		{`return table.concat({kilo:rep(256), kilo:rep(256), ""}, kilo:rep(512))`, "resulting string too large"},
		{`return (kilo .. "%s"):rep(1000):format(unpack((function() local t = {} for i = 1, 1000 do t[i] = kilo end return t end)()))`, "resulting string too large"},
		{`local s = ("x"):rep(2^19) return s .. s .. "x"`, "string length overflow"},
		{`return ("x"):rep(2^20)`, "1048576"},
	} {
		out.Reset()
		runCases(t, L, "limit", `kilo = ("x"):rep(1024) print(select(2, pcall(function() local r = (function() `+c.statement+` end)() return #r end)))`)
		if got := out.String(); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.statement, got, c.want)
		}
	}
}

// TestInterrupt cancels computations that take much longer than the test.
func TestInterrupt(t *testing.T) {
	for _, statement := range []string{
		`return ("a"):rep(30):find(("a?"):rep(30) .. ("a"):rep(30))`,
		`return ("a"):rep(40):find(("a*"):rep(20) .. "b")`,
		`return ("a"):rep(1e6):find(".-.-.-b")`,
		`return ("x"):rep(1e6):gsub(".-.-y", "")`,
		`return ("("):rep(1e6):find("%b().-%b()z")`,
		`table.insert({}, -2^31, 1)`,
		`local t = {} for i = 1, 2^16 do t[i] = 1 end while true do table.sort(t) end`,
		`while true do table.concat({1, 2}) end`,
	} {
		L := newTestState(t, new(bytes.Buffer))
		ctx, cancel := context.WithCancel(context.Background())
		L.SetContext(ctx)
		var canceled time.Time
		time.AfterFunc(30*time.Millisecond, func() { canceled = time.Now(); cancel() })
		err := L.DoString(statement)
		if err == nil || !strings.Contains(err.Error(), "context canceled") {
			t.Errorf("%s: %v", statement, err)
		} else if late := time.Since(canceled); late > 200*time.Millisecond {
			t.Errorf("%s: stopped after %v", statement, late)
		}
	}
}

func TestDeepPattern(t *testing.T) {
	var out bytes.Buffer
	L := newTestState(t, &out)
	runCases(t, L, "deep", `print(select(2, pcall(string.find, ("a"):rep(3e5), ("a?"):rep(3e5) .. "b")))`)
	if got := out.String(); got != "pattern too complex\n" {
		t.Error(got)
	}
}

func TestNumberText(t *testing.T) {
	for _, c := range []struct {
		n    float64
		want string
	}{
		{0, "0"}, {math.Copysign(0, -1), "-0"}, {1, "1"}, {-1, "-1"}, {99999999999999, "99999999999999"}, {1e14, "1e+14"},
		{123456789012345, "1.2345678901234e+14"}, {0.1, "0.1"}, {1.0 / 3, "0.33333333333333"}, {1e-5, "1e-05"}, {1e300, "1e+300"},
		{5e-324, "4.9406564584125e-324"}, {math.Inf(1), "inf"}, {math.Inf(-1), "-inf"}, {plainNaN, "nan"}, {minusNaN, "-nan"},
	} {
		if got := NumberText(c.n); got != c.want {
			t.Errorf("%v: %s, want %s", c.n, got, c.want)
		}
	}
}

func TestPow(t *testing.T) {
	for _, c := range []struct{ x, y, want float64 }{
		{2, 10, 1024}, {10, 22, 1e22}, {10, -5, 1e-5}, {0.1, -255, 9.9999999999998582e+254}, {1.0913154442011739, -255, 2.1021957667678353e-10},
		{1, math.NaN(), 1}, {2, 0.5, math.Sqrt2}, {-2, 3, -8}, {9, 1.5, 27}, {2, 1024, math.Inf(1)}, {2, -1074, 5e-324}, {0, -1, math.Inf(1)}, {1, math.Inf(1), 1},
	} {
		got := Pow(c.x, c.y)
		if got != c.want && math.Abs(got-c.want) > 4e-16*math.Abs(c.want) {
			t.Errorf("%v^%v: %v, want %v", c.x, c.y, got, c.want)
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("hello world", "(%w+)%s*%f[%w](.-)$", "%1-%0")
	f.Add("a(b)c", "%b()", "%")
	f.Add("\x00\xff", "[^%z-\xff]*%", "")
	f.Fuzz(func(t *testing.T, subject, pattern, by string) {
		L := newTestState(t, new(bytes.Buffer))
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		L.SetContext(ctx)
		for _, name := range []string{"find", "match", "gmatch", "gsub"} {
			fn := L.GetField(L.GetGlobal("string"), name)
			fuzzCall(t, L, fn, lua.LString(subject), lua.LString(pattern), lua.LString(by))
		}
	})
}

func FuzzFormat(f *testing.F) {
	f.Add("%5.2f|%-8s|%x|%q", 3.5, "text")
	f.Add("%c%%%#g", -1.0, "\x00")
	f.Fuzz(func(t *testing.T, format string, n float64, s string) {
		L := newTestState(t, new(bytes.Buffer))
		fn := L.GetField(L.GetGlobal("string"), "format")
		fuzzCall(t, L, fn, lua.LString(format), lua.LNumber(n), lua.LString(s), lua.LNumber(n), lua.LString(s))
	})
}

// fuzzCall calls fn; it may fail with an error of Lua's, but not with one of Go's.
func fuzzCall(t *testing.T, L *lua.LState, fn lua.LValue, args ...lua.LValue) {
	err := L.CallByParam(lua.P{Fn: fn, Protect: true}, args...)
	if apiErr, ok := err.(*lua.ApiError); ok && strings.Contains(apiErr.Object.String(), "runtime error") {
		t.Fatal(err)
	}
}

func BenchmarkConcat(b *testing.B) {
	L := newTestState(b, new(bytes.Buffer))
	L.Push(lua.LString("some text"))
	L.Push(lua.LNumber(12.5))
	L.Push(lua.LString("more text"))
	b.ReportAllocs()
	for b.Loop() {
		Concat(L)
		L.Pop(1)
	}
}
