package tests

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator writes random Lua 5.1 programs that end, print what they compute, and depend on nothing
// that the language leaves open: no order of pairs, no addresses, no time. Sums end in + 0, because
// the sign of zero is a known deviation (docs/lua.md).
type generator struct {
	r      *rand.Rand
	b      strings.Builder
	indent int
	vars   [][]variable // by block
	next   int
	funcs  int            // nesting of functions
	inCo   bool           // yield is allowed
	used   map[string]int // constructs written, by name
	budget int            // statements left
}

type variable struct {
	name string
	kind kind
}

// kind is what a generated expression evaluates to, as far as the generator knows.
type kind int

const (
	num kind = iota
	str
	boolean
	tab
	kinds
)

// constructs are what a run of the generator must have written often enough.
var constructs = []string{
	"local assignment", "assignment to a local", "and/or assigned to a local", "swap", "rotation", "multiple assignment with an index",
	"multiple assignment from a call", "assignment to a field", "assignment to a global", "self-referring table", "and/or chain", "comparison chain", "arithmetic", "concatenation",
	"number to text", "if", "while", "repeat with a local in its condition", "numeric for", "numeric for with a step", "generic for",
	"closure over a loop variable", "closure that counts", "recursion", "varargs", "select", "unpack", "tail call", "shadowed function name", "method call",
	"metatable arithmetic", "metatable index", "metatable newindex", "metatable call", "metatable comparison", "metatable concat", "tostring through a metatable",
	"coroutine", "coroutine wrap in for", "yield in a nested call", "error in a coroutine",
	"pcall", "nested pcall", "error value", "error with a level", "closure that outlives a failed pcall", "xpcall", "assert",
	"string.format", "string.find", "string.match", "string.gsub", "string.gsub with a function", "string.gmatch", "string.rep", "string.sub", "string.byte", "tonumber",
	"table.concat", "table.insert", "table.remove", "table.sort", "break", "long string", "nested function", "upvalue assignment", "nil arithmetic",
	"resume with fewer values than a yield takes", "yield as a tail call", "generic for over separate values", "nil with metatable arithmetic",
	"error in a tail-called function", "error level in a metamethod", "numeric for with text", "long constructor",
	"store through a constant", "store through a local that changes", "numeric text", "callable handler", "handler set late", "environment", "environment of a chunk", "debug.getinfo of a line", "debug.getinfo of a function",
	"words of an error", "error in an expression of several lines", "escape sequence", "format of a number", "odd key", "numeric for with fractions", "bounds of a loop", "method of a text",
	"coroutine in a handler", "order of evaluation", "deep nesting", "and/or over calls", "form of varargs", "text of a number", "number in a base", "order of texts", "break in nested loops",
	"upvalues shared by closures", "metatable of a type", "handler of equality", "handler of order", "chain of index handlers", "metatable of text", "number of values",
	"library call with a number", "form of an assignment", "iterator that is none",
}

func generate(seed uint64) (program string, used map[string]int) {
	g := &generator{r: rand.New(rand.NewPCG(seed, 0x6c7561)), used: make(map[string]int), budget: 40}
	g.push()
	g.line("%s", prelude+wordsPrelude)
	for g.budget > 0 {
		g.protectedBlock()
	}
	return g.b.String(), g.used
}

// prelude prints values in a way that does not depend on addresses or on how an engine words its
// own errors: of those only the place counts.
const prelude = `local function show(...)
	local t = {}
	for i = 1, select("#", ...) do
		local v = select(i, ...)
		local k = type(v)
		if k == "table" then
			local e = {}
			for j = 1, #v do e[j] = type(v[j]) == "table" and "{}" or tostring(v[j]) end
			t[i] = "{" .. table.concat(e, ",") .. "|" .. tostring(v.f) .. "|" .. tostring(v.g) .. "}"
		elseif k == "function" or k == "thread" or k == "userdata" then t[i] = k
		else t[i] = tostring(v) end
	end
	print(table.concat(t, "\t"))
end
local function clip(s) -- in a loop a text may grow without end
	if #tostring(s) > 2000 then return s:sub(1, 2000) end
	return s
end
local function place(e)
	if type(e) == "string" then return e:match("^[^:]*:%d+:") or e end
	if type(e) == "table" then return "table " .. tostring(e.code) end
	return tostring(e)
end
local function id(...) return ... end
G1, G2 = 1, "g"`

func (g *generator) n(n int) int          { return g.r.IntN(n) }
func (g *generator) chance(p int) bool    { return g.r.IntN(100) < p }
func (g *generator) use(construct string) { g.used[construct]++ }
func (g *generator) pick(list ...string) string {
	return list[g.n(len(list))]
}

func (g *generator) line(format string, args ...any) {
	g.b.WriteString(strings.Repeat("  ", g.indent))
	fmt.Fprintf(&g.b, format, args...)
	g.b.WriteByte('\n')
}

