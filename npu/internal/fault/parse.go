package fault

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"npulua/npu/internal/spell"
)

// ParseSpec reads "op=copy,device=0,nth=3,code=507054" or "device=1,lost": fields, and the name of a kind by itself.
func ParseSpec(spec string) (Rule, error) {
	var given []Field
	for part := range strings.SplitSeq(spec, ",") {
		part = strings.TrimSpace(part)
		name, text, isField := strings.Cut(part, "=")
		switch {
		case isField:
			given = append(given, Field{Name: strings.TrimSpace(name), Text: strings.TrimSpace(text)})
		case slices.Contains(Kinds(), part):
			given = append(given, Field{Name: "kind", Text: part})
		case part == "":
			return Rule{}, fmt.Errorf("want fields with commas between, as in %q", "op=copy,nth=3,code=507054")
		default:
			return Rule{}, notAPart(part)
		}
	}
	return FromFields(given)
}

// notAPart is the error for what is neither a field nor a kind.
func notAPart(part string) error {
	for _, f := range fields {
		if f.name == part {
			return fmt.Errorf("%s needs a value, as in %s=VALUE", part, part)
		}
	}
	if near := spell.Suggest(part, Kinds()); near != "" {
		return fmt.Errorf("there is no kind %q%s", part, near)
	}
	return fmt.Errorf("%q is no field, and no kind: kinds are %s", part, strings.Join(Kinds(), ", "))
}

// Scenario is a list of rules with a name.
type Scenario struct {
	Name  string
	Text  string // what it rehearses, for people
	Rules []Rule
}

// maxScenario bounds a scenario file, in bytes.
const maxScenario = 1 << 20

// ParseScenario reads {"name": "...", "text": "...", "faults": [{"op": "copy", "nth": 3, "code": 507054}]}. The text
// may be left out.
func ParseScenario(data []byte) (Scenario, error) {
	var s Scenario
	if len(data) > maxScenario {
		return s, fmt.Errorf("a scenario has at most %d B, this one has %d", maxScenario, len(data))
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	named := false
	err := object(d, "a scenario", func(key string) error {
		switch key {
		case "name":
			named = true
			return text(d, key, &s.Name)
		case "text":
			return text(d, key, &s.Text)
		case "faults":
			return s.rules(d)
		}
		return fmt.Errorf("unknown field %q%s", key, spell.Suggest(key, []string{"name", "text", "faults"}))
	})
	if err != nil {
		return s, err
	}
	if _, err := d.Token(); err != io.EOF {
		return s, errors.New("there is more after the scenario")
	}
	if !named || s.Name == "" {
		return s, errors.New("name is missing")
	}
	if s.Rules == nil {
		return s, errors.New("faults is missing: a list, which may be empty")
	}
	return s, nil
}

// rules reads the list of faults.
func (s *Scenario) rules(d *json.Decoder) error {
	if t, err := d.Token(); err != nil {
		return syntax(d, err)
	} else if t != json.Delim('[') {
		return errors.New("faults must be a list")
	}
	s.Rules = []Rule{}
	for d.More() {
		i := len(s.Rules) + 1
		var given []Field
		err := object(d, "a fault", func(key string) error {
			f, err := value(d, key)
			given = append(given, f)
			return err
		})
		if err == nil {
			var r Rule
			if r, err = FromFields(given); err == nil {
				s.Rules = append(s.Rules, r)
				continue
			}
		}
		return fmt.Errorf("fault %d: %w", i, err)
	}
	_, err := d.Token()
	return syntax(d, err)
}

// object reads an object, whose fields each reads by its key.
func object(d *json.Decoder, what string, each func(key string) error) error {
	t, err := d.Token()
	if err != nil {
		return syntax(d, err)
	}
	if t != json.Delim('{') {
		return fmt.Errorf("%s must be an object", what)
	}
	seen := make(map[string]bool)
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return syntax(d, err)
		}
		key := t.(string) // the decoder takes nothing else
		if seen[key] {
			return fmt.Errorf("%s is given twice", key)
		}
		seen[key] = true
		if err := each(key); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return syntax(d, err)
}

// value reads the value of a field of a rule.
func value(d *json.Decoder, key string) (Field, error) {
	t, err := d.Token()
	if err != nil {
		return Field{}, syntax(d, err)
	}
	f := Field{Name: key}
	switch x := t.(type) {
	case string:
		f.Text, f.Form = x, Word
	case json.Number:
		f.Text, f.Form = x.String(), Number
	case json.Delim:
		return f, fmt.Errorf("%s must be a number or a string", key)
	default:
		f.Text, f.Form = fmt.Sprint(x), Other
		if x == nil {
			f.Text = "null"
		}
	}
	return f, nil
}

func text(d *json.Decoder, key string, to *string) error {
	t, err := d.Token()
	if err != nil {
		return syntax(d, err)
	}
	s, ok := t.(string)
	if !ok {
		return fmt.Errorf("%s must be a string", key)
	}
	*to = s
	return nil
}

// syntax says where text is no JSON.
func syntax(d *json.Decoder, err error) error {
	switch {
	case err == nil:
		return nil
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the text ends too early")
	}
	return fmt.Errorf("not JSON near byte %d: %v", d.InputOffset(), err)
}
