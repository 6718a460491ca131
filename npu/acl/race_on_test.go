//go:build race

package acl_test

const raceEnabled = true
