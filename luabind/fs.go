package luabind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
)

var modeOption = option{"mode", "permissions as octal text, \"600\"; those that the file has, or what the umask leaves of \"666\"", anything}

var fsModule = &module{
	name: "fs",
	text: "Files and directories. Content is a string of any bytes. Errors name the path and the reason. Pipes, sockets and devices are refused, since they may hold the script up: `io.open` is for them.",
	functions: []function{
		{"read", doc{"(path [, options])", "string", "The whole content of a file.", "a file that is not there, cannot be read, or is no regular file; one that is too large", `local text = require("fs").read("/proc/meminfo")`},
			[]option{{"max_bytes", "size from which the file is refused; 1 GiB", anything}}, fsRead},
		{"write", doc{"(path, data [, options])", "", "Gives a file a new content, and makes it where it is missing. Others see the old content or the new one, never a part: it is written to a new file beside it, which is renamed.", "a directory that is missing or cannot be written; a full file system: the old content stays", `require("fs").write("report.txt", "all well\n")`},
			[]option{{"atomic", "false: write in place, as files of /proc and /sys need; true", aBoolean}, modeOption}, fsWrite},
		{"append", doc{"(path, data [, options])", "", "Adds to the end of a file, and makes it where it is missing.", "as `fs.write`", `require("fs").append("history.csv", "1,2\n")`}, []option{modeOption}, fsAppend},
		{"exists", doc{"(path)", "boolean", "Whether there is a file, directory or anything else of that name. A link counts as what it leads to.", "a directory that may not be searched", `print(require("fs").exists("/dev/davinci0"))`}, nil, fsExists},
		{"stat", doc{"(path [, options])", "table", "What is known of a file: `type` (`file`, `directory`, `link`, `pipe`, `socket` or `device`), `size` (bytes), `mtime` (last change, Unix seconds), `mode` (permissions as octal text, \"644\").", "a file that is not there", `print(require("fs").stat("/").type)`},
			[]option{{"follow", "false: of a link itself, not of what it leads to; true", aBoolean}}, fsStat},
		{"list", doc{"(path)", "table", "The names in a directory, sorted, without `.` and `..`.", "what is no directory, or cannot be read", `for _, name in ipairs(require("fs").list(".")) do print(name) end`}, nil, fsList},
		{"mkdir", doc{"(path [, options])", "", "Makes a directory and those above it. One that is there is no error.", "a file of that name; with `parents = false` also a directory that is there", `require("fs").mkdir("reports/today")`},
			[]option{{"parents", "false: only the last one, which must be new; true", aBoolean}, {"mode", "permissions as octal text, less the umask; \"777\"", anything}}, fsMkdir},
		{"remove", doc{"(path [, options])", "", "Removes a file, a link, or an empty directory.", "what is not there; a directory that is not empty; with `recursive` the root, and a directory that the program works in", `require("fs").remove("old", {recursive = true, missing_ok = true})`},
			[]option{{"recursive", "true: a directory with all that is in it; false", aBoolean}, {"missing_ok", "true: nothing to remove is no error; false", aBoolean}}, fsRemove},
		{"rename", doc{"(from, to)", "", "Gives a file or directory another name. A file of that name is replaced.", "other file systems; a directory of that name", `require("fs").rename("a.tmp", "a.txt")`}, nil, fsRename},
		{"copy", doc{"(from, to [, options])", "", "Copies the content and the permissions of a file; a file called `to` is replaced as a whole.", "a directory, unless `recursive` is set; a directory called `to`", `require("fs").copy("a.txt", "b.txt")`},
			[]option{{"recursive", "true: a directory with all that is in it, to one that is new; links stay links; false", aBoolean}}, fsCopy},
		{"glob", doc{"(pattern)", "table", "The paths that a pattern fits, sorted: `*` and `?` stand for characters other than `/`, `[a-c]` for one of a set. Directories that cannot be read count as empty.", "a pattern that cannot be read", `local logs = require("fs").glob("/var/log/npu/*.log")`}, nil, fsGlob},
		{"join", doc{"(name, ...)", "string", "One path of several parts, with `.`, `..` and double slashes worked out. All parts count, also after one that begins with a slash.", "", `print(require("fs").join("reports", "a.txt"))`}, nil, fsJoin},
		{"basename", doc{"(path)", "string", "The last part of a path.", "", `print(require("fs").basename("/tmp/a.txt")) -- a.txt`}, nil, pathPart(filepath.Base)},
		{"dirname", doc{"(path)", "string", "A path without its last part; `.` where nothing is left.", "", `print(require("fs").dirname("/tmp/a.txt")) -- /tmp`}, nil, pathPart(filepath.Dir)},
		{"extension", doc{"(path)", "string", "What follows the last dot of a name, with the dot; \"\" where there is none. A dot at the begin of the name does not count.", "", `print(require("fs").extension("a.tar.gz")) -- .gz`}, nil, pathPart(extension)},
		{"absolute", doc{"(path)", "string", "The path from the root.", "", `print(require("fs").absolute("a.txt"))`}, nil, fsAbsolute},
		{"tempdir", doc{"()", "string", "The path of a new directory that only this user can read, in the directory that TMPDIR names, or /tmp. It is removed, with all that is in it, when the program ends; in a worker, too, it lasts as long as the program.", "a directory that cannot be made", `local dir = require("fs").tempdir()`}, nil, fsTempdir},
	},
}

