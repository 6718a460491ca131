package luabind

import (
	"context"
	"fmt"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/lua51"
)

// Evaluator is the language side of an interactive session: it runs chunks one after the other in one
// machine, where globals stay, and helps to write them. Its methods belong to one goroutine, that of the
// Interp.
//
// A chunk is what was typed: expressions, whose values are printed, or statements. A local variable of one
// chunk is unknown in the next. Tasks of earlier chunks go on whenever a chunk waits.
type Evaluator struct {
	// Width is how many columns printed values may take; 0: 80.
	Width int

	in      *Interp
	chunks  int
	depth   int // of expression
	topics  map[lua.LValue]string
	classes map[string]classHelp
	locals  map[string]int // last chunk that declared such a local variable
}

// NewEvaluator makes an evaluator for in.
func (in *Interp) NewEvaluator() *Evaluator {
	return &Evaluator{in: in, locals: make(map[string]int)}
}

// Defined reports whether there is a global of that name; no code of the script runs for it.
func (e *Evaluator) Defined(name string) bool {
	return e.globals().RawGetString(name) != lua.LNil
}

// Fit has tables and help fit a terminal of that many columns; 0: there is no limit.
func (e *Evaluator) Fit(columns int) { e.in.columns = columns }

// InterruptedError is what Eval returns where its context ended the chunk. It is a context.Canceled.
type InterruptedError struct {
	Trace string // where in the chunk, or ""
}

func (e *InterruptedError) Error() string { return "interrupted" }

// Is makes errors.Is(err, context.Canceled) true.
func (e *InterruptedError) Is(target error) bool { return target == context.Canceled }

// errInterrupted is what instructions and waits of an interrupted chunk raise.
var errInterrupted = &InterruptedError{}

// Eval runs a chunk and prints its values to the standard output of the Interp; the first one is the global
// "_" then. A "?" behind a name prints what help knows. The end of ctx ends the chunk, whatever it does or
// waits for, and no pcall hides that: an *InterruptedError; tasks of earlier chunks go on, and everything
// that the chunk has set so far stays. Other errors are for FormatError.
func (e *Evaluator) Eval(ctx context.Context, chunk string) (err error) {
	in := e.in
	if ctx.Err() != nil {
		return &InterruptedError{}
	}
	defer func() {
		if flushErr := e.flush(ctx); err == nil {
			err = flushErr
		}
	}()
	if topic, ok := e.helpQuery(chunk); ok {
		return e.print(ctx, Wrap(e.explain(topic), e.in.columns))
	}
	e.chunks++
	input := lua51.CompileInput(withoutEquals(chunk), fmt.Sprintf("input %d", e.chunks))
	if input.Proto == nil {
		return input.Err
	}
	in.linker.Link(input.Proto)
	defer e.noteLocals(chunk)
	results, err := e.run(ctx, in.L.NewFunctionFromProto(input.Proto))
	if err != nil {
		return e.withHint(chunk, err)
	}
	if len(results) == 0 {
		return nil
	}
	e.globals().RawSetString("_", results[0]) // whatever the script makes of assignments
	text, err := e.Format(ctx, results...)
	if err != nil {
		return err
	}
	if hint := e.missing(chunk); hint != "" && len(results) == 1 && results[0] == lua.LNil {
		text += "  -- " + hint
	}
	return e.print(ctx, text)
}

// flushTime is how long what an interrupted chunk has printed may take to be written.
const flushTime = 100 * time.Millisecond

// flush writes what was printed, also when ctx has ended.
func (e *Evaluator) flush(ctx context.Context) error {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.Background(), flushTime)
		defer cancel()
	}
	return e.in.std.Stdout.Flush(ctx)
}

// withoutEquals drops the = that lua(1) wants before an expression.
func withoutEquals(chunk string) string {
	if rest, ok := strings.CutPrefix(strings.TrimLeft(chunk, " \t\r\n"), "="); ok && !strings.HasPrefix(rest, "=") {
		return rest
	}
	return chunk
}

