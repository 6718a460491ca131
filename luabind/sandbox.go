package luabind

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Sandbox confines scripts that others wrote: they reach no files beyond Dir, no programs, no network and no
// environment, and end when they exceed a limit. A limit of 0 is none.
type Sandbox struct {
	Dir          string // what relative paths of scripts start at; "": no files
	Memory       int64  // bytes of Lua values, host buffers and memory of simulated devices
	Instructions int64  // of all machines together
	Output       int64  // bytes to files and standard streams
	// OnLimit is called once, with a *LimitError, when a limit is exceeded, before the scripts end. nil: nobody is told.
	OnLimit func(error)
	// Kill ends the process: it is called when scripts take memory so fast that ending them would take too long.
	// nil: the scripts alone are ended.
	Kill func(error)
}

// withheld is why a sandbox refuses something.
type withheld struct{ text, hint string }

func (e *withheld) Error() string { return e.text }

// Hint is what to do about it.
func (e *withheld) Hint() string { return e.hint }

// Is makes it a kind of fs.ErrPermission.
func (e *withheld) Is(target error) bool { return target == fs.ErrPermission }

// PlainText is what io functions return.
func (e *withheld) PlainText() (string, syscall.Errno) { return e.text, syscall.EACCES }

// What to do where a sandbox is in the way.
const (
	withoutHint = "a script that you trust runs without --sandbox"
	filesHint   = "--sandbox=DIR grants a folder, in which relative paths start then"
)

// What a sandbox withholds altogether.
var (
	errNoPrograms    = &withheld{"the sandbox starts no programs", withoutHint}
	errNoNetwork     = &withheld{"the sandbox has no network", withoutHint}
	errNoEnvironment = &withheld{"the sandbox has no environment", withoutHint}
	errNoMachineCode = &withheld{"the sandbox loads no machine code for devices", withoutHint}
	errNoLibraries   = &withheld{"the sandbox loads no libraries", withoutHint}
	errOnlyFiles     = &withheld{"the sandbox opens no devices, pipes or sockets", withoutHint}
	errOtherNames    = &withheld{"the file has other names (hard links), perhaps outside: the sandbox writes to no such file", "write a new one"}
)

// withheldModules are the modules of require that a sandbox does not have, and why.
var withheldModules = map[string]*withheld{
	"exec": errNoPrograms,
	"http": errNoNetwork,
}

// policy is the sandbox of a session, which all its machines share.
type policy struct {
	*ledger
	granted  *os.Root // Dir; nil: none
	names    []string // absolute paths of Dir
	refused  *withheld
	beside   *os.Root // folder of the script, for modules; nil: it is no file
	scriptIn string   // the same as the script's path has it
}

// openPolicy opens the folders of a sandbox. script is the path of the script, "" where it is no file.
func openPolicy(s *Sandbox, script string, end func(error)) (*policy, error) {
	p := &policy{refused: &withheld{"the sandbox grants no files", filesHint}}
	if s.Dir != "" {
		root, err := os.OpenRoot(s.Dir)
		if err != nil {
			var pe *fs.PathError
			if errors.As(err, &pe) {
				err = pe.Err
			}
			return nil, &SandboxDirError{s.Dir, err}
		}
		p.granted = root
		if holdsMore(root.Name()) {
			root.Close()
			return nil, &SandboxDirError{s.Dir, errors.New("it holds more than files: processes, devices or the system")}
		}
		p.refused = &withheld{"the sandbox grants files in " + s.Dir + " only", filesHint}
		if abs, err := filepath.Abs(s.Dir); err == nil {
			p.names = append(p.names, abs)
			if real, err := filepath.EvalSymlinks(abs); err == nil && real != abs {
				p.names = append(p.names, real)
			}
		}
	}
	if script != "" {
		p.scriptIn = filepath.Dir(script)
		p.beside, _ = os.OpenRoot(p.scriptIn) // where there is none, there are no modules
	}
	p.ledger = openLedger(s, end)
	return p, nil
}

// holdsMore reports whether a folder is one that shows the kernel's side of the system: who may write there needs no
// way out of a sandbox.
func holdsMore(dir string) bool {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil || abs == filepath.Dir(abs) {
		return true
	}
	for _, special := range []string{"/proc", "/sys", "/dev"} {
		if rel, ok := below(special, abs); ok && rel != "shm" && !strings.HasPrefix(rel, "shm/") {
			return true
		}
	}
	return false
}

// SandboxDirError says why there is no sandbox with this folder.
type SandboxDirError struct {
	Dir string
	Err error
}

func (e *SandboxDirError) Error() string {
	return "the folder " + e.Dir + " of the sandbox: " + e.Err.Error()
}

func (e *SandboxDirError) Unwrap() error { return e.Err }

func (p *policy) close() {
	p.ledger.close()
	for _, root := range []*os.Root{p.granted, p.beside} {
		if root != nil {
			root.Close()
		}
	}
}

// The functions below are what modules ask before they reach out of the machine. nil means that they may.

// mayConnect asks for the network, to listen included.
func (in *Interp) mayConnect() error { return in.unless(errNoNetwork) }

// mayReadEnvironment asks for variables of the environment, and for what they tell, such as the home folder.
func (in *Interp) mayReadEnvironment() error { return in.unless(errNoEnvironment) }

// mayLoadMachineCode asks for kernels and models for hardware, which the vendor's library reads by itself.
func (in *Interp) mayLoadMachineCode() error { return in.unless(errNoMachineCode) }

// unless is err in a sandbox.
func (in *Interp) unless(err *withheld) error {
	if in.policy == nil {
		return nil
	}
	return err
}

// maxPath bounds the length of paths, as the system does: a folder is opened for each of their parts.
const maxPath = 4096

// inside is a path of a script below the granted folder.
func (p *policy) inside(path string) (string, error) {
	if p.granted == nil {
		return "", p.refused
	}
	if len(path) > maxPath {
		return "", syscall.ENAMETOOLONG
	}
	if !filepath.IsAbs(path) {
		return path, nil
	}
	for _, dir := range p.names {
		if rel, ok := below(dir, path); ok {
			return rel, nil
		}
	}
	return "", p.refused
}

// below is path as it is called in dir; ok is false where it lies elsewhere. No link is looked at.
func below(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	return rel, err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// told is an error of os.Root as scripts are told it: what is none of the system's is a way out that was refused.
func (p *policy) told(err error) error {
	var no syscall.Errno
	if err == nil || errors.As(err, &no) || errors.Is(err, os.ErrClosed) {
		return err
	}
	return p.refused
}
