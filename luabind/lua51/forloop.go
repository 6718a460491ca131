package lua51

import (
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// bound rewrites one of the numbers of a numeric for. The virtual machine takes numbers only, PUC
// Lua also strings that read as numbers: what may be one goes through convert.
func (r *rewriter) bound(e ast.Expr, convert string) ast.Expr {
	if e == nil {
		return nil
	}
	known := false
	switch e := e.(type) {
	case *ast.NumberExpr, *ast.UnaryLenOpExpr, *ast.ArithmeticOpExpr, *ast.UnaryMinusOpExpr:
		known = true // but for metamethods, which the virtual machine refuses then
	case *ast.FuncCallExpr:
		single(e)
	}
	e = r.nested(e)
	if known {
		return e
	}
	at := at{e}
	return at.call(at.ident(convert), single(e))
}

// loopBound makes a converter for bound.
func loopBound(what string) lua.LGFunction {
	return func(L *lua.LState) int {
		v := L.Get(1)
		if _, ok := v.(lua.LNumber); !ok {
			n, ok := toNumber(v)
			if !ok {
				raise(L, "'for' %s must be a number", what)
			}
			v = lua.LNumber(n)
		}
		L.Push(v)
		return 1
	}
}
