package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"npulua/internal/whole"
	"npulua/luabind"
	"npulua/repl"
)

// fileName is the file that people mean by an argument: it may stand in quotes, and begin with ~.
func fileName(arg string) string {
	if n := len(arg); n > 1 && (arg[0] == '"' || arg[0] == '\'') && arg[n-1] == arg[0] {
		return arg[1 : n-1]
	}
	return withHome(arg)
}

// withHome replaces the ~ that path begins with.
func withHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~")
	if home, err := os.UserHomeDir(); ok && err == nil && (rest == "" || rest[0] == '/') {
		return home + rest
	}
	return path
}

func dotLoad(s *interactive, ctx context.Context, arg string) error {
	file := fileName(arg)
	return s.run(func() error { return s.Runner(ctx).RunFile(file) }, "dofile("+luabind.Quote(file)+")")
}

func dotSave(s *interactive, _ context.Context, arg string) error {
	return s.save(arg, false)
}

func dotSaveOver(s *interactive, _ context.Context, arg string) error {
	return s.save(arg, true)
}

// save writes the chunks to the file that arg names, over one that is there where over says so.
func (s *interactive) save(arg string, over bool) error {
	file := fileName(arg)
	code, n := s.Script(s.chunks)
	if n == 0 {
		return errors.New("nothing has run yet")
	}
	if _, err := os.Lstat(file); err == nil && !over {
		return fmt.Errorf("%s is there already; .save! %s replaces it", file, arg)
	}
	err := whole.Write(whole.Host{}, file, whole.Options{Sync: true}, func(w io.Writer) error {
		_, err := io.WriteString(w, code)
		return err
	})
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return fmt.Errorf("cannot write %s: %w", file, err)
	}
	plural := "s"
	if n == 1 {
		plural = ""
	}
	fmt.Fprintf(s.out, "%d chunk%s in %s\n", n, plural, file)
	return nil
}

func dotEdit(s *interactive, ctx context.Context, _ string) error {
	f, err := os.CreateTemp("", "npulua-*.lua")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if n := len(s.chunks); n > 0 {
		fmt.Fprintln(f, s.chunks[n-1])
	}
	if err := f.Close(); err != nil {
		return err
	}
	editor := "vi"
	for _, name := range []string{"EDITOR", "VISUAL"} {
		if e := strings.TrimSpace(os.Getenv(name)); e != "" {
			editor = e
		}
	}
	// As others run it: $EDITOR may have options and quotes.
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$@"`, editor, f.Name())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.p.stdin, s.p.stdout, s.p.errors
	s.p.inherited.Withhold()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", editor, err)
	}
	code, err := os.ReadFile(f.Name())
	if err != nil || strings.TrimSpace(string(code)) == "" {
		return err
	}
	return repl.Entry(strings.TrimRight(string(code), "\n"))
}
