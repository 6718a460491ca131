package luabind

import (
	"context"
	"net/http"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/web"
)

// What a request may take, unless it says otherwise, and at most.
const (
	answerTime, longestAnswerTime     = 30 * time.Second, 24 * time.Hour
	answerBytes, mostAnswerBytes      = 32 << 20, 1 << 30
	followRedirects, longestRedirects = 10, 100
)

var httpOptions = []option{
	{"headers", "table of headers by name: a value, or a list of several", anything},
	{"query", "table of parameters that are added to the URL: a value, or a list of several", anything},
	{"user", "name for basic authentication, with `password`", anything},
	{"password", "for basic authentication", anything},
	{"timeout", "seconds of real time that all of it may take, the body included; 30", anything},
	{"max_bytes", "size from which an answer is refused; 32 MiB", anything},
	{"redirects", "how many are followed, from https to https only; 0: a redirect is the answer; 10", anything},
	{"raise", "true: a status other than 200 to 299 is an error, as with `response:check`; false", aBoolean},
	{"ca_file", "file of the certificates (PEM) that are trusted in place of the machine's", aFile},
	{"cert_file", "file of the certificate of this side (PEM), with `key_file`", aFile},
	{"key_file", "file of the key of `cert_file` (PEM)", aFile},
	{"insecure", "true: the certificate of the server is not verified; false", aBoolean},
}

var bodyJSONOption = option{"json", "a value that is the body, as JSON; sets Content-Type", anything}

const httpErrors = "addresses other than http and https; a host that is not known or does not answer in time; certificates that are not good; an answer that is too large; too many redirects"

var httpModule = &module{
	name: "http",
	text: "Asks servers over HTTP and HTTPS, with time limits. No status is an error by itself: `response.ok` tells, `response:check()` or the option `raise` makes it one. " +
		"Certificates are verified. Proxies are those that the environment variables http_proxy, https_proxy and no_proxy name, as for curl (also in capitals; localhost is asked directly). " +
		"There are no cookies; user, password and Authorization do not go on to another domain. " +
		"In real time other tasks go on meanwhile; virtual time stands still until the answer is there, and no other task of the script runs. In a sandbox there is no network.",
	functions: []function{
		{"get", doc{"(url [, options])", "response", "Asks for what is at a URL.", httpErrors, `print(require("http").get("http://127.0.0.1:9400/metrics", {timeout = 5}).body)`}, httpOptions, httpGet},
		{"post", doc{"(url, body [, options])", "response", "Sends a body, a string or nil, to a URL. It has no Content-Type, unless `headers` or `json` say one.", httpErrors, `require("http").post("https://alerts.example/hook", nil, {json = {text = "device 3 is sick"}, raise = true})`}, append(httpOptions[:len(httpOptions):len(httpOptions)], bodyJSONOption), httpPost},
		{"request", doc{"(options)", "response", "Sends any request.", httpErrors, `local r = require("http").request{method = "PUT", url = "http://127.0.0.1:8080/state", body = "on"}`},
			append([]option{{"url", "where to", anything}, {"method", "`GET`, `PUT`, ...; GET, and POST where there is a body", oneOf("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")}, {"body", "a string", anything}, bodyJSONOption}, httpOptions...), httpRequest},
	},
	classes: []func() classHelp{responseClass.help},
}

func httpGet(c *call) error {
	address, err := c.string(1, "url")
	if err != nil {
		return err
	}
	o, err := c.table(2)
	if err != nil {
		return err
	}
	return c.ask(o, web.Request{Method: http.MethodGet}, address)
}

func httpPost(c *call) error {
	address, err := c.string(1, "url")
	if err != nil {
		return err
	}
	o, err := c.table(3)
	if err != nil {
		return err
	}
	r := web.Request{Method: http.MethodPost, Header: make(http.Header)}
	hasJSON, err := o.jsonBody(&r)
	if err != nil {
		return err
	}
	switch body := c.arg(2).(type) {
	case *lua.LNilType:
	case lua.LString:
		if hasJSON {
			return c.errorf("there are two bodies, argument 2 and option \"json\"")
		}
		r.Body = string(body)
	default:
		return c.wrongType(2, "body", "a string or nil (tables go into the option json)")
	}
	return c.ask(o, r, address)
}

func httpRequest(c *call) error {
	if c.arg(1).Type() != lua.LTTable {
		return c.wrongType(1, "options", "a table")
	}
	o, err := c.table(1)
	if err != nil {
		return err
	}
	address, err := o.string("url")
	if err != nil {
		return err
	}
	if address == "" {
		return c.errorf("option \"url\" is missing")
	}
	r := web.Request{Header: make(http.Header)}
	hasJSON, err := o.jsonBody(&r)
	if err != nil {
		return err
	}
	hasBody := o.get("body") != lua.LNil
	switch {
	case hasBody && hasJSON:
		return c.errorf("there are two bodies, the options \"body\" and \"json\"")
	case hasBody:
		if r.Body, err = o.string("body"); err != nil {
			return err
		}
	}
	method, err := o.string("method")
	if err != nil {
		return err
	}
	switch r.Method = strings.ToUpper(method); {
	case o.get("method") == lua.LNil && (hasBody || hasJSON):
		r.Method = http.MethodPost
	case o.get("method") == lua.LNil:
		r.Method = http.MethodGet
	case method == "" || strings.Trim(r.Method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_") != "" || r.Method == http.MethodConnect:
		return c.errorf("option \"method\" is no method of HTTP that can be sent: %q", shortened(method))
	}
	return c.ask(o, r, address)
}

// jsonBody makes the option json the body of r.
func (o opts) jsonBody(r *web.Request) (bool, error) {
	v := o.get("json")
	if v == lua.LNil {
		return false, nil
	}
	text, err := o.c.in.encodeJSON(v, 0, jsonDepth)
	if err != nil {
		return false, o.c.errorf("option \"json\": %v", err)
	}
	r.Body = text
	r.Header.Set("Content-Type", "application/json")
	return true, nil
}

// ask sends r, completed by the options that all requests have. It is the one place where the module reaches out.
func (c *call) ask(o opts, r web.Request, address string) error {
	if err := c.in.mayConnect(); err != nil {
		return c.errorf("%v", err)
	}
	if err := o.requestOptions(&r, address); err != nil {
		return err
	}
	raise, err := o.bool("raise", false)
	if err != nil {
		return err
	}
	var got *web.Response
	var failed error
	err = c.t.Outside("an answer from "+shortened(oneLine(r.URL.Host)), func(ctx context.Context) error {
		got, failed = c.in.root().web.Do(ctx, r)
		return nil
	})
	switch {
	case err != nil:
		return err
	case failed != nil:
		return c.errorf("%v", failed)
	}
	answer := &response{Response: got, asked: r.Method + " " + web.Shown(r.URL)}
	if raise && !answer.ok() {
		return c.errorf("%s", answer.failure())
	}
	if c.in.responses == nil {
		c.in.responses = register(c.in, responseClass)
	}
	c.push(c.in.responses.wrap(answer, &answer.bound))
	return nil
}
