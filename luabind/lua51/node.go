package lua51

import (
	"fmt"

	"github.com/yuin/gopher-lua/ast"
)

// at gives new nodes the lines of an old one.
type at struct{ old ast.PositionHolder }

func (a at) mark(n ast.PositionHolder) {
	n.SetLine(a.old.Line())
	n.SetLastLine(a.old.LastLine())
}

func (a at) ident(name string) *ast.IdentExpr {
	e := &ast.IdentExpr{Value: name}
	a.mark(e)
	return e
}

func (a at) number(n int) *ast.NumberExpr {
	e := &ast.NumberExpr{Value: fmt.Sprint(n)}
	a.mark(e)
	return e
}

func (a at) local(names []string, exprs []ast.Expr) *ast.LocalAssignStmt {
	s := &ast.LocalAssignStmt{Names: names, Exprs: exprs}
	a.mark(s)
	return s
}

func (a at) block(stmts []ast.Stmt) ast.Stmt {
	s := &ast.DoBlockStmt{Stmts: stmts}
	a.mark(s)
	return s
}

func (a at) call(fn ast.Expr, args ...ast.Expr) *ast.FuncCallExpr {
	e := &ast.FuncCallExpr{Func: fn, Args: args, AdjustRet: true}
	a.mark(e)
	return e
}

// single makes the last operand of an argument list one value.
func single(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		e.AdjustRet = true
	case *ast.Comma3Expr:
		e.AdjustRet = true
	}
	return e
}

// isOpen reports whether e stands for any number of values at the end of a list.
func isOpen(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		return !e.AdjustRet
	case *ast.Comma3Expr:
		return !e.AdjustRet
	}
	return false
}
