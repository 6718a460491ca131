package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"http://h", ""}, {"HTTPS://h:1/p?q#f", ""}, {"http://[::1]:80/", ""},
		{"", "it must begin with http:// or https://"},
		{"example.com", "it must begin with http:// or https://"},
		{"localhost:9400/metrics", "it must begin with http:// or https://"},
		{"//h/p", "it must begin with http:// or https://"},
		{"file:///etc/passwd", "only http and https are known, not file"},
		{"ftp://h/x", "only http and https are known, not ftp"},
		{"unix:///var/run/docker.sock", "only http and https are known, not unix"},
		{"http://", "it has no host"},
		{"http:///path", "it has no host"},
		{"http://:80/", "it has no host"},
		{"http://h h/", "invalid character"},
		{"http://h/\n", "invalid control character"},
		{"http://h:x/", "invalid port"},
		{"http://h/%zz", "invalid URL escape"},
		{"http://h/?a=%zz", "invalid URL escape"},
		{"http://h/?a=100%", "invalid URL escape"},
		{"http://h/?a\r\nX: y", "invalid control character"},
		{"http://h/\x7f", "invalid control character"},
		{"http://h\r\n/", "invalid control character"},
		{"http://h:0/", `invalid port "0"`},
		{"http://h:65536/", `invalid port "65536"`},
		{"http://h:-1/", "invalid port"},
		{"http://h:", ""}, {"http://h:65535", ""},
		{"http://a<b>/", "invalid character"},
		{"http://a\"b/", "invalid character"},
		{"http://a\\b/", "invalid character"},
		{"http://a'b/", "invalid character"},
		{"http://a|b/", "invalid character"},
		{"http://a,b/", "invalid character"},
		{"http://h%20h/", "invalid URL escape"},
		{"http://::1/", "invalid"},
		{"http://[h]/", "invalid"},
		{"http://[127.0.0.1]/", "invalid"},
		{"http://[::1]x/", "invalid port"},
		{"http://[fe80::1%25eth0]/", ""},
		{"http://[fe80::1%eth0]/", "invalid URL escape"},
		{"http://[::1", "missing ']'"},
		{"http://me me@h/", "invalid userinfo"},
		{"http://me@/", "it has no host"},
		{"http://b\u00fccher.example/", ""}, {"http://a_b.example/", ""},
		{" http://h/", "is no URL"},
		{"http:/h/p", "it has no host"}, {"http:h", "it must begin with"},
	} {
		_, err := ParseURL(test.text)
		if err == nil && test.want != "" || err != nil && (test.want == "" || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("ParseURL(%q) = %v, want %q", test.text, err, test.want)
		}
	}
}

// TestRequestLine looks at what a server gets of an address.
func TestRequestLine(t *testing.T) {
	var got string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RequestURI }))
	defer s.Close()
	for _, test := range []struct{ tail, want string }{
		{"", "/"}, {"/e?a=b c", "/e?a=b%20c"}, {"/e f?a=b", "/e%20f?a=b"}, {"?a b", "/?a%20b"},
		{"/\u00fc?\u00fc=\xff", "/%C3%BC?%C3%BC=%FF"}, {`/"<>\^` + "`{|}", "/%22%3C%3E%5C%5E%60%7B%7C%7D"}, {`/?"<>\^` + "`{|}", "/?%22%3C%3E%5C%5E%60%7B%7C%7D"},
		{"/[x]?y[]=z", "/%5Bx%5D?y%5B%5D=z"}, {"/a%2Fb%20c?d%2Fe+f", "/a%2Fb%20c?d%2Fe+f"}, {"/a?b?c/d:e@f", "/a?b?c/d:e@f"},
		{"/-._~!$&'()*+,;=:@?-._~!$&'()*+,;=:@", "/-._~!$&'()*+,;=:@?-._~!$&'()*+,;=:@"},
		{"/a?b#c d%20e", "/a?b"}, {"#frag", "/"}, {"/?", "/?"}, {"//a//b", "//a//b"}, {"/%e4%BD", "/%e4%BD"},
	} {
		var c Client
		_, err := c.Do(t.Context(), request(t, s.URL+test.tail))
		c.Close()
		if err != nil || got != test.want {
			t.Errorf("%q asks for %q, %v, want %q", test.tail, got, err, test.want)
		}
	}
}

func TestCheckHost(t *testing.T) {
	for host, good := range map[string]bool{"h": true, "h:1": true, "[::1]:80": true, "1.2.3.4": true, "": false, "a b": false, "a/b": false, "a@b": false, ":80": false, "h:x": false, "h:1:2": false, "a,b": false} {
		if err := CheckHost(host); (err == nil) != good {
			t.Errorf("CheckHost(%q) = %v", host, err)
		}
	}
}
