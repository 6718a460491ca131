package lua51

import (
	"fmt"
	"regexp"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// vmTexts are messages of the virtual machine itself, and how PUC Lua words them. A message is all that comes after the
// place: what a script says may contain the same words.
var vmTexts = []struct {
	part string // quick test: the regular expression takes 70 ns a byte
	re   *regexp.Regexp
	text string
}{
	{"operation between", regexp.MustCompile(`^cannot perform \w+ operation between number and (\w+)$`), "attempt to perform arithmetic on a $1 value"},
	{"operation between", regexp.MustCompile(`^cannot perform \w+ operation between (\w+) and \w+$`), "attempt to perform arithmetic on a $1 value"},
	{"non-table object", regexp.MustCompile(`^attempt to index a non-table object\((\w+)\) with key '[^']*'$`), "attempt to index a $1 value"},
	{"non-function object", regexp.MustCompile(`^attempt to call a non-function object$`), "attempt to call a value that is not a function"},
	{"__unm undefined", regexp.MustCompile(`^__unm undefined$`), "attempt to perform arithmetic on a value that is not a number"},
	{"bad argument #", regexp.MustCompile(`^(bad argument #\d+ to )(?:main chunk|corountine) (\(\w+ expected, got \w+\)|\(level out of range\))$`), "$1'?' $2"},
	{"bad argument #", regexp.MustCompile(`^(bad argument #\d+ to )(\w+) (\(\w+ expected, got \w+\)|\(level out of range\))$`), "$1'$2' $3"},
	{"environment of given", regexp.MustCompile(`^cannot change the environment of given object$`), "'setfenv' cannot change environment of given object"},
	{"callstack overflow", regexp.MustCompile(`^lua callstack overflow$`), "stack overflow"},
	{"registry overflow", regexp.MustCompile(`^registry overflow$`), "stack overflow"},
	{"index out of range", regexp.MustCompile(`^runtime error: index out of range \[-1\]$`), "stack overflow"}, // see fullAtEntry
}

// libraryTexts are how messages start that the library puts a blank in front of where it knows no
// place; those of scripts keep their blanks.
var libraryTexts = []string{
	"attempt to ", "bad argument #", "cannot change the environment ", "cannot perform ", "for statement ", "loop or previous error ",
	"lua callstack overflow", "module ", "name conflict ", "no calling stack", "package.", "registry overflow", "stack overflow", "table index is ",
	"too many recursions ",
}

var compared = regexp.MustCompile(`^attempt to compare (\w+) with (\w+)$`)

// message cuts s into a place and a message with part in it; false where it has none.
func message(s, part string) (place, text string, ok bool) {
	if !strings.Contains(s, part) {
		return "", "", false
	}
	if i := strings.LastIndex(s[:strings.LastIndex(s, part)], ": "); i > 0 && '0' <= s[i-1] && s[i-1] <= '9' { // after the line
		return s[:i+2], s[i+2:], true
	}
	return "", s, true
}

// errorText gives an error value of the virtual machine the words of PUC Lua.
func errorText(v lua.LValue) lua.LValue {
	s, ok := v.(lua.LString)
	if !ok {
		return v
	}
	if rest, ok := strings.CutPrefix(string(s), " "); ok {
		for _, start := range libraryTexts {
			if strings.HasPrefix(rest, start) {
				s, v = lua.LString(rest), lua.LString(rest)
			}
		}
	}
	if place, text, ok := message(string(s), "attempt to compare"); ok {
		if m := compared.FindStringSubmatch(text); m != nil && m[1] == m[2] {
			return lua.LString(fmt.Sprintf("%sattempt to compare two %s values", place, m[1]))
		}
	}
	for _, t := range vmTexts {
		if place, text, ok := message(string(s), t.part); ok && t.re.MatchString(text) {
			return lua.LString(place + t.re.ReplaceAllString(text, t.text))
		}
	}
	return v
}
