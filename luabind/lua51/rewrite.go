package lua51

import (
	"github.com/yuin/gopher-lua/ast"
)

// hiddenMark begins the names that no script can write.
const hiddenMark = '\x00'

// Names that no script can write: locals that hold values on their way, and the functions that
// link puts in as constants.
const (
	valueName  = "\x00value"
	concatName = "\x00concat"
	powerName  = "\x00power"
	modName    = "\x00mod"
	lengthName = "\x00length"
	joinName   = "\x00join"
)

// operatorNames are the operators that become calls of two operands.
var operatorNames = map[string]string{"^": powerName, "%": modName}

// concatOperands bounds the operands of one concatenation: each takes a register.
const concatOperands = 50

// rewriter walks a syntax tree and replaces what the compiler gets wrong:
//
//   - assignments, whose targets it may overwrite before all operands were read: values go through
//     fresh locals first, and targets are assigned from right to left, as PUC Lua does;
//   - operators: concatenation writes numbers in its own way, powers and remainders differ in the last
//     digits, and the length of a long array is wrong; they become calls;
//   - long table constructors: they become several, joined;
//   - `local f = function`, in whose body it declares f.
//
// Lines stay those of the source.
type rewriter struct {
	fn *scope // innermost function
}

// scope is the local names of one function, block by block.
type scope struct {
	outer  *scope
	blocks []map[string]bool
	vararg bool
}

func (r *rewriter) isLocal(name string) bool {
	for _, b := range r.fn.blocks {
		if b[name] {
			return true
		}
	}
	return false
}

func (r *rewriter) declare(names ...string) {
	b := r.fn.blocks[len(r.fn.blocks)-1]
	for _, n := range names {
		b[n] = true
	}
}

// rewriteChunk rewrites a whole chunk, in place as far as possible.
func rewriteChunk(chunk []ast.Stmt) []ast.Stmt {
	r := &rewriter{fn: &scope{vararg: true}}
	return r.block(chunk)
}

// block rewrites statements in a scope of their own.
func (r *rewriter) block(stmts []ast.Stmt, names ...string) []ast.Stmt {
	r.fn.blocks = append(r.fn.blocks, make(map[string]bool))
	r.declare(names...)
	for i, s := range stmts {
		stmts[i] = r.stmt(s)
	}
	r.fn.blocks = r.fn.blocks[:len(r.fn.blocks)-1]
	return stmts
}

func (r *rewriter) stmt(s ast.Stmt) ast.Stmt {
	switch s := s.(type) {
	case *ast.AssignStmt:
		r.exprs(s.Lhs)
		r.exprs(s.Rhs)
		return r.assign(s)
	case *ast.LocalAssignStmt:
		if isLocalFunction(s) {
			r.declare(s.Names...) // it is in scope inside
		}
		r.exprs(s.Exprs)
		r.declare(s.Names...)
		r.hideFunction(s)
	case *ast.FuncCallStmt:
		s.Expr = r.expr(s.Expr)
	case *ast.DoBlockStmt:
		s.Stmts = r.block(s.Stmts)
	case *ast.WhileStmt:
		s.Condition = r.expr(s.Condition)
		s.Stmts = r.block(s.Stmts)
	case *ast.RepeatStmt:
		// The condition sees the locals of the body.
		r.fn.blocks = append(r.fn.blocks, make(map[string]bool))
		for i, x := range s.Stmts {
			s.Stmts[i] = r.stmt(x)
		}
		s.Condition = r.expr(s.Condition)
		r.fn.blocks = r.fn.blocks[:len(r.fn.blocks)-1]
	case *ast.IfStmt:
		s.Condition = r.expr(s.Condition)
		s.Then = r.block(s.Then)
		s.Else = r.block(s.Else)
	case *ast.NumberForStmt:
		s.Init, s.Limit = r.expr(s.Init), r.expr(s.Limit)
		if s.Step != nil {
			s.Step = r.expr(s.Step)
		}
		s.Stmts = r.block(s.Stmts, s.Name)
	case *ast.GenericForStmt:
		r.exprs(s.Exprs)
		s.Stmts = r.block(s.Stmts, s.Names...)
		return genericFor(s)
	case *ast.FuncDefStmt:
		r.function(s.Func, s.Name.Receiver != nil)
	case *ast.ReturnStmt:
		r.exprs(s.Exprs)
	}
	return s
}

