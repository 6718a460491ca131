package fault

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"npulua/npu/internal/driver"
	"npulua/npu/internal/spell"
)

// Field is one field of a rule, as whoever writes rules gives it.
type Field struct {
	Name, Text string
	Form       Form
}

// Form is how the value of a Field was written.
type Form uint8

// The forms.
const (
	Plain  Form = iota // without quotes: a number or a word
	Number             // in a language that has numbers
	Word               // a string of such a language
	Other              // anything else; Text says what
)

// field is one row: a field of rules.
type field struct {
	name string
	of   []Kind // kinds that have it; nil: all
	not  Kind   // the one that does not
	// implies is the kind of a rule that has the field and names none.
	implies Kind
	text    string
	set     func(r *Rule, f Field) error
	get     func(r *Rule) string // its value in a spec, "" where it is understood; nil: it has no place of its own
}

func (f *field) isOf(k Kind) bool {
	return k != f.not && (f.of == nil || slices.Contains(f.of, k))
}

// fields is every field, in the order in which String writes them.
var fields = []field{
	{"kind", nil, kindNone, kindNone, "what goes wrong; understood where a field below tells", setKind, nil},
	{"code", []Kind{Failure}, kindNone, Failure, "return code that it fails with, as a number or by its name", setCode, func(r *Rule) string { return strconv.Itoa(int(r.Code)) }},
	{"op", nil, kindNone, kindNone, "operation; `any` where none is given, for `slow` and `wrong` copies, for `oom` `alloc`", setOp, func(r *Rule) string {
		if r.Op == r.Kind.row().op {
			return ""
		}
		return r.Op.String()
	}},
	{"device", nil, kindNone, kindNone, "number of the device; left out every one", setDevice, func(r *Rule) string {
		if r.Device < 0 {
			return ""
		}
		return strconv.Itoa(r.Device)
	}},
	{"nth", nil, kindNone, kindNone, "the first matching operation that goes wrong, from 1; 1", whole("nth", 1, func(r *Rule) *int64 { return &r.Nth }), unless(func(r *Rule) int64 { return r.Nth }, 1)},
	{"count", nil, Lost, kindNone, "how many go wrong in a row; `always` (or 0) for ever. 1; for `delay`, `slow`, `oom` and `leak` always", setCount, func(r *Rule) string {
		switch r.Count {
		case r.Kind.row().count:
			return ""
		case 0:
			return "always"
		}
		return strconv.FormatInt(r.Count, 10)
	}},
	{"seconds", []Kind{Delay}, kindNone, Delay, "how much longer it takes, above 0", setSeconds, func(r *Rule) string { return strconv.FormatFloat(r.Delay.Seconds(), 'g', -1, 64) }},
	{"factor", []Kind{Slow}, kindNone, Slow, "share of the bandwidth that is left, above 0 and below 1", setFactor, func(r *Rule) string { return strconv.FormatFloat(r.Factor, 'g', -1, 64) }},
	{"direction", []Kind{Slow}, kindNone, Slow, "`h2d`, `d2h`, `d2d` (inside a device) or `p2p` (between two); left out all", setDirection, func(r *Rule) string { return r.Direction }},
	{"bytes", []Kind{Wrong}, kindNone, Wrong, "how many bytes are wrong, evenly spread; 1", whole("bytes", 1, func(r *Rule) *int64 { return &r.Bytes }), unless(func(r *Rule) int64 { return r.Bytes }, 1)},
	{"size", []Kind{OutOfMemory}, kindNone, OutOfMemory, "allocations of that many bytes or more", whole("size", 1, func(r *Rule) *int64 { return &r.Size }), unless(func(r *Rule) int64 { return r.Size }, 1)},
	{"in_use", []Kind{OutOfMemory}, kindNone, OutOfMemory, "allocations that would bring the device above that many bytes in use", whole("in_use", 1, func(r *Rule) *int64 { return &r.InUse }), unless(func(r *Rule) int64 { return r.InUse }, 0)},
	{"errors", []Kind{ECC}, kindNone, ECC, "`multi` for an error that cannot be corrected, `single` for one that is; multi", setErrors, func(r *Rule) string {
		if r.Single {
			return "single"
		}
		return ""
	}},
}

// maxWhole bounds whole numbers: Lua has them exactly up to there.
const maxWhole = 1 << 53

