package lua51

import (
	"fmt"

	"github.com/yuin/gopher-lua/ast"
)

// parser reads Lua 5.1 by its grammar, as PUC Lua does and with its messages, into the syntax tree that the
// virtual machine's compiler takes. Two statements of Lua 5.2 are added, which are errors in 5.1: goto and labels.
//
// Lines of nodes are those that PUC Lua gives the instructions made of them: a call has that of its parenthesis,
// an operator that of the end of its operands, an assignment that of its last value.
type parser struct {
	scanner
	lastLine int       // of the token before the one at hand
	ahead    *scanner  // after the token that follows, where somebody looked at it
	fn       *function // innermost
	level    int       // blocks, functions and operands around the token at hand
}

// function is what the parser knows of one.
type function struct {
	outer  *function
	vararg bool
	loops  int // around the token at hand
}

// parseChunk reads a whole chunk.
func parseChunk(source []byte) (chunk []ast.Stmt, err *syntaxError) {
	p := &parser{scanner: scanner{source: source, line: 1}, fn: &function{vararg: true}}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case syntaxError:
			chunk, err = nil, &r
		default:
			panic(r)
		}
	}()
	p.next()
	chunk = p.block()
	p.check(tokenEnd)
	return chunk, nil
}

// next goes on to the token that follows.
func (p *parser) next() {
	p.lastLine = p.line
	if p.ahead != nil {
		p.scanner, p.ahead = *p.ahead, nil
		p.lastLine = p.line // PUC Lua counts lines as it scans
		return
	}
	p.scanner.next()
}

// follows is the kind of the token after the one at hand.
func (p *parser) follows() token {
	if p.ahead == nil {
		ahead := p.scanner
		ahead.next()
		p.ahead = &ahead
	}
	return p.ahead.kind
}

// failNear gives up at the token at hand.
func (p *parser) failNear(message string) { p.fail(message, p.near()) }

// accept passes over the token if it is the one at hand.
func (p *parser) accept(t token) bool {
	if p.kind != t {
		return false
	}
	p.next()
	return true
}

// check refuses any other token than t.
func (p *parser) check(t token) {
	if p.kind != t {
		p.failNear(fmt.Sprintf("'%v' expected", t))
	}
}

func (p *parser) expect(t token) {
	p.check(t)
	p.next()
}

// closing passes over what ends the construct that opening began at line.
func (p *parser) closing(t, opening token, line int) {
	if p.kind != t && line != p.line {
		p.failNear(fmt.Sprintf("'%v' expected (to close '%v' at line %d)", t, opening, line))
	}
	p.expect(t)
}

func (p *parser) name() string {
	p.check(tokenName)
	name := string(p.raw)
	p.next()
	return name
}

// enter counts what nests; leave takes it back.
func (p *parser) enter() {
	if p.level++; p.level > maxLevel {
		p.fail("chunk has too many syntax levels", "")
	}
}

func (p *parser) leave() { p.level-- }

// lined gives a node a line.
func lined[N ast.PositionHolder](n N, line int) N {
	n.SetLine(line)
	return n
}

// spanning gives a node its first and last line.
func spanning[N ast.PositionHolder](n N, first, last int) N {
	n.SetLine(first)
	n.SetLastLine(last)
	return n
}

// ends reports whether the token at hand ends a block.
func (p *parser) ends() bool {
	switch p.kind {
	case tokenElse, tokenElseif, tokenEndWord, tokenUntil, tokenEnd:
		return true
	}
	return false
}

func (p *parser) block() []ast.Stmt {
	p.enter()
	stmts := []ast.Stmt{}
	for last := false; !last && !p.ends(); {
		var s ast.Stmt
		s, last = p.statement()
		stmts = append(stmts, s)
		p.accept(';')
	}
	p.leave()
	return stmts
}

// loop is the block of a loop.
func (p *parser) loop() []ast.Stmt {
	p.fn.loops++
	stmts := p.block()
	p.fn.loops--
	return stmts
}

