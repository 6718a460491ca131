package tests

import (
	"fmt"
	"strings"
)

// wordsPrelude compares errors word by word, but for what docs/lua.md says of names.
const wordsPrelude = `
local function words(e)
	if type(e) ~= "string" then return place(e) end
	e = e:gsub("^[^:]+:%d+: ([^:]+:%d+: )", "%1"):gsub(": 0x%x+", ""):gsub("local '[%w_]+' %(a (%w+) value%)", "a %1 value")
	e = e:gsub("[%w']+ ?'?[%w_?]*'? ?%(a table value%)", "a table value")
	e = e:gsub("arithmetic on a table value", "arithmetic on a value that is not a number"):gsub("arithmetic on a userdata value", "arithmetic on a value that is not a number"):gsub("call a userdata value", "call a table value"):gsub("call a table value", "call a value that is not a function")
	return (e:gsub("to '[%w_?]+' %(", "to '?' ("))
end
local function try(f, ...)
	local r = {pcall(f, ...)}
	for i = 2, 6 do if type(r[i]) == "string" then r[i] = r[i]:gsub(": 0x%x+", "") end end
	if not r[1] then show(false, words(r[2])) else show(unpack(r, 1, 6)) end
end`

// languageFeatures are constructs of which every word and value is compared.
func languageFeatures() []func(*generator) {
	return []func(*generator){
		constantStores, numericText, callableHandlers, lateHandlers, environments, loadedEnvironments, lineInfo, functionInfo, failingExpressions, spreadExpressions, escapeSequences,
		numberFormats, oddKeys, fractionLoops, boundLoops, textMethods, coroutineHandlers, evaluationOrder, deepNesting, logicCalls, varargForms, numberTexts, basedNumbers,
		textOrder, breaks, sharedUpvalues, typeMetatables, equalHandlers, orderHandlers, indexChains, stringMetatable, multipleReturns, numericCalls, assignmentForms, lateStores, iteratorErrors,
	}
}

func constantStores(g *generator) {
	g.use("store through a constant")
	g.line("try(function(...)")
	g.line("\tlocal a, b, c, d = {}, {}, {}, {}")
	object := "(" + g.pick("5", "'x'", "nil", "true", "1 + 2", "-3", "- -3", "2 ^ 3", "'a' .. 'b'", "not 1", "1 and 'z'", "nil or 0", "((7))", "1e400", "0x10", "#'ab'", "7 % 4", "1 < 2", "...", "a", "b.x", "({})", "id(a)", "[[s]]") + ")"
	key := g.pick(".field", "[1]", "[a]", "['k k']", "[1 + 1]", "[id(2)]", "[nil]", "[b.y]")
	g.line("\t"+g.pick("%[1]s%[2]s = 1", "%[1]s%[2]s = a", "%[1]s%[2]s = id(2)", "%[1]s.x%[2]s = 3", "%[1]s%[2]s, a.z = 4, 5", "a.z, %[1]s%[2]s = 4, 5", "b[1], %[1]s%[2]s = id(6, 7)",
		"%[1]s:m(1)", "%[1]s:upper().x = 1", "local function f() %[1]s%[2]s = c end f()", "%[1]s%[2]s = ...", "%[1]s%[2]s = %[1]s", "for i = 1, 2 do %[1]s[i] = b end", "%[1]s%[2]s = {}", "%[1]s%[2]s = a and b"), object, key)
	g.line("\treturn a.field, a[1], b[1], c[1], d[1], a.z")
	g.line("end%s)", g.pick("", ", 1", ", {}"))
}

// numericWords are texts that read as numbers, or nearly.
func (g *generator) numericWord() string {
	if g.chance(40) { // any mix of what numbers are written with
		var b strings.Builder
		for range 1 + g.n(5) {
			b.WriteString(g.pick("0", "1", "7", "9", ".", "e", "E", "x", "X", "p", "+", "-", "_", " ", "a", "f", "inf", "nan", "0x", "b", "o", `\t`, `\v`, `\0`, `\n`))
		}
		return "'" + b.String() + "'"
	}
	return "'" + g.pick("010", "08", "0x10", "-0x1f", "0b1", "0o7", "1_0", "1e2", "1E-2", "1e", "1e+", ".5", "5.", ".", "", " ", " 7 ", `\t7\n`, `\v7\f`, `7\0`, `7\0x`, "inf", "-inf", "nan", "Infinity", "infin",
		"0x1p4", "0x.8", "0x", "0xg", "+5", "--5", "- 5", "5-", "1.2.3", "1,5", "1e400", "-0", "00", "1e1e1", "0x1e2", "0X1P+2", "12abc", "9007199254740993", "0xffffffffffffffffff", "١") + "'"
}

func numericText(g *generator) {
	g.use("numeric text")
	a, b := g.numericWord(), g.pick(g.numericWord(), "1", "2", "0.5", "'3'", "nil", "{}", "true")
	e := g.pick("a + b", "b + a", "a - b", "a * b", "b / a", "-a", "a % 7", "2 ^ a", "a .. 1 + b", "tonumber(a)", "tonumber(a, 16)", "a < 1", "a == 1", "math.floor(a)", "math.max(a, 1)", "#a + a", "('x'):rep(a == 'inf' and 1 or 0)",
		"string.format('%5.1f', a)", "a + 0 == tonumber(a)", "- -a", "a + a", "-a * -a", "(a - 1) .. ''")
	g.line("try(function(a, b) local r = %s return r ~= r and 'not a number' or r, type(r) end, %s, %s)", e, a, b)
	if g.chance(30) {
		g.line("try(function(a, n) for i = %s do n = n + 1 if n > 50 then break end end return n end, %s, 0)", g.pick("a, 5", "1, a", "1, 9, a", "a, a", "a, a, a"), a)
	}
}

