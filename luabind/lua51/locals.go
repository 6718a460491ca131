package lua51

import (
	"slices"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// noteScopes notes in proto, which was compiled from chunk, where its local variables end: the compiler gets that
// wrong for those in blocks. A scope ends where the next variable takes its register, where a jump leads over it, or
// where code of later lines begins.
func noteScopes(chunk []ast.Stmt, proto *lua.FunctionProto) {
	w := &scopeWalk{}
	w.block(chunk, 0)
	w.note(proto)
}

// scopeWalk lists the local variables of a function as the compiler declares them, and the functions in it.
type scopeWalk struct {
	names     []string
	scopes    []blockScope
	functions []functionScope
}

// blockScope is the variables of a block: from first on, those of inner blocks included, to before end.
type blockScope struct {
	first, end int
	lastLine   int // 0: not known
}

type functionScope struct {
	expr   *ast.FunctionExpr
	method bool
}

func (w *scopeWalk) declare(names ...string) { w.names = append(w.names, names...) }

func (w *scopeWalk) scope(lastLine int, body func()) {
	first := len(w.names)
	body()
	if end := len(w.names); end > first {
		w.scopes = append(w.scopes, blockScope{first, end, lastLine})
	}
}

func (w *scopeWalk) block(stmts []ast.Stmt, lastLine int) {
	w.scope(lastLine, func() {
		for _, s := range stmts {
			w.stmt(s)
		}
	})
}

func (w *scopeWalk) stmt(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		w.exprs(s.Lhs)
		w.exprs(s.Rhs)
	case *ast.LocalAssignStmt:
		w.exprs(s.Exprs)
		w.declare(s.Names...)
	case *ast.FuncCallStmt:
		w.expr(s.Expr)
	case *ast.DoBlockStmt:
		w.block(s.Stmts, s.LastLine())
	case *ast.WhileStmt:
		w.expr(s.Condition)
		w.block(s.Stmts, s.LastLine())
	case *ast.RepeatStmt:
		w.scope(0, func() {
			for _, inner := range s.Stmts {
				w.stmt(inner)
			}
			w.expr(s.Condition)
		})
	case *ast.IfStmt:
		w.expr(s.Condition)
		last := s.LastLine()
		if len(s.Else) > 0 {
			last = 0
		}
		w.block(s.Then, last)
		w.block(s.Else, s.LastLine())
	case *ast.NumberForStmt:
		w.scope(s.LastLine(), func() {
			w.declare("(for index)", "(for limit)", "(for step)", s.Name)
			w.exprs([]ast.Expr{s.Init, s.Limit, s.Step})
			for _, inner := range s.Stmts {
				w.stmt(inner)
			}
		})
	case *ast.GenericForStmt:
		w.scope(s.LastLine(), func() {
			w.declare("(for generator)", "(for state)", "(for control)")
			w.exprs(s.Exprs)
			w.declare(s.Names...)
			for _, inner := range s.Stmts {
				w.stmt(inner)
			}
		})
	case *ast.FuncDefStmt:
		if s.Name.Receiver != nil {
			w.expr(s.Name.Receiver)
		} else {
			w.expr(s.Name.Func)
		}
		w.functions = append(w.functions, functionScope{s.Func, s.Name.Receiver != nil})
	case *ast.ReturnStmt:
		w.exprs(s.Exprs)
	}
}

func (w *scopeWalk) exprs(list []ast.Expr) {
	for _, e := range list {
		w.expr(e)
	}
}

// expr finds the functions in an expression.
func (w *scopeWalk) expr(e ast.Expr) {
	switch e := e.(type) {
	case *ast.AttrGetExpr:
		w.expr(e.Object)
		w.expr(e.Key)
	case *ast.TableExpr:
		for _, f := range e.Fields {
			w.expr(f.Key)
			w.expr(f.Value)
		}
	case *ast.FuncCallExpr:
		w.expr(e.Func)
		w.expr(e.Receiver)
		w.exprs(e.Args)
	case *ast.LogicalOpExpr:
		w.expr(e.Lhs)
		w.expr(e.Rhs)
	case *ast.RelationalOpExpr:
		w.expr(e.Lhs)
		w.expr(e.Rhs)
	case *ast.StringConcatOpExpr:
		w.expr(e.Lhs)
		w.expr(e.Rhs)
	case *ast.ArithmeticOpExpr:
		w.expr(e.Lhs)
		w.expr(e.Rhs)
	case *ast.UnaryMinusOpExpr:
		w.expr(e.Expr)
	case *ast.UnaryNotOpExpr:
		w.expr(e.Expr)
	case *ast.UnaryLenOpExpr:
		w.expr(e.Expr)
	case *ast.FunctionExpr:
		w.functions = append(w.functions, functionScope{e, false})
	}
}

