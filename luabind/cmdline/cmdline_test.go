package cmdline

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"npulua/npu"
)

func TestKinds(t *testing.T) {
	for _, tt := range []struct {
		kind Kind
		text string
		want any // nil: it is refused
	}{
		{Integer, "-3", -3.0}, {Integer, "9007199254740992", 9007199254740992.0}, {Integer, "9007199254740993", nil}, {Integer, "1.0", nil}, {Integer, "1_0", nil}, {Integer, "", nil}, {Integer, " 1", nil},
		{Number, "1e-3", 0.001}, {Number, "-.5", -0.5}, {Number, "inf", nil}, {Number, "nan", nil}, {Number, "0x10", nil}, {Number, "1e999", nil}, {Number, "e", nil},
		{Seconds, "10", 10.0}, {Seconds, "1.5", 1.5}, {Seconds, "1m30s", 90.0}, {Seconds, "1d2h3m4s", 93784.0}, {Seconds, "500ms", 0.5}, {Seconds, "1s5us", 1.000005}, {Seconds, "0", 0.0},
		{Seconds, "", nil}, {Seconds, "m", nil}, {Seconds, "30s1m", nil}, {Seconds, "1m1m", nil}, {Seconds, "1m30", nil}, {Seconds, "-1", nil}, {Seconds, "1e3", nil}, {Seconds, "1S", nil}, {Seconds, "1 s", nil}, {Seconds, ".", nil}, {Seconds, "1..5", nil}, {Seconds, "99999999999", nil},
		{Bytes, "0", 0.0}, {Bytes, "512", 512.0}, {Bytes, "512B", 512.0}, {Bytes, "64K", 65536.0}, {Bytes, "64KiB", 65536.0}, {Bytes, "64k", 65536.0}, {Bytes, "64KB", 64000.0}, {Bytes, "64mib", 67108864.0}, {Bytes, "1.5G", 1610612736.0}, {Bytes, "1G", 1073741824.0}, {Bytes, "8192T", 9007199254740992.0},
		{Bytes, "8193T", nil}, {Bytes, "1.3K", nil}, {Bytes, "0.1KB", 100.0}, {Bytes, "1.5", nil}, {Bytes, "K", nil}, {Bytes, "1P", nil}, {Bytes, "1Ki", nil}, {Bytes, "-1", nil}, {Bytes, "", nil}, {Bytes, "1 K", nil}, {Bytes, "1e3", nil}, {Bytes, strings.Repeat("9", 41), nil},
		{Devices, "all", []int{0, 1, 2, 3}}, {Devices, "0,2-3", []int{0, 2, 3}}, {Devices, "3, 0", []int{3, 0}}, {Devices, "1-1", []int{1}},
		{Devices, "1024", nil}, {Devices, "0-1024", nil}, {Devices, "3-2", nil}, {Devices, "0,0", nil}, {Devices, "", nil}, {Devices, "0,", nil}, {Devices, "-1", nil}, {Devices, "1-", nil}, {Devices, "0-99999999999", nil}, {Devices, "all,0", nil},
		{File, "a b", "a b"}, {File, "", nil}, {File, "a\x00b", nil},
		{Text, "", ""},
	} {
		got, err := tt.kind.parse(tt.text, 4)
		if err != nil {
			got = nil
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s %q = %v, %v, want %v", kinds[tt.kind].name, tt.text, got, err, tt.want)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, tt := range []struct {
		kind Kind
		f    float64
		want string
	}{
		{Bytes, 67108864, "64M"}, {Bytes, 1500, "1500"}, {Bytes, 0, "0"}, {Bytes, 1 << 52, "4096T"},
		{Seconds, 90, "1m30s"}, {Seconds, 0.5, "0.5s"}, {Seconds, 93784, "1d2h3m4s"}, {Seconds, 60.5, "60.5s"},
		{Integer, 1e15, "1000000000000000"}, {Number, 1e-7, "0.0000001"},
	} {
		if got := tt.kind.Format(tt.f); got != tt.want {
			t.Errorf("Format of %v %v = %q, want %q", kinds[tt.kind].name, tt.f, got, tt.want)
		}
	}
}

// FuzzKinds checks that a value that is read is sane, and is read again from its own text.
func FuzzKinds(f *testing.F) {
	for _, text := range []string{"10", "1m30s", "64KiB", "0,2-3", "all", "1.5G", "1e9", "0.1KB", "1d1ns", "9007199254740993"} {
		f.Add(text, 4)
	}
	f.Fuzz(func(t *testing.T, text string, devices int) {
		devices &= 1<<10 - 1
		for kind := Integer; kind <= Bytes; kind++ {
			v, err := kind.parse(text, devices)
			if err != nil {
				continue
			}
			x := v.(float64)
			whole := kind == Integer || kind == Bytes
			if math.IsNaN(x) || math.IsInf(x, 0) || kind >= Seconds && x < 0 || whole && (x != math.Trunc(x) || math.Abs(x) > npu.MaxBytes) {
				t.Errorf("%s %q = %v", kinds[kind].name, text, x)
			}
			again, err := kind.parse(kind.Format(x), devices)
			if err != nil || again != v {
				t.Errorf("%s %q = %v, as text %q, which is %v, %v", kinds[kind].name, text, x, kind.Format(x), again, err)
			}
		}
		ids, err := parseDevices(text, devices)
		seen := make(map[int]bool)
		for _, id := range ids {
			if err != nil || id < 0 || id > maxDevice || seen[id] {
				t.Errorf("devices %q of %d = %v, %v", text, devices, ids, err)
			}
			seen[id] = true
		}
	})
}

// sample has an option of every kind.
func sample() *Spec {
	one := 1.0
	return &Spec{Name: "sample", Program: "npulua sample.lua", Summary: "try", Text: "text", Options: []*Option{
		{Name: "json", Short: "j", Help: "print JSON"},
		{Name: "verbose", Short: "v", Help: "say more", Many: true},
		{Name: "repeat", Short: "n", Value: "N", Help: "copies", Kind: Integer, Min: &one, Default: []string{"5"}},
		{Name: "rate", Value: "X", Help: "rate", Kind: Number},
		{Name: "max-size", Value: "BYTES", Help: "size", Kind: Bytes, Many: true},
		{Name: "timeout", Value: "SECONDS", Help: "time", Kind: Seconds},
		{Name: "device", Value: "LIST", Help: "devices", Kind: Devices, Default: []string{"all"}},
		{Name: "level", Value: "N", Help: "level", Kind: Number, Choices: []string{"1", "2"}},
	}, Positionals: []*Option{{Name: "out", Help: "where to", Kind: File}, {Name: "word", Help: "words", Kind: Text, Many: true}}}
}

func TestParse(t *testing.T) {
	none := map[string]any{"json": false, "verbose": 0.0, "repeat": 5.0, "max_size": []any{}, "device": []int{0, 1}, "word": []any{}}
	for _, tt := range []struct {
		words string
		want  map[string]any // what differs from none; nil: an error
		err   string
	}{
		{"", map[string]any{}, ""},
		{"-jvv -n3 x", map[string]any{"json": true, "verbose": 2.0, "repeat": 3.0, "out": "x"}, ""},
		{"-n=3 --rate -5 --level=2", map[string]any{"repeat": 3.0, "rate": -5.0, "level": 2.0}, ""},
		{"-n 3 -5 - a", map[string]any{"repeat": 3.0, "out": "-5", "word": []any{"-", "a"}}, ""},
		{"--max-size 1K --max-size=1KB -- --json", map[string]any{"max_size": []any{1024.0, 1000.0}, "out": "--json"}, ""},
		{"--device 1 --timeout 1m", map[string]any{"device": []int{1}, "timeout": 60.0}, ""},
		{"--nonsense --help", nil, ErrHelp.Error()},
		{"-jh", nil, ErrHelp.Error()},
		{"--jsno", nil, "unknown option --jsno, did you mean --json?"},
		{"-njv", nil, `-n wants a whole number, 1 or more, got "jv"`},
		{"-jxv", nil, `unknown option "x" in -jxv`},
		{"--", map[string]any{}, ""},
		{"--device 1024", nil, "--device names device 1024: the highest number is 1023"},
	} {
		got, err := sample().Parse(strings.Fields(tt.words), 2)
		if tt.want == nil {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%q: %v, want %s", tt.words, err, tt.err)
			}
			continue
		}
		want := make(map[string]any)
		for _, from := range []map[string]any{none, tt.want} {
			for k, v := range from {
				want[k] = v
			}
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v, want %v", tt.words, got, err, want)
		}
	}
}

