package lua51

import (
	"slices"

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
	ret := &ast.ReturnStmt{Exprs: []ast.Expr{constructor(list)}}
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

// numbered gives the array items after the first part keys, where a field there has a key that can be a
// number: it must be set in the whole table, not counted in its part.
func (at at) numbered(fields []*ast.Field) {
	end := fields[len(fields)-1]
	if end.Key == nil && isOpen(end.Value) || !slices.ContainsFunc(fields[tablePart:], func(f *ast.Field) bool {
		_, name := f.Key.(*ast.StringExpr)
		return f.Key != nil && !name
	}) {
		return
	}
	count := 0
	for i, f := range fields {
		if f.Key == nil {
			if count++; i >= tablePart {
				f.Key, f.Value = at.number(count), single(f.Value)
			}
		}
	}
}

// flushed is how many array items the compiler puts into a table at once.
const flushed = 50

// constructor is table, such that the compiler gets it right. With every keyed field that follows a
// full group of array items it would store the group a second time, from registers that hold other
// values by then: from such a place on the items have keys, in a table that is joined on. And it would
// store an open end right after a full group in the place of that group: such an end is joined on, too.
func constructor(table *ast.TableExpr) ast.Expr {
	at := at{table}
	count := 0
	var rest, end *ast.TableExpr
	for i, f := range table.Fields {
		last := i == len(table.Fields)-1
		if f.Key == nil && last && isOpen(f.Value) {
			if count > 0 && (rest != nil || count%flushed == 0) {
				end = &ast.TableExpr{Fields: []*ast.Field{f}}
				at.mark(end)
			}
			break
		}
		if f.Key == nil {
			count++
			if rest != nil {
				f.Key, f.Value = at.number(count), single(f.Value)
			}
		}
		if rest != nil {
			rest.Fields = append(rest.Fields, f)
		} else if f.Key == nil && !last && count%flushed == 0 && table.Fields[i+1].Key != nil {
			rest = &ast.TableExpr{}
			at.mark(rest)
		}
	}
	if rest == nil && end == nil {
		return table
	}
	head := len(table.Fields)
	if end != nil {
		head--
	}
	if rest != nil {
		head -= len(rest.Fields)
	}
	table.Fields = table.Fields[:head]
	var e ast.Expr = table
	if rest != nil {
		e = at.call(at.ident(joinName), e, at.number(count), rest, at.number(0))
	}
	if end != nil {
		e = at.call(at.ident(joinName), e, at.number(count), end, at.number(-1))
	}
	return e
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
