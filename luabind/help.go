package luabind

import (
	"fmt"
	"slices"
	"strings"

	"npulua/npu"
)

// classHelp is the text side of a class.
type classHelp struct {
	name, text string
	methods    []entry
	fields     []entry
	module     bool // a table of functions, and no type of handles
	required   bool // scripts get it with require
}

// entry is the text side of a row.
type entry struct {
	name    string
	doc     doc
	options []option
}

func (cl *class[T]) help() classHelp {
	h := classHelp{name: cl.name, text: cl.text}
	for _, m := range cl.methods {
		h.methods = append(h.methods, entry{m.name, m.doc, m.options})
	}
	for _, f := range cl.fields {
		h.fields = append(h.fields, entry{f.name, f.doc, nil})
	}
	return h
}

// helpClasses is every class in the order of the manual.
func helpClasses() []classHelp {
	list := []classHelp{moduleHelp(), opsHelp(), simHelp(), deviceClass.help(), contextClass.help(), streamClass.help(), eventClass.help(), bufferClass.help(), kernelClass.help(), graphClass.help(), modelClass.help(), taskClass.help(), channelClass.help(), workerClass.help(), faultClass.help()}
	for _, m := range modules {
		list = append(list, m.help())
		for _, help := range m.classes {
			list = append(list, help())
		}
	}
	return list
}

func moduleHelp() classHelp {
	h := classHelp{name: "npu", module: true, text: "The module: a global, and what `require \"npu\"` returns. Times are seconds, sizes are bytes unless the name says count, indices count from 1, devices from 0."}
	for _, f := range moduleFunctions {
		h.methods = append(h.methods, entry{f.name, f.doc, f.options})
	}
	for _, f := range moduleFields {
		h.fields = append(h.fields, entry{f.name, f.doc, nil})
	}
	return h
}

// isPart reports whether name is a table of functions inside npu.
func isPart(name string) bool { return name == opsName || name == simName }

func (h classHelp) signature(e entry) string {
	sep := ":"
	if h.module {
		sep = "."
	}
	s := h.name + sep + e.name + e.doc.Args
	if e.doc.Returns != "" {
		s += " -> " + e.doc.Returns
	}
	return s
}

// Reference is the manual of the API as Markdown: what luabind/API.md holds.
func Reference() string {
	var b strings.Builder
	b.WriteString("# Reference\n\nMade from the tables in package luabind by `make docs`; do not edit.\n\n" +
		"Errors are tables: `code` (number), `name`, `call` (the C function), `op`, `message`, `hint`, `where` (the line that issued the command), " +
		"`raised_at` and `raised_by` where a later call raised it, `affected` (lines of commands that ran after it), `also` (further errors, where several came at once), `cause` (what a function of the script raised), `injected` (true where a fault was asked for: see `npu.sim.fault`), `host` (true where it is the host that has no room, which says nothing of a device), `report` (a list of lines: the streams that have work left, of a wait that timed out; who waits for what, of a deadlock). `tostring(err)` is one readable paragraph.\n")
	for _, h := range helpClasses() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", h.name, h.text)
		if len(h.fields) > 0 {
			b.WriteString("\n| field | meaning |\n| --- | --- |\n")
			for _, f := range h.fields {
				fmt.Fprintf(&b, "| `%s` | %s |\n", f.name, f.doc.Text)
			}
		}
		for _, m := range h.methods {
			fmt.Fprintf(&b, "\n### %s\n\n%s\n", m.name, m.markdown(h))
		}
	}
	b.WriteString("\n## Built-in kernels\n\n| kernel | parameters | types | what it computes |\n| --- | --- | --- | --- |\n")
	for _, k := range npu.Kernels() {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", k.Name, k.Signature, strings.Join(k.TypeNames(), ", "), k.Doc)
	}
	return b.String()
}

func (e entry) markdown(h classHelp) string {
	var b strings.Builder
	fmt.Fprintf(&b, "    %s\n\n%s\n", h.signature(e), e.doc.Text)
	if len(e.options) > 0 {
		b.WriteString("\n| option | meaning |\n| --- | --- |\n")
		for _, o := range e.options {
			fmt.Fprintf(&b, "| `%s` | %s |\n", o.name, o.text)
		}
	}
	if e.doc.Errors != "" {
		fmt.Fprintf(&b, "\nErrors: %s.\n", e.doc.Errors)
	}
	if e.doc.Example != "" {
		fmt.Fprintf(&b, "\n    %s\n", strings.ReplaceAll(e.doc.Example, "\n", "\n    "))
	}
	return strings.TrimRight(b.String(), "\n")
}

