//go:build !race

package acl_test

const raceEnabled = false
