package luabind

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"npulua/npu"
)

// Memory is a table of the memory that is in use: of each device in use, and of each place that made buffers
// which are still open, in order of the places; the last ones of many.
func (e *Evaluator) Memory() string {
	in := e.in
	rows := [][]string{{"NPU", "Used", "Free", "Total"}}
	for id := range in.session.DeviceCount() {
		d := in.openDevice(id)
		if d == nil {
			continue
		}
		free, total, err := d.Memory(in.session.Main())
		if err != nil {
			continue
		}
		rows = append(rows, []string{fmt.Sprint(id), sizeText(total - free), sizeText(free), sizeText(total)})
	}
	text := "no device is in use"
	if len(rows) > 1 {
		text = in.table(rows)
	}
	buffers := in.bufferRows()
	if len(buffers) == 0 {
		return text
	}
	buffers, more := lastRows(buffers, func([]string) bool { return false })
	text += "\n" + in.cutTable(append([][]string{{"Buffers", "Elements", "Made at", "Number"}}, buffers...))
	if more > 0 {
		text += fmt.Sprintf("\n%d more", more)
	}
	return text
}

// bufferRows are the open buffers, a row for each kind and place.
func (in *Interp) bufferRows() (rows [][]string) {
	for _, l := range in.session.Leaks() {
		if strings.HasSuffix(l.Kind, "memory") {
			rows = append(rows, []string{l.Kind, elementsText(l), in.sites.text(l.Site), fmt.Sprint(l.Count)})
		}
	}
	slices.SortStableFunc(rows, func(a, b []string) int {
		return cmp.Or(compareNatural(a[2], b[2]), strings.Compare(a[0], b[0]), compareNatural(a[1], b[1]))
	})
	return rows
}

// elementsText is "float32 x 1024 (4 KiB)".
func elementsText(l npu.Leak) string {
	elements, size, _ := strings.Cut(l.Detail, " (")
	n, err := strconv.ParseInt(strings.TrimSuffix(size, " B)"), 10, 64)
	if err != nil {
		return l.Detail
	}
	return elements + " (" + sizeText(n) + ")"
}

// sizeText is a size in bytes with three digits, or all of them where they are few, and a unit.
func sizeText(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n), "B"
	for _, unit = range []string{"KiB", "MiB", "GiB", "TiB"} {
		if f /= 1024; f < 1000 {
			break
		}
	}
	digits := 2
	for limit := 10.0; f >= limit && digits > 0; limit *= 10 {
		digits--
	}
	text := strconv.FormatFloat(f, 'f', digits, 64)
	if digits > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + " " + unit
}
