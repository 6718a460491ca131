package lua51

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// Compile compiles a chunk called name. A byte order mark and a first line that starts with # are
// accepted, and line ends may be those of any system; line numbers stay those of the source. Every
// error is "name:line: message", also where the chunk is too large for the virtual machine.
func Compile(source []byte, name string) (proto *lua.FunctionProto, err error) {
	source = bytes.TrimPrefix(source, []byte("\xef\xbb\xbf"))
	if bytes.HasPrefix(source, []byte("#")) {
		end := bytes.IndexByte(source, '\n')
		if end < 0 {
			end = len(source)
		}
		source = source[end:] // the line end stays, so that line 2 is line 2
	}
	if bytes.HasPrefix(source, []byte("\x1bLua")) {
		return nil, fmt.Errorf("%s: precompiled chunks cannot be loaded", name)
	}
	source = bytes.ReplaceAll(source, []byte("\r\n"), []byte("\n"))
	var chunk []ast.Stmt
	defer func() {
		if r := recover(); r != nil {
			proto, err = nil, tooLarge(name, r)
		}
	}()
	if chunk, err = parse.Parse(bytes.NewReader(source), name); err != nil {
		return nil, errors.New(syntaxText(err, name, 1+bytes.Count(source, []byte("\n"))))
	}
	chunk = rewriteChunk(chunk)
	proto, err = lua.Compile(chunk, name)
	if err != nil {
		return nil, errors.New(syntaxText(err, name, 0))
	}
	if hasLongCode(proto) {
		if s := tooLong(chunk); s != nil {
			return nil, fmt.Errorf("%s:%d: control structure too long near line %d", name, s.Line(), s.Line())
		}
	}
	return proto, nil
}

// maxJump is how far a jump reaches, in instructions. The compiler writes longer ones without a
// word, and the virtual machine then goes astray.
const maxJump = 1<<17 - 1

func hasLongCode(p *lua.FunctionProto) bool {
	if len(p.Code) > maxJump {
		return true
	}
	for _, inner := range p.FunctionPrototypes {
		if hasLongCode(inner) {
			return true
		}
	}
	return false
}

// tooLong finds a loop or condition whose code is longer than a jump, by compiling it alone.
func tooLong(stmts []ast.Stmt) (found ast.Stmt) {
	walk(stmts, func(s ast.Stmt) {
		if found != nil || len(bodies(s)) == 0 {
			return
		}
		if _, ok := s.(*ast.DoBlockStmt); ok {
			return // no jump leads over it
		}
		n := 0
		for _, body := range bodies(s) {
			n += count(body)
		}
		if n < maxJump/64 { // no statement of sane size takes more
			return
		}
		if p, err := lua.Compile([]ast.Stmt{s}, ""); err == nil && len(p.Code) > maxJump {
			found = s
		}
	})
	return found
}

// walk calls fn for all statements, those of functions included, outer ones first.
func walk(stmts []ast.Stmt, fn func(ast.Stmt)) {
	for _, s := range stmts {
		fn(s)
		for _, body := range bodies(s) {
			walk(body, fn)
		}
		for _, e := range functions(s) {
			walk(e.Stmts, fn)
		}
	}
}

// functions are the functions that a statement defines at its top: those in which whole programs
// are wrapped.
func functions(s ast.Stmt) []*ast.FunctionExpr {
	var out []*ast.FunctionExpr
	add := func(e ast.Expr) {
		if c, ok := e.(*ast.FuncCallExpr); ok {
			e = c.Func
		}
		if f, ok := e.(*ast.FunctionExpr); ok {
			out = append(out, f)
		}
	}
	switch s := s.(type) {
	case *ast.FuncDefStmt:
		out = append(out, s.Func)
	case *ast.LocalAssignStmt:
		for _, e := range s.Exprs {
			add(e)
		}
	case *ast.AssignStmt:
		for _, e := range s.Rhs {
			add(e)
		}
	case *ast.ReturnStmt:
		for _, e := range s.Exprs {
			add(e)
		}
	case *ast.FuncCallStmt:
		add(s.Expr)
	}
	return out
}

// syntaxText writes a parse error as "name:line: message near 'token'"; last is the last line of the
// source, where an unfinished chunk ends.
func syntaxText(err error, name string, last int) string {
	var pe *parse.Error
	if errors.As(err, &pe) {
		msg := strings.TrimSpace(pe.Message)
		if pe.Pos.Line == parse.EOF {
			return fmt.Sprintf("%s:%d: %s near '<eof>'", name, last, msg)
		}
		if pe.Token != "" {
			msg += fmt.Sprintf(" near '%s'", pe.Token)
		}
		return fmt.Sprintf("%s:%d: %s", name, pe.Pos.Line, msg)
	}
	var ce *lua.CompileError
	if errors.As(err, &ce) {
		return fmt.Sprintf("%s:%d: %s", name, ce.Line, ce.Message)
	}
	return fmt.Sprintf("%s: %v", name, err)
}

// tooLarge explains a panic of the compiler.
func tooLarge(name string, cause any) error {
	return fmt.Errorf("%s: the chunk is too large or too deeply nested to be compiled (%v)", name, cause)
}

func count(stmts []ast.Stmt) int {
	n := len(stmts)
	for _, s := range stmts {
		for _, body := range bodies(s) {
			n += count(body)
		}
	}
	return n
}

// bodies are the blocks that a jump of s leads over.
func bodies(s ast.Stmt) [][]ast.Stmt {
	switch s := s.(type) {
	case *ast.WhileStmt:
		return [][]ast.Stmt{s.Stmts}
	case *ast.RepeatStmt:
		return [][]ast.Stmt{s.Stmts}
	case *ast.NumberForStmt:
		return [][]ast.Stmt{s.Stmts}
	case *ast.GenericForStmt:
		return [][]ast.Stmt{s.Stmts}
	case *ast.IfStmt:
		return [][]ast.Stmt{s.Then, s.Else}
	case *ast.DoBlockStmt:
		return [][]ast.Stmt{s.Stmts}
	}
	return nil
}

// Linker puts functions into compiled chunks, where rewritten code calls them.
type Linker struct {
	functions map[lua.LString]*lua.LFunction
}

// NewLinker makes the functions for one virtual machine.
func NewLinker(L *lua.LState) *Linker {
	return &Linker{map[lua.LString]*lua.LFunction{
		concatName: L.NewFunction(Concat),
		powerName:  L.NewFunction(power),
		modName:    L.NewFunction(mod),
		lengthName: L.NewFunction(length),
		joinName:   L.NewFunction(join),
	}}
}

// Link resolves the names of rewritten code in proto, once: an instruction that would read a global
// of such a name loads a constant instead, and the constant is the function. So scripts cannot see,
// shadow or replace it.
func (k *Linker) Link(proto *lua.FunctionProto) {
	var linked map[int]bool
	for i, c := range proto.Constants {
		if name, ok := c.(lua.LString); ok && k.functions[name] != nil {
			if linked == nil {
				linked = make(map[int]bool)
			}
			linked[i] = true
			proto.Constants[i] = k.functions[name]
		}
	}
	if linked != nil {
		for i, code := range proto.Code {
			if in := instruction(code); in.op() == lua.OP_GETGLOBAL && linked[in.bx()] {
				proto.Code[i] = uint32(lua.OP_LOADK)<<26 | code&(1<<26-1)
			}
		}
	}
	for _, p := range proto.FunctionPrototypes {
		k.Link(p)
	}
}