func (g *generator) push() { g.vars = append(g.vars, nil) }
func (g *generator) pop()  { g.vars = g.vars[:len(g.vars)-1] }

func (g *generator) declare(k kind) string {
	g.next++
	name := fmt.Sprintf("v%d", g.next)
	g.vars[len(g.vars)-1] = append(g.vars[len(g.vars)-1], variable{name, k})
	return name
}

func (g *generator) fresh() string {
	g.next++
	return fmt.Sprintf("x%d", g.next)
}

// of lists the variables of a kind in scope.
func (g *generator) of(k kind) []string {
	var out []string
	for _, b := range g.vars {
		for _, v := range b {
			if v.kind == k {
				out = append(out, v.name)
			}
		}
	}
	return out
}

func (g *generator) variable(k kind) (string, bool) {
	list := g.of(k)
	if len(list) == 0 {
		return "", false
	}
	return list[g.n(len(list))], true
}

// expr is an expression of kind k, at most depth deep.
func (g *generator) expr(k kind, depth int) string {
	if depth <= 0 || g.chance(25) {
		if v, ok := g.variable(k); ok && g.chance(70) {
			return v
		}
		return g.literal(k)
	}
	d := depth - 1
	switch k {
	case num:
		switch g.n(12) {
		case 0, 1, 2:
			g.use("arithmetic")
			return fmt.Sprintf("(%s %s %s + 0)", g.expr(num, d), g.pick("+", "-", "*"), g.expr(num, d))
		case 3:
			return fmt.Sprintf("(%s %s %d + 0)", g.expr(num, d), g.pick("/", "%"), 1+g.n(9))
		case 4:
			return fmt.Sprintf("(- %s + 0)", g.expr(num, d))
		case 5:
			return fmt.Sprintf("#%s", g.expr(tab, d))
		case 6:
			return fmt.Sprintf("#%s", g.expr(str, d))
		case 7:
			g.use("and/or chain")
			return fmt.Sprintf("(%s and %s or %s)", g.expr(boolean, d), g.expr(num, d), g.expr(num, d))
		case 8:
			return fmt.Sprintf("id(%s)", g.expr(num, d))
		case 9:
			g.use("select")
			return fmt.Sprintf("(select(%d, %s, %s, %s))", 1+g.n(3), g.expr(num, d), g.expr(num, d), g.expr(num, d))
		case 10:
			return fmt.Sprintf("(math.%s(%s) + 0)", g.pick("floor", "abs", "ceil"), g.expr(num, d))
		default:
			g.use("tonumber")
			return fmt.Sprintf("(tonumber(%s) or %s)", g.expr(str, d), g.expr(num, d))
		}
	case str:
		switch g.n(10) {
		case 0, 1:
			g.use("concatenation")
			return fmt.Sprintf("(%s .. %s)", g.expr(str, d), g.expr(str, d))
		case 2, 3:
			g.use("number to text")
			return fmt.Sprintf("(%s .. %s)", g.expr(num, d), g.expr(str, d))
		case 4:
			return fmt.Sprintf("tostring(%s)", g.expr(kind(g.n(3)), d))
		case 5:
			return g.stringCall(d)
		case 6:
			g.use("and/or chain")
			return fmt.Sprintf("(%s and %s or %s)", g.expr(boolean, d), g.expr(str, d), g.expr(str, d))
		case 7:
			g.use("string.sub")
			return fmt.Sprintf("(%s):sub(%d, %d)", g.expr(str, d), g.n(7)-3, g.n(9)-4)
		case 8:
			return fmt.Sprintf("type(%s)", g.expr(kind(g.n(int(kinds))), d))
		default:
			return fmt.Sprintf("id(%s)", g.expr(str, d))
		}
	case boolean:
		switch g.n(9) {
		case 0, 1:
			g.use("comparison chain")
			return fmt.Sprintf("(%s %s %s)", g.expr(num, d), g.pick("<", "<=", ">", ">=", "==", "~="), g.expr(num, d))
		case 2:
			return fmt.Sprintf("(%s %s %s)", g.expr(str, d), g.pick("<", "<=", "==", "~="), g.expr(str, d))
		case 3, 4:
			g.use("and/or chain")
			return fmt.Sprintf("(%s %s %s)", g.expr(boolean, d), g.pick("and", "or"), g.expr(boolean, d))
		case 5:
			return fmt.Sprintf("(not %s)", g.expr(kind(g.n(int(kinds))), d))
		case 6:
			return fmt.Sprintf("(id(%s) and id(%s))", g.expr(boolean, d), g.expr(boolean, d))
		case 7:
			return fmt.Sprintf("((%s or %s) and %s)", g.expr(boolean, d), g.expr(boolean, d), g.expr(boolean, d))
		default:
			return fmt.Sprintf("(%s == nil)", g.expr(kind(g.n(int(kinds))), d))
		}
	default:
		if g.chance(30) {
			return fmt.Sprintf("{%s, f = %s}", g.expr(num, d), g.expr(str, d))
		}
		if g.chance(20) {
			return fmt.Sprintf("{id(%s, %s), id(%s, %s)}", g.expr(num, d), g.expr(num, d), g.expr(num, d), g.expr(str, d))
		}
		return fmt.Sprintf("{%s, %s, %s}", g.expr(num, d), g.expr(num, d), g.expr(str, d))
	}
}