// filePath reads an argument that names a file: every file that a module uses comes through here or fileOption.
func (c *call) filePath(i int, name string) (string, error) {
	s, err := c.string(i, name)
	if err != nil {
		return "", err
	}
	if s == "" || strings.ContainsRune(s, 0) {
		return "", c.errorf("argument %d (%s) is no file name: %q", i, name, s)
	}
	return s, nil
}

// fileOption is filePath of an option; "" where it was left out.
func (o opts) fileOption(name string) (string, error) {
	s, err := o.string(name)
	if err != nil || o.get(name) == lua.LNil {
		return "", err
	}
	if s == "" || strings.ContainsRune(s, 0) {
		return "", o.c.errorf("option %q is no file name: %q", name, s)
	}
	return s, nil
}

// mode reads permissions, 0 where they were left out.
func (o opts) mode(name string) (fs.FileMode, error) {
	text, err := o.string(name)
	if err != nil || o.get(name) == lua.LNil {
		return 0, err
	}
	n, err := strconv.ParseUint(text, 8, 32)
	if err != nil || n == 0 || n > 0o777 {
		return 0, o.c.errorf("option %q must be octal permissions such as \"644\", got %q", name, text)
	}
	return fs.FileMode(n), nil
}

// fileError is an error about path; what ends the script stays what it is.
func (c *call) fileError(path string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || c.ctx().Err() != nil {
		return err
	}
	return c.errorf("%s", fileReason(path, err))
}

// ctx ends what blocks the machine.
func (c *call) ctx() context.Context { return lua51.ContextOf(c.L) }

const readLimit = 1 << 30 // as long as a string can be

func fsRead(c *call) error {
	path, err := c.filePath(1, "path")
	if err != nil {
		return err
	}
	o, err := c.table(2)
	if err != nil {
		return err
	}
	limit, err := o.int("max_bytes", readLimit)
	if err == nil && (limit < 0 || limit > readLimit) {
		err = c.errorf("option \"max_bytes\" must be 0 to %d, got %d", readLimit, limit)
	}
	if err != nil {
		return err
	}
	text, err := readWhole(c.ctx(), c.in.disk(), path, limit)
	if err != nil {
		return c.fileError(path, err)
	}
	c.push(lua.LString(text))
	return nil
}

