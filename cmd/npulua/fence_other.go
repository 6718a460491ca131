//go:build !unix

package main

import "os"

func notifyFence(chan<- os.Signal) {}

func sendFence() bool { return false }

func isFence(os.Signal) bool { return false }
