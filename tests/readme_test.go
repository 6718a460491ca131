package tests

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
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
	long(t, "scripts that have tests of their own are run once more")
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

// TestDocsLinks checks that what the documents of the repository link to inside it exists.
func TestDocsLinks(t *testing.T) {
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

// excerpt is a code block that shows commands and what they print: its first line begins with "$ ".
type excerpt struct {
	text  string // of the whole block
	steps []step
}

// step is one command and its output. `cat FILE` makes the file where there is none.
type step struct {
	line            int // in the document
	command, output string
}

var (
	// A paragraph that begins with the name of a script is followed by the script.
	scriptName = regexp.MustCompile("^`([a-z_]+\\.lua)`")
	// Sentences in both languages that make another script of the last one.
	scriptEdit = regexp.MustCompile("`([a-z_]+\\.lua)` .*(?:line|第) (\\d+) .*`(2 \\* n)`")
)

// readExcerpts returns the excerpts of a document and the scripts that it shows, by file name.
func readExcerpts(t *testing.T, path string) (excerpts []excerpt, files map[string]string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files = make(map[string]string)
	var block []string
	inside, name, last := false, "", ""
	for i, line := range strings.Split(string(data), "\n") {
		switch {
		case strings.HasPrefix(line, "```") && !inside:
			inside, block = true, nil
		case strings.HasPrefix(line, "```"):
			inside = false
			text := strings.Join(block, "\n") + "\n"
			if strings.HasPrefix(text, "$ ") {
				excerpts = append(excerpts, newExcerpt(text, i+1-len(block)))
			} else if name != "" {
				files[name], last, name = text, text, ""
			}
		case inside:
			block = append(block, line)
		default:
			edit := scriptEdit.FindStringSubmatch(line)
			switch m := scriptName.FindStringSubmatch(line); {
			case edit != nil:
				files[edit[1]] = editLine(last, edit[2], ", n)", ", "+edit[3]+")")
			case m != nil:
				name = m[1]
			}
		}
	}
	return excerpts, files
}

// editLine replaces text in one line of a script.
func editLine(script, number, before, after string) string {
	lines := strings.Split(script, "\n")
	for i := range lines {
		if fmt.Sprint(i+1) == number {
			lines[i] = strings.Replace(lines[i], before, after, 1)
		}
	}
	return strings.Join(lines, "\n")
}

func newExcerpt(text string, first int) excerpt {
	e := excerpt{text: text}
	n := first
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			e.steps = append(e.steps, step{line: n, command: strings.TrimSuffix(command, "\n")})
		} else {
			e.steps[len(e.steps)-1].output += line
		}
		n++
	}
	return e
}

// TestDocsExcerpts runs the commands that the documents show with their output, and compares. With
// -update it rewrites the documents.
func TestDocsExcerpts(t *testing.T) {
	long(t, "the texts of documents are compared")
	if runtime.GOOS != "linux" {
		t.Skip("the documents show what is printed on Linux")
	}
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	must := []string{"../README.md", "../README.zh.md", "../docs/errors.md", "../docs/lua.md", "../docs/check.md"}
	for _, path := range append(paths, "../README.md", "../README.zh.md") {
		excerpts, files := readExcerpts(t, path)
		if len(excerpts) == 0 {
			if slices.Contains(must, path) {
				t.Errorf("%s shows no command with its output", path)
			}
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Symlink(filepath.Join(repo, "scripts"), filepath.Join(dir, "scripts")); err != nil {
				t.Fatal(err)
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, e := range excerpts {
				var now strings.Builder
				for _, s := range e.steps {
					got := runExcerpt(t, dir, s)
					fmt.Fprintf(&now, "$ %s\n%s", s.command, got)
					if got != s.output && !*update {
						t.Errorf("%s:%d: $ %s\nshows\n%s\nprints\n%s", path, s.line, s.command, s.output, got)
					}
				}
				if *update && now.String() != e.text {
					rewriteExcerpt(t, path, e.text, now.String())
				}
			}
		})
	}
}

// prompt is what stands before what people type in a transcript of a session.
var prompt = regexp.MustCompile(`(?m)^(npu[0-9a-z/]*> | *>> )`)

// runExcerpt runs a command in a shell and returns what it prints, to both streams.
func runExcerpt(t *testing.T, dir string, s step) string {
	t.Helper()
	if name, ok := strings.CutPrefix(s.command, "cat "); ok {
		file := filepath.Join(dir, name)
		if _, err := os.Stat(file); err != nil {
			if err := os.WriteFile(file, []byte(s.output), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", s.command)
	cmd.Dir = dir
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"),
		"ASCEND_LAUNCH_BLOCKING=", "NPULUA_PATH=", "LUA_PATH=", "GORACE=atexit_sleep_ms=0")
	if prompt.MatchString(s.output) {
		return runSession(t, cmd, s.output)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // its status is shown where it matters: `; echo $?`
	return out.String()
}

func rewriteExcerpt(t *testing.T, path, before, after string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), "\n"+before+"```", "\n"+after+"```", 1)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
