//go:build !linux

package main

func findMemoryLimit() *memoryLimit { return nil }
