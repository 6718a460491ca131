# Everything that the project does with itself. Only Go is needed; a target says what else it uses.
GO ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 30s
VERSION = $(shell sed -n 's/^const Version = "\(.*\)"/\1/p' npu/version.go)

BACKEND ?= sim

.PHONY: build test race conformance bench fuzz docs golden dist vet staticcheck clean

build:
	CGO_ENABLED=0 $(GO) build -trimpath -o npulua ./cmd/npulua

# vet, and every test. Tests that need more than Go say that they skip.
test: vet
	$(GO) test -timeout 25m ./...

# the tests under the race detector, short ones: what one goroutine does, and what takes minutes, is left to `make test`.
# Needs a C compiler
race:
	CGO_ENABLED=1 $(GO) test -race -short -timeout 25m ./...

# the driver suite on one backend, case by case: BACKEND=acl is a server with NPUs and CANN, whose library must be
# found (source set_env.sh); kernels spin.o and vector_add.o come from the folder in NPULUA_KERNELS
conformance:
	CGO_ENABLED=0 NPULUA_CONFORMANCE=$(BACKEND) $(GO) test -count=1 -v -run '^TestConformance$$' ./npu/$(BACKEND)

vet:
	$(GO) vet ./...

staticcheck:
	$(GO) run $(STATICCHECK) ./...

# the table of docs/performance.md, then the benchmarks behind it; the comparison with a C extension
# needs cc and python3 with headers
bench:
	$(GO) run ./tests/bench
	$(GO) test -run '^$$' -bench . -benchtime 200ms -timeout 30m ./npu/internal/executor ./luabind ./npu/sim ./npu/sim/kernel

# every fuzz target for FUZZTIME, one after the other, under the race detector (needs a C compiler),
# and more generated Lua programs than the tests compare
fuzz:
	@set -e; $(GO) list -f '{{.Dir}}' ./... | while read -r dir; do \
	  grep -hos '^func Fuzz[A-Za-z0-9]*' "$$dir"/*_test.go | sed 's/^func //' | while read -r target; do \
	    echo "fuzz $$target in $$dir"; \
	    (cd "$$dir" && CGO_ENABLED=1 $(GO) test -race -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x .); \
	  done; \
	done
	$(GO) test ./tests -run '^TestLua(Differential|Syntax)$$' -lua-programs=20000 -lua-seed=$$(date +%s)
	$(GO) test ./tests -timeout 1h -run '^TestBackendsAgree$$' -npu-programs=2000 -npu-seed=$$(date +%s)

# the reference manual, from the tables in luabind
docs:
	$(GO) test ./luabind -run '^TestReference$$' -update

# the golden output in tests/testdata, and the output in documents, from what the binary prints now
golden:
	$(GO) test ./tests -run '^Test(Scripts|DocsExcerpts)$$' -update

# release binaries: static, no C
dist:
	@mkdir -p dist
	@for arch in amd64 arm64; do \
	  echo "dist/npulua-$(VERSION)-linux-$$arch"; \
	  CGO_ENABLED=0 GOOS=linux GOARCH=$$arch $(GO) build -trimpath -ldflags '-s -w' -o dist/npulua-$(VERSION)-linux-$$arch ./cmd/npulua || exit 1; \
	done

clean:
	rm -rf npulua dist
