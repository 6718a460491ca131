package tests

import (
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// markdown is what the tests compare of a document.
type markdown struct {
	headings [7]int   // by level
	fences   []string // language of each code block
	commands []string // lines of sh blocks that start with `go run` or `npulua`
	links    []string // targets of links and images outside code
	text     string
}

var (
	inlineCode = regexp.MustCompile("`[^`]*`")
	linkTarget = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)`)
)

func readMarkdown(t *testing.T, path string) markdown {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m := markdown{text: string(data)}
	inside, language := false, ""
	for line := range strings.Lines(m.text) {
		line = strings.TrimSpace(line)
		if lang, ok := strings.CutPrefix(line, "```"); ok {
			if inside = !inside; inside {
				language = lang
				m.fences = append(m.fences, lang)
			}
			continue
		}
		if inside {
			if language == "sh" && (strings.HasPrefix(line, "go run ") || strings.HasPrefix(line, "npulua ")) {
				m.commands = append(m.commands, line)
			}
			continue
		}
		level := len(line) - len(strings.TrimLeft(line, "#"))
		if level > 0 && level < len(m.headings) && strings.HasPrefix(line[level:], " ") {
			m.headings[level]++
		}
		for _, match := range linkTarget.FindAllStringSubmatch(inlineCode.ReplaceAllString(line, ""), -1) {
			m.links = append(m.links, match[1])
		}
	}
	if inside {
		t.Errorf("%s: a code block is not closed", path)
	}
	return m
}

// TestReadmesAgree compares the two languages section by section.
func TestReadmesAgree(t *testing.T) {
	en, zh := readMarkdown(t, "../README.md"), readMarkdown(t, "../README.zh.md")
	if en.headings != zh.headings {
		t.Errorf("headings by level: README.md has %v, README.zh.md %v", en.headings[1:], zh.headings[1:])
	}
	if !slices.Equal(en.fences, zh.fences) {
		t.Errorf("code blocks: README.md has %q, README.zh.md %q", en.fences, zh.fences)
	}
	if !slices.Equal(en.commands, zh.commands) {
		t.Errorf("commands: README.md has\n  %s\nREADME.zh.md has\n  %s",
			strings.Join(en.commands, "\n  "), strings.Join(zh.commands, "\n  "))
	}
	if len(en.commands) == 0 {
		t.Error("README.md shows no command")
	}
	scripts, err := filepath.Glob("../scripts/*.lua")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range scripts {
		row := "| `" + strings.TrimSuffix(filepath.Base(path), ".lua") + "` |"
		if !strings.Contains(en.text, row) || !strings.Contains(zh.text, row) {
			t.Errorf("%s has no row in the table of scripts of both READMEs", path)
		}
	}
}

// TestReadmeCommands runs every command that README.md shows, with the binary in the place of go run.
func TestReadmeCommands(t *testing.T) {
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range readMarkdown(t, "../README.md").commands {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			_, line, _ := strings.Cut(command, "npulua ")
			dir := t.TempDir() // what a command writes goes here
			if err := os.Symlink(filepath.Join(repo, "scripts"), filepath.Join(dir, "scripts")); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), binary, strings.Fields(line)...)
			cmd.Dir = dir
			cmd.WaitDelay = 10 * time.Second
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestLinks checks that what the documents of the repository link to inside it exists.
func TestLinks(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != ".." && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		for _, link := range readMarkdown(t, path).links {
			u, err := url.Parse(link)
			if err != nil {
				t.Errorf("%s: link %q: %v", path, link, err)
				continue
			}
			if u.Scheme != "" || u.Host != "" || u.Path == "" {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), filepath.FromSlash(u.Path))); err != nil {
				t.Errorf("%s: link %q: %v", path, link, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
