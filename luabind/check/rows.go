package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// row is a line of the table: a test, or the same one on several devices of which the same is to say.
type row struct {
	first   *Test
	devices []int // in ascending order; nil: none
	reason  string
	longest *Test
}

// Rows are the tests as a table, with its heading. Results of a test on several devices are next to each other, and in one
// line, with the longest time, where they do not differ. What was not run is left to LeftOut, and the last column, too,
// where it would be empty. Brief tables leave out what passed. Reasons have at most that many characters.
func (r *Report) Rows(brief bool, reason int) [][]string {
	var order []string
	rows := make(map[string][]*row)
	for _, t := range r.Tests {
		if t.Result == NotRun || brief && t.Result == Pass && t.Reason() == "" {
			continue
		}
		name := t.Name
		if t.Group != "" {
			name = t.Group + ": " + name
		}
		if rows[name] == nil {
			order = append(order, name)
		}
		if x := fold(rows[name], t); x != nil {
			x.devices = append(x.devices, t.Device)
			if t.Took > x.longest.Took {
				x.longest = t
			}
			continue
		}
		rows[name] = append(rows[name], &row{first: t, devices: t.devices(), reason: t.Reason(), longest: t})
	}
	out, last := [][]string{{"Test", "Device", "Result", "Time", "What went wrong"}}, 4
	for _, name := range order {
		for _, x := range rows[name] {
			out = append(out, []string{x.shown(), deviceList(x.devices), x.first.Result.Label(), x.longest.took(), short(x.reason, reason)})
			if x.reason != "" {
				last = 5
			}
		}
	}
	for i := range out {
		out[i] = out[i][:last]
	}
	return out
}

// LeftOut says which tests were not run, by level, with a line end; "" where all were.
func (r *Report) LeftOut() string {
	byLevel := make(map[int][]string)
	for _, t := range r.Tests {
		if name := short(t.Name, maxName); t.Result == NotRun && !t.Prepares && !slices.Contains(byLevel[t.Level], name) {
			byLevel[t.Level] = append(byLevel[t.Level], name)
		}
	}
	var parts []string
	for _, level := range slices.Sorted(maps.Keys(byLevel)) {
		parts = append(parts, fmt.Sprintf("%s (level %d)", strings.Join(byLevel[level], ", "), level))
	}
	if parts == nil {
		return ""
	}
	return "not run: " + strings.Join(parts, "; ") + "\n"
}

// shown is the name as the table has it.
func (x *row) shown() string {
	name := short(x.first.Name, maxName)
	if x.first.Group != "" {
		name = short(x.first.Group, maxName) + ": " + name
	}
	return name
}

// fold finds the row that t can be added to: of the same result, for devices before its own.
func fold(rows []*row, t *Test) *row {
	if t.Device == NoDevice || t.Result == Fail || t.Result == Error {
		return nil
	}
	for _, x := range rows {
		if n := len(x.devices); n > 0 && x.devices[n-1] < t.Device && x.first.Result == t.Result && x.reason == t.Reason() {
			return x
		}
	}
	return nil
}

// devices is the device of t as a list.
func (t *Test) devices() []int {
	if t.Device == NoDevice {
		return nil
	}
	return []int{t.Device}
}

// deviceList is a list of ids in ascending order: "0-2,5"; "-": none.
func deviceList(ids []int) string {
	if len(ids) == 0 {
		return "-"
	}
	var parts []string
	for i := 0; i < len(ids); {
		j := i
		for j+1 < len(ids) && ids[j+1] == ids[j]+1 {
			j++
		}
		if j == i {
			parts = append(parts, strconv.Itoa(ids[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", ids[i], ids[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}
