// Package cmdline reads the command lines of scripts by declarations, and writes their help from the same.
package cmdline

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Kind is what a value is.
type Kind int

const (
	Flag    Kind = iota // it is given or not, and has no value
	Text                // any text
	Integer             // a whole number up to 2^53
	Number
	Seconds // "10", "1.5", "1m30s"; a value is a float64 of seconds
	Bytes   // "4096", "64K", "1.5GiB"; a value is a float64, whole and up to 2^53
	Devices // "all", "0,2-3"; a value is a []int
	File    // a file name
)

// kinds are the names that declarations have for them, and what messages ask for.
var kinds = []struct{ name, want string }{
	Flag:    {"flag", ""},
	Text:    {"string", "text"},
	Integer: {"integer", "a whole number"},
	Number:  {"number", "a number"},
	Seconds: {"seconds", "a time such as 10, 0.5 or 1m30s"},
	Bytes:   {"bytes", "a size such as 4096, 64K or 1GiB"},
	Devices: {"devices", "all, or device numbers such as 0,2-3"},
	File:    {"file", "a file name"},
}

// KindNames are the kinds that a value can have.
func KindNames() []string {
	var names []string
	for _, k := range kinds[Text:] {
		names = append(names, k.name)
	}
	return names
}

// KindNamed finds a kind of values by its name.
func KindNamed(name string) (Kind, bool) {
	k := slices.IndexFunc(kinds, func(k struct{ name, want string }) bool { return k.name == name })
	return Kind(k), k > int(Flag)
}

func (k Kind) numeric() bool { return k == Integer || k == Number || k == Seconds || k == Bytes }

// Option is one declaration: an option, or an argument without a name on the command line.
type Option struct {
	Name     string // "max-size"; of an argument what stands for it, in small letters
	Short    string // a letter; "": there is none
	Value    string // what stands for the value in the help; of options that have one
	Help     string
	Kind     Kind
	Min, Max *float64 // of numbers; nil: no bound
	Choices  []string // texts that the value may be; nil: any
	Default  []string // texts; several only with Many
	Many     bool     // it may be repeated: the value is a []any, of a flag the count
	Required bool
}

// Key is the name under which scripts find the value.
func (o *Option) Key() string { return strings.ReplaceAll(o.Name, "-", "_") }

// Spec declares a command line.
type Spec struct {
	Name        string // messages start with it
	Program     string // how the script is called: "npulua run health"
	Summary     string
	Text        string // paragraphs with empty lines between them
	Options     []*Option
	Positionals []*Option
}

var (
	namePattern  = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	shortPattern = regexp.MustCompile(`^[A-Za-z]$`)
)

// Check finds what the author of the declarations cannot have meant.
func (s *Spec) Check() error {
	seen := make(map[string]bool)
	for _, o := range s.Options {
		if err := o.check(seen, true); err != nil {
			return fmt.Errorf("option %q: %w", o.Name, err)
		}
	}
	for i, o := range s.Positionals {
		err := o.check(seen, false)
		switch {
		case err != nil:
		case o.Many && i+1 < len(s.Positionals):
			err = errors.New("only the last argument can be repeated")
		case o.Required && i > 0 && !s.Positionals[i-1].Required:
			err = fmt.Errorf("it must be given, while %q before it is optional", s.Positionals[i-1].Name)
		}
		if err != nil {
			return fmt.Errorf("argument %q: %w", o.Name, err)
		}
	}
	return nil
}

func (o *Option) check(seen map[string]bool, option bool) error {
	if !namePattern.MatchString(o.Name) || option && len(o.Name) < 2 {
		return errors.New("a name is small letters, digits and dashes between them, two or more; one letter is a short name: short = \"n\"")
	}
	for _, name := range []string{o.Name, o.Short} {
		switch {
		case name == "help" || name == "h" && option:
			return fmt.Errorf("%q is for the help, which is there anyway", name)
		case name != "" && seen[name]:
			return fmt.Errorf("%q is declared twice", name)
		}
		seen[name] = true
	}
	switch {
	case o.Short != "" && !option:
		return errors.New("an argument has no short name")
	case o.Short != "" && !shortPattern.MatchString(o.Short):
		return fmt.Errorf("a short name is one letter, got %q", o.Short)
	case o.Kind == Flag && (o.Min != nil || o.Max != nil || o.Choices != nil || o.Default != nil || o.Required):
		return errors.New("without a value there are no default, min, max, choices and required")
	case (o.Min != nil || o.Max != nil) && !o.Kind.numeric():
		return fmt.Errorf("min and max are for numbers, not for the type %s", kinds[o.Kind].name)
	case o.Min != nil && o.Max != nil && !(*o.Min <= *o.Max):
		return fmt.Errorf("min is %s, more than max, %s", o.Kind.format(*o.Min), o.Kind.format(*o.Max))
	case o.Choices != nil && (o.Kind == Devices || o.Kind == File):
		return fmt.Errorf("choices are not for the type %s", kinds[o.Kind].name)
	case o.Many && o.Kind == Devices:
		return errors.New("the type devices is a list already")
	case o.Required && o.Default != nil:
		return errors.New("what must be given needs no default")
	case len(o.Default) > 1 && !o.Many:
		return errors.New("several defaults go with many = true only")
	}
	return o.checkTexts()
}

// checkTexts reads choices and defaults as if they were given.
func (o *Option) checkTexts() error {
	free := *o
	free.Choices = nil
	var values []any
	for _, text := range o.Choices {
		v, err := free.value(text, 0)
		if err != nil {
			return fmt.Errorf("a choice: it %w", err)
		}
		if slices.Contains(values, v) {
			return fmt.Errorf("the choice %q occurs twice", text)
		}
		values = append(values, v)
	}
	for _, text := range o.Default {
		if _, err := o.value(text, 0); err != nil {
			return fmt.Errorf("the default: it %w", err)
		}
	}
	return nil
}
