package scripts

import "testing"

func TestMakesHelp(t *testing.T) {
	for _, tt := range []struct {
		code string
		want bool
	}{
		{"-- x: y\nlocal args = require \"args\"\n", true},
		{"local args, json = require('args'), require 'json'", true},
		{"  return require ( \"args\" ).parse{}", true},
		{"-- require \"args\" is not for this one\nprint(1)", false},
		{"local args = require \"argsort\"", false},
		{"print 'require \"args\"'", false},
		{"local args = {...}", false},
	} {
		if got := (Script{Code: tt.code}).MakesHelp(); got != tt.want {
			t.Errorf("MakesHelp of %q = %v, want %v", tt.code, got, tt.want)
		}
	}
}

// TestEverySummary checks that `npulua run` has a line for each script.
func TestEverySummary(t *testing.T) {
	for _, s := range List() {
		if s.Summary() == "" || s.Summary() == s.Help() {
			t.Errorf("%s has no summary", s.Name)
		}
	}
}
