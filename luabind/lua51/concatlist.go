package lua51

import (
	"strings"

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
	acc := list.RawGetInt(n)
	for i := n - 1; i > 0; {
		low := i
		for low > 0 && isText(list.RawGetInt(low)) {
			low--
		}
		if low < i && isText(acc) {
			acc = lua.LString(joinItems(L, list, low+1, i, acc))
			i = low
			continue
		}
		v := list.RawGetInt(i)
		handler := binaryHandler(L, v, acc, "__concat")
		if handler == lua.LNil {
			if isText(v) {
				v = acc
			}
			raise(L, "attempt to concatenate a %s value", v.Type().String())
		}
		acc = call(L, handler, v, acc)
		i--
	}
	L.Push(acc)
	return 1
}

// joinItems joins the items first to last of a list, all of them strings or numbers, and then tail.
func joinItems(L *lua.LState, list *lua.LTable, first, last int, tail lua.LValue) string {
	size := textRoom(tail)
	for i := first; i <= last; i++ {
		size += textRoom(list.RawGetInt(i))
		checkConcat(L, size)
	}
	var out strings.Builder
	out.Grow(size)
	for i := first; i <= last; i++ {
		writeText(&out, list.RawGetInt(i))
	}
	writeText(&out, tail)
	return out.String()
}