func (g *generator) literal(k kind) string {
	switch k {
	case num:
		return g.pick("id(0)", "1", "2", "3", "7", "10", "-1", "0.5", "2.25", "1e3", "0x1F", "1e15", "123456789", "0.1", "1e100", "-0.75")
	case str:
		if g.chance(10) {
			g.use("long string")
			return "[[l" + g.pick("", "o", "\n") + "ng]]"
		}
		return g.pick(`""`, `"a"`, `"abc"`, `"x1"`, `"12"`, `" 5 "`, `"0x10"`, `"hello world"`, `"a.b%c"`, `"\0z"`, `"\65\t"`, `'q"'`, `"1e2"`, `"-"`)
	case boolean:
		return g.pick("true", "false")
	}
	return g.pick("{}", "{1, 2, 3}", "{f = 1}", "{3, 1, 2, g = 'g'}")
}

func (g *generator) stringCall(d int) string {
	s := g.expr(str, d)
	switch g.n(8) {
	case 0:
		g.use("string.format")
		return fmt.Sprintf("string.format(%q, %s, %s)", g.pick("%s %s", "%5s|%-5s|", "%q%s", "%.2s%s", "%s%%%s"), s, g.expr(str, d))
	case 1:
		g.use("string.format")
		return fmt.Sprintf("string.format(%q, %s)", g.pick("%g", "%.3f", "%5.1f", "%e", "%.14g", "%+g", "%08.3f"), g.expr(num, d))
	case 2:
		g.use("string.gsub")
		return fmt.Sprintf("(string.gsub(%s, %q, %q))", s, g.pattern(), g.pick("%0%0", "", "<%0>", "x"))
	case 3:
		g.use("string.gsub with a function")
		return fmt.Sprintf("(string.gsub(%s, %q, function(m) return %s end))", s, g.pick("%w", "%a+", "(.)", "%d"), g.pick("m .. m", "nil", "false", "'<' .. m .. '>'"))
	case 4:
		g.use("string.match")
		return fmt.Sprintf("tostring(string.match(%s, %q))", s, g.pattern())
	case 5:
		g.use("string.rep")
		return fmt.Sprintf("string.rep(%s, %d)", s, g.n(4))
	case 6:
		g.use("string.byte")
		return fmt.Sprintf("tostring(string.byte(%s, %d))", s, g.n(5)-1)
	default:
		return fmt.Sprintf("(%s):%s()", s, g.pick("upper", "lower", "reverse"))
	}
}

func (g *generator) pattern() string {
	return g.pick("a", ".", "%a", "%d+", "[a-c]", "[^a]*", "^%s*", "%w-$", "(%a)(%d)", "l+", "%%", "()", "%b()", "[%w_]+", "a?b?", ".-c")
}

// protectedBlock writes statements whose errors do not end the program.
func (g *generator) protectedBlock() {
	g.use("pcall")
	g.line("do")
	g.indent++
	g.line("local ok, e = pcall(function()")
	g.function(func() { g.block(3 + g.n(4)) })
	g.line("end)")
	g.line(`if not ok then show("E", place(e)) end`)
	g.indent--
	g.line("end")
}

// function writes a body in a function of its own.
func (g *generator) function(body func()) {
	inCo := g.inCo
	g.inCo = false
	g.funcs++
	g.indent++
	g.push()
	body()
	g.pop()
	g.indent--
	g.funcs--
	g.inCo = inCo
}

func (g *generator) block(n int) {
	g.push()
	for range n {
		g.statement()
	}
	g.showSome()
	g.pop()
}

// nested writes an indented block.
func (g *generator) nested(n int) {
	g.indent++
	g.block(n)
	g.indent--
}

func (g *generator) showSome() {
	var names []string
	for _, k := range []kind{num, str, boolean, tab} {
		if v, ok := g.variable(k); ok {
			names = append(names, v)
		}
	}
	if len(names) > 0 {
		g.line("show(%s)", strings.Join(names, ", "))
	}
}

func (g *generator) statement() {
	g.budget--
	if g.funcs > 5 || g.indent > 9 || g.budget < -60 {
		g.simple()
		return
	}
	switch g.n(10) {
	case 0, 1, 2, 3:
		g.simple()
	case 4, 5:
		g.control()
	default:
		g.feature()
	}
}

func (g *generator) anyKind() kind { return kind(g.n(int(kinds))) }

