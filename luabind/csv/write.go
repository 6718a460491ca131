package csv

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Style is how rows are written.
type Style struct {
	Syntax
	QuoteAll bool // also fields that need none
	CRLF     bool // ends of rows as RFC 4180 has them; else LF
}

// Append adds a row, which has a field at least. It fails where a field needs quotes and there are none.
func (s Style) Append(b []byte, fields []string) ([]byte, error) {
	for i, field := range fields {
		if i > 0 {
			b = utf8.AppendRune(b, s.Separator)
		}
		needs := s.needsQuotes(field, i == 0) || len(fields) == 1 && field == ""
		switch {
		case needs && s.Quote == 0:
			return nil, fmt.Errorf("column %d cannot be written without quotes: it has a separator or an end of line, or would not be read as it is", i+1)
		case needs || s.QuoteAll && s.Quote != 0:
			quote := string(s.Quote)
			b = append(b, quote...)
			b = append(b, strings.ReplaceAll(field, quote, quote+quote)...)
			b = append(b, quote...)
		default:
			b = append(b, field...)
		}
	}
	if s.CRLF {
		b = append(b, '\r')
	}
	return append(b, '\n'), nil
}

// needsQuotes also holds for what other readers may take for something else: blanks at the ends, and what begins a
// comment.
func (s Style) needsQuotes(field string, first bool) bool {
	switch {
	case field == "":
		return false
	case strings.ContainsRune(field, s.Separator) || strings.ContainsAny(field, "\r\n"):
		return true
	case s.Quote == 0:
		return first && strings.HasPrefix(field, "\ufeff")
	case strings.ContainsRune(field, s.Quote) || strings.TrimSpace(field) != field:
		return true
	}
	return first && (field[0] == '#' || strings.HasPrefix(field, "\ufeff"))
}
