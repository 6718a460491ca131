//go:build !linux && !darwin

package main

// limitDescriptors does nothing: the system's own limit has to do.
func limitDescriptors() {}