// simple writes one assignment.
func (g *generator) simple() {
	k := g.anyKind()
	v, ok := g.variable(k)
	if !ok || g.chance(25) {
		g.use("local assignment")
		e := g.expr(k, 3)
		g.line("local %s = %s", g.declare(k), e)
		return
	}
	switch g.n(11) {
	case 0, 1:
		g.use("assignment to a local")
		g.line("%s = %s", v, g.expr(k, 3))
		if k == str {
			g.line("%s = clip(%s)", v, v)
		}
	case 2:
		if b, ok := g.variable(boolean); ok {
			g.use("and/or assigned to a local")
			g.line("%s = %s", b, g.pick(
				fmt.Sprintf("%s and (%s and %s)", b, g.expr(boolean, 2), g.expr(boolean, 2)),
				fmt.Sprintf("id(%s) and %s", b, b),
				fmt.Sprintf("not %s or (%s == %s)", b, b, g.expr(boolean, 2))))
		}
	case 3:
		if w, ok := g.variable(k); ok {
			g.use("swap")
			g.line("%s, %s = %s, %s", v, w, w, v)
		}
	case 4:
		for len(g.of(k)) < 3 {
			e := g.expr(k, 1)
			g.line("local %s = %s", g.declare(k), e)
		}
		g.use("rotation")
		list := g.of(k)
		g.line("%s, %s, %s = %s, %s, %s", list[0], list[1], list[2], list[2], list[0], list[1])
	case 5:
		t, ok1 := g.variable(tab)
		i, ok2 := g.variable(num)
		if ok1 && ok2 {
			g.use("multiple assignment with an index")
			g.line("%s = 1", i)
			g.line("%s, %s[%s] = %s + 1, %s", i, t, i, i, g.expr(num, 2))
			g.line("show(%s, %s[1], %s[2])", i, t, t)
			g.line("%s[1], %s[2] = %s[2] or 4, %s[1] or 5", t, t, t, t) // no holes: the length would be open
		}
	case 6:
		g.use("multiple assignment from a call")
		w, _ := g.variable(k)
		g.line("%s, %s = id(%s, %s, %s)", v, w, g.expr(k, 2), g.expr(k, 2), g.expr(num, 1))
	case 7:
		if t, ok := g.variable(tab); ok {
			g.use("assignment to a field")
			g.line("%s.f, %s.g = %s, %s", t, t, g.expr(num, 2), g.expr(str, 2))
			g.line("%s[#%s + 1] = %s", t, t, g.expr(num, 2))
		}
	case 8:
		g.use("assignment to a global")
		g.line("G1, G2 = %s, %s", g.expr(num, 2), g.expr(str, 2))
		g.line("show(G1, G2)")
	case 9:
		if t, ok := g.variable(tab); ok {
			g.use("self-referring table")
			g.line("%s = {%s, f = %s.f, g = #%s}", t, g.expr(num, 2), t, t)
		}
	default:
		g.use("upvalue assignment")
		x := g.fresh()
		g.line("local function %s() %s = %s end", x, v, g.expr(k, 2))
		g.line("%s() show(%s)", x, v)
	}
}

// control writes a control structure.
func (g *generator) control() {
	switch g.n(7) {
	case 0, 1:
		g.use("if")
		g.line("if %s then", g.expr(boolean, 3))
		g.nested(2)
		if g.chance(40) {
			g.line("elseif %s then", g.expr(boolean, 3))
			g.nested(1)
		}
		g.line("else")
		g.nested(1)
		g.line("end")
	case 2:
		g.use("while")
		x := g.fresh()
		g.line("local %s = 0", x)
		g.line("while %s < %d and %s do", x, 1+g.n(4), g.expr(boolean, 2))
		g.indent++
		g.line("%s = %s + 1", x, x)
		g.block(2)
		if g.chance(30) {
			g.use("break")
			g.line("if %s then break end", g.expr(boolean, 2))
		}
		g.indent--
		g.line("end")
		g.line("show(%s)", x)
	case 3:
		g.use("repeat with a local in its condition")
		x, y := g.fresh(), g.fresh()
		g.line("local %s = 0", x)
		g.line("repeat")
		g.indent++
		g.line("%s = %s + 1", x, x)
		g.line("local %s = %s > %d or %s", y, x, g.n(4), g.expr(boolean, 2))
		g.block(1)
		g.indent--
		g.line("until %s or %s > 5", y, x)
		g.line("show(%s)", x)
	case 4:
		g.use("numeric for")
		x := g.fresh()
		g.line("for %s = %d, %d do", x, g.n(3), 2+g.n(3))
		g.indent++
		g.push()
		g.vars[len(g.vars)-1] = append(g.vars[len(g.vars)-1], variable{x, num})
		g.block(2)
		g.pop()
		g.indent--
		g.line("end")
	case 5:
		g.use("numeric for with a step")
		x := g.fresh()
		from, to := g.n(9)-4, g.n(9)-4
		g.line("for %s = %d, %d, %s do show(%s, %s * 2) end", x, from, to, g.pick("1", "-1", "0.5", "2", "-0.25", "3"), x, x)
	default:
		g.use("generic for")
		i, v := g.fresh(), g.fresh()
		g.line("for %s, %s in ipairs({unpack(%s)}) do", i, v, g.expr(tab, 2)) // a copy: the body may append
		g.indent++
		g.line("show(%s, %s)", i, v)
		g.block(1)
		g.indent--
		g.line("end")
	}
}

