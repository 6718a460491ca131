package lua51

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// concatOperands bounds the operands that are arguments of one concatenation: each takes a register.
const concatOperands = 50

// concat flattens a right-associative chain of operands into one call.
func (r *rewriter) concat(e *ast.StringConcatOpExpr) ast.Expr {
	var args []ast.Expr
	literal := true
	for x := ast.Expr(e); x != nil; {
		operand := x
		if c, ok := x.(*ast.StringConcatOpExpr); ok {
			operand, x = c.Lhs, c.Rhs
		} else {
			x = nil
		}
		operand = single(r.nested(operand))
		_, isString := operand.(*ast.StringExpr)
		literal = literal && isString
		args = append(args, operand)
	}
	at := at{e}
	if len(args) <= concatOperands {
		if literal {
			return e
		}
		return at.call(at.ident(concatName), args...)
	}
	fields := make([]*ast.Field, len(args))
	for i, a := range args {
		fields[i] = &ast.Field{Value: a}
	}
	table := &ast.TableExpr{Fields: fields}
	at.mark(table)
	list := ast.Expr(table)
	if len(fields) > tablePart {
		list, _ = r.split(table, fields, true)
	}
	return at.call(at.ident(concatListName), list, at.number(len(args)))
}

// concatList joins the operands in a table, whose number follows, as Concat does its arguments.
func concatList(L *lua.LState) int {
	list, n := L.CheckTable(1), L.CheckInt(2)
	L.Push(concatenate(L, n, list.RawGetInt, func(_ int, v lua.LValue) string { return "a " + v.Type().String() + " value" }))
	return 1
}
