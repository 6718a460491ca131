package luabind

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"npulua/npu"
)

// kernelsTopic is the topic that lists the kernels.
const kernelsTopic = "kernels"

// kernelList is a line for every kernel.
func kernelList() string {
	text := kernelsTopic
	for _, k := range npu.Kernels() {
		what, _, _ := strings.Cut(k.Doc, ";")
		what, _, _ = strings.Cut(what, ": ")
		text += fmt.Sprintf("\n  %s: %s.", k.Name, strings.TrimSuffix(what, "."))
	}
	return text + "\n  help \"relu\" has the arguments of one and a first launch."
}

// launchErrors is what a launch of a built-in kernel can raise.
const launchErrors = "107000 for arguments of another number, type or place than the signature's, and for block_dim; 107003 for a buffer of another device; " +
	"507015 or 507035 from the call that waits, for sizes beyond an operand and for what the kernel refuses"

// explainKernel is the help on a kernel value.
func (e *Evaluator) explainKernel(k *npu.Kernel) string {
	if k.Doc() != "" {
		return e.explainTopic(k.Name())
	}
	return fmt.Sprintf("kernel %s(%s)\n  Declared by the script.", k.Name(), k.Signature().Text)
}

// kernelText is the help on a built-in kernel.
func kernelText(k npu.KernelInfo) string {
	text := fmt.Sprintf("kernel %s(%s)\n  %s", k.Name, k.Signature, k.Doc)
	sig, err := k.Parse()
	if err != nil {
		return text
	}
	for _, p := range sig.Params {
		if p.Pointer {
			size := strings.Join(extent(k, p), " x ") + " elements"
			if size == "1 elements" {
				size = "1 element"
			}
			text += fmt.Sprintf("\n    %s: %s, %s", p.Name, size, directions[p.Dir])
		}
	}
	text += typeText(k, sig)
	text += "\n  Errors: " + launchErrors
	return text + exampleText(kernelExample(k, sig))
}

var directions = map[npu.Dir]string{npu.DirIn: "read", npu.DirOut: "written", npu.DirInOut: "read and written"}

// typeText is a line for each type variable.
func typeText(k npu.KernelInfo, sig *npu.Signature) string {
	text := ""
	combinations := 1
	for i, name := range sig.TypeVars {
		var types []string
		for _, row := range k.Types {
			if t := row[i].String(); !slices.Contains(types, t) {
				types = append(types, t)
			}
		}
		combinations *= len(types)
		text += fmt.Sprintf("\n    %s: %s", name, strings.Join(types, ", "))
	}
	if combinations != len(k.Types) && len(sig.TypeVars) > 1 {
		text += fmt.Sprintf("\n    %s: %s", strings.Join(sig.TypeVars, "/"), strings.Join(k.TypeNames(), ", "))
	}
	return text
}

// shortExtents are the indices in the texts of kernels that stand for a size.
var shortExtents = map[string]string{"i": "n", "r": "rows", "c": "cols", "0": "1"}

// extent is how many elements an operand has, as factors: what the text of the kernel has in brackets behind its
// name, or else n.
func extent(k npu.KernelInfo, p npu.Param) []string {
	m := regexp.MustCompile(`\b` + p.Name + `\[([^\]]*)\]`).FindStringSubmatch(k.Doc)
	if m == nil {
		return []string{"n"}
	}
	factors := strings.Split(m[1], ",")
	for i, f := range factors {
		if long, ok := shortExtents[f]; ok {
			factors[i] = long
		}
	}
	return factors
}

// exampleValues are the scalars of examples, by name: small, and right together for all kernels.
var exampleValues = map[string]string{
	"n": "4", "rows": "2", "cols": "2", "m": "2", "k": "2", "a": "2", "eps": "1e-5", "seconds": "0.001",
	"batch": "1", "c_in": "1", "c_out": "1", "kernel_h": "3", "kernel_w": "3", "stride": "1", "pad": "1",
	"height": "2", "width": "2", "channels": "3", "oh": "2", "ow": "2", "in_h": "2", "in_w": "2", "out_h": "1", "out_w": "1",
	"mean": "0.5", "std": "0.25",
}

// kernelExample is a launch that runs in a fresh session.
func kernelExample(k npu.KernelInfo, sig *npu.Signature) string {
	types := exampleTypes(k)
	text := "dev = npu.device(0)\ns = dev.context:create_stream()"
	var args, results []string
	for _, p := range sig.Params {
		if !p.Pointer {
			args = append(args, exampleValues[p.Name])
			continue
		}
		typ := p.Type
		if i := slices.Index(sig.TypeVars, p.TypeVar); i >= 0 {
			typ = types[i]
		}
		count := 1
		for _, f := range extent(k, p) {
			if value, ok := exampleValues[f]; ok {
				f = value
			}
			n, _ := strconv.Atoi(f)
			count *= n
		}
		text += fmt.Sprintf("\n%s = dev.context:alloc(%q, %d)", p.Name, typ, count)
		if p.Dir != npu.DirOut {
			text += fmt.Sprintf(" %s:upload{%s}", p.Name, exampleElements(typ, count))
		}
		if p.Dir != npu.DirIn {
			results = append(results, p.Name)
		}
		args = append(args, p.Name)
	}
	text += fmt.Sprintf("\ns:launch(npu.kernel %q, 1, %s)\ns:synchronize()", k.Name, strings.Join(args, ", "))
	for _, r := range results {
		text += fmt.Sprintf("\nprint(unpack(%s:download():to_table()))", r)
	}
	if len(results) == 0 {
		text += "\nprint(npu.time())"
	}
	return text
}

// exampleTypes is a binding of the type variables: the first in which they differ, if there is one.
func exampleTypes(k npu.KernelInfo) []npu.DType {
	if len(k.Types) == 0 {
		return nil
	}
	for _, row := range k.Types {
		if len(row) > 1 && row[0] != row[1] {
			return row
		}
	}
	return k.Types[0]
}

// exampleElements are 1, -2, 3, ...; without signs where the type has none.
func exampleElements(typ npu.DType, count int) string {
	var list []string
	for i := 1; i <= count; i++ {
		n := i
		if i%2 == 0 && typ.Check(-1) == "" {
			n = -i
		}
		list = append(list, strconv.Itoa(n))
	}
	return strings.Join(list, ", ")
}
