package lua51

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// tablePart is the number of items of a table constructor that are compiled at once. The compiler
// drops the tail of long lists, and its time grows with the square of the constants in a function.
const tablePart = 2000

// split builds a table from parts; last says that fields end the table. count is the number of its
// array items, -1 where only running it tells.
func (r *rewriter) split(table *ast.TableExpr, fields []*ast.Field, last bool) (e ast.Expr, count int) {
	at := at{table}
	if len(fields) <= tablePart {
		return r.part(fields, last)
	}
	size := (len(fields) + concatOperands/2 - 1) / (concatOperands / 2)
	size = max(size, tablePart)
	var args []ast.Expr
	for len(fields) > 0 {
		n := min(size, len(fields))
		part, items := r.split(table, fields[:n], last && n == len(fields))
		fields = fields[n:]
		args = append(args, part, at.number(items))
		if items < 0 {
			count = -1
		} else if count >= 0 {
			count += items
		}
	}
	return at.call(at.ident(joinName), args...), count
}

// part compiles fields in a function of their own, which keeps its constants few.
func (r *rewriter) part(fields []*ast.Field, last bool) (e ast.Expr, count int) {
	at := at{fields[0].Value}
	vararg := false
	for _, f := range fields {
		if f.Key == nil {
			count++
		}
		vararg = vararg || r.fn.vararg && (usesVararg(f.Value) || f.Key != nil && usesVararg(f.Key))
	}
	end := fields[len(fields)-1]
	if end.Key == nil && isOpen(end.Value) {
		if last {
			count = -1
		} else {
			end.Value = single(end.Value)
		}
	}
	list := &ast.TableExpr{Fields: fields}
	at.mark(list)
	ret := &ast.ReturnStmt{Exprs: []ast.Expr{list}}
	at.mark(ret)
	fn := &ast.FunctionExpr{ParList: &ast.ParList{HasVargs: vararg}, Stmts: []ast.Stmt{ret}}
	fn.SetLine(at.old.Line())
	fn.SetLastLine(end.Value.Line())
	call := at.call(fn)
	if vararg {
		dots := &ast.Comma3Expr{}
		at.mark(dots)
		call.Args = []ast.Expr{dots}
	}
	return call, count
}

// usesVararg reports whether e reads the ... of its function.
func usesVararg(e ast.Expr) bool {
	any := func(list ...ast.Expr) bool {
		for _, e := range list {
			if e != nil && usesVararg(e) {
				return true
			}
		}
		return false
	}
	switch e := e.(type) {
	case *ast.Comma3Expr:
		return true
	case *ast.AttrGetExpr:
		return any(e.Object, e.Key)
	case *ast.TableExpr:
		for _, f := range e.Fields {
			if any(f.Key, f.Value) {
				return true
			}
		}
	case *ast.FuncCallExpr:
		return any(e.Func, e.Receiver) || any(e.Args...)
	case *ast.LogicalOpExpr:
		return any(e.Lhs, e.Rhs)
	case *ast.RelationalOpExpr:
		return any(e.Lhs, e.Rhs)
	case *ast.ArithmeticOpExpr:
		return any(e.Lhs, e.Rhs)
	case *ast.StringConcatOpExpr:
		return any(e.Lhs, e.Rhs)
	case *ast.UnaryMinusOpExpr:
		return any(e.Expr)
	case *ast.UnaryNotOpExpr:
		return any(e.Expr)
	case *ast.UnaryLenOpExpr:
		return any(e.Expr)
	}
	return false
}

// join makes one table of parts: table, number of its array items (-1: its length), and so on.
func join(L *lua.LState) int {
	out := L.CheckTable(1)
	at := L.CheckInt(2)
	for i := 3; i < L.GetTop(); i += 2 {
		part, n := L.CheckTable(i), L.CheckInt(i+1)
		if n < 0 {
			n = part.MaxN()
		}
		for j := 1; j <= n; j++ {
			out.RawSetInt(at+j, part.RawGetInt(j))
		}
		part.ForEach(func(k, v lua.LValue) {
			if f, ok := k.(lua.LNumber); ok && f >= 1 && f <= lua.LNumber(n) && f == lua.LNumber(int(f)) {
				return
			}
			out.RawSet(k, v)
		})
		at += n
	}
	L.Push(out)
	return 1
}
