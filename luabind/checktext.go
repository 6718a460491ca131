package luabind

import (
	"path/filepath"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/internal/printable"
	"npulua/luabind/lua51"
)

// shownLine is text of a script as one line of a report.
func shownLine(text string) string {
	return printable.Line(text)
}

// shownText is text of a script for a report, where it may have several lines.
func shownText(text string) string {
	return strings.TrimRight(printable.Text(strings.ReplaceAll(text, "\r\n", "\n")), "\n")
}

// shownTrace is shownText of a traceback, without its heading.
func shownTrace(trace string) string {
	return "in " + strings.ReplaceAll(strings.TrimPrefix(shownText(trace), "stack traceback:\n\t"), "\n\t", "\n")
}

// scriptTitle is the name of a script as the title of its report.
func scriptTitle(path string) string {
	return shownLine(strings.TrimSuffix(filepath.Base(path), ".lua"))
}

// isFileName reports whether s can be the name of a file.
func isFileName(s string) bool { return s != "" && !strings.ContainsRune(s, 0) }

// message reads argument i, a text, which is a format where arguments follow it. otherwise is for one that was left
// out; "": it must be there.
func (c *call) message(i int, name, otherwise string) (string, error) {
	if c.arg(i) == lua.LNil && otherwise != "" {
		return otherwise, nil
	}
	text, ok := lua51.Text(c.arg(i))
	if !ok {
		return "", c.wrongType(i, name, "a string")
	}
	if n := c.count(); n > i {
		args := make([]lua.LValue, 0, n-i+1)
		for j := i; j <= n; j++ {
			args = append(args, c.arg(j))
		}
		results, err := c.in.protected(c.L, c.L.NewFunction(lua51.StringFormat), args...)
		if err != nil {
			return "", c.errorf("argument %d (%s) is no format for what follows: %s", i, name, strings.Replace(err.Error(), "'?'", "'format'", 1))
		}
		text = results[0].String()
	}
	if text = shownText(text); text == "" {
		return "", c.errorf("argument %d (%s) is empty", i, name)
	}
	lua51.Room(c.L, len(text)) // it is kept until the end
	return text, nil
}
