package cmdline

import (
	"fmt"
	"slices"
	"strings"

	"npulua/npu"
)

// ErrHelp says that the words ask for the help.
var ErrHelp = fmt.Errorf("help is asked for")

// parser is one run over the words of a command line.
type parser struct {
	spec    *Spec
	devices int
	values  map[string]any
	given   map[*Option]bool
	rest    []string // words to come
	plain   []string // arguments without a name
}

// Parse reads the words by a spec that Check has passed. The values are by Key: bool, float64, string or []int; a []any
// of them with Many, the count of a flag as float64. What was not given and has no default is missing, but for flags and
// lists. devices is how many there are. The error is the user's; ErrHelp comes first, wherever in the words the user asks.
func (s *Spec) Parse(words []string, devices int) (map[string]any, error) {
	p := &parser{spec: s, devices: devices, values: make(map[string]any), given: make(map[*Option]bool), rest: words}
	var first error
	for len(p.rest) > 0 {
		word := p.rest[0]
		p.rest = p.rest[1:]
		var err error
		switch {
		case word == "--":
			p.plain = append(p.plain, p.rest...)
			p.rest = nil
		case word == "--help", word == "-h":
			return nil, ErrHelp
		case strings.HasPrefix(word, "--"):
			err = p.long(word)
		case isShort(word):
			err = p.short(word)
		default:
			p.plain = append(p.plain, word)
		}
		if err == ErrHelp {
			return nil, err
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = p.positionals()
	}
	if first == nil {
		first = p.complete()
	}
	if first != nil {
		return nil, first
	}
	return p.values, nil
}

// isShort tells options of one letter from numbers below zero and from "-".
func isShort(word string) bool {
	return len(word) > 1 && word[0] == '-' && word[1] != '-' && (word[1] < '0' || word[1] > '9') && word[1] != '.'
}

func (p *parser) long(word string) error {
	name, value, has := strings.Cut(word[2:], "=")
	i := slices.IndexFunc(p.spec.Options, func(o *Option) bool { return o.Name == name })
	if i < 0 {
		return fmt.Errorf("unknown option --%s%s", shortened(name), p.spec.suggest(name))
	}
	o := p.spec.Options[i]
	switch {
	case o.Kind != Flag:
		return p.option("--"+name, o, value, has)
	case has:
		return fmt.Errorf("--%s takes no value, got %q", name, shortened(value))
	}
	p.flag(o)
	return nil
}

// suggest is the option that was most likely meant.
func (s *Spec) suggest(name string) string {
	names := []string{"help"}
	for _, o := range s.Options {
		names = append(names, o.Name)
	}
	before, quoted, ok := strings.Cut(npu.Suggest(name, names), `"`)
	if !ok {
		return ""
	}
	return before + "--" + strings.Replace(quoted, `"`, "", 1)
}

// short reads "-v", "-vq" for two flags, "-n5", "-n=5" and "-n 5".
func (p *parser) short(word string) error {
	for at := 1; at < len(word); at++ {
		letter := word[at : at+1]
		if letter == "h" {
			return ErrHelp
		}
		i := slices.IndexFunc(p.spec.Options, func(o *Option) bool { return o.Short == letter })
		if i < 0 {
			if at == 1 {
				return fmt.Errorf("unknown option %s%s", shortened(word), p.spec.suggest(strings.Trim(word, "-")))
			}
			return fmt.Errorf("unknown option %q in %s", letter, shortened(word))
		}
		o := p.spec.Options[i]
		if o.Kind != Flag {
			value := word[at+1:]
			return p.option("-"+letter, o, strings.TrimPrefix(value, "="), value != "")
		}
		p.flag(o)
	}
	return nil
}

func (p *parser) flag(o *Option) {
	p.given[o] = true
	if o.Many {
		n, _ := p.values[o.Key()].(float64)
		p.values[o.Key()] = n + 1
		return
	}
	p.values[o.Key()] = true
}

// option takes a value, the next word where none is attached. name is as the user wrote it.
func (p *parser) option(name string, o *Option, value string, has bool) error {
	if !has {
		if len(p.rest) == 0 {
			return fmt.Errorf("%s wants a value, %s %s", name, name, o.Value)
		}
		value = p.rest[0]
		if strings.HasPrefix(value, "--") || isShort(value) {
			return fmt.Errorf("%s wants a value, %s %s, got the option %s", name, name, o.Value, shortened(value))
		}
		p.rest = p.rest[1:]
	}
	if p.given[o] && !o.Many {
		return fmt.Errorf("%s is given twice", name)
	}
	p.given[o] = true
	v, err := o.value(value, p.devices)
	if err != nil {
		return fmt.Errorf("%s %w", name, err)
	}
	p.put(o, v)
	return nil
}

func (p *parser) put(o *Option, v any) {
	if o.Many {
		list, _ := p.values[o.Key()].([]any)
		v = append(list, v)
	}
	p.values[o.Key()] = v
}

func (p *parser) positionals() error {
	words := p.plain
	for _, o := range p.spec.Positionals {
		for len(words) > 0 && (o.Many || !p.given[o]) {
			v, err := o.value(words[0], p.devices)
			if err != nil {
				return fmt.Errorf("%s %w", o.placeholder(), err)
			}
			words, p.given[o] = words[1:], true
			p.put(o, v)
		}
	}
	if len(words) > 0 {
		return fmt.Errorf("unexpected argument %q", shortened(words[0]))
	}
	return nil
}

// complete has values for what was not given.
func (p *parser) complete() error {
	for _, o := range slices.Concat(p.spec.Options, p.spec.Positionals) {
		switch _, there := p.values[o.Key()]; {
		case there:
			continue
		case o.Required:
			return fmt.Errorf("%s is missing", o.left())
		case o.Kind == Flag && o.Many:
			p.values[o.Key()] = 0.0
		case o.Kind == Flag:
			p.values[o.Key()] = false
		case o.Many:
			p.values[o.Key()] = []any{}
		}
		for _, text := range o.Default {
			v, err := o.value(text, p.devices)
			if err != nil {
				return err // New has tried it
			}
			p.put(o, v)
		}
	}
	return nil
}
