//go:build linux

package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// untilKey has the bars painted before the script goes on.
const untilKey = "local function wait() local s = io.read() return s end "

// What a script prints stands above its bars, and a bar that has ended stays where it was.
func TestBarsBelowPrints(t *testing.T) {
	t.Parallel()
	s := startLive(t, `
local progress = require "progress"
local a = progress.new{total = 4, title = "first", unit = "parts"}
local b = progress.new{total = 2^31, title = "second one", unit = "bytes"}
local c = progress.new{seconds = 10, title = "third"}
a:set(1) b:set(2^30) npu.sleep(2.5) c:note("no\27[2Jte\n")
print "one"
io.read()
io.write("two, ") io.flush()
io.stderr:write("to the end\n")
a:add(3) a:done() b:title "second"
print "three"
io.read()
b:done()
npu.sleep(20) c:left()`, 80, 24)
	s.send("\n")
	bars := func(lines ...string) func(m *screen) bool {
		return func(m *screen) bool { return strings.HasSuffix(m.Text(), strings.Join(lines, "\n")) && m.X == 0 }
	}
	s.Wait("three bars", bars("one",
		"first       [=======>-----------------------]   25 %  1/4 parts",
		"second one  [==============>--------------]   50 %  1.0 GiB/2.0 GiB",
		"third       [=>-------]   25 %  2.5 s of 10 s, virtual time  7.5 s left  note"))
	s.ends(0)
}
