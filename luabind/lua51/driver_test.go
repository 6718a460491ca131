package lua51

import (
	"bytes"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// newTestState is a virtual machine with the libraries of this package.
func newTestState(t testing.TB, out *bytes.Buffer) *lua.LState {
	t.Helper()
	L := lua.NewState(lua.Options{RegistrySize: 1 << 14, RegistryMaxSize: 1 << 20})
	t.Cleanup(L.Close)
	OpenBase(L, out, nil)
	OpenString(L)
	OpenTable(L)
	OpenMath(L)
	return L
}

// runCases runs a chunk whose output goes to print.
func runCases(t testing.TB, L *lua.LState, name, source string) {
	t.Helper()
	proto, err := Compile([]byte(source), name)
	if err != nil {
		t.Fatal(err)
	}
	NewLinker(L).Link(proto)
	L.Push(L.NewFunctionFromProto(proto))
	L.Call(0, 0)
}

// caseDriver defines case, which prints a number and what a function returns or raises.
const caseDriver = `
local out, format, byte = print, string.format, string.byte
local function show(v)
	if type(v) == "number" then return format("%.17g", v) end
	if type(v) == "string" then
		local parts = {}
		for i = 1, #v do
			local c = v:sub(i, i)
			parts[i] = (c >= " " and c <= "~" and c ~= "\\") and c or format("\\%d", byte(c))
		end
		return '"' .. table.concat(parts) .. '"'
	end
	if v == nil or type(v) == "boolean" then return tostring(v) end
	return type(v)
end
local function collect(...)
	local parts = {}
	for i = 1, select("#", ...) do parts[i] = show((select(i, ...))) end
	return table.concat(parts, " ")
end
function case(n, f) out(n, collect(pcall(f))) end
function all(s, p)
	local parts = {}
	for a, b, c in string.gmatch(s, p) do
		parts[#parts + 1] = show(a) .. "," .. show(b) .. "," .. show(c)
	end
	return #parts, unpack(parts, 1, 50)
end
function trace(less, t)
	local log = {}
	local ok, err = pcall(table.sort, t, less and function(a, b)
		log[#log + 1] = show(a) .. "<" .. show(b)
		return less(a, b)
	end)
	for i = 1, #t do log[#log + 1] = show(t[i]) end
	return ok, err, table.concat(log, " ")
end
function list(t)
	local parts = {}
	for i = 1, #t + 2 do parts[i] = show(t[i]) end
	return table.concat(parts, " ")
end
`

// longTest skips t with -short, as `make race` runs the tests.
func longTest(t *testing.T, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("not with -short: " + why)
	}
}
