package printable

import (
	"encoding/json"
	"testing"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ in, text, line string }{
		{"plain ü漢\tx\ny", "plain ü漢\tx\ny", `plain ü漢\tx\ny`},
		{"\x1b[31mred\x1b]0;title\a", `\027[31mred\027]0;title\007`, `\027[31mred\027]0;title\007`},
		{"a\rb\bc\x00\x7f", `a\rb\008c\000\127`, `a\rb\008c\000\127`},
		{"\u009b31m\u0085", `\194\15531m\194\133`, `\194\15531m\194\133`},
		{"\xff\x9b", `\255\155`, `\255\155`},
		{"\u202eevil\u200b\ufeff", `\226\128\174evil\226\128\139\239\187\191`, `\226\128\174evil\226\128\139\239\187\191`},
	} {
		if got := Text(c.in); got != c.text {
			t.Errorf("Text(%q) = %q, want %q", c.in, got, c.text)
		}
		if got := Line(c.in); got != c.line {
			t.Errorf("Line(%q) = %q, want %q", c.in, got, c.line)
		}
	}
}

func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`:                        `{"a":1}`,
		"\"\x7f\u009b\u0085x\u00a0ü\"":   `"\u007f\u009b\u0085x` + "\u00a0ü\"",
		"[\"\u00c2\u0080\", \"\u00c2\"]": "[\"\u00c2\\u0080\", \"\u00c2\"]",
	} {
		got := string(JSON([]byte(in)))
		if got != want {
			t.Errorf("JSON(%q) = %q, want %q", in, got, want)
		}
		var before, after any
		if json.Unmarshal([]byte(in), &before) != nil || json.Unmarshal([]byte(got), &after) != nil {
			t.Errorf("%q is no JSON", got)
		}
		x, _ := json.Marshal(before)
		y, _ := json.Marshal(after)
		if string(x) != string(y) {
			t.Errorf("%q means %s, and meant %s", got, y, x)
		}
	}
}
