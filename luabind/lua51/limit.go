package lua51

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

const (
	// maxLevel bounds how deeply blocks, functions and operands nest in a source, as in PUC Lua.
	maxLevel = 200
	// maxChain bounds the depth of the syntax tree, to which long chains such as a + b + c add: the
	// compiler recurses into it, and its time grows with the square of the depth.
	maxChain = 10000
	// maxLocals bounds the locals of a function, those included that a loop hides.
	maxLocals = 200
	// maxUpvalues bounds the locals of enclosing functions that a function uses: the virtual machine counts them in
	// a byte.
	maxUpvalues = 255
)

// refusal is the panic with which the rewriter gives up a chunk.
type refusal struct {
	line    int
	message string
}

// enter counts a node on the way into the tree; leave takes it back.
func (r *rewriter) enter(n ast.PositionHolder) {
	if r.depth++; r.depth > maxChain {
		refuseChain(n)
	}
}

func refuseChain(n ast.PositionHolder) {
	panic(refusal{n.Line(), "chain of operators, indexes, calls or conditions is too long"})
}

func (r *rewriter) leave() { r.depth-- }

// checkLocals refuses the declaration at line if it is one too many.
func (r *rewriter) checkLocals(line int) {
	if r.fn.active <= maxLocals {
		return
	}
	where := "main function"
	if r.fn.line > 0 {
		where = fmt.Sprintf("function at line %d", r.fn.line)
	}
	panic(refusal{line, fmt.Sprintf("%s has more than %d local variables", where, maxLocals)})
}

// checkUpvalues refuses functions that use too many locals of others, of which the compiler says nothing.
func checkUpvalues(p *lua.FunctionProto) {
	if len(p.DbgUpvalues) > maxUpvalues {
		panic(refusal{p.LineDefined, fmt.Sprintf("function at line %d has more than %d upvalues", p.LineDefined, maxUpvalues)})
	}
	for _, inner := range p.FunctionPrototypes {
		checkUpvalues(inner)
	}
}

// nested rewrites an operand.
func (r *rewriter) nested(e ast.Expr) ast.Expr {
	r.enter(e)
	e = r.expr(e)
	r.leave()
	return e
}

// functionName passes over the name in `function a.b.c:d`.
func (r *rewriter) functionName(n *ast.FuncName) {
	e := n.Func
	if e == nil {
		e = n.Receiver
	}
	depth := 0
	for {
		a, ok := e.(*ast.AttrGetExpr)
		if !ok {
			break
		}
		if depth++; depth > maxChain {
			refuseChain(a)
		}
		e = a.Object
	}
	r.expr(e)
}
