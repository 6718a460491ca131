//go:build !linux

package main

func findSpaceLimit() *memoryLimit { return nil }

func findMemoryLimit() *memoryLimit { return nil }

func limitMemory(int64) {}