// whole reads a whole number that is least or more.
func whole(name string, least int64, at func(*Rule) *int64) func(*Rule, Field) error {
	return func(r *Rule, f Field) error {
		n, ok := f.whole()
		if !ok || n < least || n > maxWhole {
			return f.wants(fmt.Sprintf("a whole number from %d on", least))
		}
		*at(r) = n
		return nil
	}
}

func unless(get func(*Rule) int64, understood int64) func(*Rule) string {
	return func(r *Rule) string {
		if n := get(r); n != understood {
			return strconv.FormatInt(n, 10)
		}
		return ""
	}
}

// wants is the error for a value that cannot be meant.
func (f Field) wants(what string) error {
	got := f.Text
	if f.Form == Plain || f.Form == Word {
		got = strconv.Quote(f.Text)
	}
	return fmt.Errorf("%s must be %s, got %s", f.Name, what, got)
}

// whole is the value as a whole number.
func (f Field) whole() (int64, bool) {
	x, ok := f.number()
	if !ok || x != math.Trunc(x) || math.Abs(x) > maxWhole {
		return 0, false
	}
	return int64(x), true
}

func (f Field) number() (float64, bool) {
	if f.Form != Plain && f.Form != Number || strings.ContainsAny(f.Text, "_xXpPnN") { // no hexadecimal, no inf, no nan
		return 0, false
	}
	x, err := strconv.ParseFloat(f.Text, 64)
	return x, err == nil
}

// word is the value as one of some words.
func (f Field) word(words []string) (int, error) {
	if f.Form == Plain || f.Form == Word {
		if i := slices.Index(words, f.Text); i >= 0 {
			return i, nil
		}
		if near := spell.Suggest(f.Text, words); near != "" {
			return 0, fmt.Errorf("there is no %s %q%s", f.Name, f.Text, near)
		}
	}
	return 0, f.wants(strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1])
}

func setKind(r *Rule, f Field) error {
	i, err := f.word(Kinds())
	if err == nil {
		r.Kind = kindRows[i].kind
	}
	return err
}

func setOp(r *Rule, f Field) error {
	i, err := f.word(Ops())
	if err == nil {
		r.Op = Op(i)
	}
	return err
}

func setCode(r *Rule, f Field) error {
	if n, ok := f.whole(); ok && n > 0 && n <= math.MaxInt32 {
		r.Code = driver.Code(n)
		return nil
	}
	if f.Form == Plain || f.Form == Word {
		var names []string
		for _, c := range driver.Codes() {
			if c.Name() == f.Text && c > 0 {
				r.Code = c
				return nil
			}
			names = append(names, c.Name())
		}
		if near := spell.Suggest(f.Text, names); near != "" {
			return fmt.Errorf("there is no code %q%s", f.Text, near)
		}
	}
	return f.wants("a return code above 0, or the name of one")
}

func setDevice(r *Rule, f Field) error {
	n, ok := f.whole()
	if !ok || n < 0 || n > math.MaxInt32 {
		return f.wants("the number of a device, from 0 on")
	}
	r.Device = int(n)
	return nil
}

func setCount(r *Rule, f Field) error {
	if f.Text == "always" && f.Form != Other {
		r.Count = 0
		return nil
	}
	n, ok := f.whole()
	if !ok || n < 0 {
		return f.wants(`a whole number from 1 on, or always`)
	}
	r.Count = n
	return nil
}

func setSeconds(r *Rule, f Field) error {
	const most = 1e9
	x, ok := f.number()
	if !ok || x < 1e-9 || x > most {
		return f.wants("a number of seconds above 0, and at most 1e9")
	}
	r.Delay = time.Duration(math.Round(x * float64(time.Second)))
	return nil
}

func setFactor(r *Rule, f Field) error {
	const least = 1e-9
	x, ok := f.number()
	if !ok || x < least || x >= 1 {
		return f.wants("a share above 0 and below 1")
	}
	r.Factor = x
	return nil
}

var directions = []string{"h2d", "d2h", "d2d", "p2p"}

func setDirection(r *Rule, f Field) error {
	i, err := f.word(directions)
	if err == nil {
		r.Direction = directions[i]
	}
	return err
}

func setErrors(r *Rule, f Field) error {
	i, err := f.word([]string{"multi", "single"})
	r.Single = err == nil && i == 1
	return err
}

