package lua51

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

const (
	// longBlock is the number of statements from which a block is compiled in sections: the time of
	// the compiler grows with the square of the constants in a function.
	longBlock = 1000
	// sectionSize is the number of statements in a section, and shortSection what is not worth one.
	sectionSize, shortSection = 500, 100
	// sectionLocals bounds the locals of enclosing functions that a section uses.
	sectionLocals = 50
	// crowded is the number of locals from which on statements are compiled in functions of their own,
	// where registers are free: PUC Lua has 50 more than it allows locals, the virtual machine has none.
	crowded = 180
)

// uses is what a statement needs of its surroundings.
type uses struct {
	names map[string]bool // variables, also those it declares itself
	bound bool            // it has to stay in its function
}

// tiedNames are functions that act on the function which calls them.
var tiedNames = map[string]bool{"setfenv": true, "getfenv": true, "module": true, "debug": true, "error": true}

func (r *rewriter) useName(name string) {
	if r.uses != nil {
		r.uses.names[name] = true
		r.uses.bound = r.uses.bound || tiedNames[name]
	}
}

func (r *rewriter) useFunction() {
	if r.uses != nil {
		r.uses.bound = true
	}
}

// watched rewrites s and tells what it uses.
func (r *rewriter) watched(s ast.Stmt) (ast.Stmt, *uses) {
	outer, own := r.uses, &uses{names: make(map[string]bool)}
	r.uses = own
	s = r.stmt(s)
	r.uses = outer
	if outer != nil {
		outer.bound = outer.bound || own.bound
		for name := range own.names {
			outer.names[name] = true
		}
	}
	return s, own
}

// plain rewrites the statements of a block, in place.
func (r *rewriter) plain(stmts []ast.Stmt) []ast.Stmt {
	for i, s := range stmts {
		if r.fn.active < crowded {
			stmts[i] = r.stmt(s)
			continue
		}
		s, u := r.watched(s)
		if !u.bound && needsRegisters(s) {
			s = section([]ast.Stmt{s})
		}
		switch s := s.(type) {
		case *ast.ReturnStmt:
			if len(s.Exprs) > 1 || len(s.Exprs) == 1 && !isDirect(s.Exprs[0]) {
				s.Exprs = apart(s, s.Exprs)
			}
		case *ast.LocalAssignStmt:
			if slices.ContainsFunc(s.Exprs, func(e ast.Expr) bool { return !isDirect(e) }) {
				s.Exprs = apart(s, s.Exprs)
			}
		}
		stmts[i] = s
	}
	return stmts
}

// apart computes the expressions of s in a function of their own, unless they read its varargs.
func apart(s ast.Stmt, exprs []ast.Expr) []ast.Expr {
	if slices.ContainsFunc(exprs, usesVararg) {
		return exprs
	}
	at := at{s}
	ret := &ast.ReturnStmt{Exprs: exprs}
	at.mark(ret)
	fn := &ast.FunctionExpr{ParList: &ast.ParList{}, Stmts: []ast.Stmt{ret}}
	fn.SetLine(s.Line())
	fn.SetLastLine(max(s.Line(), s.LastLine()))
	call := at.call(fn)
	call.AdjustRet = false
	return []ast.Expr{call}
}

// needsRegisters tells statements that may take many registers and declare nothing.
func needsRegisters(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		return len(s.Lhs) > 1 || !isDirect(s.Lhs[0]) || !isDirect(s.Rhs[0])
	case *ast.FuncCallStmt, *ast.DoBlockStmt:
		return true
	}
	return false
}

// sections rewrites the statements of a long block. Runs of statements that could stand in another
// function as well are put in functions that are called at once.
func (r *rewriter) sections(stmts []ast.Stmt) []ast.Stmt {
	out := make([]ast.Stmt, 0, len(stmts))
	var run []ast.Stmt
	shared := make(map[string]bool) // locals that the run uses
	flush := func() {
		if len(run) >= shortSection {
			run = []ast.Stmt{section(run)}
		}
		out = append(out, run...)
		run, shared = nil, make(map[string]bool)
	}
	for _, s := range stmts {
		s, u := r.watched(s)
		if _, ok := s.(*ast.LocalAssignStmt); ok || u.bound {
			flush()
			out = append(out, s)
			continue
		}
		for name := range u.names {
			if r.isVisible(name) {
				shared[name] = true
			}
		}
		run = append(run, s)
		if len(run) >= sectionSize || len(shared) > sectionLocals {
			flush()
		}
	}
	flush()
	return out
}

// isVisible reports whether name is a local, of this function or of one around it.
func (r *rewriter) isVisible(name string) bool {
	for fn := r.fn; fn != nil; fn = fn.outer {
		for _, b := range fn.blocks {
			if b[name] {
				return true
			}
		}
	}
	return false
}

// section is the call of a function of its own.
func section(stmts []ast.Stmt) ast.Stmt {
	first, last := stmts[0], stmts[len(stmts)-1]
	fn := &ast.FunctionExpr{ParList: &ast.ParList{}, Stmts: stmts}
	fn.SetLine(first.Line())
	fn.SetLastLine(max(last.Line(), last.LastLine()))
	at := at{first}
	call := &ast.FuncCallStmt{Expr: at.call(fn)}
	at.mark(call)
	return call
}
