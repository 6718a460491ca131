package npu

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// threadUses are the places where a function that runs on the executor, which takes a driver, uses a Thread beyond what
// never changes of it.
func threadUses(fset *token.FileSet, file *ast.File) (places []string) {
	named := func(e ast.Expr, text string) bool {
		s, ok := e.(*ast.SelectorExpr)
		return ok && s.Sel.Name == text
	}
	ast.Inspect(file, func(n ast.Node) bool {
		fn, ok := n.(*ast.FuncLit)
		if !ok || len(fn.Type.Params.List) == 0 || !named(fn.Type.Params.List[0].Type, "Driver") {
			return true
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && (s.Sel.Name == "s" || s.Sel.Name == "c") {
				if id, ok := s.X.(*ast.Ident); ok && id.Name == "t" {
					return false
				}
			}
			if id, ok := n.(*ast.Ident); ok && id.Name == "t" {
				places = append(places, fset.Position(id.Pos()).String())
			}
			return true
		})
		return true
	})
	return places
}

// A Thread, called t everywhere here, belongs to its goroutine also while that waits for the executor: callbacks run on
// it then, and set its place and its scope. What a function on the executor needs of a Thread is taken before.
func TestExecutorLeavesThreadsAlone(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(fset, name, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range threadUses(fset, file) {
			t.Errorf("%s: a function that runs on the executor uses the Thread", at)
		}
	}
	file, err := parser.ParseFile(fset, "wrong.go", `package npu
func (t *Thread) wrong() {
	_ = t.call(0, func(d driver.Driver) error { t.s.note(t.Site); return t.c.Err() })
}`, 0)
	if places := threadUses(fset, file); err != nil || len(places) != 1 {
		t.Errorf("%v: found %v in a wrong function, want one place", err, places)
	}
}
