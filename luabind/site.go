package luabind

import (
	"fmt"
	"sort"
	"sync"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

// sites numbers places in scripts: a function prototype owns a range of numbers, one a line, so
// that noting the place of a call is an addition.
type sites struct {
	mu     sync.Mutex // the table is read by whoever formats an error
	bases  map[*lua.FunctionProto]npu.Site
	ranges []siteRange
	next   npu.Site

	// owned by the interpreter's goroutine
	threads *lua51.Threads
	proto   *lua.FunctionProto // of the last call
	base    npu.Site
}

type siteRange struct {
	base npu.Site
	name string
}

func newSites() *sites {
	return &sites{bases: make(map[*lua.FunctionProto]npu.Site), next: 1}
}

// here is the place in a script that called the Go function running on L, 0 where there is none.
func (s *sites) here(L *lua.LState) npu.Site {
	proto, line := s.threads.Caller(L)
	if proto == nil {
		return 0
	}
	if proto != s.proto {
		s.proto, s.base = proto, s.baseOf(proto)
	}
	return s.base + npu.Site(line)
}

func (s *sites) baseOf(proto *lua.FunctionProto) npu.Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	base, ok := s.bases[proto]
	if !ok {
		last := 0
		for _, n := range proto.DbgSourcePositions {
			last = max(last, n)
		}
		base = s.next
		s.next += npu.Site(last + 1)
		s.bases[proto] = base
		s.ranges = append(s.ranges, siteRange{base, proto.SourceName})
	}
	return base
}

// text is "script.lua:12".
func (s *sites) text(site npu.Site) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].base > site })
	if site == 0 || i == 0 {
		return ""
	}
	r := s.ranges[i-1]
	return fmt.Sprintf("%s:%d", r.name, site-r.base)
}
