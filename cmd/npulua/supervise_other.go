//go:build !linux

package main

import "os"

// supervise does nothing: the process keeps its limits alone.
func (p *program) supervise(*options) (status int, ok bool) { return 0, false }

// parent would be the process that watches this one.
type parent struct{ signals chan os.Signal }

func findParent() (*parent, *os.File) { return nil, os.Stderr }

func (r *parent) tell(int) {}

func limitMemory(int64) {}
