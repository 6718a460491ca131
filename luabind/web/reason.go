package web

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// plainError is in plain words already.
type plainError string

func (e plainError) Error() string { return string(e) }

// clientAlerts are what servers say in TLS, in Go's words, where they want to know the client.
var clientAlerts = []string{"certificate required", "bad certificate", "unknown certificate authority"}

// wantsClient reports whether err is one of clientAlerts.
func wantsClient(err error) bool {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "remote error" {
		return false
	}
	return slices.ContainsFunc(clientAlerts, func(alert string) bool { return strings.Contains(op.Err.Error(), alert) })
}

// reason is why a request failed, in plain words.
func reason(err error) string {
	var plain plainError
	var dns *net.DNSError
	var op *net.OpError
	var record tls.RecordHeaderError
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	switch {
	case errors.As(err, &plain):
		return plain.Error()
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("the host %q is not known", dns.Name)
	case errors.As(err, &dns):
		return fmt.Sprintf("the host %q cannot be looked up: %s", dns.Name, dns.Err)
	case errors.Is(err, syscall.ECONNREFUSED) && errors.As(err, &op):
		return fmt.Sprintf("nobody listens at %v (connection refused)", op.Addr)
	case errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH):
		return "no network leads to the host"
	case wantsClient(err):
		return fmt.Sprintf("the server wants another certificate of the client, or one at all (options cert_file and key_file): %s", withoutPrefix(err))
	case errors.As(err, &record) || errors.Is(err, http.ErrSchemeMismatch):
		return "the server does not speak TLS there: the address may have to begin with http://"
	case errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE):
		return "the server closed the connection without an answer"
	}
	if text := certificateReason(err); text != "" {
		return text
	}
	return withoutPrefix(err)
}

// withoutPrefix is the text of err without the places in the library that it went through; which ones these were may
// depend on the time at which the connection broke.
func withoutPrefix(err error) string {
	text := err.Error()
	for _, place := range []string{"readLoopPeekFailLocked: ", "net/http: ", "http: "} {
		text = strings.TrimPrefix(text, place)
	}
	return text
}

// certificateReason is what is wrong with the certificate of a server; "" where that is not the reason.
func certificateReason(err error) string {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var other *tls.CertificateVerificationError
	switch {
	case errors.As(err, &unknown):
		return "the certificate of the server is signed by nobody who is trusted (option ca_file)"
	case errors.As(err, &host):
		names := host.Certificate.DNSNames
		for _, ip := range host.Certificate.IPAddresses {
			names = append(names, ip.String())
		}
		return fmt.Sprintf("the certificate of the server is for %s, not for %s", strings.Join(names, ", "), host.Host)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("the certificate of the server is valid from %s to %s, and it is %s", day(invalid.Cert.NotBefore), day(invalid.Cert.NotAfter), day(time.Now()))
	case errors.As(err, &other):
		return fmt.Sprintf("the certificate of the server is not good: %v", other.Err)
	}
	return ""
}

func day(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }
