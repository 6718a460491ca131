package npu

import (
	"os"
	"testing"
)

func TestRoomOf(t *testing.T) {
	const kB = 1024
	files := map[string]string{
		"/proc/meminfo":     "MemTotal: 1000 kB\nMemAvailable:    600 kB\nSwapFree: 50 kB\n",
		"/proc/self/status": "Name:\tx\nRssAnon:\t     200 kB\nVmSwap:\t 10 kB\n",
		"/proc/self/cgroup": "0::/\n",
	}
	with := func(more map[string]string) func(string) ([]byte, error) {
		return func(path string) ([]byte, error) {
			if text, ok := more[path]; ok {
				return []byte(text), nil
			}
			if text, ok := files[path]; ok {
				return []byte(text), nil
			}
			return nil, os.ErrNotExist
		}
	}
	for _, x := range []struct {
		name    string
		granted int64
		more    map[string]string
		want    int64
	}{
		{"nothing granted", 0, nil, 650 * kB},
		{"granted and not written", 100 * kB, nil, 750 * kB},
		{"granted and written", 500 * kB, nil, 860 * kB},
		{"group without limit", 0, map[string]string{"/sys/fs/cgroup/memory.max": "max\n", "/sys/fs/cgroup/memory.current": "1\n"}, 650 * kB},
		{"group", 0, map[string]string{"/sys/fs/cgroup/memory.max": "307200\n", "/sys/fs/cgroup/memory.current": "204800\n", "/sys/fs/cgroup/memory.stat": "anon 3\ninactive_file 51200\n"}, 200 * kB},
		{"group above", 0, map[string]string{"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/memory.max": "102400\n", "/sys/fs/cgroup/a/memory.current": "204800\n"}, 50 * kB},
		{"older groups", 0, map[string]string{"/proc/self/cgroup": "5:cpu:/\n4:memory:/x\n", "/sys/fs/cgroup/memory/x/memory.limit_in_bytes": "102400\n", "/sys/fs/cgroup/memory/x/memory.usage_in_bytes": "0\n"}, 150 * kB},
	} {
		if got := roomOf(with(x.more), x.granted); got != x.want {
			t.Errorf("%s: %d B, want %d", x.name, got, x.want)
		}
	}
}