// features are the constructs that take several lines.
func (g *generator) feature() {
	list := []func(*generator){
		closures, counter, recursion, varargs, unpacking, tailCall, shadowing, methods, metaArith, metaIndex, metaCall, metaCompare, metaText,
		coroutines, wrapLoop, nestedYield, coroutineError, nestedPcall, errorValue, errorLevel, outlives, xpcalls, asserts, finds, gmatches, tables, sorting, nestedFunctions, nilArith,
		underfilled, tailYield, separateFor, nilMeta, tailError, metaLevel, textFor, longConstructor,
	}
	if g.chance(50) {
		list = languageFeatures()
	}
	list[g.n(len(list))](g)
}

func closures(g *generator) {
	g.use("closure over a loop variable")
	fs := g.fresh()
	g.line("local %s = {}", fs)
	g.line("for i = 1, %d do local j = i * 2; %s[i] = function(d) j = j + d; i = i + 1; return i, j end end", 2+g.n(3), fs)
	g.line("for i = 1, #%s do show(%s[i](1)) show(%s[i](%s)) end", fs, fs, fs, g.expr(num, 1))
}

func counter(g *generator) {
	g.use("closure that counts")
	mk, a, b := g.fresh(), g.fresh(), g.fresh()
	g.line("local function %s() local n = %s; return function() n = n + 1; return n end, function() return n end end", mk, g.expr(num, 1))
	g.line("local %s, %s = %s()", a, b, mk)
	g.line("%s() %s() show(%s(), %s())", a, a, b, a)
}

func recursion(g *generator) {
	g.use("recursion")
	f := g.fresh()
	g.line("local function %s(n) if n <= 1 then return %s end return n %s %s(n - 1) end", f, g.literal(num), g.pick("*", "+", "-"), f)
	g.line("show(%s(%d))", f, 1+g.n(12))
}

func varargs(g *generator) {
	g.use("varargs")
	f := g.fresh()
	g.line("local function %s(a, ...)", f)
	g.function(func() {
		g.line("local n = select('#', ...)")
		g.line("local t = {...}")
		g.line("local b, c = ...")
		g.line("show(a, n, b, c, #t, (...))")
		g.line("return n, ...")
	})
	g.line("end")
	g.line("show(%s(%s, %s, %s))", f, g.expr(num, 1), g.expr(str, 1), g.expr(boolean, 1))
	g.line("show(%s(%s), %s())", f, g.expr(num, 1), f)
	g.line("show((%s(1, 2, 3)))", f)
}

func unpacking(g *generator) {
	g.use("unpack")
	g.line("show(unpack(%s))", g.expr(tab, 2))
	g.line("show(unpack({1, 2, 3, 4}, %d, %d))", 1+g.n(3), g.n(6))
}

func tailCall(g *generator) {
	g.use("tail call")
	f := g.fresh()
	g.line("local function %s(n, a) if n == 0 then return a, n end return %s(n - 1, a + %s) end", f, f, g.literal(num))
	g.line("show(%s(%d, %s))", f, g.n(50), g.expr(num, 1))
}

func shadowing(g *generator) {
	g.use("shadowed function name")
	f := g.fresh()
	g.line("local function %s(x) return x + 1 end", f)
	g.line("do local %s = function(x) return %s(x) * 2 end show(%s(%s)) end", f, f, f, g.expr(num, 1))
	g.line("show(%s(1))", f)
}

func methods(g *generator) {
	g.use("method call")
	c, o := g.fresh(), g.fresh()
	g.line("local %s = {n = %s}", c, g.expr(num, 1))
	g.line("function %s:add(d, ...) self.n = self.n + d; return self, ... end", c)
	g.line("function %s.new(n) return setmetatable({n = n}, {__index = %s}) end", c, c)
	g.line("local %s = %s.new(%s)", o, c, g.expr(num, 1))
	g.line("show(%s:add(1):add(%s).n, select('#', %s:add(1, 2, 3)))", o, g.expr(num, 1), o)
}

func metaArith(g *generator) {
	g.use("metatable arithmetic")
	mt, a := g.fresh(), g.fresh()
	op, ev := "+", "__add"
	switch g.n(6) {
	case 1:
		op, ev = "-", "__sub"
	case 2:
		op, ev = "*", "__mul"
	case 3:
		op, ev = "/", "__div"
	case 4:
		op, ev = "%", "__mod"
	case 5:
		op, ev = "^", "__pow"
	}
	g.line("local %s = {}", mt)
	g.line("%s.%s = function(x, y) return (type(x) == 'table' and x.v or x) %s (type(y) == 'table' and y.v or y) end", mt, ev, "+")
	g.line("%s.__unm = function(x) return -x.v end", mt)
	g.line("local %s = setmetatable({v = %d}, %s)", a, 1+g.n(9), mt)
	g.line("show(%s %s 2, 3 %s %s, %s %s %s, -%s)", a, op, op, a, a, op, a, a)
}

