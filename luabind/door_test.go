package luabind_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// door is the one file from which the virtual machine is entered.
const door = "lua51/door.go"

// entries are the methods of the library's state that run Lua.
var entries = map[string]bool{
	"Call": true, "PCall": true, "CallByParam": true, "GPCall": true, "DoString": true, "DoFile": true, "CallMeta": true, "ToStringMeta": true,
}

// doors are what has a method Call that goes through the door.
var doors = map[string]bool{"threads": true, "lua51": true, "t": true}

// Nothing of ours calls into Lua but by the door, which counts how deep calls nest, sees the end of the machine, and
// knows a defect from an error.
func TestOneDoor(t *testing.T) {
	found := false
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !entries[method.Sel.Name] || doors[lastName(method.X)] {
				return true
			}
			if path == door {
				found = true
			} else {
				t.Errorf("%v calls %s: use what %s has", set.Position(call.Pos()), method.Sel.Name, door)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !found {
		t.Errorf("no call in %s: this test looks for the wrong ones", door)
	}
}

// lastName is b of a.b, and a of a.
func lastName(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}