// statement reads one; last says that a block ends with it.
func (p *parser) statement() (s ast.Stmt, last bool) {
	line := p.line
	switch p.kind {
	case tokenIf:
		return p.ifStatement(line), false
	case tokenWhile:
		p.next()
		s := &ast.WhileStmt{Condition: p.expr()}
		p.expect(tokenDo)
		s.Stmts = p.loop()
		p.closing(tokenEndWord, tokenWhile, line)
		return spanning(s, line, p.lastLine), false
	case tokenDo:
		p.next()
		s := &ast.DoBlockStmt{Stmts: p.block()}
		p.closing(tokenEndWord, tokenDo, line)
		return spanning(s, line, p.lastLine), false
	case tokenFor:
		return p.forStatement(line), false
	case tokenRepeat:
		p.next()
		s := &ast.RepeatStmt{Stmts: p.loop()}
		p.closing(tokenUntil, tokenRepeat, line)
		s.Condition = p.expr()
		return spanning(s, line, p.lastLine), false
	case tokenFunction:
		return p.functionStatement(line), false
	case tokenLocal:
		p.next()
		if p.accept(tokenFunction) {
			name := p.name()
			fn := p.body(p.line)
			return spanning(&ast.LocalAssignStmt{Names: []string{name}, Exprs: []ast.Expr{fn}}, line, fn.LastLine()), false
		}
		return p.localStatement(line), false
	case tokenReturn:
		p.next()
		s := lined(&ast.ReturnStmt{}, line)
		if !p.ends() && p.kind != ';' {
			s.Exprs = p.exprList()
		}
		return s, true
	case tokenBreak:
		p.next()
		if p.fn.loops == 0 {
			panic(syntaxError{line: p.line, message: "no loop to break near '" + p.near() + "'", at: p.start})
		}
		return lined(&ast.BreakStmt{}, line), true
	case tokenName:
		if string(p.raw) == "goto" && p.follows() == tokenName {
			p.next()
			return lined(&ast.GotoStmt{Label: p.name()}, line), false
		}
	case ':':
		if p.follows() == ':' {
			p.next()
			p.next()
			s := lined(&ast.LabelStmt{Name: p.name()}, line)
			p.expect(':')
			p.expect(':')
			return s, false
		}
	}
	return p.exprStatement(line), false
}

func (p *parser) ifStatement(line int) ast.Stmt {
	p.next()
	first := p.condition(line)
	// The statements of elseif have no last line: that tells them from an if in an else.
	for s := first; ; {
		switch p.kind {
		case tokenElseif:
			at := p.line
			p.next()
			next := p.condition(at)
			s.Else, s = []ast.Stmt{next}, next
			continue
		case tokenElse:
			p.next()
			s.Else = p.block()
		}
		p.closing(tokenEndWord, tokenIf, line)
		return spanning(first, line, p.lastLine)
	}
}

// condition reads a condition and the block that it guards.
func (p *parser) condition(line int) *ast.IfStmt {
	s := lined(&ast.IfStmt{Condition: p.expr()}, line)
	p.expect(tokenThen)
	s.Then = p.block()
	return s
}

func (p *parser) forStatement(line int) ast.Stmt {
	p.next()
	names := []string{p.name()}
	if p.kind == '=' {
		p.next()
		s := &ast.NumberForStmt{Name: names[0], Init: p.expr()}
		p.expect(',')
		s.Limit = p.expr()
		if p.accept(',') {
			s.Step = p.expr()
		}
		s.Stmts = p.forBody(line)
		return spanning(s, line, p.lastLine)
	}
	if p.kind != ',' && p.kind != tokenIn {
		p.failNear("'=' or 'in' expected")
	}
	for p.accept(',') {
		names = append(names, p.name())
	}
	p.expect(tokenIn)
	s := &ast.GenericForStmt{Names: names, Exprs: p.exprList()}
	s.Stmts = p.forBody(line)
	return spanning(s, line, p.lastLine)
}

func (p *parser) forBody(line int) []ast.Stmt {
	p.expect(tokenDo)
	stmts := p.loop()
	p.closing(tokenEndWord, tokenFor, line)
	return stmts
}

func (p *parser) functionStatement(line int) ast.Stmt {
	p.next()
	at := p.line
	var e ast.Expr = lined(&ast.IdentExpr{Value: p.name()}, at)
	for p.kind == '.' {
		e = p.field(e)
	}
	name := &ast.FuncName{Func: e}
	if p.accept(':') {
		name.Func, name.Receiver, name.Method = nil, e, p.name()
	} else {
		e.SetLine(line)
	}
	fn := p.body(line)
	return spanning(&ast.FuncDefStmt{Name: name, Func: fn}, line, fn.LastLine())
}

func (p *parser) localStatement(line int) ast.Stmt {
	s := lined(&ast.LocalAssignStmt{Names: []string{p.name()}, Exprs: []ast.Expr{}}, line)
	for p.accept(',') {
		s.Names = append(s.Names, p.name())
	}
	if p.accept('=') {
		s.Exprs = p.exprList()
	}
	return s
}

// exprStatement reads a call or an assignment.
func (p *parser) exprStatement(line int) ast.Stmt {
	e, plain := p.suffixed()
	if _, ok := e.(*ast.FuncCallExpr); ok && plain {
		return lined(&ast.FuncCallStmt{Expr: e}, e.Line())
	}
	s := lined(&ast.AssignStmt{}, line)
	for {
		if !plain || !assignable(e) {
			p.failNear("syntax error")
		}
		s.Lhs = append(s.Lhs, e)
		if !p.accept(',') {
			break
		}
		e, plain = p.suffixed()
	}
	p.expect('=')
	s.Rhs = p.exprList()
	for _, e := range s.Lhs {
		e.SetLine(p.lastLine)
	}
	return s
}

func assignable(e ast.Expr) bool {
	switch e.(type) {
	case *ast.IdentExpr, *ast.AttrGetExpr:
		return true
	}
	return false
}
