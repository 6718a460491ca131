// Package visible reads the variable that says which devices a process sees, and how they are numbered.
package visible

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Variable is the name of the variable.
const Variable = "ASCEND_RT_VISIBLE_DEVICES"

// Unknown is the number of devices of a system where nobody tells it.
const Unknown = -1

// Devices is what the variable says.
type Devices struct {
	Set      bool
	Value    string
	IDs      []int // logical ids as far as they were read, by user id
	Problems []Problem
}

// Problem is one that the runtime does not tell by itself.
type Problem struct {
	Fatal  bool   // no device can be used
	Text   string // begins with the variable
	Remedy string
}

// FromEnvironment reads the variable of this process. count is the number of devices of the system, or Unknown.
func FromEnvironment(count int) Devices {
	value, set := os.LookupEnv(Variable)
	if !set {
		return Devices{}
	}
	return Parse(value, count)
}

// Parse reads a value as the runtime does: ids in ascending order with commas, without blanks. What comes after the first
// character or id that is not valid is ignored, and where nothing is left no device is visible.
func Parse(value string, count int) Devices {
	v := Devices{Set: true, Value: value}
	if value == "" {
		v.add(false, " is set and empty, which hides every device", "unset "+Variable)
		return v
	}
	export := "export " + Variable + "=" + tidy(value, count)
	fields := strings.Split(value, ",")
	for i, f := range fields {
		number, rest := leadingDigits(f)
		id, err := strconv.Atoi(number)
		known := err == nil && (count == Unknown || id < count)
		if known {
			v.IDs = append(v.IDs, id)
		}
		switch {
		case rest == "" && known:
			continue
		case rest == "" && number != "":
			v.add(false, fmt.Sprintf("=%q: there is no device %s, and the runtime ignores it%s", value, number, andAfter(len(fields)-i-1)), export)
		case f == "" && i > 0 && i == len(fields)-1:
			v.add(false, fmt.Sprintf("=%q ends with a comma", value), export)
		case strings.TrimSpace(f) != f:
			v.add(false, fmt.Sprintf("=%q: the runtime stops reading at %q, which has a blank", value, f), export)
		default:
			v.add(false, fmt.Sprintf("=%q: the runtime stops reading at %q", value, f), export)
		}
		break
	}
	for i := 1; i < len(v.IDs); i++ {
		if v.IDs[i] <= v.IDs[i-1] {
			what := "is not in ascending order"
			if slices.Contains(v.IDs[:i], v.IDs[i]) {
				what = fmt.Sprintf("names device %d twice", v.IDs[i])
			}
			v.add(true, fmt.Sprintf("=%q %s: the first use of a device fails with EE2002", value, what), export)
			break
		}
	}
	return v
}

func (v *Devices) add(fatal bool, text, remedy string) {
	v.Problems = append(v.Problems, Problem{fatal, Variable + text, remedy})
}

func andAfter(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and the %d after it", n)
}

// Fatal is the text of the problem that lets no device be used, "" where there is none.
func (v Devices) Fatal() string {
	for _, p := range v.Problems {
		if p.Fatal {
			return p.Text
		}
	}
	return ""
}

// Visible are the logical ids of the devices that a process sees, of count, by user id.
func (v Devices) Visible(count int) []int {
	var ids []int
	switch {
	case !v.Set:
		for id := range count {
			ids = append(ids, id)
		}
	case v.Fatal() == "":
		ids = v.IDs
	}
	return ids
}

// Logical is the logical id of a device, by its user id; user itself where the variable does not tell.
func (v Devices) Logical(user int) int {
	if user < len(v.IDs) {
		return v.IDs[user]
	}
	return user
}

// Warnings are the problems, a line each, with what to do.
func (v Devices) Warnings() string {
	var lines []string
	for _, p := range v.Problems {
		lines = append(lines, p.Text+" ("+p.Remedy+")")
	}
	return strings.Join(lines, "\n")
}

// leadingDigits cuts text after the digits that it begins with.
func leadingDigits(text string) (digits, rest string) {
	rest = strings.TrimLeft(text, "0123456789")
	return text[:len(text)-len(rest)], rest
}

// tidy is the value that was probably meant.
func tidy(value string, count int) string {
	var ids []int
	for _, f := range strings.Split(value, ",") {
		number, _ := leadingDigits(strings.TrimLeft(strings.TrimSpace(f), "+"))
		if id, err := strconv.Atoi(number); err == nil && (count == Unknown || id < count) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	var words []string
	for _, id := range slices.Compact(ids) {
		words = append(words, strconv.Itoa(id))
	}
	if len(words) == 0 {
		return "0"
	}
	return strings.Join(words, ",")
}