func metaIndex(g *generator) {
	g.use("metatable index")
	g.use("metatable newindex")
	t := g.fresh()
	g.line("local %s = setmetatable({}, {__index = function(t, k) return tostring(k) .. '!' end, __newindex = function(t, k, v) rawset(t, k, v * 2) end})", t)
	g.line("%s.a = %s", t, g.literal(num))
	g.line("%s.a, %s.b = %s, %s", t, t, g.literal(num), g.literal(num))
	g.line("show(%s.a, %s.b, %s.c, %s[1], rawget(%s, 'c'))", t, t, t, t, t)
}

func metaCall(g *generator) {
	g.use("metatable call")
	t := g.fresh()
	g.line("local %s = setmetatable({}, {__call = function(self, a, ...) return a, select('#', ...), ... end})", t)
	g.line("show(%s(%s, %s))", t, g.expr(num, 1), g.expr(str, 1))
	g.line("show(pcall(%s, 1, nil))", t)
}

func metaCompare(g *generator) {
	g.use("metatable comparison")
	mt, a, b := g.fresh(), g.fresh(), g.fresh()
	g.line("local %s = {__lt = function(x, y) return x.v < y.v end, __le = function(x, y) return x.v <= y.v end, __eq = function(x, y) return x.v == y.v end}", mt)
	g.line("local %s, %s = setmetatable({v = %d}, %s), setmetatable({v = %d}, %s)", a, b, g.n(3), mt, g.n(3), mt)
	g.line("show(%s < %s, %s <= %s, %s == %s, %s > %s, %s >= %s, %s ~= %s)", a, b, a, b, a, b, a, b, a, b, a, b)
}

func metaText(g *generator) {
	g.use("metatable concat")
	g.use("tostring through a metatable")
	a := g.fresh()
	g.line("local %s = setmetatable({}, {__concat = function(x, y) return (type(x) == 'table' and 'T' or x) .. '+' .. (type(y) == 'table' and 'T' or y) end, __tostring = function() return 'text' end})", a)
	g.line("show(%s .. %s, %s .. %s, %s .. %s, %s .. %s .. %s, tostring(%s))", a, g.literal(str), g.literal(num), a, a, a, g.literal(str), g.literal(num), a, a)
}

func coroutines(g *generator) {
	g.use("coroutine")
	co := g.fresh()
	g.line("local %s = coroutine.create(function(a, b)", co)
	g.function(func() {
		g.line("show('in', a, b, coroutine.status(%s))", co)
		g.line("local c = coroutine.yield(a %s %s)", g.pick("+", "-", "*"), g.literal(num))
		g.block(2)
		g.line("local d, e = coroutine.yield(c, %s)", g.expr(str, 1))
		g.line("return d, e, 'end'")
	})
	g.line("end)")
	g.line("show(coroutine.resume(%s, %s, %s))", co, g.literal(num), g.literal(str))
	g.line("show(coroutine.resume(%s, %s))", co, g.expr(num, 1))
	g.line("show(coroutine.resume(%s, 1, 2), coroutine.status(%s))", co, co)
	g.line("show(coroutine.resume(%s))", co)
}

func wrapLoop(g *generator) {
	g.use("coroutine wrap in for")
	g.line("for a, b in coroutine.wrap(function() for i = 1, %d do coroutine.yield(i, i * %s) end end) do show(a, b) end", 1+g.n(4), g.literal(num))
}

func nestedYield(g *generator) {
	g.use("yield in a nested call")
	w, f := g.fresh(), g.fresh()
	g.line("local function %s(n) if n > 0 then coroutine.yield(n) %s(n - 1) coroutine.yield(-n) end end", f, f)
	g.line("local %s = coroutine.wrap(function() %s(%d) return 'done' end)", w, f, 1+g.n(3))
	g.line("for i = 1, 9 do local r = %s() show(r) if r == 'done' then break end end", w)
}

func coroutineError(g *generator) {
	g.use("error in a coroutine")
	co := g.fresh()
	g.line("local %s = coroutine.create(function() coroutine.yield(1) error(%s) end)", co, g.pick("'boom'", "{code = 5}", "42", "nil", "'lvl', 0"))
	g.line("show(coroutine.resume(%s))", co)
	g.line("do local ok, e = coroutine.resume(%s) show(ok, place(e), coroutine.status(%s)) end", co, co)
}

