package visible

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		value string
		count int
		ids   []int
		says  string // text of the first problem, "" for none
		tidy  string // the value of its remedy
	}{
		{"0", 8, []int{0}, "", ""},
		{"1,2,3", 8, []int{1, 2, 3}, "", ""},
		{"1,2,3", Unknown, []int{1, 2, 3}, "", ""},
		{"04,05", 8, []int{4, 5}, "", ""},
		{"4,5,9", 8, []int{4, 5}, "no device 9, and the runtime ignores it", "4,5"},
		{"9,4,5", 8, nil, "no device 9, and the runtime ignores it and the 2 after it", "4,5"},
		{"1, 2", 8, []int{1}, "blank", "1,2"},
		{"1 ,2", 8, []int{1}, "blank", "1,2"},
		{" 1,2", 8, nil, "blank", "1,2"},
		{"1,2\n", 8, []int{1, 2}, "blank", "1,2"},
		{"1,3,8", 8, []int{1, 3}, "no device 8", "1,3"},
		{"1,x,2", 8, []int{1}, `"x"`, "1,2"},
		{"1,2x,3", 8, []int{1, 2}, `"2x"`, "1,2,3"},
		{"1.0", 8, []int{1}, `"1.0"`, "1"},
		{"1,,2", 8, []int{1}, `""`, "1,2"},
		{"1,2,", 8, []int{1, 2}, "ends with a comma", "1,2"},
		{",", 8, nil, `""`, "0"},
		{"0-3", 8, []int{0}, `"0-3"`, "0"},
		{"0;1", 8, []int{0}, `"0;1"`, "0"},
		{"1,-1", 8, []int{1}, `"-1"`, "1"},
		{"+1", 8, nil, `"+1"`, "1"},
		{"0x1", 8, []int{0}, `"0x1"`, "0"},
		{"3,1", 8, []int{3, 1}, "ascending", "1,3"},
		{"1,1", 8, []int{1, 1}, "twice", "1"},
		{"0,1,00", 8, []int{0, 1, 0}, "twice", "0,1"},
		{"1,9,1", 8, []int{1}, "no device 9", "1"}, // what is ignored is no repetition
		{"99999999999999999999", 8, nil, "no device 99999999999999999999", "0"},
		{"99999999999999999999", Unknown, nil, "no device 99999999999999999999", "0"},
		{"0", 0, nil, "no device 0", "0"},
		{"all", 8, nil, `"all"`, "0"},
		{"", 8, nil, "hides every device", ""},
	} {
		v := Parse(c.value, c.count)
		if !slices.Equal(v.IDs, c.ids) {
			t.Errorf("%q: ids %v, want %v", c.value, v.IDs, c.ids)
		}
		if (c.says == "") != (len(v.Problems) == 0) {
			t.Errorf("%q: %v", c.value, v.Problems)
			continue
		}
		if c.says == "" {
			continue
		}
		p := v.Problems[0]
		fatal := strings.Contains(p.Text, "EE2002")
		if p.Fatal != fatal || !strings.Contains(p.Text, c.says) || c.tidy != "" && !strings.HasSuffix(p.Remedy, "="+c.tidy) {
			t.Errorf("%q: %+v", c.value, p)
		}
		if want := c.ids; !slices.Equal(v.Visible(c.count), want) && !fatal || fatal && v.Visible(c.count) != nil {
			t.Errorf("%q: visible are %v", c.value, v.Visible(c.count))
		}
	}
	if ids := (Devices{}).Visible(3); !slices.Equal(ids, []int{0, 1, 2}) {
		t.Errorf("without the variable %v are visible", ids)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("1, 2", 8)
	f.Add("3,1", 0)
	f.Fuzz(func(t *testing.T, value string, count int) {
		v := Parse(value, count)
		for _, id := range v.IDs {
			if id < 0 || count != Unknown && id >= count {
				t.Errorf("id %d", id)
			}
		}
		for _, p := range v.Problems {
			if p.Remedy == "" {
				t.Errorf("no remedy: %+v", p)
			}
		}
	})
}
