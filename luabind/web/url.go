package web

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// ParseURL reads an address for a Request. What may not stand in path and query is written with % there; elsewhere it
// is refused.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err
		}
		return nil, fmt.Errorf("%q is no URL: %s", text, strings.TrimPrefix(err.Error(), "net/url: "))
	case u.Scheme == "" || u.Opaque != "" && !strings.Contains(text, "://"):
		return nil, fmt.Errorf("%q is no URL: it must begin with http:// or https://", text)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%q: only http and https are known, not %s", u.Redacted(), u.Scheme)
	}
	if err := clean(u); err != nil {
		shown := text
		if u.User != nil {
			shown = u.Redacted()
		}
		return nil, fmt.Errorf("%q is no URL: %v", shown, err)
	}
	return u, nil
}

// clean makes u one that can be asked for: host and port are such, and path and query have only what may stand there.
func clean(u *url.URL) (err error) {
	if err := CheckHost(u.Host); err != nil {
		return err
	}
	if u.RawPath, err = encoded(u.EscapedPath(), "/:@"); err != nil {
		return err
	}
	u.RawQuery, err = encoded(u.RawQuery, "/:@?")
	return err
}

// CheckHost says what is wrong with a host that may have a port.
func CheckHost(text string) error {
	u := url.URL{Host: text}
	host, port := u.Hostname(), u.Port()
	if host == "" {
		return errors.New("it has no host")
	}
	if strings.HasPrefix(text, "[") {
		if a, err := netip.ParseAddr(host); err != nil || !a.Is6() {
			return fmt.Errorf("%q is no address of IPv6", host)
		}
	} else if i := strings.IndexFunc(host, notInHost); i >= 0 {
		return fmt.Errorf("invalid character %q in host name", host[i:i+1])
	}
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || n == 0) {
		return fmt.Errorf("invalid port %q: want 1 to 65535", port)
	}
	return nil
}

// notInHost holds for the characters of ASCII that names of hosts do not have. The others are those of names in other
// scripts, which are looked at where they are turned into ASCII.
func notInHost(c rune) bool {
	return c < 0x80 && !isLetterOrDigit(byte(c)) && !strings.ContainsRune("-._~", c)
}

func isLetterOrDigit(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' }

// encoded is a path or a query with only letters, digits and what RFC 3986 lets stand there, of which more is a part:
// all else gets a %. A % that is none of those already is an error.
func encoded(text, more string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '%':
			if i+2 >= len(text) || !isHex(text[i+1]) || !isHex(text[i+2]) {
				return "", fmt.Errorf("invalid URL escape %q (%%25 is a %%)", text[i:min(i+3, len(text))])
			}
			b.WriteByte(c)
		case isLetterOrDigit(c) || strings.IndexByte("-._~!$&'()*+,;=", c) >= 0 || strings.IndexByte(more, c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String(), nil
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

// plainURL is without user and password.
func plainURL(u *url.URL) string {
	v := *u
	v.User = nil
	return v.String()
}

// Shown is an address for messages, without what may be secret or long: the password and the query.
func Shown(u *url.URL) string {
	v := *u
	v.Fragment = ""
	if v.RawQuery != "" {
		v.RawQuery = "..."
	}
	text := v.Redacted()
	if len(text) > 200 {
		text = text[:197] + "..."
	}
	return text
}
