package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"npulua/cmd/npulua/serve"
	"npulua/npu"
	"npulua/scripts"
)

// serveOptions is the command line of serve.
type serveOptions struct {
	listen                string
	every, timeout, drain time.Duration
	hosts                 []string
	help                  bool
}

func newServeFlags(o *serveOptions) *pflag.FlagSet {
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	o.listen = "127.0.0.1:9400"
	fs.Var(addressFlag{&o.listen}, "listen", "where to answer; only this machine can reach the default, 0.0.0.0:9400 is for all")
	o.every, o.drain = 30*time.Second, 30*time.Second
	fs.Var(timeFlag{&o.every, time.Millisecond}, "every", "time from the beginning of a run to that of the next, as in 30s, 5m")
	fs.Var(timeFlag{&o.timeout, time.Millisecond}, "timeout", "end a run that takes longer (default: the time of --every)")
	fs.Var(timeFlag{&o.drain, time.Millisecond}, "drain", "how long a run may go on after SIGTERM or Ctrl-C")
	fs.Var(hostFlag{&o.hosts}, "host", "a name by which clients may ask, besides addresses, localhost, the name in --listen and, where other machines can reach it, that of this machine; * is any; may be repeated")
	fs.BoolVarP(&o.help, "help", "h", false, "show this text")
	return fs
}

// hostFlag adds a name of a host.
type hostFlag struct{ list *[]string }

func (f hostFlag) Set(s string) error {
	if s != serve.AnyHost && (s == "" || strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789-._") != "") {
		return fmt.Errorf("want the name of a host, without a port, got %q", s)
	}
	*f.list = append(*f.list, s)
	return nil
}
func (f hostFlag) String() string { return strings.Join(*f.list, " ") }
func (f hostFlag) Type() string   { return "NAME" }

// addressFlag is a host and a port. The host must be named: one that is left out would mean every network of the machine.
type addressFlag struct{ to *string }

func (f addressFlag) Set(s string) error {
	host, port, err := net.SplitHostPort(s)
	switch {
	case err != nil:
		return fmt.Errorf("want an address such as 127.0.0.1:9400, got %q", s)
	case host == "":
		return fmt.Errorf("%q names no host: 127.0.0.1:%s is for this machine only, 0.0.0.0:%s for all", s, port, port)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("want a port from 0, for any that is free, to 65535, got %q", port)
	}
	*f.to = s
	return nil
}
func (f addressFlag) String() string { return *f.to }
func (f addressFlag) Type() string   { return "HOST:PORT" }

func serveHelp() string {
	return "npulua [options] serve SCRIPT [--listen ADDRESS] [--every TIME] [--timeout TIME] [-- args of the script]\n\n" +
		"Runs a script on a schedule, each time in a process of its own, and tells over HTTP how it went. SCRIPT is a file,\n" +
		"or the name of a script that comes with npulua. Options of npulua, such as --sim, come before the word serve.\n\n" +
		newServeFlags(new(serveOptions)).FlagUsagesWrapped(100) +
		"\n/metrics      metrics of the script, of its checks and of the schedule, for Prometheus" +
		"\n/             a page for people: last result, checks, live values, timeline, history" +
		"\n/status.json  the same for programs" +
		"\n/healthz      200 while the schedule is kept, 503 when results are too old\n" +
		"\nA run that is due while one is under way is skipped and counted. Ctrl-C, SIGTERM or SIGHUP lets the run under way\n" +
		"end; a second one ends it at once. Exit status: 0 after these, 1 where the address cannot be used, 2 usage.\n"
}

