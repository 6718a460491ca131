package metrics

import (
	"strings"

	"github.com/prometheus/common/expfmt"
)

// Text is what Prometheus reads: the text exposition format, version 0.0.4.
func (r *Registry) Text() (string, error) {
	families, err := r.Gather()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}
