package lua51

import (
	"bytes"
)

// badNumeral finds the first literal that starts as a number and is none. PUC Lua takes all that may
// belong to one, as in 3x or 1..2; the parser would go on with the rest.
func badNumeral(source []byte) (line int, text string, found bool) {
	line = 1
	for i := 0; i < len(source); {
		c := source[i]
		end := i + 1
		switch {
		case c == '\n' || c == '\r' && i+1 < len(source) && source[i+1] != '\n':
			line++
		case c == '"' || c == '\'':
			end = quotedEnd(source, i)
		case c == '-' && bytes.HasPrefix(source[i:], []byte("--")):
			if end = longEnd(source, i+2); end == i+2 {
				end = len(source)
				if n := bytes.IndexAny(source[i:], "\n\r"); n >= 0 {
					end = i + n
				}
			}
		case c == '[':
			end = max(end, longEnd(source, i))
		case c == '.' && bytes.HasPrefix(source[i:], []byte("..")):
			for end < len(source) && end < i+3 && source[end] == '.' {
				end++
			}
		case isDigit(c) || c == '.' && end < len(source) && isDigit(source[end]):
			end = numeralEnd(source, i)
			if _, ok := ParseNumber(string(source[i:end])); !ok {
				return line, string(source[i:end]), true
			}
		case isAlnum(c) || c == '_':
			for end < len(source) && (isAlnum(source[end]) || source[end] == '_') {
				end++
			}
		}
		line += bytes.Count(source[i+1:end], []byte("\n"))
		i = end
	}
	return 0, "", false
}

// numeralEnd is where PUC Lua ends the number that begins at i.
func numeralEnd(source []byte, i int) int {
	for i < len(source) && (isDigit(source[i]) || source[i] == '.') {
		i++
	}
	if i < len(source) && (source[i] == 'e' || source[i] == 'E') {
		if i++; i < len(source) && (source[i] == '+' || source[i] == '-') {
			i++
		}
	}
	for i < len(source) && (isAlnum(source[i]) || source[i] == '_') {
		i++
	}
	return i
}

// quotedEnd is the end of the string that begins at i, or of its line where it has none.
func quotedEnd(source []byte, i int) int {
	quote := source[i]
	for i++; i < len(source) && source[i] != '\n'; i++ {
		switch source[i] {
		case quote:
			return i + 1
		case '\\':
			i++
		}
	}
	return min(i, len(source))
}

// longEnd is the end of the long bracket at i, i itself where there is none.
func longEnd(source []byte, i int) int {
	if i >= len(source) || source[i] != '[' {
		return i
	}
	level := i + 1
	for level < len(source) && source[level] == '=' {
		level++
	}
	if level >= len(source) || source[level] != '[' {
		return i
	}
	closing := append(append([]byte("]"), source[i+1:level]...), ']')
	n := bytes.Index(source[level:], closing)
	if n < 0 {
		return len(source)
	}
	return level + n + len(closing)
}