// serveCommand runs a script on a schedule.
func serveCommand(p *program, o *options, args []string) int {
	so := new(serveOptions)
	fs := newServeFlags(so)
	if err := fs.Parse(args); err != nil {
		return p.serveUsage(flagError(fs, err))
	}
	if so.help {
		fmt.Fprint(p.stdout, serveHelp())
		return exitOK
	}
	given := fs.Args()
	dash := fs.ArgsLenAtDash()
	if dash < 0 {
		dash = len(given)
	}
	if dash != 1 {
		return p.serveUsage(fmt.Errorf("want one script, got %d; arguments of the script come after --", dash))
	}
	if o.timeout > 0 && !o.sandbox.timed || o.interactive || len(o.chunks) > 0 || o.report != "" {
		return p.serveUsage(errors.New("--timeout comes after the word serve; -i, -e, -l and --report cannot go with it"))
	}
	script, err := scriptCommand(given[0])
	if err != nil {
		return p.serveUsage(err)
	}
	exe, err := os.Executable()
	if err != nil {
		fmt.Fprintf(p.stderr, "npulua: serve: %v\n", err)
		return exitError
	}
	if err := o.checkSession(exe); err != nil {
		return p.usage(err)
	}
	if so.timeout == 0 {
		so.timeout = so.every
	}
	l, err := net.Listen("tcp", so.listen)
	if err != nil {
		fmt.Fprintf(p.stderr, "npulua: serve: %v\n", err)
		if errors.Is(err, syscall.EADDRINUSE) {
			fmt.Fprintf(p.stderr, "  hint: another program answers there; --listen takes another port, and port 0 any that is free\n")
		}
		return exitError
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(100) // it runs for months, beside what it watches
	}
	ctx, stop, second := serveSignals()
	defer stop()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the log may lose its reader; runs get the signal as usual
	messages := newServeLog(p.errors)
	log := messages.printf
	serve.RemoveLeft(os.TempDir())
	log("%s every %v on http://%s/", given[0], so.every, l.Addr())
	if host, _, err := net.SplitHostPort(so.listen); err == nil {
		so.hosts = append(so.hosts, host)
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		log("other machines can reach this address, and there is no authentication")
		if name, err := os.Hostname(); err == nil {
			so.hosts = append(so.hosts, name)
		}
	}
	global, rest := o.given, given[1:]
	s := serve.New(serve.Config{
		Script: given[0], Version: npu.Version, Every: so.every, Timeout: so.timeout, Hosts: so.hosts, Log: log,
		Run: func(ctx context.Context, dir string) serve.Output {
			var list []string
			list = append(list, global...)
			if o.sandbox.on { // else it would end after the time of a script that runs once
				list = append(list, fmt.Sprintf("--timeout=%f", (so.timeout+sandboxEnd).Seconds()))
			}
			list = append(list, "--report", dir)
			list = append(list, script...)
			return serve.Process(ctx, exe, append(list, rest...))
		},
	})
	err = s.Serve(ctx, l, so.drain)
	if err != nil {
		log("%v", err)
	}
	messages.flush()
	select {
	case <-second:
		select {} // the signal ends the process, once the runs have
	default:
	}
	if err != nil {
		return exitError
	}
	return exitOK
}

// checkSession refuses options that no run could begin with. Hardware is not touched: what is wrong there may be mended later.
func (o *options) checkSession(program string) error {
	if dir := o.sandbox.limits.Dir; o.sandbox.on && dir != "" {
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			return fmt.Errorf("--sandbox: %q is no folder", dir)
		}
		if err := serve.Apart(dir, os.TempDir(), program); err != nil {
			return fmt.Errorf("--sandbox: %w", err)
		}
	}
	if o.session.Backend != "sim" {
		return nil
	}
	s, err := npu.Open(context.Background(), o.session)
	var e *npu.Error
	if errors.As(err, &e) && e.Code == npu.ErrInvalidParam {
		return errors.New(e.Detail)
	}
	if err == nil {
		_ = s.Close(true) // nothing was done with it
	}
	return nil // a fault that was asked for, perhaps: that is for the runs
}

// serveSignals ends the context at the first signal that asks for it. A second one ends the process, and what its runs
// have started; second is closed just before.
func serveSignals() (ctx context.Context, stop func(), second <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	again := make(chan struct{})
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(ch, syscall.SIGHUP)
	}
	go func() {
		<-ch
		cancel()
		sig := <-ch
		close(again)
		serve.EndRuns()
		signal.Reset(sig)
		_ = syscall.Kill(os.Getpid(), sig.(syscall.Signal)) // all that are notified of are such
	}()
	return ctx, cancel, again
}

// sandboxEnd is how much later than serve a script in a sandbox ends its own run.
const sandboxEnd = 10 * time.Second

func (p *program) serveUsage(err error) int {
	fmt.Fprintf(p.stderr, "npulua: serve: %v\n  try 'npulua serve --help'\n", err)
	return exitUsage
}

// scriptCommand is how a script is run: a file, or one that comes with npulua.
func scriptCommand(name string) ([]string, error) {
	if !strings.ContainsRune(name, filepath.Separator) && filepath.Ext(name) == "" {
		if _, ok := scripts.Find(name); ok {
			return []string{"run", name}, nil
		}
	}
	if st, err := os.Stat(name); err != nil || st.IsDir() {
		var names []string
		for _, s := range scripts.List() {
			names = append(names, s.Name)
		}
		return nil, fmt.Errorf("%q is no file, and no script that comes with npulua%s", name, npu.Suggest(name, names))
	}
	return []string{name}, nil
}