// print writes a line.
func (e *Evaluator) print(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	err := e.in.std.Stdout.WriteContext(ctx, text+"\n")
	if ctx.Err() != nil {
		return &InterruptedError{}
	}
	return err
}

// run calls fn as the first task of the machine, until ctx ends it.
func (e *Evaluator) run(ctx context.Context, fn lua.LValue, args ...lua.LValue) ([]lua.LValue, error) {
	in := e.in
	chunk := lua51.NewEnding(in.ctx)
	defer chunk.End(nil)
	defer context.AfterFunc(ctx, func() { chunk.End(errInterrupted) })()
	in.sched.SetContext(chunk)
	site := in.thread.Site
	defer func() {
		in.sched.SetContext(context.Background())
		in.thread.Site = site
	}()
	results, err := in.threads.RunChunk(chunk, errInterrupted, fn, args...)
	err = in.caught(err)
	if err != nil && in.ctx.Err() == nil && ctx.Err() != nil {
		return nil, &InterruptedError{Trace: traceOf(err)}
	}
	return results, err
}

// Incomplete reports whether more lines may make chunk a valid one: it ends inside something that has begun.
func (e *Evaluator) Incomplete(chunk string) bool {
	if _, ok := e.helpQuery(chunk); ok {
		return false
	}
	return lua51.Incomplete(withoutEquals(chunk))
}

// Prompt is where the next chunk works: "npu0/ctx2" for an explicit context, "npu0" for the default one of a
// device, "npu" where there is none.
func (e *Evaluator) Prompt() string {
	x, err := e.in.session.Main().CurrentContext()
	switch {
	case err != nil:
		return "npu"
	case x.IsDefault():
		return fmt.Sprintf("npu%d", x.Device().ID())
	}
	return fmt.Sprintf("npu%d/ctx%d", x.Device().ID(), x.ID())
}

// FormatError is an error of Eval for people.
func (e *Evaluator) FormatError(err error) string {
	hint := ""
	if h, ok := err.(*hintedError); ok {
		err, hint = h.error, "\n  hint: "+h.hint
	}
	if interrupted, ok := err.(*InterruptedError); ok {
		return interrupted.text()
	}
	text, trace, found := strings.Cut(e.in.FormatError(err), tracebackHeader)
	text += hint
	if found && saysMore(trace) {
		text += tracebackHeader + trace
	}
	return text
}

const tracebackHeader = "\nstack traceback:\n"

// saysMore reports whether a traceback tells more than the place that begins the message: it has been in a
// function, or in a file.
func saysMore(trace string) bool {
	for _, line := range strings.Split(trace, "\n") {
		frame := strings.TrimSpace(line)
		if !strings.HasPrefix(frame, "[C]: ") && frame != "(tailcall): ?" && !(strings.HasPrefix(frame, "input ") && strings.HasSuffix(frame, ": in main chunk")) {
			return true
		}
	}
	return false
}

// text is what people see: a place where that is all there is to say, or a traceback.
func (e *InterruptedError) text() string {
	frames := strings.Split(e.Trace, "\n")[1:]
	switch {
	case len(frames) == 1:
		place, _, _ := strings.Cut(strings.TrimSpace(frames[0]), ": in ")
		return e.Error() + " at " + place
	case len(frames) > 1:
		return e.Error() + "\n" + e.Trace
	}
	return e.Error()
}

// hintedError is an error of a chunk in which a name is probably misspelled.
type hintedError struct {
	error
	hint string
}

func (e *hintedError) Unwrap() error { return e.error }

// withHint adds the nearest name to an error that is about an unknown one.
func (e *Evaluator) withHint(chunk string, err error) error {
	if script, ok := err.(*scriptError); ok && !strings.Contains(script.Error(), "did you mean") {
		for _, u := range e.unknown(chunk) {
			if strings.Contains(script.Error(), "'"+u.name+"'") && u.hint != "" {
				return &hintedError{err, u.hint}
			}
		}
	}
	return err
}