var operatorEvents = []struct{ event, expr string }{
	{"__add", "x + y"}, {"__sub", "x - y"}, {"__mul", "x * y"}, {"__div", "x / y"}, {"__mod", "x % y"}, {"__pow", "x ^ y"}, {"__concat", "x .. y"}, {"__unm", "-x"}, {"__len", "type(x) == 'userdata' and #x"},
	{"__eq", "x == y"}, {"__lt", "x < y"}, {"__le", "x <= y"}, {"__lt", "x <= y"}, {"__index", "x.key"}, {"__call", "x(y)"}, {"__tostring", "tostring(x)"}, {"__newindex", "(function() x.key = y return rawget(x, 'key') end)()"},
}

// handler is what a metatable may hold for an event.
func (g *generator) handler(event string) string {
	table := "nil"
	if strings.HasSuffix(event, "index") {
		table = "{key = 5}"
	}
	h := g.pick(table, "setmetatable({}, {__call = function(self, a, b) return type(a) .. type(b or 1) end})", "setmetatable({key = 7}, {__call = function(self) return false end})",
		"(function() local p = newproxy(true) getmetatable(p).__call = function(self, a) return 'p' .. type(a) end return p end)()", "function(a, b) return type(a) .. type(b or 1) end", "function() return nil end")
	if event == "__unm" {
		h = strings.ReplaceAll(h, " .. type(b or 1)", "") // it gets its operand once
	}
	return h
}

func callableHandlers(g *generator) {
	g.use("callable handler")
	e := operatorEvents[g.n(len(operatorEvents))]
	g.line("try(function(h)")
	g.line("\tlocal mt = %s", g.pick("{"+e.event+" = h}", "{['"+e.event+"'] = h, key = 1}"))
	g.line("\tlocal x = setmetatable({}, mt)")
	g.line("\tlocal y = %s", g.pick("setmetatable({}, mt)", "setmetatable({}, {"+e.event+" = h})", "setmetatable({}, {"+e.event+" = "+g.handler(e.event)+"})", "x", "5", "'s'", "nil", "{}"))
	if g.chance(30) {
		g.line("\tx, y = y, x")
	}
	g.line("\tshow(mt.%[1]s == h, rawget(mt, '%[1]s') == h, type(mt.%[1]s))", e.event)
	g.line("\treturn %s", e.expr)
	g.line("end, %s)", g.handler(e.event))
}

func lateHandlers(g *generator) {
	g.use("handler set late")
	e := operatorEvents[g.n(len(operatorEvents))]
	g.line("try(function(h)")
	g.line("\tlocal mt = {}")
	g.line("\tlocal x, y = setmetatable({}, mt), setmetatable({}, mt)")
	g.line("\t"+g.pick("mt.%[1]s = h", "rawset(mt, '%[1]s', h)", "mt.%[1]s, mt.z = h, 1", "for k, v in pairs({%[1]s = h}) do mt[k] = v end setmetatable({}, mt)", "getmetatable(y).%[1]s = h", "local p = newproxy(true) getmetatable(p).%[1]s = h x, y = p, newproxy(p)"), e.event)
	g.line("\tlocal r = %s", e.expr)
	g.line("\tif type(mt.%[1]s) ~= 'nil' then show(select(2, next({a = mt.%[1]s})) == h) end mt.%[1]s = nil", e.event)
	g.line("\treturn r, %s", g.pick("x == y", "rawequal(x, y)", "1"))
	g.line("end, %s)", g.handler(e.event))
}

func environments(g *generator) {
	g.use("environment")
	g.line("try(function()")
	g.line("\tlocal env = setmetatable({%s}, {__index = _G})", g.pick("", "G1 = 'mine'", "id = 5"))
	g.line("\tlocal function f(v) %s return G1, NEW end", g.pick("G1 = v", "NEW = v", "", "G1, NEW = v, 2"))
	g.line("\tlocal function maker() return function() NEW = (NEW or 0) + 1 return NEW, getfenv(1) == env, getfenv() == env end end")
	switch g.n(5) {
	case 0:
		g.line("\tshow(setfenv(f, env) == f, getfenv(f) == env, getfenv(maker) == env)")
	case 1:
		g.line("\tsetfenv(1, env) show(getfenv(1) == env, getfenv(f) == env) f(1)")
		g.line("\tlocal h = function() return G1, NEW end show(h())")
	case 2:
		g.line("\tsetfenv(maker, env) local c = maker() show(c()) show(c()) show(getfenv(c) == env, NEW)")
	case 3:
		g.line("\tlocal function up() setfenv(2, env) end up() show(getfenv(1) == env, getfenv(2) ~= env)")
	default:
		g.line("\tlocal co = coroutine.create(setfenv(f, env)) show(coroutine.resume(co, 3))")
	}
	g.line("\tshow(rawget(env, 'G1'), rawget(env, 'NEW')) return f(%s)", g.literal(num))
	g.line("end)")
	g.line("try(%s)", g.pick("setfenv, {}, {}", "getfenv, 99", "setfenv, print, {}", "getfenv, -1", "setfenv, 99, {}", "getfenv, 'x'", "setfenv, function() end, 5"))
	g.line("NEW = nil")
}

