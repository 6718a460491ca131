package lua51

import (
	lua "github.com/yuin/gopher-lua"
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
)

// uses is what a statement needs of its surroundings.
type uses struct {
	names map[string]bool // variables, also those it declares itself
	bound bool            // it has to stay in its function
	calls bool            // it calls or makes functions
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

func (r *rewriter) useCall() {
	if r.uses != nil {
		r.uses.calls = true
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
		outer.calls = outer.calls || own.calls
		for name := range own.names {
			outer.names[name] = true
		}
	}
	return s, own
}

// plain rewrites the statements of a block, in place.
func (r *rewriter) plain(stmts []ast.Stmt) []ast.Stmt {
	for i, s := range stmts {
		stmts[i] = r.stmt(s)
	}
	return stmts
}

// sections rewrites the statements of a long block. Runs of statements that could stand in another
// function as well are put in functions that are called at once. Those that use locals and call could
// not: the virtual machine reads a local when an operator runs, but what is captured before, and the
// call may change it.
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
		locals := r.locals(u)
		if _, ok := s.(*ast.LocalAssignStmt); ok || u.bound || len(locals) > 0 && u.calls {
			flush()
			out = append(out, s)
			continue
		}
		for _, name := range locals {
			shared[name] = true
		}
		if run = append(run, s); len(run) >= sectionSize || len(shared) > sectionLocals {
			flush()
		}
	}
	flush()
	return out
}

// locals are the names of u that are locals here.
func (r *rewriter) locals(u *uses) []string {
	var found []string
	for name := range u.names {
		if r.isVisible(name) {
			found = append(found, name)
		}
	}
	return found
}

// isVisible reports whether name is a local, of this function or of one around it.
func (r *rewriter) isVisible(name string) bool {
	for fn := r.fn; fn != nil; fn = fn.outer {
		if fn.declares(name) {
			return true
		}
	}
	return false
}

// sectionName is the parameter, never given, by which the functions of sections are known.
const sectionName = "\x00section"

// isSection reports whether proto is a part of the function around it.
func isSection(proto *lua.FunctionProto) bool {
	return proto.NumParameters == 1 && proto.DbgLocals[0].Name == sectionName
}

// section is the call of a function of its own.
func section(stmts []ast.Stmt) ast.Stmt {
	first, last := stmts[0], stmts[len(stmts)-1]
	fn := &ast.FunctionExpr{ParList: &ast.ParList{Names: []string{sectionName}}, Stmts: stmts}
	fn.SetLine(first.Line())
	fn.SetLastLine(max(last.Line(), last.LastLine()))
	at := at{first}
	call := &ast.FuncCallStmt{Expr: at.call(fn)}
	at.mark(call)
	return call
}
