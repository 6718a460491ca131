package driver

import (
	"fmt"
	"strings"

	"npulua/npu/internal/dtype"
)

// MaxParams is the vendor's limit on kernel parameters.
const MaxParams = 128

// Dir says what a kernel does with the memory of a pointer parameter.
type Dir uint8

// The directions; scalars are DirIn.
const (
	DirIn Dir = iota
	DirOut
	DirInOut
)

// Param is one parameter of a kernel.
type Param struct {
	Name    string
	Dir     Dir
	Pointer bool
	Type    dtype.DType // Invalid where TypeVar is set
	TypeVar string      // "T": bound by the operands of each launch
}

// Signature is a parsed parameter list.
type Signature struct {
	Text     string
	Params   []Param
	TypeVars []string // in order of appearance
}

// Words is the length of Command.Args for the signature.
func (s *Signature) Words() int {
	n := len(s.Params)
	for _, p := range s.Params {
		if p.Pointer {
			n++
		}
	}
	return n
}

// ParseSignature reads "out float32* y, in float32* x, float32 a, uint32 n". A pointer parameter
// has a direction (in, out, inout) and a star; a scalar has neither. A type is a dtype name or
// alias, or one capital letter: a type variable that each launch binds from its operands.
func ParseSignature(text string) (*Signature, error) {
	s := &Signature{Text: text}
	if strings.TrimSpace(text) == "" {
		return s, nil
	}
	seen := map[string]bool{}
	for i, part := range strings.Split(text, ",") {
		p, err := parseParam(part)
		if err != nil {
			return nil, fmt.Errorf("signature: parameter %d %q: %w", i+1, strings.TrimSpace(part), err)
		}
		if seen[p.Name] {
			return nil, fmt.Errorf("signature: parameter %d: name %q is used twice", i+1, p.Name)
		}
		seen[p.Name] = true
		if p.TypeVar != "" && !contains(s.TypeVars, p.TypeVar) {
			if !p.Pointer {
				return nil, fmt.Errorf("signature: parameter %d: type variable %s needs a pointer parameter before it", i+1, p.TypeVar)
			}
			s.TypeVars = append(s.TypeVars, p.TypeVar)
		}
		s.Params = append(s.Params, p)
	}
	if len(s.Params) > MaxParams {
		return nil, fmt.Errorf("signature: %d parameters, at most %d", len(s.Params), MaxParams)
	}
	return s, nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

var dirs = map[string]Dir{"in": DirIn, "out": DirOut, "inout": DirInOut}

func parseParam(text string) (Param, error) {
	var p Param
	text = strings.Replace(text, "*", " * ", 1)
	f := strings.Fields(text)
	if len(f) == 0 {
		return p, fmt.Errorf("empty")
	}
	dir, hasDir := dirs[f[0]]
	if hasDir {
		p.Dir, f = dir, f[1:]
	}
	if len(f) == 0 {
		return p, fmt.Errorf("no type")
	}
	typ := f[0]
	f = f[1:]
	if len(f) > 0 && f[0] == "*" {
		p.Pointer, f = true, f[1:]
	}
	if len(f) != 1 || !isIdent(f[0]) {
		return p, fmt.Errorf("want [in|out|inout] type [*] name")
	}
	p.Name = f[0]
	if len(typ) == 1 && typ[0] >= 'A' && typ[0] <= 'Z' {
		p.TypeVar = typ
	} else if t, ok := dtype.Parse(typ); ok {
		p.Type = t
	} else {
		return p, fmt.Errorf("unknown type %q", typ)
	}
	if p.Pointer != hasDir {
		if p.Pointer {
			return p, fmt.Errorf("a pointer needs a direction: in, out or inout")
		}
		return p, fmt.Errorf("a direction needs a pointer: write %s*", typ)
	}
	return p, nil
}

func isIdent(s string) bool {
	for i, r := range s {
		if !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9') {
			return false
		}
	}
	return s != ""
}

// KernelSource says where a kernel comes from. A driver uses the part that it understands.
type KernelSource struct {
	Name      string
	Signature *Signature    // nil: the driver's own kernel of that name
	Types     []dtype.DType // binding of Signature.TypeVars, in order
	Binary    string        // file for hardware; "" where there is none
	// Run computes all blocks for the simulator, where it is not one of its own kernels. It takes no
	// virtual time itself; an error is a fault of the launch. It must not call the driver.
	Run func(l *HostLaunch) error
}

// HostLaunch is a launch as KernelSource.Run sees it.
type HostLaunch struct {
	Signature *Signature
	Types     []dtype.DType
	Blocks    int
	Args      []HostArg // one a parameter
}

// HostArg is one argument: the operand's memory, or the word of a scalar.
type HostArg struct {
	Type dtype.DType
	Mem  []byte // memory of a pointer parameter; valid during the call only
	Word uint64
}
