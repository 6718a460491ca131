//go:build race

package main

// raceDetector: its own memory, several times that of what it watches, counts as the process's.
const raceDetector = true
