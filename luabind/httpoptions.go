package luabind

import (
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/web"
	"npulua/npu"
)

// connectionHeaders say how a message travels, which is not the script's to say.
var connectionHeaders = []string{"Connection", "Content-Length", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// requestHeaders sets the headers of r.
func (o opts) requestHeaders(r *web.Request) error {
	if r.Header == nil {
		r.Header = make(http.Header)
	}
	own := make(http.Header)
	err := o.texts("headers", func(name, value string) error {
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !isHeaderName(name):
			return o.c.errorf("option \"headers\": %q is no name of a header", shortened(name))
		case strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }):
			return o.c.errorf("option \"headers\": the value of %q has a control character", name)
		case slices.Contains(connectionHeaders, canonical):
			return o.c.errorf("option \"headers\": %q is set by the connection itself", name)
		}
		own.Add(canonical, value)
		return nil
	})
	if err != nil {
		return err
	}
	if r.Host = own.Get("Host"); r.Host != "" {
		if err := web.CheckHost(r.Host); err != nil {
			return o.c.errorf("option \"headers\": \"Host\" is %q: %v", shortened(r.Host), err)
		}
	}
	own.Del("Host")
	for name, values := range own {
		r.Header[name] = values
	}
	if r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", "npulua/"+npu.Version)
	}
	return o.basicAuth(r)
}

func (o opts) basicAuth(r *web.Request) error {
	user, err := o.string("user")
	if err != nil {
		return err
	}
	password, err := o.string("password")
	switch {
	case err != nil:
		return err
	case o.get("user") == lua.LNil && o.get("password") == lua.LNil:
		return nil
	case o.get("user") == lua.LNil:
		return o.c.errorf("password goes with user")
	case strings.ContainsRune(user, ':'):
		return o.c.errorf("option \"user\" has a colon, which basic authentication cannot send")
	}
	r.URL.User = nil
	q := http.Request{Header: r.Header}
	q.SetBasicAuth(user, password)
	return nil
}

// isHeaderName reports whether a name is a token of RFC 9110.
func isHeaderName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}

func (o opts) requestOptions(r *web.Request, address string) (err error) {
	if r.URL, err = web.ParseURL(address); err != nil {
		return o.c.errorf("%v", err)
	}
	if err = o.requestHeaders(r); err != nil {
		return err
	}
	if err = o.requestQuery(r.URL); err != nil {
		return err
	}
	if r.Timeout, err = o.positiveSeconds("timeout", answerTime); err != nil {
		return err
	}
	if r.Timeout > longestAnswerTime {
		return o.c.errorf("option \"timeout\" must be at most %d s", int(longestAnswerTime.Seconds()))
	}
	if r.MaxBytes, err = o.bounded("max_bytes", answerBytes, mostAnswerBytes); err != nil {
		return err
	}
	redirects, err := o.bounded("redirects", followRedirects, longestRedirects)
	if err != nil {
		return err
	}
	r.Redirects = int(redirects)
	r.TLS, err = o.requestTLS()
	return err
}

// bounded is a whole number from 0 to most.
func (o opts) bounded(name string, otherwise, most int64) (int64, error) {
	n, err := o.int(name, otherwise)
	if err == nil && (n < 0 || n > most) {
		err = o.c.errorf("option %q must be 0 to %d, got %d", name, most, n)
	}
	return n, err
}

func (o opts) requestTLS() (t web.TLS, err error) {
	if t.Insecure, err = o.bool("insecure", false); err != nil {
		return t, err
	}
	for _, file := range []struct {
		option string
		text   *string
	}{{"ca_file", &t.CA}, {"cert_file", &t.Cert}, {"key_file", &t.Key}} {
		path, err := o.fileOption(file.option)
		if err != nil {
			return t, err
		}
		if path == "" {
			continue
		}
		if *file.text, err = readWhole(o.c.ctx(), o.c.in.disk(), path, readLimit); err != nil {
			return t, o.c.fileError(path, err)
		}
		if *file.text == "" {
			return t, o.c.errorf("option %q: the file %q is empty", file.option, path)
		}
	}
	switch {
	case t.Insecure && t.CA != "":
		return t, o.c.errorf("insecure and ca_file contradict each other")
	case (t.Cert == "") != (t.Key == ""):
		return t, o.c.errorf("cert_file and key_file go together")
	}
	return t, nil
}

// requestQuery adds the parameters of the option query to u.
func (o opts) requestQuery(u *url.URL) error {
	added := make(url.Values)
	err := o.texts("query", func(name, value string) error {
		added.Add(name, value)
		return nil
	})
	if err != nil || len(added) == 0 {
		return err
	}
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += added.Encode()
	return nil
}

// texts calls each with the entries of an option that is a table by name: a string, number or boolean, or a list of
// these. Names come in order.
func (o opts) texts(option string, each func(name, value string) error) error {
	v := o.get(option)
	if v == lua.LNil {
		return nil
	}
	t, ok := v.(*lua.LTable)
	if !ok {
		return o.wrongType(option, "a table", v)
	}
	var names []string
	var bad error
	t.ForEach(func(k, _ lua.LValue) {
		name, ok := k.(lua.LString)
		if !ok && bad == nil {
			bad = o.c.errorf("option %q has the key %s: entries are by name", option, describe(k))
		}
		names = append(names, string(name))
	})
	if bad != nil {
		return bad
	}
	slices.Sort(names)
	for _, name := range names {
		values := []lua.LValue{t.RawGetString(name)}
		if list, ok := values[0].(*lua.LTable); ok {
			values = nil
			for i := 1; list.RawGetInt(i) != lua.LNil; i++ {
				values = append(values, list.RawGetInt(i))
			}
			if len(values) == 0 {
				return o.c.errorf("option %q: %q is a list without values", option, name)
			}
		}
		for _, v := range values {
			text, ok := entryText(v)
			if !ok {
				return o.c.errorf("option %q: %q must be a string, a number, a boolean or a list of these, got %s", option, name, typeName(v))
			}
			if err := each(name, text); err != nil {
				return err
			}
		}
	}
	return nil
}

func entryText(v lua.LValue) (string, bool) {
	switch x := v.(type) {
	case lua.LString:
		return string(x), true
	case lua.LNumber:
		return exactText(float64(x)), !math.IsNaN(float64(x))
	case lua.LBool:
		return x.String(), true
	}
	return "", false
}