func nestedPcall(g *generator) {
	g.use("nested pcall")
	g.line("show(pcall(function()")
	g.function(func() {
		g.line("local ok, e = pcall(function()")
		g.function(func() {
			g.block(2)
			if g.chance(60) {
				g.line("error(%s)", g.pick("'inner'", "{code = 1}", "7"))
			}
		})
		g.line("end)")
		g.line("show(ok, place(e))")
		g.block(1)
		if g.chance(30) {
			g.line("error('outer', 0)")
		}
		g.line("return ok, %s", g.expr(num, 2))
	})
	g.line("end))")
}

func errorValue(g *generator) {
	g.use("error value")
	g.line("do local ok, e = pcall(error, %s) show(ok, place(e)) end", g.pick("{code = 3}", "'text'", "nil", "true", "12"))
	g.line("do local ok, e = pcall(function() error(%s) end) show(ok, place(e)) end", g.expr(str, 1))
}

func errorLevel(g *generator) {
	g.use("error with a level")
	f := g.fresh()
	g.line("local function %s(n) error('lvl' .. n, n) end", f)
	g.line("for n = 0, 2 do")
	g.line("  show(pcall(function()")
	g.line("    %s(n)", f)
	g.line("  end))")
	g.line("end")
}

func outlives(g *generator) {
	g.use("closure that outlives a failed pcall")
	n, get, set := g.fresh(), g.fresh(), g.fresh()
	g.line("local %s = %s", n, g.expr(num, 1))
	g.line("local %s, %s = function() return %s end, function(v) %s = v end", get, set, n, n)
	g.line("pcall(function() local z = %s; %s(z) error('x') end)", g.literal(num), set)
	g.line("%s = %s + 1", n, n)
	g.line("show(%s, %s()) %s(%s) show(%s, %s())", n, get, set, g.literal(num), n, get)
}

func xpcalls(g *generator) {
	g.use("xpcall")
	g.line("show(xpcall(function() %s return %s end, function(e) return 'handled ' .. place(e) end))",
		g.pick("", "error('x')", "error({code = 2})", "local t = nil; t.x = 1"), g.expr(num, 1))
}

func asserts(g *generator) {
	g.use("assert")
	g.line("do local ok, e = pcall(assert, %s, %s) show(ok, place(e)) end", g.expr(boolean, 2), g.literal(str))
}

func finds(g *generator) {
	g.use("string.find")
	g.line("show(string.find(%s, %q, %d))", g.expr(str, 2), g.pattern(), g.n(6)-2)
	g.line("show(string.find(%s, %s, %d, true))", g.expr(str, 2), g.literal(str), g.n(4))
}

func gmatches(g *generator) {
	g.use("string.gmatch")
	g.line("for m in string.gmatch(%s, %q) do show(m) end", g.expr(str, 2), g.pick("%w+", ".", "%d", "[a-z]+", "(%a)%w"))
}

func tables(g *generator) {
	g.use("table.insert")
	g.use("table.remove")
	g.use("table.concat")
	t := g.fresh()
	g.line("local %s = {1, 2, 3}", t)
	g.line("table.insert(%s, %s) table.insert(%s, %d, %s)", t, g.expr(num, 1), t, 1+g.n(3), g.expr(str, 1))
	g.line("show(table.remove(%s), table.remove(%s, 1), #%s, table.concat(%s, %s))", t, t, t, t, g.literal(str))
}

func sorting(g *generator) {
	g.use("table.sort")
	t := g.fresh()
	g.line("local %s = {5, 3, 9, %d, 1, 7, %d.5}", t, g.n(20), g.n(9))
	g.line("table.sort(%s%s)", t, g.pick("", ", function(a, b) return a > b end"))
	g.line("show(unpack(%s))", t)
}

func nestedFunctions(g *generator) {
	g.use("nested function")
	f := g.fresh()
	g.line("local function %s(a)", f)
	g.function(func() {
		g.vars[len(g.vars)-1] = append(g.vars[len(g.vars)-1], variable{"a", num})
		g.block(2)
		g.line("return a, %s", g.expr(g.anyKind(), 2))
	})
	g.line("end")
	g.line("show(%s(%s))", f, g.expr(num, 2))
	if v, ok := g.variable(num); ok {
		g.line("%s = %s(%s) or %s", v, f, v, v)
	}
}

func nilArith(g *generator) {
	g.use("nil arithmetic")
	g.line("do local ok, e = pcall(function()")
	g.line("  local z")
	g.line("  return %s", g.pick("z + 1", "z .. 'x'", "z.x", "z()", "#z", "z < 1", "{} + 1", "{} < {}", "'a' + 1", "'a' < 1", "-{}", "('x')()"))
	g.line("end) show(ok, place(e)) end")
}

func underfilled(g *generator) {
	g.use("resume with fewer values than a yield takes")
	w := g.fresh()
	g.line("local %s = coroutine.wrap(function(...)", w)
	g.function(func() {
		g.line("local p, q, r = %s, %s, %s", g.literal(num), g.literal(str), g.literal(num))
		g.line("p, q, r = coroutine.yield(p, q, r)")
		g.line("show(p, q, r)")
		g.line("local a, b = coroutine.yield() show(a, b, (coroutine.yield(a)))")
		g.line("return select('#', coroutine.yield(b))")
	})
	g.line("end)")
	g.line("show(%s(1)) show(%s(%s)) show(%s()) show(%s()) show(%s(%s))", w, w, g.pick("", "1", "1, 2", "nil, 3", "1, 2, 3, 4"), w, w, w, g.pick("", "nil", "1, nil"))
}

