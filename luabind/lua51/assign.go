package lua51

import (
	"fmt"

	"github.com/yuin/gopher-lua/ast"
)

// assign rewrites an assignment whose operands are rewritten already.
func (r *rewriter) assign(s *ast.AssignStmt) ast.Stmt {
	at := at{s}
	var body []ast.Stmt
	local := func(name string, e ast.Expr) ast.Expr {
		body = append(body, at.local([]string{name}, []ast.Expr{e}))
		return at.ident(name)
	}
	if len(s.Lhs) == 1 && len(s.Rhs) == 1 {
		switch target := s.Lhs[0].(type) {
		case *ast.IdentExpr:
			if !r.isLocal(target.Value) || isDirect(s.Rhs[0]) {
				return s
			}
		case *ast.AttrGetExpr:
			s.Rhs[0] = r.stored(target.Key, s.Rhs[0])
			if hasRegister(target.Object) {
				return s
			}
			target.Object = local("\x00table", target.Object)
			return at.block(append(body, s))
		}
	}
	for i, lhs := range s.Lhs {
		a, ok := lhs.(*ast.AttrGetExpr)
		if !ok || len(s.Lhs) == 1 {
			continue
		}
		a.Object = local(fmt.Sprintf("\x00table%d", i), a.Object)
		if !isConst(a.Key) {
			a.Key = local(fmt.Sprintf("\x00key%d", i), a.Key)
		}
	}
	names := make([]string, len(s.Lhs))
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", valueName, i)
	}
	body = append(body, at.local(names, s.Rhs))
	for i := len(s.Lhs) - 1; i >= 0; i-- {
		var value ast.Expr = at.ident(names[i])
		if field, ok := s.Lhs[i].(*ast.AttrGetExpr); ok {
			value = r.stored(field.Key, value)
		}
		a := &ast.AssignStmt{Lhs: []ast.Expr{s.Lhs[i]}, Rhs: []ast.Expr{value}}
		at.mark(a)
		body = append(body, a)
	}
	return at.block(body)
}

// hasRegister reports whether the compiler gives the value of e a register. A constant, or what it computes
// itself from constants, has none, and as the table of an assignment the number of the constant would be
// taken for one.
func hasRegister(e ast.Expr) bool {
	switch e.(type) {
	case *ast.IdentExpr, *ast.AttrGetExpr, *ast.FuncCallExpr:
		return true
	}
	return false
}

func isConst(e ast.Expr) bool {
	switch e.(type) {
	case *ast.NilExpr, *ast.TrueExpr, *ast.FalseExpr, *ast.NumberExpr, *ast.StringExpr:
		return true
	}
	return false
}

// isSimple reports whether e is read by one instruction.
func isSimple(e ast.Expr) bool {
	_, ok := e.(*ast.IdentExpr)
	return ok || isConst(e)
}

// isDirect reports whether the compiler writes the target of e in its last instruction only.
func isDirect(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.FunctionExpr:
		return true
	case *ast.ArithmeticOpExpr:
		return isSimple(e.Lhs) && isSimple(e.Rhs)
	case *ast.AttrGetExpr:
		return isSimple(e.Object) && isSimple(e.Key)
	}
	return isSimple(e)
}
