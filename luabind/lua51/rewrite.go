package lua51

import (
	"fmt"

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

// tablePart is the number of items of a table constructor that are compiled at once. The compiler
// drops the tail of long lists, and its time grows with the square of the constants in a function.
const tablePart = 2000

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

// assign rewrites an assignment whose operands are rewritten already.
func (r *rewriter) assign(s *ast.AssignStmt) ast.Stmt {
	if len(s.Lhs) == 1 && len(s.Rhs) == 1 {
		target, ok := s.Lhs[0].(*ast.IdentExpr)
		if !ok || !r.isLocal(target.Value) || isDirect(s.Rhs[0]) {
			return s
		}
	}
	at := at{s}
	var body []ast.Stmt
	local := func(name string, e ast.Expr) ast.Expr {
		body = append(body, at.local([]string{name}, []ast.Expr{e}))
		return at.ident(name)
	}
	for i, lhs := range s.Lhs {
		a, ok := lhs.(*ast.AttrGetExpr)
		if !ok || len(s.Lhs) == 1 {
			continue
		}
		a.Object = local(fmt.Sprintf("\x00table%d", i), a.Object)
		if !isConst(a.Key) {
			a.Key = local(fmt.Sprintf("\x00key%d", i), a.Key)
		}
	}
	names := make([]string, len(s.Lhs))
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", valueName, i)
	}
	body = append(body, at.local(names, s.Rhs))
	for i := len(s.Lhs) - 1; i >= 0; i-- {
		a := &ast.AssignStmt{Lhs: []ast.Expr{s.Lhs[i]}, Rhs: []ast.Expr{at.ident(names[i])}}
		at.mark(a)
		body = append(body, a)
	}
	block := &ast.DoBlockStmt{Stmts: body}
	at.mark(block)
	return block
}

// at gives new nodes the lines of an old one.
type at struct{ old ast.PositionHolder }

func (a at) mark(n ast.PositionHolder) {
	n.SetLine(a.old.Line())
	n.SetLastLine(a.old.LastLine())
}

func (a at) ident(name string) *ast.IdentExpr {
	e := &ast.IdentExpr{Value: name}
	a.mark(e)
	return e
}

func (a at) number(n int) *ast.NumberExpr {
	e := &ast.NumberExpr{Value: fmt.Sprint(n)}
	a.mark(e)
	return e
}

func (a at) local(names []string, exprs []ast.Expr) *ast.LocalAssignStmt {
	s := &ast.LocalAssignStmt{Names: names, Exprs: exprs}
	a.mark(s)
	return s
}

func (a at) call(fn ast.Expr, args ...ast.Expr) *ast.FuncCallExpr {
	e := &ast.FuncCallExpr{Func: fn, Args: args, AdjustRet: true}
	a.mark(e)
	return e
}

func isConst(e ast.Expr) bool {
	switch e.(type) {
	case *ast.NilExpr, *ast.TrueExpr, *ast.FalseExpr, *ast.NumberExpr, *ast.StringExpr:
		return true
	}
	return false
}

// isSimple reports whether e is read by one instruction.
func isSimple(e ast.Expr) bool {
	_, ok := e.(*ast.IdentExpr)
	return ok || isConst(e)
}

// isDirect reports whether the compiler writes the target of e in its last instruction only.
func isDirect(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.FunctionExpr:
		return true
	case *ast.ArithmeticOpExpr:
		return isSimple(e.Lhs) && isSimple(e.Rhs)
	case *ast.AttrGetExpr:
		return isSimple(e.Object) && isSimple(e.Key)
	}
	return isSimple(e)
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

// single makes the last operand of an argument list one value.
func single(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		e.AdjustRet = true
	case *ast.Comma3Expr:
		e.AdjustRet = true
	}
	return e
}

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

// isOpen reports whether e stands for any number of values at the end of a list.
func isOpen(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		return !e.AdjustRet
	case *ast.Comma3Expr:
		return !e.AdjustRet
	}
	return false
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