func loadedEnvironments(g *generator) {
	g.use("environment of a chunk")
	g.line("try(function()")
	g.line("\tlocal f = assert(loadstring(%q, '=c'))", g.pick("Z = 1 return Z", "return ...", "return x.y", "local function f() return Z end return f()", "Z = (Z or 0) + 1 return Z, G1", "error('in c')"))
	g.line("\tlocal env = {error = error%s}", g.pick("", ", Z = 5", ", x = {y = 'xy'}"))
	g.line("\tif %s then setfenv(f, env) end", g.pick("true", "false", "G1"))
	g.line("\tlocal function all(...) show(...) return Z, env.Z end")
	g.line("\treturn all(f(%s))", g.literal(num))
	g.line("end)")
	g.line("Z = nil")
}

func lineInfo(g *generator) {
	g.use("debug.getinfo of a line")
	g.line("local function line(level) return debug.getinfo(level, 'l').currentline end")
	g.line("try(function()")
	g.line("\tshow(line(1) > 0, line(2),")
	g.line("\t\tline(2)%s)", g.pick("", ",\n line(2)"))
	g.line("\tlocal t = {line(2), x =")
	g.line("\t\tline(2),")
	g.line("\t}")
	g.line("\tshow(t.x, t[1])")
	g.line("\tfor _, v in ipairs({1}) do show(line(2)) end")
	g.line("\t%s", g.pick("return (line(2))", "local r = line(2) return r", "local m = setmetatable({}, {__add = function() local r = line(2) return r end}) return m +\n 1", "local m = setmetatable({}, {__index = function() local r = line(2) return r end}) return m.x"))
	g.line("end)")
}

func functionInfo(g *generator) {
	g.use("debug.getinfo of a function")
	f := g.fresh()
	g.line("local function %s(a%s)", f, g.pick("", ", b", ", ...", "\n, b"))
	g.line("\treturn a%s", g.pick("", "\n"))
	g.line("end")
	g.line("do local i = debug.getinfo(%s, 'S') show(i.linedefined, i.lastlinedefined, i.what) end", f)
	g.line("do local i = debug.getinfo(%s, 'S') show(i.linedefined, i.lastlinedefined, i.what) end", g.pick("function() end", "function()\n\nend", "function\n() end"))
	g.line("do local i = debug.getinfo(1, 'Sl') show(i.currentline, i.what, i.linedefined) end")
}

// wrong is an expression that fails, over z, which is nil, t, a table, and s, a text.
func (g *generator) wrong() string {
	if g.chance(20) {
		term := func() string {
			return g.pick("z", "s", "t.x", "GONE", "GONE.x", "'x'", "nil", "false", "1", "not nil", "not s", "G1", "id(z)", "z == 1", "(s and GONE)")
		}
		chain := term()
		for range 1 + g.n(3) {
			chain += g.pick(" and ", " or ") + term()
		}
		return fmt.Sprintf(g.pick("(%s).k", "(%s)()", "(%s):m()", "1 + (%s)", "#(%s)", "('' .. (%s)) + 1", "((%s) or GONE).k", "(%s)[1]"), chain)
	}
	return g.pick("z.x", "z[1]", "z.x.y", "t.x.y", "t.a.b.c", "z()", "t.x()", "t:nothing()", "s:nothing()", "z:m()", "GONE.x", "GONE()", "GONE.x.y", "t.x + 1", "1 + z", "z - 1", "s + 1", "1 * s", "-s", "-z", "2 ^ z", "z % 2", "t.x / t.y", "z .. s", "s .. z",
		"t .. 1", "t.x .. t.y", "#z", "#5", "z < 1", "1 < z", "s < 1", "1 <= s", "t < t", "z < z", "t < 1", "true < false", "print < print", "print + 1", "print.x", "(1)()", "('x')()", "(nil).x", "(true).x", "(1).x.y", "('x').y.z", "s.x.y", "s()", "t[z].x", "setmetatable({}, {__index = function(t, k) return k + z end}).q",
		"id(z).x", "id(z)()", "id(1) + id(z)", "t.f(z)", "t.g.h(1)", "string.rep()", "string.rep('x', {})", "('x'):rep({})", "('x'):bad()", "math.floor('x')", "ipairs()", "setmetatable(1, {})", "tonumber({}, 99)", "tostring()", "table.concat({1, {}, 3})", "table.insert(1, 2)", "select(0)", "unpack(1)", "error()", "next({}, 'x')", "rawset(1, 2, 3)", "assert(false, 'told')", "assert(nil)", "string.char(-1)", "string.format('%d', 'x')", "('x'):format(1, 2, {}) .. z", "coroutine.resume(1)", "loadstring(z)", "t[z]", "(function() t[z] = 1 end)()", "(function() t[0/0] = 1 end)()", "#t.x", "-t.x", "-{}", "{} + 1", "1 + {}", "{} .. 'x'", "({})()", "2 ^ {}", "z and 1 + z or s + 1")
}