// note writes the ends into proto and the functions in it, where the variables are those that were listed.
func (w *scopeWalk) note(proto *lua.FunctionProto) {
	if w.declares(proto) {
		jumps := jumpsOver(proto)
		for i := range proto.DbgLocals {
			proto.DbgLocals[i].EndPc = len(proto.Code)
		}
		for _, s := range w.scopes { // inner ones come first
			end := s.endIn(proto, jumps)
			for _, v := range proto.DbgLocals[s.first:s.end] {
				v.EndPc = min(v.EndPc, end)
			}
		}
	}
	rest := slices.Clone(proto.FunctionPrototypes)
	for _, f := range w.functions {
		inner := &scopeWalk{}
		if f.method {
			inner.declare("self")
		}
		inner.declare(f.expr.ParList.Names...)
		if f.expr.ParList.HasVargs {
			inner.declare("arg")
		}
		for _, s := range f.expr.Stmts {
			inner.stmt(s)
		}
		for i, p := range rest { // nearly always the first
			if p != nil && p.LineDefined == f.expr.Line() && inner.declares(p) {
				inner.note(p)
				if rest[i] = nil; i == 0 {
					rest = rest[1:]
				}
				break
			}
		}
	}
}

// declares reports whether the variables are those of proto.
func (w *scopeWalk) declares(proto *lua.FunctionProto) bool {
	if len(w.names) != len(proto.DbgLocals) {
		return false
	}
	for i, v := range proto.DbgLocals {
		if v.Name != w.names[i] {
			return false
		}
	}
	return true
}

// endIn is where the code of s ends, or a little later.
func (s blockScope) endIn(proto *lua.FunctionProto, jumps []int) int {
	end := len(proto.Code)
	if s.end < len(proto.DbgLocals) {
		end = proto.DbgLocals[s.end].StartPc
	}
	start := proto.DbgLocals[s.first].StartPc
	if start < len(jumps) && jumps[start] > 0 {
		end = min(end, jumps[start])
	}
	if s.lastLine > 0 {
		for pc := start; pc < end; pc++ {
			if proto.DbgSourcePositions[pc] > s.lastLine {
				return pc
			}
		}
	}
	return end
}

// jumpsOver is for each instruction the target of the innermost jump that leads over it, 0 for none.
func jumpsOver(proto *lua.FunctionProto) []int {
	over := make([]int, len(proto.Code))
	var targets []int
	for pc, code := range proto.Code {
		for len(targets) > 0 && targets[len(targets)-1] <= pc {
			targets = targets[:len(targets)-1]
		}
		if n := len(targets); n > 0 {
			over[pc] = targets[n-1]
		}
		switch in := instruction(code); in.op() {
		case lua.OP_JMP, lua.OP_FORPREP:
			if to := pc + 1 + in.jump(); to > pc+1 && (len(targets) == 0 || to < targets[len(targets)-1]) {
				targets = append(targets, to)
			}
		}
	}
	return over
}

// activeLocals are the names of the local variables at pc, in the order of their registers.
func activeLocals(proto *lua.FunctionProto, pc int) []string {
	var names []string
	for _, v := range proto.DbgLocals {
		if v.StartPc > pc {
			break
		}
		if pc < v.EndPc {
			names = append(names, v.Name)
		}
	}
	return names
}

// noteLines gives jumps at the end of a block the line before them, and the end of a chunk its last line, as PUC Lua
// does: nothing fails there, but hooks see it.
func noteLines(proto *lua.FunctionProto, lastLine int) {
	lines := proto.DbgSourcePositions
	for pc := 1; pc < len(proto.Code); pc++ {
		if in := instruction(proto.Code[pc]); in.op() == lua.OP_JMP && (in.jump() < 0 || lines[pc] < lines[pc-1]) {
			lines[pc] = lines[pc-1]
		}
	}
	if n := len(lines); n > 0 && isMain(proto) {
		lines[n-1] = lastLine
	}
	for _, p := range proto.FunctionPrototypes {
		noteLines(p, lastLine)
	}
}