// Help is the text of a topic: "npu", "stream", "launch", "stream:launch", "kernels", a kernel's name or an
// error code; "" lists the topics. ok is false for an unknown topic, and the text suggests one.
func Help(topic string) (text string, ok bool) {
	classes := helpClasses()
	if topic == "" {
		return topicList(classes), true
	}
	var found []string
	if topic == kernelsTopic {
		found = append(found, kernelList())
	}
	for _, h := range classes {
		if h.name == topic {
			if !h.required {
				return h.summary(), true
			}
			found = append(found, h.summary())
		}
		for _, m := range append(h.methods, h.fields...) {
			if m.name == topic || h.name+":"+m.name == topic || h.name+"."+m.name == topic {
				found = append(found, m.plain(h))
			}
		}
	}
	for _, t := range commandTopics {
		if t.name == topic {
			found = append(found, t.text)
		}
	}
	for _, k := range npu.Kernels() {
		if k.Name == topic {
			found = append(found, kernelText(k))
		}
	}
	for _, c := range npu.Codes() {
		if fmt.Sprint(int(c)) == topic || c.Name() == topic {
			found = append(found, fmt.Sprintf("%d %s\n  %s\n  %s", int(c), c.Name(), c.Meaning(), c.Hint()))
		}
	}
	if len(found) == 0 {
		return fmt.Sprintf("no help on %q%s", topic, suggestTopic(topic)), false
	}
	return strings.Join(found, "\n\n"), true
}

// commandTopics are words of the command line that help is asked for.
var commandTopics = []struct{ name, text string }{
	{"serve", "npulua [options] serve SCRIPT [--listen ADDRESS] [--every TIME] [--timeout TIME] [--drain TIME] [-- args of the script]\n" +
		"  Runs a script on a schedule, each time in a process of its own, and tells over HTTP how it went: metrics for Prometheus, a status page, JSON.\n" +
		"  'npulua serve --help' explains the options; docs/operations.md has the metrics, alerts, and units of systemd and Kubernetes."},
}

// suggestTopic is npu.Suggest among the topics; for a name with its class, among those of the class.
func suggestTopic(topic string) string {
	at := strings.LastIndexAny(topic, ".:")
	if at < 0 {
		return npu.Suggest(topic, slices.DeleteFunc(Topics(), func(t string) bool { return strings.ContainsAny(t, ".:") }))
	}
	for _, h := range helpClasses() {
		if h.name != topic[:at] {
			continue
		}
		var names, qualified []string
		for _, m := range append(h.methods, h.fields...) {
			names = append(names, m.name)
			qualified = append(qualified, h.qualified(m.name))
		}
		if npu.Suggest(topic[at+1:], names) != "" { // the class makes all of them alike
			return npu.Suggest(topic, qualified)
		}
	}
	return ""
}

// topicList is the topics without those that others list.
func topicList(classes []classHelp) string {
	var names, required []string
	for _, h := range classes {
		if h.required {
			required = append(required, h.name)
		} else {
			names = append(names, h.name)
		}
	}
	return "  " + strings.Join(names, " ") + "\n" +
		"  modules for require: " + strings.Join(required, " ") + "\n" +
		"  " + kernelsTopic + ": " + strings.Join(kernelNames(), " ") + "\n" +
		"Functions are topics, too: \"stream\" lists those of streams, \"launch\" or \"stream:launch\" is one. So are error codes, by number or name."
}

func (h classHelp) summary() string {
	var b strings.Builder
	b.WriteString(h.name + "\n  " + strings.ReplaceAll(h.text, "`", "") + "\n")
	for _, m := range h.methods {
		b.WriteString("\n  " + h.signature(m))
	}
	for _, f := range h.fields {
		fmt.Fprintf(&b, "\n  %s.%s", h.name, f.name)
	}
	return b.String()
}

// exampleText is the end of a help text, which people copy lines from: Wrap leaves them as they are.
func exampleText(example string) string {
	switch {
	case example == "":
		return ""
	case strings.Contains(example, "\n"):
		return "\n" + exampleHead + "\n    " + strings.ReplaceAll(example, "\n", "\n    ")
	}
	return "\n" + exampleHead + " " + example
}

const exampleHead = "  Example:"

func (e entry) plain(h classHelp) string {
	text := h.signature(e)
	if e.doc.Args == "" {
		text = h.name + "." + e.name
	}
	text += "\n  " + e.doc.Text
	for _, o := range e.options {
		text += fmt.Sprintf("\n    %s: %s", o.name, o.text)
	}
	if e.doc.Errors != "" {
		text += "\n  Errors: " + e.doc.Errors
	}
	text += exampleText(e.doc.Example)
	return strings.ReplaceAll(text, "`", "")
}

// Topics are what Help knows, but for the error codes.
func Topics() []string {
	names := []string{kernelsTopic}
	for _, h := range helpClasses() {
		names = append(names, h.name)
		for _, m := range append(h.methods, h.fields...) {
			names = append(names, m.name, h.qualified(m.name))
		}
	}
	for _, t := range commandTopics {
		names = append(names, t.name)
	}
	names = append(names, kernelNames()...)
	slices.Sort(names)
	return slices.Compact(names)
}

// qualified is a name of the class with the class: "npu.host", "stream:launch".
func (h classHelp) qualified(name string) string {
	sep := ":"
	if h.module || slices.ContainsFunc(h.fields, func(f entry) bool { return f.name == name }) {
		sep = "."
	}
	return h.name + sep + name
}