func failingExpressions(g *generator) {
	g.use("words of an error")
	g.line("try(function(s)")
	g.line("\tlocal z, t = nil, {a = {}, f = function(v) return v.w end}")
	if g.chance(40) {
		g.line("\tlocal function inner() return %s end", g.wrong())
		g.line("\treturn (inner())")
	} else {
		g.line("\t%s", fmt.Sprintf(g.pick("return %s", "local r = %s return r", "t.r = %s", "GLOBAL = %s", "show(%s)", "if %s then return 1 end", "while %s do return 2 end", "return id(%s)", "for i = 1, (%s) do end", "local r = {1, %s}", "t[%s] = 1", "return not %s", "repeat if %s then break end until true", "local a, b = 1, %s"), g.wrong()))
	}
	g.line("end, 'text')")
}

// spread puts line ends into an expression, where they may stand.
func (g *generator) spread(e string) string {
	words := strings.Split(e, " ")
	for i := range words {
		if i > 0 && g.chance(40) {
			words[i] = "\n" + words[i]
		}
	}
	return strings.Join(words, " ")
}

func spreadExpressions(g *generator) {
	g.use("error in an expression of several lines")
	g.line("try(function(s)")
	g.line("\tlocal z, t = nil, {}")
	g.line("\t%s", g.spread(g.pick("local r = 1 + z", "local r = 1 + 2 * z", "return ( z )", "return 1 .. 'a' .. z", "return s + 1", "return - z", "return 2 ^ z", "id( 1 , 2 ) ; error( 'here' )", "return # z", "return z < 1", "t . x = 1 + z",
		"error( { code = 1 } )", "error( 'late' , 1 )", "return 1 - z + 2", "local a , b = 1 , 1 + z", "show( 1 , z + 1 )", "return ( 1 + 2 ) * z", "z( )", "t.x( 1 , 2 )", "return t.f( )", "return id( z + 1 , 2 )", "local f = function( ) return z + 1 end return f( )", "return string.rep( )", "t.a = z .. 'x'", "return s < 1")))
	g.line("end, 'text')")
}

func escapeSequences(g *generator) {
	g.use("escape sequence")
	var b strings.Builder
	for range 1 + g.n(6) {
		b.WriteString(g.pick(`\n`, `\t`, `\\`, `\"`, `\'`, `\0`, `\00`, `\000`, `\1`, `\12`, `\123`, `\1234`, `\255`, `\065x`, `\a\b\f\r\v`, `\q`, `\x41`, `\z`, "\\\n", "a", " ", "'", "é", `\u{41}`))
	}
	g.line(`do local s = "%s" local b = {s:byte(1, -1)} show(#s, table.concat(b, " ")) end`, b.String())
	g.line("do local s = %s show(#s, (s:gsub('%%c', '~'))) end", g.pick("[[\nx]]", "[[ \n\n]]", "[==[ ]] ]=] ]==]", "[=[\n]]\n]=]", "[[a\\n]]", "[[]]", "'\\65\\066\\0067'", "[=[[x]]=]", "--[[c]]'x'", "--[==[\n]]\n]==] 'y'"))
}

func numberFormats(g *generator) {
	g.use("format of a number")
	n := g.pick("0", "1", "-1", "255", "3.99", "-3.99", "1e15", "2^31", "-2^31", "2^53", "1e300", "0.1", "1/3", "123456.789", "1e-10", "2^63", "'12'", "'0x1F'", "5e-324")
	g.line("try(string.format, %q, %s)", g.pick("%d", "%5d", "%-5d|", "%05d", "%+d", "% d", "%.3d", "%x", "%X", "%#x", "%o", "%c", "%e", "%.3e", "%E", "%f", "%.0f", "%10.2f", "%-10.2f|", "%g", "%.3g", "%G", "%#g", "%.14g", "%.17g", "%s", "%10s", "%q", "%i", "%u", "%5.1f%%", "%a1", "%y", "%", "%d %d", "%.20f"), n)
}

func oddKeys(g *generator) {
	g.use("odd key")
	k, l := g.pick("0", "1", "1.5", "'1'", "true", "2^53", "1e300", "0x10", "-1", "1/0", "''"), g.pick("0", "1", "1.0", "'1'", "16", "2^53 + 1", "-1/0", "1/0", "3 - 2", "0.5 + 1")
	g.line("do local t = {} t[%s] = 'a' t[%s] = 'b' show(t[%s], t[%s], rawget(t, %s)) end", k, l, k, l, k)
	g.line("try(function(n) local t = {} %s return t[n] end, %s)", g.pick("t[n] = 1", "rawset(t, n, 1)", "", "t = {[n] = 2}", "t.x, t[n] = 1, 2"), g.pick("0/0", "nil", "1", "0.5"))
	handler := g.pick("function(t, k) called = called .. type(k) end", "setmetatable({}, {__newindex = function() called = 'deep' end})", "{}", "nil", "5")
	g.line("do local called = '' try(function(n) local t = %s", g.pick("setmetatable({}, {__newindex = "+handler+"})", "newproxy(true) getmetatable(t).__newindex = "+handler))
	g.line("\t%s return called end, %s) show(called) end", g.pick("t[n] = 1", "t[n], t.x = 1, 2", "rawset(t, n, 1)", "t[n + 1] = 1", "t[n] = nil"), g.pick("0/0", "nil", "1"))
}

func fractionLoops(g *generator) {
	g.use("numeric for with fractions")
	g.line("do local n, last = 0 for i = %s, %s, %s do n = n + 1 last = i if n > 40 then break end end show(n, last) end",
		g.pick("0", "1", "-1", "0.1", "1e15", "2^53", "-5", "1/3"), g.pick("1", "0.3", "-1", "2^53 + 4", "1e15 + 3", "10", "1/0", "-1/0", "0/0"), g.pick("0.1", "1", "-0.1", "-1", "0.25", "1e-3", "1/0", "0/0", "3"))
}