// Kinds are the names of the kinds.
func Kinds() []string {
	var names []string
	for _, k := range kindRows {
		names = append(names, k.name)
	}
	return names
}

// Ops are the names of the operations.
func Ops() []string {
	var names []string
	for _, o := range opRows {
		names = append(names, o.name)
	}
	return names
}

// Entry is a name with what it means, for help texts.
type Entry struct{ Name, Text string }

// Fields describes the fields of rules.
func Fields() []Entry {
	var list []Entry
	for _, f := range fields {
		list = append(list, Entry{f.name, f.text})
	}
	return list
}

// KindEntries describes the kinds.
func KindEntries() []Entry {
	var list []Entry
	for _, k := range kindRows {
		list = append(list, Entry{k.name, k.text})
	}
	return list
}

// OpEntries describes the operations.
func OpEntries() []Entry {
	var list []Entry
	for _, o := range opRows {
		list = append(list, Entry{o.name, o.text})
	}
	return list
}

// FromFields makes a rule of its fields, in any order.
func FromFields(given []Field) (Rule, error) {
	r := Rule{Device: -1, Nth: 1, Bytes: 1, Size: 1}
	seen := make(map[string]bool)
	rows := make([]*field, len(given))
	for i, f := range given {
		at := slices.IndexFunc(fields, func(x field) bool { return x.name == f.Name })
		if at < 0 {
			return r, unknownField(f.Name)
		}
		if seen[f.Name] {
			return r, fmt.Errorf("%s is given twice", f.Name)
		}
		seen[f.Name] = true
		rows[i] = &fields[at]
		if f.Name == "kind" {
			if err := rows[i].set(&r, f); err != nil {
				return r, err
			}
		}
	}
	if err := r.imply(rows); err != nil {
		return r, err
	}
	row := r.Kind.row()
	r.Op, r.Count = row.op, row.count
	for i, f := range given {
		if !rows[i].isOf(r.Kind) {
			return r, fmt.Errorf("%s does not go with kind %s%s", f.Name, r.Kind, rows[i].goesWith())
		}
		if err := rows[i].set(&r, f); err != nil {
			return r, err
		}
	}
	if r.Kind == Failure && r.Code == 0 {
		return r, errors.New("kind code needs code, the return code that it fails with")
	}
	if r.Kind == Delay && r.Delay == 0 {
		return r, errors.New("kind delay needs seconds, how much longer it takes")
	}
	if r.Kind == Slow && r.Factor == 0 {
		return r, errors.New("kind slow needs factor, the share of the bandwidth that is left")
	}
	if row.ops != nil && r.Op != OpAny && !slices.Contains(row.ops, r.Op) {
		return r, fmt.Errorf("kind %s does not go with op %s: it is for %s", r.Kind, r.Op, opNames(row.ops))
	}
	if r.InUse > 0 && r.Op != OpAlloc {
		return r, fmt.Errorf("in_use does not go with op %s: it counts device memory", r.Op)
	}
	return r, nil
}

func opNames(ops []Op) string {
	var names []string
	for _, o := range ops {
		names = append(names, o.String())
	}
	return strings.Join(names, ", ")
}

// goesWith says which kinds have the field.
func (f *field) goesWith() string {
	if f.of == nil {
		return ""
	}
	return ", but with " + f.of[0].String()
}

// imply finds the kind of a rule that names none.
func (r *Rule) imply(rows []*field) error {
	if r.Kind != kindNone {
		return nil
	}
	var by string
	for _, f := range rows {
		switch {
		case f.implies == kindNone || f.implies == r.Kind:
		case r.Kind != kindNone:
			return fmt.Errorf("%s and %s do not go together: one is of kind %s, the other of kind %s", by, f.name, r.Kind, f.implies)
		default:
			r.Kind, by = f.implies, f.name
		}
	}
	if r.Kind == kindNone {
		return fmt.Errorf("nothing goes wrong: give a code, or one of the kinds %s", strings.Join(Kinds()[1:], ", "))
	}
	return nil
}

func unknownField(name string) error {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	if near := spell.Suggest(name, names); near != "" {
		return fmt.Errorf("unknown field %q%s", name, near)
	}
	return fmt.Errorf("unknown field %q: want %s", name, strings.Join(names, ", "))
}
