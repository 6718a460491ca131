package luabind

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"

	"npulua/internal/printable"
	"npulua/luabind/web"
)

var responseClass = &class[*response]{
	name: "response", plain: true,
	text: "The answer of a server (`http.get`).",
	methods: []method[*response]{
		{"json", doc{"([options])", "value", "The value of a body that is JSON, as `json.decode` has it.", "a body that is no JSON", `print(response:json().version)`}, jsonModule.functions[1].options, responseJSON},
		{"check", doc{"()", "response", "Raises an error where the status is not 200 to 299, with the begin of the body. Returns the response.", "such a status", `local body = response:check().body`}, nil, responseCheck},
		{"header", doc{"(name)", "string, ...", "The values of a header, whose name is in large or small letters; nil where there is none.", "", `print(response:header("Content-Type"))`}, nil, responseHeader},
	},
	fields: []field[*response]{
		{"status", doc{Text: "The status, 200 for example."}, func(_ *call, r *response) (lua.LValue, error) { return lua.LNumber(r.Status), nil }},
		{"reason", doc{Text: "What the status means: `Not Found`."}, func(_ *call, r *response) (lua.LValue, error) { return lua.LString(r.Reason), nil }},
		{"ok", doc{Text: "Whether the status is 200 to 299."}, func(_ *call, r *response) (lua.LValue, error) { return lua.LBool(r.ok()), nil }},
		{"headers", doc{Text: "Table of the headers by name, in small letters; several values of one are joined by `, `."}, func(c *call, r *response) (lua.LValue, error) { return r.headerTable(c.in), nil }},
		{"body", doc{Text: "The body, a string of any bytes; unpacked where the server packed it by gzip."}, func(_ *call, r *response) (lua.LValue, error) { return lua.LString(r.Body), nil }},
		{"url", doc{Text: "Where the answer came from, after redirects."}, func(_ *call, r *response) (lua.LValue, error) { return lua.LString(r.URL), nil }},
		{"duration", doc{Text: "Seconds of real time that it took."}, func(_ *call, r *response) (lua.LValue, error) { return lua.LNumber(r.Duration.Seconds()), nil }},
	},
	str: func(r *response) string { return fmt.Sprintf("response(%d, %q)", r.Status, r.URL) },
}

// response is one of a machine.
type response struct {
	*web.Response
	asked   string // method and URL, for messages
	headers *lua.LTable
	bound   any
}

func (r *response) ok() bool { return r.Status >= 200 && r.Status < 300 }

func (r *response) headerTable(in *Interp) *lua.LTable {
	if r.headers == nil {
		r.headers = in.L.NewTable()
		for name, values := range r.Header {
			r.headers.RawSetString(strings.ToLower(name), lua.LString(strings.Join(values, ", ")))
		}
	}
	return r.headers
}

func responseJSON(c *call, r *response) error {
	o, err := c.table(1)
	if err != nil {
		return err
	}
	depth, big, err := o.decoding()
	if err != nil {
		return err
	}
	v, err := c.in.decodeJSON(r.Body, big, depth)
	if err != nil {
		return c.errorf("the body that %s gave (status %d, %s) is no good JSON: %v", r.asked, r.Status, oneLine(shortened(contentType(r.Header))), err)
	}
	c.push(v)
	return nil
}

func contentType(h http.Header) string {
	if t := h.Get("Content-Type"); t != "" {
		return t
	}
	return "no Content-Type"
}

func responseCheck(c *call, r *response) error {
	if !r.ok() {
		return c.errorf("%s", r.failure())
	}
	c.push(c.in.responses.wrap(r, &r.bound))
	return nil
}

// failure says what the status of r is.
func (r *response) failure() string {
	text := strings.TrimSpace(fmt.Sprintf("%s: status %d %s", r.asked, r.Status, r.Reason))
	body := []rune(strings.TrimSpace(r.Body))
	if len(body) > 300 {
		body = append(body[:297], []rune("...")...)
	}
	if len(body) > 0 && utf8.ValidString(r.Body) {
		text += ":\n  " + strings.ReplaceAll(printable.Text(strings.ReplaceAll(string(body), "\r\n", "\n")), "\n", "\n  ")
	}
	return text
}

func responseHeader(c *call, r *response) error {
	name, err := c.string(1, "name")
	if err != nil {
		return err
	}
	for _, v := range r.Header.Values(name) {
		c.push(lua.LString(v))
	}
	if c.nret == 0 {
		c.push(lua.LNil)
	}
	return nil
}
