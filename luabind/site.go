package luabind

import (
	"fmt"
	"sync"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
	"npulua/npu"
)

// sites numbers places in scripts: a source owns ranges of numbers, one a line, so that noting the
// place of a call is an addition. Chunks of one name share their numbers.
type sites struct {
	table *siteTable

	// owned by the interpreter's goroutine
	threads *lua51.Threads
	proto   *lua.FunctionProto // of the last call
	part    int                // of its source
	base    npu.Site
}

// siteTable is what the machines of one session share, and whoever formats an error.
type siteTable struct {
	mu     sync.Mutex
	bases  map[source]npu.Site
	ranges []source // range i begins at 1 + i * linesInRange
}

// source is a part of a chunk: its lines from part * linesInRange on.
type source struct {
	name string
	part int
}

const (
	linesInRange = 1 << 12
	maxRanges    = 1<<20 - 1 // what 32 bits hold; later chunks have no places
)

func newSites() *sites { return &sites{table: &siteTable{bases: make(map[source]npu.Site)}} }

// here is the place in a script that called the Go function running on L, 0 where there is none.
func (s *sites) here(L *lua.LState) npu.Site {
	proto, line := s.threads.Caller(L)
	if proto == nil {
		return 0
	}
	if part := line / linesInRange; proto != s.proto || part != s.part {
		s.proto, s.part, s.base = proto, part, s.table.baseOf(source{proto.SourceName, part})
	}
	if s.base == 0 {
		return 0
	}
	return s.base + npu.Site(line%linesInRange)
}

func (s *siteTable) baseOf(src source) npu.Site {
	s.mu.Lock()
	defer s.mu.Unlock()
	base, ok := s.bases[src]
	if !ok && len(s.ranges) < maxRanges {
		base = npu.Site(1 + len(s.ranges)*linesInRange)
		s.bases[src] = base
		s.ranges = append(s.ranges, src)
	}
	return base
}

// text is "script.lua:12".
func (s *sites) text(site npu.Site) string { return s.table.text(site) }

func (s *siteTable) text(site npu.Site) string {
	if site == 0 {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i, line := int(site-1)/linesInRange, int(site-1)%linesInRange
	if i >= len(s.ranges) {
		return ""
	}
	r := s.ranges[i]
	return fmt.Sprintf("%s:%d", r.name, r.part*linesInRange+line)
}
