//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// fenceSignal has a number above those of the signals that end a script: of several that have come Go hands over the
// lowest first.
const fenceSignal = syscall.SIGIO

func notifyFence(ch chan<- os.Signal) { signal.Notify(ch, fenceSignal) }

func sendFence() bool { return syscall.Kill(os.Getpid(), fenceSignal) == nil }

func isFence(sig os.Signal) bool { return sig == fenceSignal }