func fsWrite(c *call) error {
	path, data, o, err := c.writing()
	if err != nil {
		return err
	}
	mode, err := o.mode("mode")
	if err != nil {
		return err
	}
	atomic, err := o.bool("atomic", true)
	if err != nil {
		return err
	}
	if !atomic {
		return c.fileError(path, writeInPlace(c.ctx(), c.in.disk(), path, data, mode, os.O_TRUNC))
	}
	return c.fileError(path, replaceFile(c.in.disk(), path, mode, func(w io.Writer) error {
		_, err := copyPieces(c.ctx(), w, strings.NewReader(data))
		return err
	}))
}

// writing reads path, data and options.
func (c *call) writing() (path, data string, o opts, err error) {
	if path, err = c.filePath(1, "path"); err != nil {
		return "", "", o, err
	}
	text, ok := lua51.Text(c.arg(2))
	if !ok {
		return "", "", o, c.wrongType(2, "data", "a string or a number")
	}
	o, err = c.table(3)
	return path, text, o, err
}

func fsAppend(c *call) error {
	path, data, o, err := c.writing()
	if err != nil {
		return err
	}
	mode, err := o.mode("mode")
	if err != nil {
		return err
	}
	return c.fileError(path, writeInPlace(c.ctx(), c.in.disk(), path, data, mode, os.O_APPEND))
}

func fsExists(c *call) error {
	path, err := c.filePath(1, "path")
	if err != nil {
		return err
	}
	_, err = c.in.disk().Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return c.fileError(path, err)
	}
	c.push(lua.LBool(err == nil))
	return nil
}

func fsStat(c *call) error {
	path, err := c.filePath(1, "path")
	if err != nil {
		return err
	}
	o, err := c.table(2)
	if err != nil {
		return err
	}
	follow, err := o.bool("follow", true)
	if err != nil {
		return err
	}
	stat := c.in.disk().Stat
	if !follow {
		stat = c.in.disk().Lstat
	}
	info, err := stat(path)
	if err != nil {
		return c.fileError(path, err)
	}
	c.push(c.in.record("type", fileKind(info.Mode()), "size", info.Size(), "mtime", float64(info.ModTime().UnixNano())/1e9,
		"mode", strconv.FormatUint(uint64(info.Mode().Perm()), 8)))
	return nil
}

// strings is a list of strings.
func (in *Interp) strings(list []string) *lua.LTable {
	t := in.L.CreateTable(len(list), 0)
	for _, s := range list {
		t.Append(lua.LString(s))
	}
	return t
}

