package luabind

import (
	"slices"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

// globalTexts are the globals that scripts have made, "name = value".
func (s *session) globalTexts(known map[string]bool) []string {
	var out []string
	s.globals().ForEach(func(k, v lua.LValue) {
		if name := k.String(); !known[name] {
			text, err := s.Format(s.t.Context(), v)
			if err != nil {
				s.t.Error(err)
			}
			text, _, _ = strings.Cut(text, " at ") // where a function was defined
			out = append(out, name+" = "+text)
		}
	})
	slices.Sort(out)
	return out
}

// A script of chunks leaves the globals that the chunks have left.
func TestScript(t *testing.T) {
	for _, c := range []struct {
		chunks []string
		want   string // "": not looked at
	}{
		{[]string{`return x`, `y = 3`}, "_ = x\ny = 3\n"},
		{[]string{`n = 0`, `x = tostring`, `(function() n = n + 1 end)()`, `(tostring)("a")`}, "n = 0\nx = tostring\ndo (function() n = n + 1 end)() end\ndo (tostring)(\"a\") end\n"},
		{[]string{`a = tostring return (tostring)(1)`, `b = 1`}, "a = tostring\ndo (tostring)(1) end\nb = 1\n"},
		{[]string{`local x = 1`, `x = 2`, `y = x`}, "do local x = 1 end\nx = 2\ny = x\n"},
		{[]string{`local x = 1 -- one`, "local function f()\n  return 1\nend\ng = f()"}, "do\n  local x = 1 -- one\nend\ndo\n  local function f()\n    return 1\n  end\n  g = f()\nend\n"},
		{[]string{"local s = [[a\nb]]\nt = s"}, "do\nlocal s = [[a\nb]]\nt = s\nend\n"},
		{[]string{"for i = 1, 3 do\n  x = i -- last\nend"}, "for i = 1, 3 do\n  x = i -- last\nend\n"},
		{[]string{`x = 1 -- one`, `=x + 1 -- two`, `y = _`}, "x = 1 -- one\n_ = x + 1 -- two\ny = _\n"},
		{[]string{`1, 2`, `_ + 1`, `y = _`}, "_ = 1, 2\n_ = _ + 1\ny = _\n"},
		{[]string{`5`, `assert(true)`, `y = _`}, ""},
		{[]string{`5`, `f = function() end`, `f()`, `y = _`}, ""},
		{[]string{`5`, `f = function() return nil, 6 end`, `f() -- nil`, `y = _ == nil`}, ""},
		{[]string{`5`, `f = function() return _ end`, `type(1);`, `y = f()`}, ""},
		{[]string{`for _, v in ipairs{1} do last = v end`, `tostring(1)`, `x = 1`}, "for _, v in ipairs{1} do last = v end\ntostring(1)\nx = 1\n"},
		{[]string{`if true then return end x = 1`, `y = 2`}, "do\n  (function(...)\n    if true then return end x = 1\n  end)(...)\nend\ny = 2\n"},
		{[]string{`for i = 1, 3 do if i == 2 then return i end end return 9`, `y = 1`}, ""},
		{[]string{`return`, `return;`, `y = 2`}, "y = 2\n"},
		{[]string{`f = function() return 1 end return f`, `x = 1; return x;`, `-- nothing`, `x?`, `help npu`, `y = 1;`},
			"f = function() return 1 end _ = f\nx = 1; _ = x\n-- nothing\ny = 1;\n"},
		{[]string{`goto e x = 1 ::e::`, `goto e y = 1 ::e::`, `z = 1`}, ""},
		{[]string{"return -- a\n  1"}, "_ = -- a\n  1\n"},
		{[]string{`("x"):rep(3)`, `y = ("a"):rep(2)`}, "do (\"x\"):rep(3) end\ny = (\"a\"):rep(2)\n"},
		{[]string{`npu.device(0) npu.host("float32", 2):fill(1)`, `x = 1`}, ""},
		{[]string{`#"abc"`, `y = _`}, "_ = #\"abc\"\ny = _\n"},
	} {
		s := openSession(t, npu.Options{})
		known := make(map[string]bool)
		s.globals().ForEach(func(k, _ lua.LValue) { known[k.String()] = true })
		for _, chunk := range c.chunks {
			if err := s.Eval(t.Context(), chunk); err != nil {
				t.Fatalf("%s: %v", chunk, err)
			}
		}
		code, _ := s.Script(c.chunks)
		if c.want != "" && code != c.want {
			t.Errorf("%q: got\n%s\nwant\n%s", c.chunks, code, c.want)
		}
		known["_"] = true
		loaded := openSession(t, npu.Options{})
		if err := loaded.Runner(t.Context()).RunString(code, "saved"); err != nil {
			t.Errorf("%q: %v in\n%s", c.chunks, err, code)
		}
		if got, want := loaded.globalTexts(known), s.globalTexts(known); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q of\n%s", c.chunks, got, want, code)
		}
	}
	if code, n := openSession(t, npu.Options{}).Script([]string{`x?`, `return`}); code != "" || n != 0 {
		t.Errorf("got %d: %q", n, code)
	}
}
