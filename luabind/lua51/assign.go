package lua51

import (
	"fmt"

	"github.com/yuin/gopher-lua/ast"
)

// assign rewrites an assignment whose operands are rewritten already. As in PUC Lua, tables and keys are evaluated
// before the values, but one that is a local is read when the store runs: the values may change it.
func (r *rewriter) assign(s *ast.AssignStmt) ast.Stmt {
	here := at{s}
	var body []ast.Stmt
	local := func(name string, e ast.Expr) ast.Expr {
		body = append(body, here.local([]string{name}, []ast.Expr{e}))
		return here.ident(name)
	}
	if len(s.Lhs) == 1 && len(s.Rhs) == 1 {
		switch target := s.Lhs[0].(type) {
		case *ast.IdentExpr:
			if !r.isLocal(target.Value) || isDirect(s.Rhs[0]) {
				return s
			}
		case *ast.AttrGetExpr:
			s.Rhs[0] = r.stored(target.Key, s.Rhs[0])
			late := r.isRegister(target.Key) && !r.isStill(s.Rhs[0])
			if hasRegister(target.Object) && !late {
				return s
			}
			if !r.isRegister(target.Object) {
				target.Object = local("\x00table", target.Object)
			}
			if late { // the compiler would copy the key first; this way it copies it last, in as many instructions
				s.Rhs[0] = local(valueName, s.Rhs[0])
				at{target}.mark(target.Key) // it is read in the line of the store
			}
			return here.block(append(body, s))
		}
	}
	for i, lhs := range s.Lhs {
		switch lhs := lhs.(type) {
		case *ast.IdentExpr:
			if !r.isLocal(lhs.Value) {
				continue
			}
			for j, earlier := range s.Lhs[:i] { // they are stored later
				if a, ok := earlier.(*ast.AttrGetExpr); ok {
					if isName(a.Object, lhs.Value) {
						a.Object = local(fmt.Sprintf("\x00table%d", j), a.Object)
					}
					if isName(a.Key, lhs.Value) {
						a.Key = local(fmt.Sprintf("\x00key%d", j), a.Key)
					}
				}
			}
		case *ast.AttrGetExpr:
			if !r.isRegister(lhs.Object) {
				lhs.Object = local(fmt.Sprintf("\x00table%d", i), lhs.Object)
			}
			if isConst(lhs.Key) || r.isRegister(lhs.Key) {
				at{lhs}.mark(lhs.Key)
			} else {
				lhs.Key = local(fmt.Sprintf("\x00key%d", i), lhs.Key)
			}
		}
	}
	names := make([]string, len(s.Lhs))
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", valueName, i)
	}
	body = append(body, here.local(names, s.Rhs))
	for i := len(s.Lhs) - 1; i >= 0; i-- {
		var value ast.Expr = here.ident(names[i])
		if field, ok := s.Lhs[i].(*ast.AttrGetExpr); ok {
			value = r.stored(field.Key, value)
		}
		a := &ast.AssignStmt{Lhs: []ast.Expr{s.Lhs[i]}, Rhs: []ast.Expr{value}}
		here.mark(a)
		body = append(body, a)
	}
	return here.block(body)
}

func isName(e ast.Expr, name string) bool {
	i, ok := e.(*ast.IdentExpr)
	return ok && i.Value == name
}

// isRegister reports whether e is a local of the function.
func (r *rewriter) isRegister(e ast.Expr) bool {
	i, ok := e.(*ast.IdentExpr)
	return ok && r.isLocal(i.Value)
}

// isStill reports whether nothing runs that could change a local where e is evaluated.
func (r *rewriter) isStill(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.IdentExpr:
		return r.isVisible(e.Value)
	case *ast.FunctionExpr, *ast.Comma3Expr:
		return true
	}
	return isConst(e)
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

// constantTruth is what e counts as in a condition, where it is a constant.
func constantTruth(e ast.Expr) (truth, known bool) {
	switch e := e.(type) {
	case *ast.NilExpr, *ast.FalseExpr:
		return false, true
	case *ast.UnaryNotOpExpr:
		truth, known = constantTruth(e.Expr)
		return !truth, known
	}
	return true, isConst(e)
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