func boundLoops(g *generator) {
	g.use("bounds of a loop")
	g.line("try(function(a, b, c)")
	g.line("\tlocal log = {}")
	g.line("\tlocal function v(x) log[#log + 1] = tostring(x) return x end")
	g.line("\tfor i = v(a), v(b)%s do local j = i i = i * 2 log[#log + 1] = i if #log > 12 then break end end", g.pick("", ", v(c)", ", c"))
	g.line("\treturn table.concat(log, ' ')")
	g.line("end, %s, %s, %s)", g.pick("1", "'1'", "3", "nil", "{}", "' 2 '"), g.pick("3", "'0x3'", "1", "x", "true"), g.pick("1", "'1'", "-1", "nil", "2", "'a'"))
}

func textMethods(g *generator) {
	g.use("method of a text")
	g.line("try(function(s) return %s%s end, %s)", g.pick("('lit')", "s", "(s .. 'x')", "(5 .. '')", "([[long]])"), strings.Repeat(g.pick(":upper()", ":rep(2)", ":sub(2)", ":len()", ":format(1)", ":byte()", ":nope()", ":reverse()", ".upper", ".x", ":gsub('l', 'm')", "[1]", ":find('l')"), 1+g.n(2)), g.literal(str))
}

func coroutineHandlers(g *generator) {
	g.use("coroutine in a handler")
	g.line("try(function()")
	g.line("\tlocal m = setmetatable({}, {%s = function(a, b)", "__"+g.pick("add", "index", "concat", "lt", "eq", "call", "unm"))
	g.line("\t\tlocal co = coroutine.wrap(function(x) local y = coroutine.yield(x .. 'y') %s return y end)", g.pick("", "error('in co')", "coroutine.yield(1)", "local z = nil + 1"))
	g.line("\t\tlocal r = co('r') return r .. tostring(co('again'))")
	g.line("\tend})")
	g.line("\treturn %s", g.pick("m + 1", "m.x", "m .. 'a'", "m < m", "m(2)", "-m"))
	g.line("end)")
}

func evaluationOrder(g *generator) {
	g.use("order of evaluation")
	g.line("try(function()")
	g.line("\tlocal log, t, u = {}, {}, {}")
	g.line("\tlocal function f(n, v) log[#log + 1] = n return v end")
	g.line("\tlocal w = setmetatable({}, {__newindex = function(_, k, v) log[#log + 1] = tostring(k) .. '=' .. tostring(v) end, __index = function(_, k) log[#log + 1] = 'get ' .. tostring(k) return k end})")
	g.line("\t%s", g.pick("f('a', t)[f('b', 1)], f('c', u)[f('d', 2)] = f('e', 5), f('f', 6)", "w.x, w.y, w.z = f(1, 1), f(2, 2), f(3, 3)", "w[f('k', 'p')] = f('v', 'q')", "local r = f('a', 1) + f('b', 2) * f('c', 3)", "local r = f('a', 1) < f('b', 2) and f('c', 3) or f('d', 4)",
		"local r = {f(1, 1), x = f(2, 2), [f(3, 'k')] = f(4, 4), f(5, 5)}", "local a, b = f(1, 1), f(2, 2), f(3, 3)", "f('fn', id)(f('x', 1), f('y', 2))", "local r = f('a', 'x') .. f('b', 'y') .. f('c', 'z')", "local i = 1 i, t[i] = i + 1, 20 u[1] = i", "w.a, w.b = w.c, w.d", "local i = 2 t[1], t[i], i = i, i + 1, 9 u[1] = i",
		"local r = f('a', 2) ^ f('b', 3) % f('c', 4)", "t.x, t.x = f(1, 1), f(2, 2)", "local a a, a = f(1, 1), f(2, 2) u[1] = a", "f('o', w):format(f('p', 1))", "local r = not f(1, 1) == f(2, false)", "w.n = w.m + f('z', 1)"))
	g.line("\treturn table.concat(log, ' '), t[1], t[2], u[1], u[2], t.x")
	g.line("end)")
}

func deepNesting(g *generator) {
	g.use("deep nesting")
	n := 5 + g.n(40)
	switch g.n(4) {
	case 0:
		g.line("show(%s%s%s)", strings.Repeat("(", n), g.expr(num, 1), strings.Repeat(")", n))
	case 1:
		g.line("do local t = %s1%s local n = 0 while type(t) == 'table' do t = t[1] n = n + 1 end show(n) end", strings.Repeat("{", n), strings.Repeat("}", n))
	case 2:
		g.line("%sshow('deep')%s", strings.Repeat("do ", n), strings.Repeat(" end", n))
	default:
		g.line("show(%s%s%s)", strings.Repeat("(function(...) return ", n/3), "...", strings.Repeat(" end)(1, ...)", n/3))
	}
}

func logicCalls(g *generator) {
	g.use("and/or over calls")
	var b strings.Builder
	for i := range 2 + g.n(7) {
		if i > 0 {
			b.WriteString(g.pick(" and ", " or ", " == ", " ~= ", " and not ", " or not "))
		}
		fmt.Fprintf(&b, "f(%d, %s)", i, g.pick("true", "false", "nil", "1", "'s'"))
	}
	g.line("do local log = {} local function f(n, v) log[#log + 1] = n return v, n end")
	g.line("\tlocal r = %s show(r, table.concat(log, ' '))", b.String())
	g.line("\tif %s then show('yes', #log) else show('no', #log) end", b.String())
	g.line("\tshow(%s) r = %s show(r) end", b.String(), b.String())
}

