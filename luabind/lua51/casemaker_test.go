package lua51

import (
	"fmt"
	"math/rand"
	"strings"
)

// caseMaker writes random statements that return something.
type caseMaker struct{ r *rand.Rand }

func newCaseMaker(seed int64) *caseMaker { return &caseMaker{rand.New(rand.NewSource(seed))} }

func (c *caseMaker) make(n int) []string {
	makers := []func() string{c.pattern, c.pattern, c.pattern, c.gsub, c.format, c.format, c.number, c.stringCall, c.tableCall, c.baseCall, c.mathCall, c.sorting, c.calling}
	out := make([]string, n)
	for i := range out {
		out[i] = makers[i%len(makers)]()
	}
	return out
}

func (c *caseMaker) one(of ...string) string { return of[c.r.Intn(len(of))] }

func literal(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		if c := s[i]; isAlnum(c) || c == ' ' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "\\%03d", c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func (c *caseMaker) text(alphabet string, most int) string {
	b := make([]byte, c.r.Intn(most+1))
	for i := range b {
		b[i] = alphabet[c.r.Intn(len(alphabet))]
	}
	return string(b)
}

func (c *caseMaker) subject() string {
	return c.text(c.one("ab", "abc(),. ", "aB1 \n\t_-", "ab\x00\xff%"), 14)
}

func (c *caseMaker) patternText() string {
	if c.r.Intn(6) == 0 {
		return c.text("ab%[]^$*+-?.()1f\x00", 7)
	}
	items := []string{"a", "b", ".", "%a", "%d", "%s", "%w", "%W", "%p", "%z", "%x", "%u", "%L", "[ab]", "[^a]", "[a-c]", "[%w_]", "[]a]", "[^]a]", "[a-]", "[%a-z]", "%%", "%.", "(a)", "(.)", "(", ")", "()", "%1", "%2", "%b()", "%bab", "%f[%w]", "%f[^a]", "$", "^", "\x00", "%f", "[", "%b"}
	quantifiers := []string{"", "", "", "*", "+", "-", "?"}
	var b strings.Builder
	if c.r.Intn(5) == 0 {
		b.WriteByte('^')
	}
	for range c.r.Intn(5) {
		n := len(items)
		if c.r.Intn(4) > 0 {
			n -= 4
		}
		item, quantifier := items[c.r.Intn(n)], quantifiers[c.r.Intn(len(quantifiers))]
		if c.r.Intn(5) == 0 {
			b.WriteString("(" + item + quantifier + ")")
		} else {
			b.WriteString(item + quantifier)
		}
	}
	if c.r.Intn(8) == 0 {
		b.WriteByte('$')
	}
	return b.String()
}

func (c *caseMaker) index() string {
	return c.one("1", "0", "-1", "2", "3", "-3", "20", "-20", "'2'", "nil", "1.7", "-0.5", "1e10", "-1e300", "0/0", "1/0", "{}", "'x'", "4294967297", "2147483648")
}

func (c *caseMaker) value() string {
	return c.one("nil", "true", "false", "{}", "print", "1", "-1", "0", "2.5", "tonumber('-0')", "1/0", "-1/0", "0/0", "1e15", "1e100", "123456789012345", "0.1", "'10'", "'0x10'", "' 7 '", "'abc'", "''", "'1e'", "'a\\000b'", "2^53", "2^63", "-2^63", "2^64", "300", "-255", "coroutine.create(function() end)")
}

func (c *caseMaker) args(most int) string {
	parts := make([]string, c.r.Intn(most+1))
	for i := range parts {
		parts[i] = c.value()
	}
	return strings.Join(parts, ", ")
}

func (c *caseMaker) pattern() string {
	s, p := literal(c.subject()), literal(c.patternText())
	switch c.r.Intn(5) {
	case 0:
		return fmt.Sprintf("return all(%s, %s)", s, p)
	case 1:
		return fmt.Sprintf("return string.match(%s, %s, %s)", s, p, c.index())
	case 2:
		return fmt.Sprintf("return string.find(%s, %s, %s, %s)", s, p, c.index(), c.value())
	case 3:
		return fmt.Sprintf("return (%s):match(%s)", s, p)
	}
	return fmt.Sprintf("return string.find(%s, %s)", s, p)
}

func (c *caseMaker) gsub() string {
	by := c.one(literal(c.text("ab%012x", 6)), literal("<%0>"), literal("%1"), "{a='x', b=1, ab=false, [1]='one'}", "{a={}}",
		"function(...) return select('#', ...) .. ':' end", "function(a) return a and {} end", "function() end", "function(a, b) return b end", "string.upper", c.value())
	limit := c.one("", "", ", "+c.index())
	return fmt.Sprintf("return string.gsub(%s, %s, %s%s)", literal(c.subject()), literal(c.patternText()), by, limit)
}

func (c *caseMaker) format() string {
	var b strings.Builder
	n := c.r.Intn(3)
	for range n {
		b.WriteString(c.text("a %%", 1))
		b.WriteString("%" + c.text("-+ #0", 2) + c.one("", "", "5", "12", "99", "100") + c.one("", "", ".", ".0", ".3", ".10", ".99", ".100") + string("cdiouxXeEfgGqs%y\x00"[c.r.Intn(17)]))
		if c.r.Intn(30) == 0 {
			b.WriteString("%------d")
		}
	}
	args := ""
	for range n + c.r.Intn(2) - c.r.Intn(10)/9 {
		args += ", " + c.one(c.value(), c.float(), literal(c.subject()), "('x'):rep(100) .. '\\000y'")
	}
	return fmt.Sprintf("return string.format(%s%s)", literal(b.String()), args)
}

func (c *caseMaker) float() string {
	return fmt.Sprintf("%.17g", c.floatValue())
}

func (c *caseMaker) floatValue() float64 {
	switch c.r.Intn(5) {
	case 0:
		return float64(c.r.Intn(2000) - 1000)
	case 1:
		return float64(c.r.Int63() - c.r.Int63())
	case 2:
		return c.r.NormFloat64()
	case 3:
		return float64(c.r.Intn(100000)) / 8
	}
	return c.r.NormFloat64() * pow10(c.r.Intn(600)-300)
}

func pow10(n int) float64 {
	f, _ := ParseNumber(fmt.Sprintf("1e%d", n))
	return f
}

func (c *caseMaker) number() string {
	switch c.r.Intn(6) {
	case 0:
		return "return tostring(" + c.float() + ")"
	case 1:
		return fmt.Sprintf("return tonumber(%s, %s)", literal(c.text("01279afzAF-+x \x00", 8)), c.one("2", "8", "10", "16", "36", "37", "1", "nil", "16", "'16'", "3.9"))
	case 2:
		return "return tonumber(" + literal(c.one("", " ", "-", "+", "0x", "0X1.", "-0x")+c.text("0123456789abcefpx.+-_ \t", 8)+c.one("", " ", "\x00junk", "\v\f\r\n", "e5", "e-400", "p3")) + ")"
	case 3:
		return "return tonumber(" + literal(c.one(" ", "-", "+", "")+c.one("inf", "INFINITY", "nan", "nan(12)", "nan(", "infinit", "0x", "0x.8", ".", ".5", "5.", "1e", "1e+", "1_000", "0b1", "0x1p-2", "0x.p1", "1e400", "0xffffffffffffffffff", "--1", "1 1")) + ")"
	case 4:
		return "return " + c.float() + " .. ''" + ", tostring(" + c.value() + "):sub(1, 4)"
	}
	return "return tonumber(" + c.args(2) + ")"
}

func (c *caseMaker) stringCall() string {
	s := c.one(literal(c.subject()), c.value())
	switch c.r.Intn(5) {
	case 0:
		return fmt.Sprintf("return string.sub(%s, %s, %s)", s, c.index(), c.index())
	case 1:
		return fmt.Sprintf("return string.byte(%s, %s, %s)", s, c.index(), c.index())
	case 2:
		return "return string.char(" + c.args(4) + ")"
	case 3:
		return fmt.Sprintf("return string.rep(%s, %s)", s, c.one("0", "1", "3", "-1", "2.9", "'2'", "4294967298", "nil", "{}"))
	}
	return fmt.Sprintf("return string.%s(%s)", c.one("len", "lower", "upper", "reverse", "dump", "gmatch", "find", "match", "byte", "char", "rep", "sub", "gsub", "format", "gfind"), c.args(3))
}

func (c *caseMaker) table() string {
	parts := make([]string, c.r.Intn(7))
	for i := range parts {
		parts[i] = c.one("1", "2", "'x'", "3.5", "'yy'", "-1", "1e20", "true")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func (c *caseMaker) tableCall() string {
	switch c.r.Intn(8) {
	case 0:
		return fmt.Sprintf("return table.concat(%s, %s)", c.table(), c.one("','", "nil", "1", "{}"))
	case 1:
		return fmt.Sprintf("return table.concat(%s, '-', %s, %s)", c.table(), c.one("1", "2", "0", "9", "'2'", "x", "nil"), c.one("1", "2", "nil", "'3'", "9"))
	case 2:
		return fmt.Sprintf("local t = %s table.insert(t, %s, 'n') return list(t), #t", c.table(), c.one("1", "#t", "#t + 1", "'1'", "1.5", "{}"))
	case 3:
		return fmt.Sprintf("local t = %s table.insert(t, %s) return list(t), #t", c.table(), c.value())
	case 4:
		return fmt.Sprintf("local t = %s return list(t), select('#', table.remove(t, %s)), list(t)", c.table(), c.one("nil", "1", "2", "3", "0", "7", "'1'", "{}"))
	case 5:
		return fmt.Sprintf("return unpack(%s, %s, %s)", c.table(), c.one("1", "0", "nil", "-2", "3"), c.one("nil", "2", "5", "1e9", "8000", "100000000", "-1", "'2'", "{}"))
	case 6:
		return fmt.Sprintf("local t = %s return table.foreachi(t, function(i, v) return i == 3 and v or nil end), table.getn(t), table.maxn(t), table.foreach(t, function(k, v) return v == 2 and k or nil end)", c.table())
	}
	return fmt.Sprintf("return table.%s(%s)", c.one("concat", "remove", "sort", "maxn", "getn", "setn", "foreach", "foreachi"), c.args(4))
}

func (c *caseMaker) baseCall() string {
	switch c.r.Intn(6) {
	case 0:
		return fmt.Sprintf("return select(%s, %s)", c.one("1", "2", "-1", "-2", "0", "-9", "9", "'#'", "'#x'", "'2'", "'x'", "nil", "1.9"), c.one("1, 2, 3", "nil", "nil, nil"))
	case 1:
		return "return assert(" + c.args(3) + ")"
	case 2:
		return "return error(" + c.args(2) + ")"
	case 3:
		return fmt.Sprintf("return tostring(setmetatable({}, {__tostring = %s}))", c.one("function() return 'x' end", "function() return 1 end", "function() end", "1", "function() error('e') end", "setmetatable({}, {__call = function() return 'c' end})"))
	case 4:
		return "local r = {" + c.one("rawget", "rawset", "rawequal", "setmetatable", "getmetatable") + "({}" + c.one("", ", nil", ", nil, 1", ", 1, 2") + ")} return #r, type(r[1])"
	}
	return fmt.Sprintf("local r = {%s(%s)} return #r, type(r[1])", c.one("rawget", "rawset", "rawequal", "type", "select", "ipairs", "pairs", "setmetatable", "getmetatable", "unpack", "collectgarbage", "tostring", "tonumber", "assert", "error"), c.args(3))
}

func (c *caseMaker) mathCall() string {
	x, y := c.one(c.value(), c.float()), c.one(c.value(), c.float())
	exact := c.one("abs", "ceil", "floor", "sqrt", "modf", "frexp", "deg", "rad", "max", "min", "fmod", "mod", "ldexp", "random")
	switch c.r.Intn(5) {
	case 0:
		return fmt.Sprintf("local a, b = math.%s(%s, %s) return a, b", exact, x, y)
	case 1:
		return fmt.Sprintf("local a, b = math.%s(%s) return a, b", exact, x)
	case 2: // the last digits of these may differ
		x, y = c.one(c.value(), fmt.Sprint(c.r.Intn(20))), c.one("2", "0.5", "-1", "nil", "'3'", "{}", "1/0")
		return fmt.Sprintf("local r = math.%s(%s, %s) return math.abs(r) < 1e15 and string.format('%%.11g', r) or r == r and tostring(r)", c.one("acos", "asin", "atan", "atan2", "cosh", "exp", "log", "log10", "pow", "sinh", "tanh"), x, y)
	case 3:
		return fmt.Sprintf("math.randomseed(%s) return math.random(), math.random(%s), math.random(%s)", x, c.one("10", "1", "0", "2^31", "'6'"), c.one("5, 9", "-3, 3", "2, 1", "1, 2, 3", "x"))
	}
	return fmt.Sprintf("return math.log10(10^%d), math.huge, math.pi, math.modf(%s)", c.r.Intn(23), x)
}

func (c *caseMaker) sorting() string {
	parts, mixed := make([]string, c.r.Intn(14)), 0
	for i := range parts {
		parts[i] = fmt.Sprint(c.r.Intn(9))
		if c.r.Intn(60) == 0 {
			mixed++
			parts[i] = c.one("'x'", "true", "{}", "print")
		}
	}
	less := "nil"
	if mixed == 0 {
		less = c.one("nil", "function(a, b) return a < b end", "function(a, b) return a > b end", "function(a, b) return true end", "function(a, b) return a <= b end", "function() return false end", "function(a, b) return a % 3 < b % 3 end", "function(a, b) error('stop') end")
	}
	return fmt.Sprintf("return trace(%s, {%s})", less, strings.Join(parts, ", "))
}

func (c *caseMaker) calling() string {
	fn := c.one("string.rep", "string.sub", "math.floor", "table.concat", "ipairs", "unpack", "setmetatable", "string.format", "table.insert")
	args := c.args(2)
	switch c.r.Intn(12) {
	case 0:
		return fmt.Sprintf("local f = %s f(%s)", fn, args)
	case 1:
		return fmt.Sprintf("local t = {x = {f = %s}} local r = t.x.f(%s) return type(r)", fn, args)
	case 2:
		return fmt.Sprintf("local t = {f = %s} local r = t:f(%s) return type(r)", fn, args)
	case 3:
		return fmt.Sprintf("local t = {%s} local r = t[1](%s) return type(r)", fn, args)
	case 4:
		return fmt.Sprintf("local f = %s return (function() local r = f(%s) return type(r) end)()", fn, args)
	case 5:
		return fmt.Sprintf("local f = %s return type((f(%s)))", fn, args)
	case 6:
		return fmt.Sprintf("local s = %s for k in %s, s do break end", c.value(), fn)
	case 7:
		return fmt.Sprintf("return type(setmetatable({}, {__index = %s}).x)", fn)
	case 8:
		return fmt.Sprintf("local s = 'abc' local r = s:%s(%s) return r", c.one("rep", "sub", "byte", "find", "gsub", "format"), args)
	case 9:
		return fmt.Sprintf("local r = ('abc'):%s(%s) return r", c.one("rep", "sub", "byte", "find", "gsub", "format"), args)
	case 10:
		return fmt.Sprintf("return pcall(%s, %s)", fn, c.value())
	}
	return fmt.Sprintf("local function f() error('m', %s) end local function g() f() end g()", c.one("0", "1", "2", "3", "'2'", "nil", "{}"))
}
