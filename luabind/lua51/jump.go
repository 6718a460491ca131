package lua51

import (
	"errors"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

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
		p, err := lua.Compile([]ast.Stmt{s}, "")
		if isJumpError(err) || err == nil && len(p.Code) > maxJump {
			found = s
		}
	})
	return found
}

// isJumpError tells the compiler's refusal of a jump.
func isJumpError(err error) bool {
	var ce *lua.CompileError
	return errors.As(err, &ce) && strings.HasPrefix(ce.Message, "too long to jump")
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
