package repl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The tests run this binary again as a program with a loop: toy is its language.
func TestMain(m *testing.M) {
	if os.Getenv("REPL_TOY") == "" {
		os.Exit(m.Run())
	}
	ev := &toy{vars: map[string]string{}}
	o := Options{Name: "toy", Banner: "toy 1", Wait: 100 * time.Millisecond}
	os.Exit(Run(context.Background(), ev, o))
}

// toy has the statements that Eval lists; anything else is printed as it came.
type toy struct {
	vars    map[string]string
	waiting atomic.Bool
}

type exitError int

func (e exitError) Error() string   { return "exit" }
func (e exitError) ExitStatus() int { return int(e) }

var assignment = regexp.MustCompile(`^(\w+) *= *(.*)$`)

func (y *toy) Eval(ctx context.Context, chunk string) error {
	verb, rest, _ := strings.Cut(chunk, " ")
	if m := assignment.FindStringSubmatch(chunk); m != nil {
		y.vars[m[1]] = m[2]
		return nil
	}
	switch verb {
	case "show":
		fmt.Printf("%s is %q\n", rest, y.vars[rest])
	case "sleep":
		y.waiting.Store(true)
		defer y.waiting.Store(false)
		fmt.Println("sleeping")
		<-ctx.Done()
		return ctx.Err()
	case "stuck":
		fmt.Println("stuck now")
		select {}
	case "partial":
		fmt.Print("no newline")
	case "fail":
		return errors.New("failed as asked")
	case "mode":
		s, err := unix.IoctlGetTermios(0, getTermios)
		fmt.Println("normal mode:", err == nil && s.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) == unix.ICANON|unix.ECHO|unix.ISIG)
	case "input":
		line, _ := bufio.NewReaderSize(one{}, 16).ReadString('\n')
		fmt.Printf("input %q\n", line)
	case "os.exit":
		os.Exit(3)
	case "exit":
		return exitError(4)
	case "quiet":
	default:
		fmt.Println(ran(chunk))
	}
	return nil
}

// ran is what toy prints for a chunk; short, so that it stays on one line of a screen.
func ran(chunk string) string {
	if len(chunk) > 100 {
		return fmt.Sprintf("ran(%08x)", crc32.ChecksumIEEE([]byte(chunk)))
	}
	return fmt.Sprintf("ran %q", chunk)
}

// one reads standard input byte by byte, as a careful io.read does.
type one struct{}

func (one) Read(p []byte) (int, error) { return os.Stdin.Read(p[:1]) }

var words = regexp.MustCompile(`\w+`)

func (y *toy) Incomplete(chunk string) bool {
	depth := strings.Count(chunk, "(") - strings.Count(chunk, ")")
	for _, w := range words.FindAllString(chunk, -1) {
		switch w {
		case "do", "function", "then":
			depth++
		case "end":
			depth--
		}
	}
	return depth > 0
}

func (y *toy) Complete(text string, pos int) (int, []string) {
	start := pos
	for start > 0 && (isWord(rune(text[start-1])) || text[start-1] >= 0x80) {
		start--
	}
	if text[start:pos] == "boom" {
		panic("boom")
	}
	var all []string
	names := []string{"only_one"}
	for i := range 60 {
		names = append(names, fmt.Sprintf("many%02d", i))
	}
	for _, n := range names {
		if strings.HasPrefix(n, text[start:pos]) {
			all = append(all, n)
		}
	}
	return start, all
}

func (y *toy) Highlight(text string) (spans []Span) {
	for _, at := range words.FindAllStringIndex(text, -1) {
		switch text[at[0]:at[1]] {
		case "do", "for", "end", "function":
			spans = append(spans, Span{at[0], at[1], Keyword})
		case "panic":
			panic("highlight")
		}
	}
	return spans
}

func (y *toy) Prompt() string               { return "npu0/ctx2" }
func (y *toy) FormatError(err error) string { return "error: " + err.Error() }

func (y *toy) Command(_ context.Context, text string) (bool, error) {
	switch text {
	case ".quit":
		return true, exitError(0)
	case ".help":
		fmt.Println("help!")
		return true, nil
	}
	return false, nil
}

func (y *toy) Waiting() string {
	if y.waiting.Load() {
		return "main waits for a bell"
	}
	return ""
}