func varargForms(g *generator) {
	g.use("form of varargs")
	f := g.fresh()
	g.line("local function %s(%s)", f, g.pick("...", "a, ...", "a, b, ..."))
	g.line("\t%s", g.pick("return select('#', ...), ...", "return (...)", "return ..., 'last'", "local x, y, z = ... return z, y, x", "return {...}, {..., 1}, {1, ...}", "return select(-1, ...)", "return select(2, ...)", "for i, v in ipairs({...}) do show(i, v) end", "local function g(...) return ... end return g(...), g(1, ...)",
		"return arg and arg.n", "return #{...}, (select('#', ...))", "return unpack({...}, 1, 3)", "local t = {n = select('#', ...), ...} return t.n, #t", "return (function(...) return ... end)(...)", "return ... and 1 or 2", "return ... == nil", "return not ..."))
	g.line("end")
	g.line("try(%s%s)", f, g.pick("", ", 1", ", nil", ", 1, nil", ", 1, 2, 3", ", nil, nil, 4", ", 'x', {}, false, 4, 5"))
	g.line("show(%s(%s()))", f, f)
}

func numberTexts(g *generator) {
	g.use("text of a number")
	g.line("show(%s)", g.pick("2^53", "2^53 + 1", "2^63", "-2^63", "1e14", "1e15", "123456789012345", "1e16", "1e100", "0.1", "1/3", "100000000000000", "-1e15", "1e-5", "0.0001", "3.14159265358979", "1e300 * 1e10", "-1e300 * 1e10", "5 % 3", "-5 % 3", "5 % -3", "5.5 % 2", "2^0.5", "2^-1", "7 / 2", "0x7fffffff + 1",
		"1e15 + 0.5", "255 .. ''", "1e15 .. ''", "0.1 + 0.2", "1 - 0.9", "3 .. 4", "tostring(1e15)", "tostring(-1.5)", "1e308 * 10 == 1 / 0", "math.huge", "-math.huge", "5 % math.huge", "10 % 0.1 < 0.1", "2^1023 * 2", "tostring(2^31)", "#tostring(1/3)", "1e15 % 7", "2^53 % 3", "-7.5 % 2", "7 % -2.5"))
}

func basedNumbers(g *generator) {
	g.use("number in a base")
	g.line("try(tonumber, %s, %s)", g.pick("'10'", "'ff'", "'FF'", "'z'", "'-ff'", "' 11 '", "'1.5'", "''", "'0x1f'", "'12'", "10", "'8'", "'1e1'", "'ffffffffffffffff'", "'7\\0'", "nil", "{}"), g.pick("2", "8", "10", "16", "36", "1", "37", "'16'", "2.9"))
}

func textOrder(g *generator) {
	g.use("order of texts")
	pick := func() string {
		return g.pick("''", "'a'", "'A'", "'b'", "'ab'", `'a\0'`, `'a\0b'`, `'a\0c'`, "'10'", "'9'", "' '", "'~'", `'\127'`, "'aa'", "'abc'", "'ab '")
	}
	a, b := pick(), pick()
	g.line("show(%[1]s < %[2]s, %[1]s <= %[2]s, %[1]s > %[2]s, %[1]s == %[2]s, #%[1]s, %[1]s .. %[2]s == %[2]s .. %[1]s)", a, b)
}

func breaks(g *generator) {
	g.use("break in nested loops")
	g.line("do local log = {}")
	g.line("\tfor i = 1, 3 do")
	g.line("\t\t%s", g.pick("for j = 1, 3 do if j == i then break end log[#log + 1] = i .. j end", "local j = 0 while true do j = j + 1 local k = j if k > i then break end log[#log + 1] = (function() return k end)() end", "local j = 0 repeat local k = j j = j + 1 if k == i then break end log[#log + 1] = k until k >= 2",
		"for k, v in ipairs({1, 2, 3}) do if v == i then break elseif v > i then log[#log + 1] = 'x' else log[#log + 1] = v end end", "for j = 3, 1, -1 do do if j < i then break end end log[#log + 1] = j end"))
	g.line("\t\tif i == %d then break end", 1+g.n(4))
	g.line("\tend")
	g.line("\tshow(table.concat(log, ' ')) end")
}

func sharedUpvalues(g *generator) {
	g.use("upvalues shared by closures")
	fs := g.fresh()
	g.line("local %s = {}", fs)
	g.line("for i = 1, 3 do")
	g.line("\tlocal x = i")
	g.line("\t%s", g.pick("if i == 2 then x = 20 end", "do local y = x x = y * 2 end", "", "local z = x x = function() z = z + 1 return z end x = x()"))
	g.line("\t%s[i] = {get = function() return x end, set = function(v) %s end, deep = function() return function() x = x + 1 return x end end}", fs, g.pick("x = v", "x, v = v, x", "local w = v x = w"))
	g.line("end")
	g.line("%[1]s[1].set(%[2]d) show(%[1]s[1].get(), %[1]s[2].get(), %[1]s[3].deep()(), %[1]s[3].get(), %[1]s[1].deep()())", fs, g.n(9))
	g.line("do local w repeat local u = %s w = function() u = u + 1 return u end until u > 0 show(w(), w()) end", g.pick("1", "2.5", "#'abc'"))
}

