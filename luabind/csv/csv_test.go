package csv

import (
	stdcsv "encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func readAll(text string, s Syntax) (rows [][]string, err error) {
	r := NewReader(strings.NewReader(text), s)
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
}

func TestRead(t *testing.T) {
	semicolon := Syntax{Separator: ';', Quote: '\'', Comment: '#'}
	tabs := Syntax{Separator: '\t'}
	wide := Syntax{Separator: '→', Quote: '«'}
	for _, test := range []struct {
		name, text string
		syntax     Syntax
		want       string // of fmt's %q, or the error
	}{
		{"empty", "", Usual, `[]`},
		{"rows", "a,b\n1,2\n", Usual, `[["a" "b"] ["1" "2"]]`},
		{"no last end of line", "a,b\n1,2", Usual, `[["a" "b"] ["1" "2"]]`},
		{"CRLF", "a,b\r\n1,2\r\n", Usual, `[["a" "b"] ["1" "2"]]`},
		{"empty lines", "\n\r\na\n\n\nb\n\n", Usual, `[["a"] ["b"]]`},
		{"empty fields", ",\n\"\"\n,a,\n", Usual, `[["" ""] [""] ["" "a" ""]]`},
		{"quotes", `"a,b","say ""hi""",""""` + "\n", Usual, `[["a,b" "say \"hi\"" "\""]]`},
		{"lines in quotes", "\"a\nb\r\n\nc\",d\ne\n", Usual, `[["a\nb\r\n\nc" "d"] ["e"]]`},
		{"blanks", " a , b \n", Usual, `[[" a " " b "]]`},
		{"CR alone", "a,b\r1,2\r", Usual, `[["a" "b"] ["1" "2"]]`},
		{"CR alone, no last end of line", "a,b\r1,2", Usual, `[["a" "b"] ["1" "2"]]`},
		{"mixed ends", "a\rb\nc\r\nd\n\re\r\r\nf\r", Usual, `[["a"] ["b"] ["c"] ["d"] ["e"] ["f"]]`},
		{"CR in quotes", "\"a\rb\",\"\r\"\rc,\"\r\n\"", Usual, `[["a\rb" "\r"] ["c" "\r\n"]]`},
		{"CR after a quote", "\"a\"\r\"b\"\r", Usual, `[["a"] ["b"]]`},
		{"comments that end with CR", "#x\ra\r#y\r\nb", semicolon, `[["a"] ["b"]]`},
		{"quotes never closed before CR", "a\rx,\"b\rc\r", Usual, "line 2, column 3: the quote that opens this field is never closed"},
		{"byte order mark", "\ufeff\"a\",b\n", Usual, `[["a" "b"]]`},
		{"bytes", "\xff\x00,\xfe\n", Usual, `[["\xff\x00" "\xfe"]]`},
		{"other syntax", "# note\na;'b;c''d'\n;#\n", semicolon, `[["a" "b;c'd"] ["" "#"]]`},
		{"no quotes", "a\t\"b\n\"\t\n", tabs, `[["a" "\"b"] ["\"" ""]]`},
		{"wide characters", "a→«b→c«\n", wide, `[["a" "b→c"]]`},
		{"never closed", "a\nx,\"b\nc\n", Usual, "line 2, column 3: the quote that opens this field is never closed"},
		{"never closed at the end", `"`, Usual, "line 1, column 1: the quote that opens this field is never closed"},
		{"quote inside", "a\nüb,c\"d\n", Usual, "line 2, column 5: a quote in a field that does not begin with one"},
		{"after a quote", "\"a\nb\"c\n", Usual, "line 2, column 3: more text after the closing quote of a field (a quote inside of one is written twice)"},
	} {
		rows, err := readAll(test.text, test.syntax)
		got := fmt.Sprintf("%q", rows)
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: read %q = %s, want %s", test.name, test.text, got, test.want)
		}
	}
}

func TestReadLine(t *testing.T) {
	r := NewReader(strings.NewReader("a\n\n\"b\nc\"\nd\n"), Usual)
	for _, want := range []int{1, 3, 5} {
		if _, err := r.Read(); err != nil || r.Line() != want {
			t.Errorf("row at line %d, %v, want line %d", r.Line(), err, want)
		}
	}
}

// TestReadPieces reads text that comes in pieces of all sizes, so that ends of lines are cut.
func TestReadPieces(t *testing.T) {
	text := "\ufeffa,b\r\n\"c\r\nd\",e\r\r\n\rf,\"\"\"g\r\"\r\nh,i"
	want, err := readAll(text, Usual)
	if err != nil || len(want) != 4 {
		t.Fatalf("%q, %v", want, err)
	}
	for size := 1; size < 12; size++ {
		r := NewReader(pieces{strings.NewReader(text), size}, Usual)
		for _, row := range want {
			if got, err := r.Read(); err != nil || !slices.Equal(got, row) {
				t.Errorf("in pieces of %d B: %q, %v, want %q", size, got, err, row)
			}
		}
		if _, err := r.Read(); err != io.EOF {
			t.Errorf("in pieces of %d B: at the end %v", size, err)
		}
	}
}

