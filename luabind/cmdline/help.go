package cmdline

import (
	"fmt"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Widths of the help, in columns of a terminal.
const (
	helpColumns = 80
	leftColumns = 28 // a longer left side has its text below
	usageLimit  = 110
)

// widths counts columns whatever the locale is.
var widths = &runewidth.Condition{StrictEmojiNeutral: true}

// placeholder stands for an argument: NAME.
func (o *Option) placeholder() string { return strings.ToUpper(o.Name) }

// left is the declaration without brackets: "--device LIST", "NAME".
func (o *Option) left() string {
	switch {
	case o.Kind != Flag && o.Value == "":
		return o.placeholder()
	case o.Kind == Flag:
		return "--" + o.Name
	}
	return "--" + o.Name + " " + o.Value
}

// usage is the declaration in the line of usage.
func (o *Option) usage() string {
	text := o.left()
	if o.Many && o.Value == "" && o.Kind != Flag {
		text += "..."
	}
	if !o.Required {
		text = "[" + text + "]"
	}
	if o.Many && (o.Value != "" || o.Kind == Flag) {
		text += "..."
	}
	return text
}

// Usage is one line, which has the options where there are few of them.
func (s *Spec) Usage() string {
	head, tail := "usage: "+s.Program, ""
	for _, o := range s.Positionals {
		tail += " " + o.usage()
	}
	line := head
	for _, o := range s.Options {
		line += " " + o.usage()
	}
	if widths.StringWidth(line+tail) <= usageLimit {
		return line + tail
	}
	return head + " [options]" + tail + "; --help lists the options"
}

// units explains kinds of values, once for all options.
var units = []struct {
	kind Kind
	text string
}{
	{Devices, "Devices are all, or numbers and ranges such as 0,2-3."},
	{Seconds, "Times are seconds, or have units, w d h m s ms us ns: 90, 1m30s, 500ms."},
	{Bytes, "Sizes are bytes, or have units: K, M, G, T (KiB, ...) count by 1024, KB, MB, GB, TB by 1000."},
}

// Help is the text of --help, with an end of line.
func (s *Spec) Help() string {
	var b strings.Builder
	if s.Summary != "" {
		b.WriteString(wrap(s.Name+": "+s.Summary, "", "") + "\n\n")
	}
	b.WriteString(s.wrappedUsage() + "\n")
	for paragraph := range strings.SplitSeq(strings.Trim(s.Text, "\n"), "\n\n") {
		if strings.TrimSpace(paragraph) != "" {
			b.WriteString("\n" + wrapParagraph(paragraph) + "\n")
		}
	}
	if len(s.Positionals) > 0 {
		b.WriteString("\nArguments:\n")
		writeRows(&b, s.Positionals, func(o *Option) string { return "  " + o.left() })
	}
	b.WriteString("\nOptions:\n")
	help := &Option{Name: "help", Short: "h", Help: "show this text"}
	writeRows(&b, append(s.Options[:len(s.Options):len(s.Options)], help), func(o *Option) string {
		if o.Short != "" {
			return "  -" + o.Short + ", " + o.left()
		}
		return "      " + o.left()
	})
	var notes []string
	for _, u := range units {
		if s.has(u.kind) {
			notes = append(notes, u.text)
		}
	}
	if notes != nil {
		b.WriteString("\n" + wrap(strings.Join(notes, " "), "", "") + "\n")
	}
	return b.String()
}

func (s *Spec) has(k Kind) bool {
	for _, list := range [][]*Option{s.Options, s.Positionals} {
		for _, o := range list {
			if o.Kind == k {
				return true
			}
		}
	}
	return false
}

// wrappedUsage has every option, on as many lines as that takes; what is in brackets stays together.
func (s *Spec) wrappedUsage() string {
	const blank = "\u00a0" // wrap does not break there
	text := "usage: " + s.Program
	indent := strings.Repeat(" ", min(len(text)+1, leftColumns))
	for _, list := range [][]*Option{s.Options, s.Positionals} {
		for _, o := range list {
			text += " " + strings.ReplaceAll(o.usage(), " ", blank)
		}
	}
	return strings.ReplaceAll(wrap(text, "", indent), blank, " ")
}

func writeRows(b *strings.Builder, list []*Option, left func(*Option) string) {
	column := 0
	for _, o := range list {
		if w := widths.StringWidth(left(o)) + 2; w <= leftColumns {
			column = max(column, w)
		}
	}
	for _, o := range list {
		l := left(o)
		if w := widths.StringWidth(l); w+2 <= column {
			l += strings.Repeat(" ", column-w)
		} else {
			b.WriteString(l + "\n")
			l = strings.Repeat(" ", column)
		}
		b.WriteString(strings.TrimRight(wrap(o.Help+o.notes(), l, strings.Repeat(" ", column)), " ") + "\n")
	}
}

// notes are what the declaration says beside its text.
func (o *Option) notes() string {
	var list []string
	add := func(format, text string) {
		if text != "" {
			list = append(list, fmt.Sprintf(format, text))
		}
	}
	add("%s", orList(o.Choices))
	add("%s", o.bounds())
	if o.Many {
		list = append(list, "may be repeated")
	}
	add("default: %s", strings.Join(o.Default, ", "))
	if list == nil {
		return ""
	}
	return " (" + strings.Join(list, "; ") + ")"
}

// wrapParagraph leaves lines that begin with a blank as they are: tables and examples.
func wrapParagraph(text string) string {
	var out, flow []string
	flush := func() {
		if flow != nil {
			out, flow = append(out, wrap(strings.Join(flow, " "), "", "")), nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
			flush()
			out = append(out, strings.TrimRight(line, " \t"))
		} else {
			flow = append(flow, line)
		}
	}
	flush()
	return strings.Join(out, "\n")
}

// wrap breaks text between words; the first line begins with first, the others with indent.
func wrap(text, first, indent string) string {
	var b strings.Builder
	b.WriteString(first)
	at, fresh := widths.StringWidth(first), true
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' }) {
		w := widths.StringWidth(word)
		switch {
		case fresh:
		case at+1+w > helpColumns:
			b.WriteString("\n" + indent)
			at = widths.StringWidth(indent)
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at, fresh = at+w, false
	}
	return b.String()
}