func typeMetatables(g *generator) {
	g.use("metatable of a type")
	v, e := g.pick("5", "true", "nil", "type"), operatorEvents[g.n(len(operatorEvents))]
	g.line("do local value = %s", v)
	g.line("\tdebug.setmetatable(value, {%s = %s})", e.event, g.pick("function(a, b) return type(a) .. type(b or 1) end", "{key = 4}", "function() return nil end"))
	g.line("\tlocal r = {pcall(function(x, y) return %s end, value, %s)}", e.expr, g.pick("value", "{}", "'s'", "1", "nil", "true"))
	g.line("\tlocal m = type(getmetatable(value))")
	g.line("\tdebug.setmetatable(value, nil) show(r[1], r[1] and type(r[2]) or words(r[2]), m, getmetatable(value)) end")
}

func equalHandlers(g *generator) {
	g.use("handler of equality")
	g.line("do local f, h = function(a, b) return %s end, function() return true end", g.pick("true", "false", "nil", "a.v == b.v", "rawequal(a, b)", "1"))
	g.line("\tlocal m1, m2 = {__eq = f}, {__eq = %s}", g.pick("f", "h", "nil"))
	g.line("\tlocal a, b, c = setmetatable({v = 1}, m1), setmetatable({v = 1}, m1), setmetatable({v = 2}, m2)")
	g.line("\tshow(a == b, a ~= b, a == c, c == a, c ~= b, a == a, a == 1, a == {}, {} == a, a ~= nil) end")
}

func orderHandlers(g *generator) {
	g.use("handler of order")
	g.line("try(function()")
	g.line("\tlocal f, h = function(a, b) return %s end, function() return false end", g.pick("a.v < b.v", "nil", "1", "false"))
	g.line("\tlocal a, b = setmetatable({v = 1}, {__lt = f, __le = %s}), setmetatable({v = 2}, {__lt = %s, __le = %s})", g.pick("f", "nil", "h"), g.pick("f", "h", "nil"), g.pick("f", "nil", "h"))
	e := g.pick("a < b", "a <= b", "b > a", "b >= a", "a > 1", "1 < a", "a < 'x'", "a <= a", "not (a < b)")
	g.line("\tif %s then show('then') end return %s", e, e)
	g.line("end)")
}

func indexChains(g *generator) {
	g.use("chain of index handlers")
	g.line("try(function()")
	g.line("\tlocal a = {x = 1, [1] = 'one'}")
	g.line("\tlocal b = setmetatable({y = 2}, {__index = a, __newindex = %s})", g.pick("a", "nil", "function(t, k, v) rawset(t, k, v) end"))
	g.line("\tlocal c = setmetatable({}, {__index = %s, __newindex = %s})", g.pick("b", "function(t, k) return b[k] end", "'text'", "5", "type", "setmetatable({}, {__index = true})"), g.pick("b", "nil", "a", "5", "setmetatable({}, {__newindex = true})"))
	g.line("\tshow(c.x, c.y, c[1], c.z, c.len)")
	g.line("\tc.x, c.w = 10, 11 show(rawget(a, 'x'), rawget(a, 'w'), rawget(b, 'w'), rawget(c, 'w'), rawget(c, 'x'))")
	g.line("\treturn c.w")
	g.line("end)")
}

func stringMetatable(g *generator) {
	g.use("metatable of text")
	g.line("do local mt = getmetatable('') local saved = {} for k, v in pairs(mt) do saved[k] = v end")
	e := operatorEvents[g.n(len(operatorEvents))]
	g.line("\tmt.%s = %s", e.event, g.pick("function(a, b) return (type(a) == 'string' and a or type(a)) .. '|' .. (type(b) == 'string' and b or type(b)) end", "{key = 'found', upper = 1}", "function() return nil end", "nil"))
	g.line("\tlocal r = {pcall(function(x, y) return %s end, %s, %s)}", e.expr, g.pick("'abc'", "'10'", "1"), g.pick("'x'", "'5'", "2", "nil"))
	g.line("\tfor k in pairs(mt) do mt[k] = nil end for k, v in pairs(saved) do mt[k] = v end")
	g.line("\tshow(r[1], r[1] and r[2] or words(r[2]), ('x'):upper()) end")
}

func multipleReturns(g *generator) {
	g.use("number of values")
	f := g.fresh()
	g.line("local function %s(n) if n == 0 then return end if n == 1 then return 1 end if n == 2 then return 1, nil end return 1, 2, 3 end", f)
	n, m := g.n(4), g.n(4)
	g.line("show(%[1]s(%[2]d), %[1]s(%[3]d)) show((%[1]s(%[2]d))) show(select('#', %[1]s(%[2]d), %[1]s(%[3]d))) show(select('#', %[1]s(%[2]d)))", f, n, m)
	g.line("do local a, b, c, d = %[1]s(%[2]d), %[1]s(%[3]d) show(a, b, c, d) a, b = %[1]s(%[3]d) show(a, b) for i in %[4]s do show(i) break end end", f, n, m, g.pick("ipairs({4})", "(function() return next, {5} end)()", "pairs({6}), 7"))
	g.line("do local ok, e = pcall(function() return %s(3) + %s(%d) end) show(ok, ok and e or words(e)) end", f, f, n)
}