// FuzzParse checks that no command line panics, and that what is read is complete.
func FuzzParse(f *testing.F) {
	for _, words := range []string{"", "-jvv\x00-n3\x00x", "--max-size\x001K\x00--\x00--json", "--rate=-5\x00-", "--device\x000-1\x00--level\x002", "-h", "-=", "--=", "-n="} {
		f.Add(words)
	}
	spec := sample()
	if err := spec.Check(); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, words string) {
		values, err := spec.Parse(strings.Split(words, "\x00"), 2)
		if err != nil {
			if values != nil || !errors.Is(err, ErrHelp) && strings.Contains(err.Error(), "%!") {
				t.Errorf("%q: %v, %v", words, values, err)
			}
			return
		}
		if n, ok := values["repeat"].(float64); !ok || n < 1 {
			t.Errorf("%q: repeat is %v", words, values["repeat"])
		}
		if _, ok := values["max_size"].([]any); !ok {
			t.Errorf("%q: max_size is %v", words, values["max_size"])
		}
	})
}

// FuzzHelp checks that help is made of any text, and that no line of flowing words is too long.
func FuzzHelp(f *testing.F) {
	f.Add("a few words of text")
	f.Fuzz(func(t *testing.T, text string) {
		for line := range strings.SplitSeq(wrap(text, "", ""), "\n") {
			if widths.StringWidth(line) > helpColumns && strings.Contains(line, " ") {
				t.Errorf("%q is too long", line)
			}
		}
		s := sample()
		s.Text, s.Options[0].Help = text, text
		if help := s.Help(); !strings.HasSuffix(help, "\n") || !strings.Contains(help, "show this text") {
			t.Errorf("help of %q: %q", text, help)
		}
	})
}
