package lua51

import (
	"github.com/yuin/gopher-lua/ast"
)

// hiddenMark begins the names that no script can write.
const hiddenMark = '\x00'

// valueName begins the names of locals that hold values on their way.
const valueName = "\x00value"

// operatorNames are the operators that become calls of two operands.
var operatorNames = map[string]string{"^": powerName, "%": modName}

// rewriter walks a syntax tree and replaces what the compiler gets wrong:
//
//   - assignments, whose targets it may overwrite before all operands were read: values go through
//     fresh locals first, and targets are assigned from right to left, as PUC Lua does;
//   - operators: concatenation writes numbers in its own way, powers and remainders differ in the last
//     digits, and the length of a long array is wrong; they become calls;
//   - long table constructors: they become several, joined;
//   - `local f = function`, in whose body it declares f;
//   - the bounds of numeric loops;
//   - handlers that are no functions;
//   - long blocks, and statements where registers are few: see section.
//
// What is nested too deeply for the compiler it refuses, by a panic.
// Lines stay those of the source.
type rewriter struct {
	fn    *scope // innermost function
	uses  *uses  // what the statement at hand needs, nil where nobody asks
	depth int    // nodes around the one at hand
}

// scope is the local names of one function, block by block.
type scope struct {
	outer  *scope
	blocks []map[string]bool
	vararg bool
	active int // registers that locals occupy
	line   int // where the function begins, 0 for a chunk
}

// declares reports whether name is a local of the function.
func (fn *scope) declares(name string) bool {
	for _, b := range fn.blocks {
		if b[name] {
			return true
		}
	}
	return false
}

func (r *rewriter) isLocal(name string) bool { return r.fn.declares(name) }

func (r *rewriter) declare(names ...string) {
	b := r.fn.blocks[len(r.fn.blocks)-1]
	for _, n := range names {
		b[n] = true
	}
	r.fn.active += len(names)
}

// rewriteChunk rewrites a whole chunk, in place as far as possible.
func rewriteChunk(chunk []ast.Stmt) []ast.Stmt {
	r := &rewriter{fn: &scope{vararg: true}}
	return r.block(chunk)
}

// block rewrites statements in a scope of their own.
func (r *rewriter) block(stmts []ast.Stmt, names ...string) []ast.Stmt {
	if len(stmts) == 0 {
		return stmts
	}
	r.enter(stmts[0])
	active := r.fn.active
	r.fn.blocks = append(r.fn.blocks, make(map[string]bool))
	r.declare(names...)
	if len(stmts) > longBlock {
		stmts = r.sections(stmts)
	} else {
		stmts = r.plain(stmts)
	}
	r.fn.blocks = r.fn.blocks[:len(r.fn.blocks)-1]
	r.fn.active = active
	r.leave()
	return stmts
}

func (r *rewriter) stmt(s ast.Stmt) ast.Stmt {
	switch s := s.(type) {
	case *ast.AssignStmt:
		for i, e := range s.Lhs {
			s.Lhs[i] = r.unread(e)
		}
		r.exprs(s.Rhs)
		return r.assign(s)
	case *ast.LocalAssignStmt:
		if isLocalFunction(s) {
			r.declare(s.Names...) // it is in scope inside
		}
		r.exprs(s.Exprs)
		if !isLocalFunction(s) {
			r.declare(s.Names...)
		}
		r.checkLocals(s.Line())
		r.hideFunction(s)
	case *ast.FuncCallStmt:
		s.Expr = r.expr(s.Expr)
	case *ast.DoBlockStmt:
		s.Stmts = r.block(s.Stmts)
	case *ast.WhileStmt:
		s.Condition = r.nested(s.Condition)
		s.Stmts = r.block(s.Stmts)
	case *ast.RepeatStmt:
		// The condition sees the locals of the body.
		r.enter(s)
		active := r.fn.active
		r.fn.blocks = append(r.fn.blocks, make(map[string]bool))
		s.Stmts = r.plain(s.Stmts)
		s.Condition = r.nested(s.Condition)
		r.fn.blocks = r.fn.blocks[:len(r.fn.blocks)-1]
		r.fn.active = active
		r.leave()
	case *ast.IfStmt:
		s.Condition = r.nested(s.Condition)
		s.Then = r.block(s.Then)
		if next, ok := elseif(s); ok {
			r.enter(next)
			s.Else[0] = r.stmt(next)
			r.leave()
		} else {
			s.Else = r.block(s.Else)
		}
	case *ast.NumberForStmt:
		s.Init = r.bound(s.Init, forInitName)
		s.Limit = r.bound(s.Limit, forLimitName)
		s.Step = r.bound(s.Step, forStepName)
		r.fn.active += 3
		s.Stmts = r.block(s.Stmts, s.Name)
		r.fn.active -= 3
	case *ast.GenericForStmt:
		r.exprs(s.Exprs)
		r.fn.active += 3
		s.Stmts = r.block(s.Stmts, s.Names...)
		r.fn.active -= 3
		return genericFor(s)
	case *ast.FuncDefStmt:
		r.functionName(s.Name)
		r.function(s.Func, s.Name.Receiver != nil)
	case *ast.ReturnStmt:
		r.useFunction()
		r.exprs(s.Exprs)
	case *ast.BreakStmt, *ast.GotoStmt, *ast.LabelStmt:
		r.useFunction()
	}
	return s
}