func numericCalls(g *generator) {
	g.use("library call with a number")
	g.line("try(%s, %s, %s)", g.pick("math.fmod", "math.pow", "math.max", "math.min", "math.ldexp", "math.modf", "math.frexp", "math.floor", "math.ceil", "math.abs", "math.sqrt", "string.rep", "string.sub", "string.byte", "string.char", "select", "table.concat", "string.len", "tostring", "rawequal", "math.log10"),
		g.pick("1", "-1", "2.5", "-2.5", "'7'", "'abc'", "0", "1e15", "nil", "{}", "{1, 2, 3}", "65"), g.pick("1", "2", "-1", "'2'", "0", "nil", "3.7", "2^31", "-0.5", "', '"))
}

func assignmentForms(g *generator) {
	g.use("form of an assignment")
	g.line("try(function(...)")
	g.line("\tlocal a, b, t = %s, %s, {1, 2, x = {y = 3}}", g.literal(num), g.literal(str))
	for range 1 + g.n(3) {
		g.line("\t%s", g.pick("a, b = b, a", "t[1], t[2] = t[2], t[1]", "t.x.y, a = a, t.x.y", "a, t[#t + 1] = 9, a", "t[t[1]], b = b, t[t[2]]", "a, b, t.z = ...", "t.n, t.m = (...)", "t.x, t.x.y = nil, 5", "a = a and b", "a = {t, b, 2}", "a, b = (function() return 8, 9, 10 end)()", "b = b == a",
			"t.x = t t.x.x.w = 6", "local a = a a = a", "a, a, a = 1, 2, 3", "t[1], t[1] = 'first', 'second'", "a, b = nil", "function t.h() return a end b = t.h()", "function t:k(...) return self == t, ... end a = t:k()", "t['f'], t.f = 1, 2", "local t = {t, t} a = t[1] == t[2]"))
	}
	g.line("\treturn a, b, t[1], t[2], t.z, t.f")
	g.line("end, %s)", g.pick("1, 2, 3", "nil", "'v'"))
}

// lateStores writes stores whose table or key is a local that the right side, another target or a handler changes.
func lateStores(g *generator) {
	g.use("store through a local that changes")
	value := func() string {
		return g.pick("inc()", "inc() + n", "-inc()", "n", "w.key", "w + 1", "w .. 'x'", "w < w", "inc() and n", "{inc()}", "swap()", "(inc())", "function() return n end", "#log + inc()", "not inc()", "g", "...")
	}
	target := func() string {
		return g.pick("t[n]", "t[n]", "t.x", "T[n]", "u.t[n]", "id(t)[n]", "t[inc()]", "t[n + 1]", "w[n]", "n", "t", "t[u]", "swap()[n]", "t[g]", "u[n]", "G2[n]")
	}
	g.line("try(function(...)")
	g.line("\tlocal log, t, n, g = {}, {}, %s, %s", g.pick("0", "1", "'k'"), g.pick("'g'", "3"))
	g.line("\tlocal first, u, count = t, {t = t}, 0 T = t G2 = t")
	g.line("\tlocal function inc() count = count + 1 n = count %s return n end", g.pick("", "g = n", "u = {t = t}"))
	g.line("\tlocal function swap() t = {n} return t end")
	g.line("\tlocal w = setmetatable({}, {__index = inc, __add = inc, __concat = inc, __lt = inc, __newindex = function(_, k, v) log[#log + 1] = tostring(k) .. '=' .. type(v) n = 'late' end})")
	for range 1 + g.n(3) {
		targets, values := []string{target()}, []string{value()}
		for g.chance(40) {
			targets = append(targets, target())
		}
		for g.chance(40) {
			values = append(values, value())
		}
		g.line("\tlocal ok, e = pcall(function(...) %s%s = %s end, 8) log[#log + 1] = ok and 'ok' or words(e)", g.pick("", "local n, t = n, t "), strings.Join(targets, ", "), strings.Join(values, ", "))
		g.line("\t%s = %s", strings.Join(targets, ", "), strings.Join(values, ", "))
	}
	g.line("\tlog[#log + 1] = tostring(n) .. type(t)")
	g.line("\tfor _, from in ipairs({first, type(t) == 'table' and t or {}, type(u) == 'table' and u or {}}) do")
	g.line("\t\tfor _, k in ipairs({0, 1, 2, 3, 4, 5, 6, 'k', 'x', 'g', 'late', n}) do local v = from[k] log[#log + 1] = type(v) == 'number' and v or type(v) end")
	g.line("\tend")
	g.line("\treturn table.concat(log, ' ')")
	g.line("end, %s)", g.pick("1", "{}", "nil"))
}

func iteratorErrors(g *generator) {
	g.use("iterator that is none")
	g.line("try(function() local n = 0 for k, v in %s do n = n + 1 if n > 3 then break end end return n end)", g.pick("5", "nil", "{}", "pairs({1, 2})", "ipairs({1, nil, 3})", "next, {}", "next, {1}, 1", "'x'", "pairs(nil)", "ipairs()", "string.gmatch('a b', '%a')", "setmetatable({}, {__call = function(s, a, c) return (c or 0) < 3 and (c or 0) + 1 or nil end})",
		"function(s, c) if not c then return 1 end end", "next, 5", "pairs(setmetatable({}, {__index = {1, 2}}))", "ipairs(setmetatable({}, {__index = {1, 2}}))", "function() error('iter') end", "coroutine.wrap(function() coroutine.yield(1) coroutine.yield(2) end)", "type", "true, 1"))
}
