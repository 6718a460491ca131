//go:build linux && (amd64 || arm64)

package acl

import (
	"testing"

	"npulua/npu/internal/driver"
)

// A copy has no number of its own: it is the one between its neighbours, where only one line can be meant.
func TestBetween(t *testing.T) {
	l := log{entries: []entry{
		{task: noTask, op: driver.OpCopy, site: 1},
		{op: driver.OpLaunch, site: 2, task: 10},
		{task: noTask, op: driver.OpRecord, site: 3},
		{task: noTask, op: driver.OpCopy, site: 4},
		{task: noTask, op: driver.OpCopy, site: 4},
		{op: driver.OpFill, site: 5, task: 14},
		{task: noTask, op: driver.OpCopy, site: 6},
		{task: noTask, op: driver.OpCopy, site: 7},
	}}
	for task, want := range map[int64]int{9: 0, 11: 3, 13: 3, 15: unknown} {
		if got := l.between(task); got != want {
			t.Errorf("number %d is of command %d, want %d", task, got, want)
		}
	}
}
