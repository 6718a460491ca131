package lua51

// The classes of bytes in the C locale.

func isDigit(c byte) bool  { return c-'0' < 10 }
func isLower(c byte) bool  { return c-'a' < 26 }
func isUpper(c byte) bool  { return c-'A' < 26 }
func isAlpha(c byte) bool  { return c|0x20-'a' < 26 }
func isAlnum(c byte) bool  { return isDigit(c) || isAlpha(c) }
func isSpace(c byte) bool  { return c == ' ' || c-'\t' < 5 }
func isXDigit(c byte) bool { return isDigit(c) || c|0x20-'a' < 6 }
func isCntrl(c byte) bool  { return c < ' ' || c == 0x7f }
func isPunct(c byte) bool  { return c > ' ' && c < 0x7f && !isAlnum(c) }