// genericFor gives a loop its three values through locals where an open call follows another
// expression: the compiler drops what that returns.
func genericFor(s *ast.GenericForStmt) ast.Stmt {
	n := len(s.Exprs)
	if n == 1 || n <= 3 && !isOpen(s.Exprs[n-1]) {
		return s
	}
	at := at{s}
	names := []string{valueName + "f", valueName + "s", valueName + "c"}
	init := at.local(names, s.Exprs)
	s.Exprs = []ast.Expr{at.ident(names[0]), at.ident(names[1]), at.ident(names[2])}
	block := &ast.DoBlockStmt{Stmts: []ast.Stmt{init, s}}
	at.mark(block)
	return block
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
		list[i] = r.expr(e)
	}
}

func (r *rewriter) expr(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.AttrGetExpr:
		e.Object, e.Key = r.expr(e.Object), r.expr(e.Key)
	case *ast.TableExpr:
		for i, f := range e.Fields {
			if f.Key != nil {
				f.Key = r.expr(f.Key)
			}
			f.Value = r.expr(f.Value)
			if f.Key != nil || i < len(e.Fields)-1 {
				f.Value = single(f.Value) // after array items the compiler would take it for their open end
			}
		}
		if len(e.Fields) > tablePart {
			table, _ := r.split(e, e.Fields, true)
			return table
		}
	case *ast.FuncCallExpr:
		if e.Func != nil {
			e.Func = r.expr(e.Func)
		}
		if e.Receiver != nil {
			e.Receiver = r.expr(e.Receiver)
		}
		r.exprs(e.Args)
	case *ast.LogicalOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	case *ast.RelationalOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	case *ast.ArithmeticOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
		if name := operatorNames[e.Operator]; name != "" {
			at := at{e}
			return at.call(at.ident(name), e.Lhs, single(e.Rhs))
		}
	case *ast.UnaryMinusOpExpr:
		e.Expr = r.expr(e.Expr)
	case *ast.UnaryNotOpExpr:
		e.Expr = r.expr(e.Expr)
	case *ast.UnaryLenOpExpr:
		e.Expr = r.expr(e.Expr)
		at := at{e}
		return at.call(at.ident(lengthName), single(e.Expr))
	case *ast.StringConcatOpExpr:
		return r.concat(e)
	case *ast.FunctionExpr:
		r.function(e, false)
	}
	return e
}

func (r *rewriter) function(f *ast.FunctionExpr, method bool) {
	r.fn = &scope{outer: r.fn, vararg: f.ParList.HasVargs}
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

// concat flattens a right-associative chain of operands into one call.
func (r *rewriter) concat(e *ast.StringConcatOpExpr) ast.Expr {
	at := at{e}
	var args []ast.Expr
	literal := true
	var x ast.Expr = e
	for {
		c, ok := x.(*ast.StringConcatOpExpr)
		if !ok {
			break
		}
		args = append(args, r.expr(c.Lhs))
		x = c.Rhs
	}
	args = append(args, r.expr(x))
	for _, a := range args {
		if _, ok := a.(*ast.StringExpr); !ok {
			literal = false
		}
	}
	if literal {
		return e
	}
	return at.concat(args)
}

func (a at) concat(args []ast.Expr) ast.Expr {
	if len(args) > concatOperands {
		head := append([]ast.Expr(nil), args[:concatOperands-1]...)
		args = append(head, a.concat(args[concatOperands-1:]))
	}
	args[len(args)-1] = single(args[len(args)-1])
	return a.call(a.ident(concatName), args...)
}
