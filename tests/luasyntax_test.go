package tests

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// loader prints for each file whether it is a chunk, or why not.
const loader = `for _, name in ipairs(arg) do
	print("=== " .. name)
	local f, e = loadfile(name)
	print(f and "chunk" or e)
end
`

// fragments are what a mutation puts in: all tokens, and what is nearly one.
var fragments = strings.Fields(`and break do else elseif end false for function if in local nil not or repeat return then true until while
	+ - * / % ^ # == ~= <= >= < > = ( ) { } [ ] ; : , . .. ... ~ ! @ $ & | ? \ x y t f self arg a.b a:b f() f{} f"s" f[[s]] t[1] (x) ("x") (f()) -x #t not\ x
	1 0 3. .5 0x 0x1 0xg 0x.8 1e 1e+ 1e5 3..2 3...2 1.2.3 08 1e400 3x 0x1p4 0x1F "a" 'b' "a 'b "\65" "\300" "\256" "\x41" "\z" '\' "\\" [[ ]] [=[ ]=] [==[ ]==] [= [[x]] [=[x]=]
	--c --[[ --[=[ --]] function()end function(a,...)end local\ x local\ function\ f() goto=1 {goto=1} t.goto x=1 x,y=1,2 f().x=1 (x)=1 break; return; return\ 1; ;; for\ i=1,2\ do for\ k,v\ in\ p\ do`)

var word = regexp.MustCompile(`[A-Za-z_0-9]+|"[^"\n]*"|'[^'\n]*'|\n|[ \t]+|\.\.\.|\.\.|[=~<>]=|.`)

// breakSource changes a program in a few places, so that most are none any more.
func breakSource(r *rand.Rand, program string) string {
	if r.IntN(3) == 0 { // a few of its lines, which miss what was around them
		lines := strings.SplitAfter(program, "\n")
		from := r.IntN(len(lines))
		program = strings.Join(lines[from:min(len(lines), from+3+r.IntN(20))], "") + "\n"
	}
	words := word.FindAllString(program, -1)
	for range 1 + r.IntN(3) {
		i := r.IntN(len(words))
		switch r.IntN(8) {
		case 0:
			words[i] = ""
		case 1:
			words[i] += words[i]
		case 2:
			j := r.IntN(len(words))
			words[i], words[j] = words[j], words[i]
		case 3:
			words[i] += "\n"
		case 4:
			if s := words[i]; s != "" { // in the middle of a word
				n := r.IntN(len(s))
				words[i] = s[:n] + s[n+1:]
			}
		default:
			space := []string{" ", "", "\n"}[r.IntN(3)]
			words[i] += space + strings.ReplaceAll(fragments[r.IntN(len(fragments))], `\ `, " ") + space
		}
	}
	source := strings.Join(words, "")
	if r.IntN(8) == 0 {
		source = source[:r.IntN(len(source)+1)]
	}
	return source
}

// TestLuaSyntax loads broken programs here and on PUC Lua 5.1, and compares which are chunks, and what is said
// of the others, with its line.
func TestLuaSyntax(t *testing.T) {
	long(t, "one goroutine runs Lua here")
	lua, err := exec.LookPath("lua5.1")
	if err != nil {
		t.Skip("lua5.1 is not installed: messages about broken programs are not compared with it")
	}
	n := 2 * *luaPrograms
	if n == 0 {
		n = 2000
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "loader.lua"), []byte(loader), 0o644); err != nil {
		t.Fatal(err)
	}
	const batch, perProgram = 400, 40
	for first := 0; first < n; first += batch {
		args := []string{"loader.lua"}
		sources := make(map[string]string)
		var program string
		for i := first; i < min(first+batch, n); i++ {
			seed := *luaSeed + uint64(i)
			if i%perProgram == 0 {
				program, _ = generate(seed)
			}
			name := fmt.Sprintf("s%d.lua", seed)
			sources[name] = breakSource(rand.New(rand.NewPCG(seed, 0x73796e)), program)
			args = append(args, name)
			if err := os.WriteFile(filepath.Join(dir, name), []byte(sources[name]), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want := runLua(t, dir, lua, args...)
		got := runLua(t, dir, binary, append([]string{"--backend=null"}, args...)...)
		compareOutputs(t, want, got, sources)
		if t.Failed() {
			t.Logf("rerun with -lua-seed=%d -lua-programs=%d", *luaSeed+uint64(first), batch/2)
			return
		}
	}
}