func tailYield(g *generator) {
	g.use("yield as a tail call")
	w, f := g.fresh(), g.fresh()
	g.line("local function %s(...) return coroutine.yield(...) end", f)
	g.line("local %s = coroutine.wrap(function(...)", w)
	g.line("\tlocal a, b = %s(...) show(a, b) show((%s(a)), {%s(b)}) return %s(select('#', %s(b, a)))", f, f, f, f, f)
	g.line("end)")
	g.line("show(%s(%s)) show(%s(%s)) show(%s(1, 2)) show(%s()) show(%s(1, 2)) show(%s('end', 1))", w, g.expr(num, 1), w, g.pick("", "1", "1, 2", "1, 2, 3"), w, w, w, w)
}

func separateFor(g *generator) {
	g.use("generic for over separate values")
	f := g.fresh()
	g.line("local function %s(s, c) c = (c or 0) + 1 if c < (s or 4) then return c, s end end", f)
	g.line("for a, b in %s do show(a, b) end", g.pick(f, f+", 3", f+", 5, 2", f+", nil, 1", "next, {7}", "next, {8}, nil", f+", (function() return 3, 1 end)()"))
}

func nilMeta(g *generator) {
	g.use("nil with metatable arithmetic")
	a, event, op := g.fresh(), "__add", "+"
	switch g.n(5) {
	case 1:
		event, op = "__sub", "-"
	case 2:
		event, op = "__div", "/"
	case 3:
		event, op = "__mod", "%"
	case 4:
		event, op = "__concat", ".."
	}
	g.line("local %s = setmetatable({}, {%s = function(x, y) return type(x) .. type(y) end})", a, event)
	g.line("do local z = %s show(z %s %s, %s %s z, %s %s %s) end", g.pick("nil", "true", "1", "'q'", "{}"), op, a, a, op, a, op, a)
}

func tailError(g *generator) {
	g.use("error in a tail-called function")
	f, h := g.fresh(), g.fresh()
	g.line("local function %s(n)", f)
	g.line("\t%s", g.pick("error('tail')", "error('tail', n)", "local z = nil + n", "string.rep()", "local z = n .. {}"))
	g.line("end")
	g.line("local function %s(n)", h)
	g.line("\treturn %s(n)", f)
	g.line("end")
	g.line("do local ok, e = pcall(function() return %s(1) end) show(ok, place(e)) end", f)
	g.line("do local ok, e = pcall(function()")
	g.line("\tlocal r = %s(%d)", h, 1+g.n(2))
	g.line("\treturn r")
	g.line("end) show(ok, place(e)) end")
}

func metaLevel(g *generator) {
	g.use("error level in a metamethod")
	a, i := g.fresh(), g.n(6)
	g.line("local %s = setmetatable({}, {%s = function(x, y)", a, []string{"__add", "__concat", "__pow", "__mod", "__index", "__unm"}[i])
	g.line("\terror('meta', %d)", g.n(3))
	g.line("end})")
	g.line("show(pcall(function()")
	g.line("\tlocal r = %s", fmt.Sprintf([]string{"%s + 1", "%s .. 'x'", "2 ^ %s", "%s %% 3", "%s.x", "-%s"}[i], a))
	g.line("\treturn r")
	g.line("end))")
}

func textFor(g *generator) {
	g.use("numeric for with text")
	g.line("do local ok, e = pcall(function() for i = %s, %s, %s do show(i) end end) show(ok, place(e)) end",
		g.pick("1", "'1'", "'0x1'"), g.pick("2", "'2'", "{}", "nil"), g.pick("1", "'1'", "'x'", "true"))
}

func longConstructor(g *generator) {
	g.use("long constructor")
	f, t := g.fresh(), g.fresh()
	n := []int{49, 50, 51, 100, 150}[g.n(5)]
	g.line("local function %s(...)", f)
	g.line("\tlocal %s = {%s%s}", t, strings.Repeat(g.literal(num)+", ", n),
		g.pick("...", "x = "+g.literal(num), "x = math.max(1, 2), ...", "[1] = 'one', 8", "x = {...}, 8, "+g.literal(str), "y = 1, (... or 0), 9", f+" and (... or 1)"))
	g.line("\treturn #%s, %s[1], %s[2], %s[%d], %s[%d], %s[%d], %s.x", t, t, t, t, n, t, n+1, t, n+2, t)
	g.line("end")
	g.line("show(%s(%s)) show(%s())", f, g.pick("1", "1, 2", "1, 2, 3", "'a', 'b'"), f)
}