// genericFor gives a loop its three values through locals, where they are neither three expressions
// nor one open call: the compiler drops what an open call after another expression returns, and
// leaves what is missing as it lies in the registers.
func genericFor(s *ast.GenericForStmt) ast.Stmt {
	n := len(s.Exprs)
	if last := isOpen(s.Exprs[n-1]); n == 1 && last || n == 3 && !last {
		return s
	}
	at := at{s}
	names := []string{valueName + "f", valueName + "s", valueName + "c"}
	init := at.local(names, s.Exprs)
	s.Exprs = []ast.Expr{at.ident(names[0]), at.ident(names[1]), at.ident(names[2])}
	return at.block([]ast.Stmt{init, s})
}

// isLocalFunction tells `local function f` from `local f = function`: the parser makes one kind of
// node of both, and gives only the first a last line.
func isLocalFunction(s *ast.LocalAssignStmt) bool { return s.LastLine() != 0 }

// hideFunction keeps the name of `local f = function` out of scope inside the function: the
// compiler declares it first where a function is the only expression.
func (r *rewriter) hideFunction(s *ast.LocalAssignStmt) {
	if isLocalFunction(s) || len(s.Names) != 1 || len(s.Exprs) != 1 {
		return
	}
	if _, ok := s.Exprs[0].(*ast.FunctionExpr); ok {
		none := &ast.NilExpr{}
		at{s}.mark(none)
		s.Exprs = append(s.Exprs, none)
	}
}

func (r *rewriter) exprs(list []ast.Expr) {
	for i, e := range list {
		list[i] = r.nested(e)
	}
}

// unread rewrites e, which is assigned to or called.
func (r *rewriter) unread(e ast.Expr) ast.Expr {
	r.enter(e)
	if a, ok := e.(*ast.AttrGetExpr); ok {
		r.operands(a)
	} else {
		e = r.expr(e)
	}
	r.leave()
	return e
}

func (r *rewriter) operands(e *ast.AttrGetExpr) {
	e.Object, e.Key = r.nested(e.Object), r.nested(e.Key)
}

func (r *rewriter) expr(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.IdentExpr:
		r.useName(e.Value)
	case *ast.Comma3Expr:
		r.useFunction()
	case *ast.StringExpr:
		if tiedNames[e.Value] {
			r.useFunction()
		}
	case *ast.AttrGetExpr:
		r.operands(e)
		return r.read(e)
	case *ast.TableExpr:
		for i, f := range e.Fields {
			if f.Key != nil {
				f.Key = r.nested(f.Key)
			}
			f.Value = r.nested(f.Value)
			if f.Key != nil || i < len(e.Fields)-1 {
				f.Value = single(f.Value) // after array items the compiler would take it for their open end
			}
			f.Value = r.stored(f.Key, f.Value)
		}
		if len(e.Fields) > tablePart {
			at{e}.numbered(e.Fields)
			table, _ := r.split(e, e.Fields, true)
			return table
		}
		return constructor(e)
	case *ast.FuncCallExpr:
		r.useCall()
		if e.Func != nil {
			e.Func = r.unread(e.Func)
		}
		if e.Receiver != nil {
			e.Receiver = r.nested(e.Receiver)
		}
		r.exprs(e.Args)
	case *ast.LogicalOpExpr:
		e.Lhs, e.Rhs = r.nested(e.Lhs), r.nested(e.Rhs)
		if truth, known := constantTruth(e.Lhs); known && truth == (e.Operator == "and") {
			return single(e.Rhs) // so that it keeps its name
		}
	case *ast.RelationalOpExpr:
		e.Lhs, e.Rhs = r.nested(e.Lhs), r.nested(e.Rhs)
	case *ast.ArithmeticOpExpr:
		e.Lhs, e.Rhs = r.nested(e.Lhs), r.nested(e.Rhs)
		if name := operatorNames[e.Operator]; name != "" {
			at := at{e}
			return at.call(at.ident(name), e.Lhs, single(e.Rhs))
		}
	case *ast.UnaryMinusOpExpr:
		e.Expr = r.nested(e.Expr)
	case *ast.UnaryNotOpExpr:
		e.Expr = r.nested(e.Expr)
	case *ast.UnaryLenOpExpr:
		e.Expr = r.nested(e.Expr)
		at := at{e}
		return at.call(at.ident(lengthName), single(e.Expr))
	case *ast.StringConcatOpExpr:
		return r.concat(e)
	case *ast.FunctionExpr:
		r.useCall()
		r.function(e, false)
	}
	return e
}

func (r *rewriter) function(f *ast.FunctionExpr, method bool) {
	if r.uses != nil { // what binds the inner function binds no outer one
		defer func(u *uses, bound bool) { u.bound = bound }(r.uses, r.uses.bound)
	}
	r.fn = &scope{outer: r.fn, vararg: f.ParList.HasVargs, line: f.Line()}
	names := f.ParList.Names
	if method {
		names = append([]string{"self"}, names...)
	}
	if f.ParList.HasVargs {
		names = append([]string{"arg"}, names...)
	}
	f.Stmts = r.block(f.Stmts, names...)
	r.fn = r.fn.outer
}

// elseif is the statement for the next condition of s, where it has one. The parser gives it no last
// line.
func elseif(s *ast.IfStmt) (*ast.IfStmt, bool) {
	if len(s.Else) != 1 {
		return nil, false
	}
	next, ok := s.Else[0].(*ast.IfStmt)
	return next, ok && next.LastLine() == 0
}