type pieces struct {
	r    io.Reader
	size int
}

func (p pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(p.size, len(b))]) }

// TestReadFails checks that a line that could be read in part only is no row.
func TestReadFails(t *testing.T) {
	r := NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(io.ErrClosedPipe)), Usual)
	if row, err := r.Read(); err != nil || row[0] != "a" {
		t.Errorf("%q, %v", row, err)
	}
	if row, err := r.Read(); err != io.ErrClosedPipe {
		t.Errorf("%q, %v", row, err)
	}
}

func TestReadLongRows(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	if rows, err := readAll(long+","+long+"\na\n", Usual); err != nil || len(rows) != 2 || rows[0][1] != long || rows[1][0] != "a" {
		t.Errorf("a long row: %d rows, %v", len(rows), err)
	}
	for name, text := range map[string]string{
		"line":   "\n" + strings.Repeat("x", MaxRow+1),
		"quotes": "\n\"" + strings.Repeat("x\n", MaxRow/2+1),
		"CR":     "\r\"" + strings.Repeat("x\r", MaxRow/2+1),
	} {
		var e *Error
		if rows, err := readAll("a\n"+text, Usual); !errors.As(err, &e) || len(rows) != 1 || e.Line != 3 {
			t.Errorf("a row without end (%s): %d rows, %v", name, len(rows), err)
		}
	}
}

func TestAppend(t *testing.T) {
	for _, test := range []struct {
		fields []string
		style  Style
		want   string // "": an error
	}{
		{[]string{"a", "", "b c"}, Style{Syntax: Usual}, "a,,b c\n"},
		{[]string{""}, Style{Syntax: Usual}, "\"\"\n"},
		{[]string{"a,b", `"`, "x\ny", " x", "#"}, Style{Syntax: Usual}, "\"a,b\",\"\"\"\",\"x\ny\",\" x\",#\n"},
		{[]string{"#", "\ufeff"}, Style{Syntax: Usual}, "\"#\",\ufeff\n"},
		{[]string{"a", "1"}, Style{Syntax: Usual, QuoteAll: true, CRLF: true}, "\"a\",\"1\"\r\n"},
		{[]string{"a,b", "c\td"}, Style{Syntax: Syntax{Separator: '\t', Quote: '"'}}, "a,b\t\"c\td\"\n"},
		{[]string{"a", `"b`}, Style{Syntax: Syntax{Separator: '\t'}}, "a\t\"b\n"},
		{[]string{"a\tb"}, Style{Syntax: Syntax{Separator: '\t'}}, ""},
		{[]string{""}, Style{Syntax: Syntax{Separator: '\t'}}, ""},
	} {
		got, err := test.style.Append(nil, test.fields)
		if string(got) != test.want || (err != nil) != (test.want == "") {
			t.Errorf("Append(%q) = %q, %v, want %q", test.fields, got, err, test.want)
		}
	}
}

func TestSyntaxCheck(t *testing.T) {
	for _, s := range []Syntax{{}, {Separator: '\n'}, {Separator: ',', Quote: ','}, {Separator: ',', Quote: '#', Comment: '#'}, {Separator: ',', Comment: '\r'}} {
		if s.Check() == nil {
			t.Errorf("%+v was found good", s)
		}
	}
	if err := Usual.Check(); err != nil {
		t.Error(err)
	}
}

// FuzzRead compares with encoding/csv where the two mean to do the same, and reads again what it writes.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "\"a\nb\",\"\"\"\"\r\n", "\ufeffa", "a\"b", "\"a\"b", "\n\n,\n", "\"", "\r", "a\r\n\"\r\n\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := readAll(text, Usual)
		if !strings.Contains(text, "\r") && !strings.HasPrefix(text, "\ufeff") {
			std := stdcsv.NewReader(strings.NewReader(text))
			std.FieldsPerRecord = -1
			want, wantErr := std.ReadAll()
			if (err != nil) != (wantErr != nil) {
				t.Fatalf("%q: %v, encoding/csv says %v", text, err, wantErr)
			}
			if err == nil && !slices.EqualFunc(rows, want, slices.Equal) {
				t.Fatalf("%q was read as %q, by encoding/csv as %q", text, rows, want)
			}
		}
		if err != nil {
			return
		}
		for _, style := range []Style{{Syntax: Usual}, {Syntax: Usual, QuoteAll: true, CRLF: true}, {Syntax: Syntax{Separator: '→', Quote: '\'', Comment: '#'}}} {
			var b []byte
			for _, row := range rows {
				if b, err = style.Append(b, row); err != nil {
					t.Fatal(err)
				}
			}
			if again, err := readAll(string(b), style.Syntax); err != nil || !slices.EqualFunc(again, rows, slices.Equal) {
				t.Fatalf("%q was read as %q, written as %q, and read as %q, %v", text, rows, b, again, err)
			}
		}
	})
}