func fsList(c *call) error {
	path, err := c.filePath(1, "path")
	if err != nil {
		return err
	}
	entries, err := c.in.disk().ReadDir(path)
	if err != nil {
		return c.fileError(path, err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	slices.Sort(names)
	c.push(c.in.strings(names))
	return nil
}

func fsMkdir(c *call) error {
	path, err := c.filePath(1, "path")
	if err != nil {
		return err
	}
	o, err := c.table(2)
	if err != nil {
		return err
	}
	parents, err := o.bool("parents", true)
	if err != nil {
		return err
	}
	mode, err := o.mode("mode")
	if err != nil {
		return err
	}
	if mode == 0 {
		mode = 0o777
	}
	if parents {
		return c.fileError(path, c.in.disk().MkdirAll(path, mode))
	}
	return c.fileError(path, ofDirectory(c.in.disk().Mkdir(path, mode)))
}

func fsRemove(c *call) error {
	path, err := c.filePath(1, "path")
	if err != nil {
		return err
	}
	o, err := c.table(2)
	if err != nil {
		return err
	}
	recursive, err := o.bool("recursive", false)
	if err != nil {
		return err
	}
	missing, err := o.bool("missing_ok", false)
	if err != nil {
		return err
	}
	if recursive {
		err = removeTree(c.in.disk(), path)
	} else {
		err = c.in.disk().Remove(path)
	}
	switch {
	case missing && errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, syscall.ENOTEMPTY):
		return c.errorf("%q: the directory is not empty (recursive = true removes it with all that is in it)", path)
	}
	return c.fileError(path, err)
}

// fromTo reads two paths.
func (c *call) fromTo() (from, to string, err error) {
	if from, err = c.filePath(1, "from"); err != nil {
		return "", "", err
	}
	to, err = c.filePath(2, "to")
	return from, to, err
}

func fsRename(c *call) error {
	from, to, err := c.fromTo()
	if err != nil {
		return err
	}
	err = c.in.disk().Rename(from, to)
	var number syscall.Errno
	if errors.As(err, &number) {
		return c.errorf("%q to %q: %s", from, to, plainErrno(number))
	}
	return c.fileError(from, err)
}

func fsCopy(c *call) error {
	from, to, err := c.fromTo()
	if err != nil {
		return err
	}
	o, err := c.table(3)
	if err != nil {
		return err
	}
	recursive, err := o.bool("recursive", false)
	if err != nil {
		return err
	}
	d := c.in.disk()
	info, err := d.Stat(from)
	switch {
	case err != nil:
	case info.IsDir() && !recursive:
		return c.errorf("%q: is a directory (recursive = true copies it with all that is in it)", from)
	case info.IsDir():
		err = copyTree(c.ctx(), d, from, to)
	default:
		if target, e := d.Stat(to); e == nil && target.IsDir() {
			return c.fileError(to, syscall.EISDIR)
		}
		err = copyFile(c.ctx(), d, from, to)
	}
	var at *fs.PathError
	switch {
	case errors.As(err, &at) && at.Op != "stat":
		return c.fileError(at.Path, at.Err)
	case errors.Is(err, errNoDirectory):
		return c.fileError(to, err)
	}
	return c.fileError(from, err)
}

func fsGlob(c *call) error {
	pattern, err := c.filePath(1, "pattern")
	if err != nil {
		return err
	}
	list, err := glob(c.ctx(), c.in.disk(), pattern)
	if !errors.Is(err, filepath.ErrBadPattern) && err != nil {
		return c.fileError(shortened(pattern), err)
	}
	if err != nil {
		return c.errorf("the pattern %q cannot be read: a [ or \\ at its end, or an empty or unfinished set", pattern)
	}
	c.push(c.in.strings(list))
	return nil
}

func fsJoin(c *call) error {
	parts := make([]string, c.count())
	for i := range parts {
		text, ok := lua51.Text(c.arg(i + 1))
		if !ok {
			return c.wrongType(i+1, "name", "a string or a number")
		}
		parts[i] = text
	}
	if len(parts) == 0 {
		return c.wrongType(1, "name", "a string or a number")
	}
	c.push(lua.LString(filepath.Join(parts...)))
	return nil
}

// pathPart is a function of a path alone.
func pathPart(part func(string) string) func(c *call) error {
	return func(c *call) error {
		path, err := c.string(1, "path")
		if err == nil {
			c.push(lua.LString(part(path)))
		}
		return err
	}
}

func extension(path string) string {
	if strings.HasSuffix(path, "/") {
		return ""
	}
	return filepath.Ext(strings.TrimLeft(filepath.Base(path), "."))
}

func fsAbsolute(c *call) error {
	path, err := c.string(1, "path")
	if err != nil {
		return err
	}
	full, err := c.in.disk().Abs(path)
	if err != nil {
		return c.fileError(path, err)
	}
	c.push(lua.LString(full))
	return nil
}

func fsTempdir(c *call) error {
	dir, err := c.in.root().tempDirs.create(c.in.disk())
	if err != nil {
		return c.errorf("no temporary directory can be made: %s", fileReason(os.TempDir(), err))
	}
	c.push(lua.LString(dir))
	return nil
}

// removeTempDirs removes the temporary directories at the end of the program.
func (in *Interp) removeTempDirs() {
	if err := in.tempDirs.remove(in.disk()); err != nil {
		in.notice(fmt.Sprintf("a temporary directory is left: %v", err))
	}
}
