package lua51

import (
	"math"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// unaryPriority is that of the operators of one operand.
const unaryPriority = 8

// priorities are those of the operators of two operands, on the left and on the right: they differ where the
// right operand goes first.
var priorities = map[token]struct{ left, right int }{
	'+': {6, 6}, '-': {6, 6}, '*': {7, 7}, '/': {7, 7}, '%': {7, 7}, '^': {10, 9}, tokenConcat: {5, 5},
	tokenNotEqual: {3, 3}, tokenEqual: {3, 3}, '<': {3, 3}, tokenLessEqual: {3, 3}, '>': {3, 3}, tokenGreaterEqual: {3, 3},
	tokenAnd: {2, 2}, tokenOr: {1, 1},
}

func (p *parser) exprList() []ast.Expr {
	list := []ast.Expr{p.expr()}
	for p.accept(',') {
		list = append(list, p.expr())
	}
	return list
}

func (p *parser) expr() ast.Expr { return p.operation(0) }

// operation reads operands with the operators between them whose priority is above limit.
func (p *parser) operation(limit int) ast.Expr {
	p.enter()
	var e ast.Expr
	switch op := p.kind; op {
	case '-', '#', tokenNot:
		p.next()
		e = p.unary(op, p.operation(unaryPriority))
	default:
		e = p.simple()
	}
	for {
		op := p.kind
		priority, ok := priorities[op]
		if !ok || priority.left <= limit {
			break
		}
		if op == tokenConcat {
			e = p.concatenation(e)
			continue
		}
		p.next()
		e = p.binary(op, e, p.operation(priority.right))
	}
	p.leave()
	return e
}

// concatenation reads what is joined to e, from right to left.
func (p *parser) concatenation(e ast.Expr) ast.Expr {
	operands := []ast.Expr{e}
	for p.accept(tokenConcat) {
		operands = append(operands, p.operation(priorities[tokenConcat].right))
	}
	e = operands[len(operands)-1]
	for i := len(operands) - 2; i >= 0; i-- {
		e = lined(&ast.StringConcatOpExpr{Lhs: operands[i], Rhs: e}, p.lastLine)
	}
	return e
}

func (p *parser) unary(op token, e ast.Expr) ast.Expr {
	switch op {
	case '-':
		return lined(&ast.UnaryMinusOpExpr{Expr: e}, p.lastLine)
	case '#':
		return lined(&ast.UnaryLenOpExpr{Expr: e}, p.lastLine)
	}
	return lined(&ast.UnaryNotOpExpr{Expr: e}, p.lastLine)
}

func (p *parser) binary(op token, a, b ast.Expr) ast.Expr {
	switch op {
	case tokenAnd, tokenOr:
		return lined(&ast.LogicalOpExpr{Operator: op.String(), Lhs: a, Rhs: b}, p.lastLine)
	case '<', '>', tokenLessEqual, tokenGreaterEqual, tokenEqual, tokenNotEqual:
		return lined(&ast.RelationalOpExpr{Operator: op.String(), Lhs: a, Rhs: b}, p.lastLine)
	}
	return lined(&ast.ArithmeticOpExpr{Operator: op.String(), Lhs: a, Rhs: b}, p.lastLine)
}

func (p *parser) simple() ast.Expr {
	line := p.line
	var e ast.Expr
	switch p.kind {
	case tokenNumber:
		e = number(p.value)
	case tokenString:
		e = &ast.StringExpr{Value: string(p.text)}
	case tokenNil:
		e = &ast.NilExpr{}
	case tokenTrue:
		e = &ast.TrueExpr{}
	case tokenFalse:
		e = &ast.FalseExpr{}
	case tokenDots:
		if !p.fn.vararg {
			p.failNear("cannot use '...' outside a vararg function")
		}
		e = &ast.Comma3Expr{}
	case '{':
		return p.constructor()
	case tokenFunction:
		p.next()
		return p.body(p.line)
	default:
		e, _ = p.suffixed()
		return e
	}
	p.next()
	return lined(e, line)
}

// number is the literal of a number. Of text the compiler would read some in another way, and of infinity
// there is no literal.
func number(n float64) ast.Expr {
	if math.IsInf(n, 0) {
		return &ast.IdentExpr{Value: infinityName}
	}
	return &ast.NumberExpr{Value: strconv.FormatFloat(n, 'g', -1, 64)}
}

// suffixed reads a variable, call or expression in parentheses. plain: it is not just one in parentheses, to
// which nothing can be assigned.
func (p *parser) suffixed() (e ast.Expr, plain bool) {
	line := p.line
	switch p.kind {
	case '(':
		p.next()
		e = single(p.expr())
		p.closing(')', '(', line)
	case tokenName:
		e, plain = lined(&ast.IdentExpr{Value: p.name()}, line), true
	default:
		p.failNear("unexpected symbol")
	}
	for {
		switch p.kind {
		case '.':
			e = p.field(e)
		case '[':
			p.next()
			key := p.expr()
			p.expect(']')
			e = lined(&ast.AttrGetExpr{Object: e, Key: key}, p.lastLine)
		case ':':
			p.next()
			name := p.name()
			call := &ast.FuncCallExpr{Receiver: e, Method: name}
			p.arguments(call)
			e = call
		case '(', '{', tokenString:
			call := &ast.FuncCallExpr{Func: e}
			p.arguments(call)
			e = call
		default:
			return e, plain
		}
		plain = true
	}
}

// field reads a point and a name behind e.
func (p *parser) field(e ast.Expr) ast.Expr {
	p.next()
	line := p.line
	key := lined(&ast.StringExpr{Value: p.name()}, line)
	return lined(&ast.AttrGetExpr{Object: e, Key: key}, line)
}

func (p *parser) arguments(call *ast.FuncCallExpr) {
	line := p.line
	call.SetLine(line)
	switch p.kind {
	case '(':
		if line != p.lastLine {
			p.failNear("ambiguous syntax (function call x new statement)")
		}
		p.next()
		call.Args = []ast.Expr{}
		if p.kind != ')' {
			call.Args = p.exprList()
		}
		p.closing(')', '(', line)
	case '{':
		call.Args = []ast.Expr{p.constructor()}
	case tokenString:
		call.Args = []ast.Expr{lined(&ast.StringExpr{Value: string(p.text)}, line)}
		p.next()
	default:
		p.failNear("function arguments expected")
	}
}

func (p *parser) constructor() ast.Expr {
	line := p.line
	table := lined(&ast.TableExpr{Fields: []*ast.Field{}}, line)
	p.expect('{')
	for p.kind != '}' {
		f := &ast.Field{}
		at := p.line
		switch {
		case p.kind == tokenName && p.follows() == '=':
			f.Key = lined(&ast.StringExpr{Value: p.name()}, at)
			p.expect('=')
		case p.accept('['):
			f.Key = p.expr()
			p.expect(']')
			p.expect('=')
		}
		f.Value = p.expr()
		table.Fields = append(table.Fields, f)
		if !p.accept(',') && !p.accept(';') {
			break
		}
	}
	p.closing('}', '{', line)
	return table
}

// body reads the parameters and the block of a function, which begins at line.
func (p *parser) body(line int) *ast.FunctionExpr {
	p.fn = &function{outer: p.fn}
	p.expect('(')
	params := &ast.ParList{Names: []string{}}
	if p.kind != ')' {
		for more := true; more; more = !params.HasVargs && p.accept(',') {
			switch p.kind {
			case tokenName:
				params.Names = append(params.Names, p.name())
			case tokenDots:
				p.next()
				params.HasVargs = true
			default:
				p.failNear("<name> or '...' expected")
			}
		}
	}
	p.fn.vararg = params.HasVargs
	p.expect(')')
	e := &ast.FunctionExpr{ParList: params, Stmts: p.block()}
	spanning(e, line, p.line)
	p.closing(tokenEndWord, tokenFunction, line)
	p.fn = p.fn.outer
	return e
}
