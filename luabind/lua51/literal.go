package lua51

import (
	"math"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// number gives a literal the value that strtod reads: the compiler reads some hexadecimal and
// octal-looking literals in another way, and what is out of range as no number.
func (r *rewriter) number(e *ast.NumberExpr) ast.Expr {
	n, ok := ParseNumber(e.Value)
	if !ok {
		panic(refusal{e.Line(), "malformed number near '" + e.Value + "'"})
	}
	if math.IsInf(n, 0) {
		return at{e}.ident(infinityName) // no literal stands for it
	}
	e.Value = strconv.FormatFloat(n, 'g', -1, 64)
	return e
}
