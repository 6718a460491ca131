package web

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// TLS says who is trusted, and who asks. The zero value trusts whom the machine trusts.
type TLS struct {
	CA        string // certificates in PEM that are trusted in place of the machine's; "": none
	Cert, Key string // of the client, in PEM; "": none
	Insecure  bool   // whatever certificate the server has is taken
}

func (t TLS) config() (*tls.Config, error) {
	c := &tls.Config{InsecureSkipVerify: t.Insecure}
	if t.CA != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(t.CA)) {
			return nil, errors.New("ca_file has no certificate in PEM")
		}
	}
	if t.Cert != "" {
		cert, err := tls.X509KeyPair([]byte(t.Cert), []byte(t.Key))
		if err != nil {
			return nil, fmt.Errorf("cert_file and key_file are no pair in PEM: %v", err)
		}
		c.Certificates = []tls.Certificate{cert}
	}
	return c, nil
}
