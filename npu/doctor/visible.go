package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// visibleVariable says which devices a process sees, and how they are numbered.
const visibleVariable = "ASCEND_RT_VISIBLE_DEVICES"

// parseVisible reads the variable as the runtime does: ids in ascending order with commas, without blanks. What
// comes after the first character or id that is not valid is ignored. count is the number of devices of the
// system, 0 where it is not known. Each problem is one that the runtime does not tell by itself.
func parseVisible(value string, count int) (ids []int, problems []Finding) {
	add := func(level Level, text, remedy string) {
		problems = append(problems, Finding{"environment", level, visibleVariable + text, remedy})
	}
	if value == "" {
		add(Warn, " is set and empty, which may hide every device", "unset "+visibleVariable)
		return nil, problems
	}
	fields := strings.Split(value, ",")
	for i, f := range fields {
		id, err := strconv.Atoi(f)
		if err != nil || id < 0 || f[0] == '+' {
			what := fmt.Sprintf("=%q: the runtime stops reading at %q", value, f)
			if strings.TrimSpace(f) != f {
				what += ", which has a blank"
			}
			digits := 0
			for digits < len(f) && f[digits] >= '0' && f[digits] <= '9' {
				digits++
			}
			if id, err := strconv.Atoi(f[:digits]); err == nil && (count == 0 || id < count) { // "1 ": up to the blank
				ids = append(ids, id)
			}
			add(Warn, what, "export "+visibleVariable+"="+tidy(fields, count))
			break
		}
		if count > 0 && id >= count {
			add(Warn, fmt.Sprintf("=%q: there is no device %d, and the runtime ignores it and the %d after it", value, id, len(fields)-i-1),
				"export "+visibleVariable+"="+tidy(fields, count))
			break
		}
		ids = append(ids, id)
	}
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			what := "is not in ascending order"
			if slices.Contains(ids[:i], ids[i]) {
				what = fmt.Sprintf("names device %d twice", ids[i])
			}
			add(Fail, fmt.Sprintf("=%q %s: the first use of a device fails with EE2002", value, what), "export "+visibleVariable+"="+tidy(fields, count))
			break
		}
	}
	return ids, problems
}

// tidy is the value that was probably meant.
func tidy(fields []string, count int) string {
	var ids []int
	for _, f := range fields {
		if id, err := strconv.Atoi(strings.TrimSpace(f)); err == nil && id >= 0 && (count == 0 || id < count) {
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
