package doctor

import (
	"fmt"
	"slices"
	"strings"

	"npulua/npu"
)

// library notes what the vendor's library told of itself.
func (x *examination) library(l npu.Library) {
	out := &Library{Path: l.Path, Places: []Place{}, Files: append([]string{}, l.Files...), Versions: []Version{}, Symbols: []Symbol{}}
	x.report.Library = out
	x.within("library", func() {
		for _, a := range l.Attempts {
			out.Places = append(out.Places, Place(a))
			if a.Problem != "" {
				x.note(a.String())
			}
		}
		switch {
		case l.Path != "":
			x.ok("loaded: " + l.Path)
		default:
			x.find(Fail, "none of these could be loaded", "see Backend")
		}
		var words []string
		for _, v := range l.Versions {
			out.Versions = append(out.Versions, Version{v.Part, v.Text})
		}
		if l.Path != "" {
			x.installed(out)
		}
		for _, v := range out.Versions {
			words = append(words, v.Part+" "+v.Version)
		}
		if len(words) > 0 {
			x.ok("versions: " + strings.Join(words, ", "))
		}
		for _, f := range l.Files {
			if f != l.Path {
				x.note("with it: " + f)
			}
		}
	})
	x.within("symbols", func() { x.symbols(l.Symbols) })
}

// symbols counts the functions by the release in which they came.
func (x *examination) symbols(symbols []npu.LibrarySymbol) {
	var releases []string
	all, absent := map[string]int{}, map[string][]string{}
	for _, s := range symbols {
		x.report.Library.Symbols = append(x.report.Library.Symbols, Symbol(s))
		if all[s.Since]++; all[s.Since] == 1 {
			releases = append(releases, s.Since)
		}
		if !s.Present {
			absent[s.Since] = append(absent[s.Since], s.Name)
		}
	}
	if x.report.Library.Path == "" {
		x.note("no library, no functions")
		return
	}
	slices.Sort(releases)
	for _, r := range releases {
		name := "of every release"
		if r != "" {
			name = "optional, from release " + r + " on"
		}
		text := fmt.Sprintf("%s: %d of %d", name, all[r]-len(absent[r]), all[r])
		switch {
		case len(absent[r]) == 0:
			x.ok(text)
		case r == "":
			x.find(Fail, text+"; without "+strings.Join(absent[r], ", "), "install CANN 7.0 or later, all parts of one release")
		default:
			x.note(text + "; without " + strings.Join(absent[r], ", "))
		}
	}
}
