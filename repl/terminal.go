package repl

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/chzyer/readline"
	"golang.org/x/sys/unix"
)

// Terminal reads entries that are edited with readline.
//
// readline keeps the text and the cursor and runs the loop. It sees neither the terminal nor its
// size: keys reads and tells keys, and hands them over one at a time, none before readline is done
// with the one before; screen draws what readline's Painter is called with, and all that readline
// writes itself is dropped. Its own completion, search, history and line arithmetic are never used,
// because each can panic in a goroutine of its own, where nobody can recover.
//
// A key goes this way:
//
//	nextKey  reads it                        readline's goroutine for input
//	filter   decides: readline's own key,    readline's goroutine for editing, as the rest
//	         or keyCommand and t.act
//	readline acts; inserts keyCommand
//	listener takes keyCommand out again, and applies t.act
//	Paint    draws
type Terminal struct {
	ev       Evaluator
	o        Options
	tty      tty
	screen   screen
	history  *history
	color    bool
	rl       *readline.Instance
	resizes  chan os.Signal
	closing  chan struct{}
	resizing sync.WaitGroup

	mu     sync.Mutex
	change *sync.Cond
	keys   *keys
	start  int  // how far Readline is with its first drawing
	active bool // a Read goes on, and takes keys
	busy   bool // readline acts on a key
	closed bool
	asked  bool  // readline has asked for a key
	end    error // why Read ends, unless by Enter
	ctx    context.Context

	// What follows belongs to the entry that is edited.
	prompt    string
	line      []rune
	pos       int
	act       edit   // what to do in place of keyCommand
	text      string // of keyText and keyPaste
	kill      []rune // what Ctrl-K and others cut last; kept over entries
	at        int    // index of the history's entry shown; len(entries) is the new one
	drafts    map[int][]rune
	searching *search
	menu      *menu
	painted   string // text and spans of the last Highlight
	spans     []Span
}

// Bracketed paste: the terminal marks what is pasted.
const (
	pasteOn  = "\x1b[?2004h"
	pasteOff = "\x1b[?2004l"
)

// NewTerminal edits lines on a terminal that understands escape codes.
func NewTerminal(ev Evaluator, o Options) (*Terminal, error) {
	src, err := newSource(o.In)
	if err != nil {
		return nil, err
	}
	t := &Terminal{
		ev:      ev,
		o:       o,
		tty:     tty{fd: int(o.In.Fd())},
		screen:  screen{out: o.Out, fd: int(o.Out.Fd())},
		color:   HasColor(o.Out),
		keys:    &keys{src: src},
		resizes: make(chan os.Signal, 1),
		closing: make(chan struct{}),
	}
	t.change = sync.NewCond(&t.mu)
	t.openHistory()
	t.rl, err = readline.NewEx(&readline.Config{
		Stdin:                  feed{t},
		Stdout:                 started{t},
		Stderr:                 io.Discard,
		Painter:                t,
		Listener:               readline.FuncListener(t.listener),
		FuncFilterInputRune:    t.filter,
		HistoryLimit:           -1,
		DisableAutoSaveHistory: true,
		UniqueEditLine:         true,
		ForceUseInteractive:    true,
		FuncIsTerminal:         func() bool { return true },
		FuncMakeRaw:            func() error { return nil },
		FuncExitRaw:            func() error { return nil },
		FuncGetWidth:           func() int { return 1 << 30 },
		FuncOnWidthChanged:     func(func()) {},
	})
	if err != nil {
		src.close()
		return nil, err
	}
	signal.Notify(t.resizes, syscall.SIGWINCH)
	t.resizing.Add(1)
	go func() {
		defer t.resizing.Done()
		for {
			select {
			case <-t.resizes:
				src.wake()
			case <-t.closing:
				return
			}
		}
	}()
	return t, nil
}

// openHistory warns once where no history is kept.
func (t *Terminal) openHistory() {
	path, err := t.o.History, error(nil)
	switch path {
	case "":
		path, err = HistoryPath(t.o.Name)
	case "off":
		path = ""
	}
	if err == nil {
		t.history, err = openHistory(path)
	} else {
		t.history = &history{}
	}
	t.warn(err)
}

func (t *Terminal) warn(err error) {
	if err != nil {
		fmt.Fprintf(t.o.Err, "%s: the history is not kept: %v\n", t.o.Name, err)
	}
}

// Interactive reports that a person sees prompts.
func (t *Terminal) Interactive() bool { return true }

// Close leaves the terminal as it was found.
func (t *Terminal) Close() error {
	t.tty.restore() // first, because the rest waits for a terminal that takes no output
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closed = true
	t.change.Broadcast()
	// readline's goroutine for input tells those who wait for its end that it runs only when it runs. It
	// does when it asks for a key.
	if !t.asked {
		t.rl.Terminal.KickRead()
	}
	for !t.asked {
		t.change.Wait()
	}
	t.mu.Unlock()
	signal.Stop(t.resizes)
	close(t.closing)
	t.resizing.Wait()
	// Not Instance.Close: that sends the end of input to a loop that may have none to wait for it.
	err := t.rl.Terminal.Close()
	t.keys.src.close()
	return err
}

// Read returns an entry. It is whole: Enter begins a new line while the evaluator calls it incomplete.
func (t *Terminal) Read(ctx context.Context, prompt string) (string, error) {
	if err := t.tty.raw(); err != nil {
		return "", err
	}
	defer t.tty.restore()

	t.mu.Lock()
	t.prompt, t.line, t.pos = prompt, nil, 0
	t.end, t.ctx = nil, ctx
	t.at, t.drafts = len(t.history.entries), map[int][]rune{}
	t.searching, t.menu, t.act = nil, nil, nil
	io.WriteString(t.o.Out, t.screen.fresh(t.color)+pasteOn)
	t.start = startWanted
	t.mu.Unlock()

	// Signals that would end the process at once leave the terminal as it was found, and are sent
	// again.
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT)
	stop := context.AfterFunc(ctx, t.keys.src.wake)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if sig, ok := <-quit; ok {
			io.WriteString(t.o.Out, pasteOff+"\r\n")
			t.tty.restore()
			signal.Reset(sig)
			unix.Kill(unix.Getpid(), sig.(syscall.Signal))
		}
	}()
	text, err := t.rl.Readline()
	stop()
	signal.Stop(quit)
	close(quit)
	<-done

	t.mu.Lock()
	defer t.mu.Unlock()
	t.active = false
	after := ""
	switch {
	case t.end != nil:
		err = t.end
		if err == ErrInterrupt && len(t.line) > 0 {
			err = ErrDropped
		}
		if err == ErrInterrupt || err == ErrDropped {
			after = "^C"
		}
	case err != nil: // readline ended, which only Close makes it do
		err = io.EOF
	}
	t.menu, t.searching = nil, nil
	t.pos = len(t.line)
	t.screen.finish(t.layout(), after+pasteOff)
	if err != nil {
		return "", err
	}
	t.warn(t.history.add(text))
	return text, nil
}

// nextKey waits until readline is done with the key before and a Read takes keys, and returns the
// next one. It returns false after Close.
func (t *Terminal) nextKey() (rune, bool) {
	t.mu.Lock()
	t.asked = true
	t.change.Broadcast()
	for (t.busy || !t.active) && !t.closed {
		t.change.Wait()
	}
	closed, ctx := t.closed, t.ctx
	before, atEnd := string(t.line), t.atEnd()
	t.mu.Unlock()
	if closed {
		return 0, false
	}
	key := keyInterrupt
	if ctx.Err() == nil {
		t.keys.ended = func() bool { return ctx.Err() != nil }
		key = t.keys.next()
		if text := t.textOf(key); text != "" && atEnd && t.keys.src.pending() {
			key = t.keys.burst(text, func(text string) bool { return t.goesOn(before + text) })
		}
	}
	if key == ctrlZ {
		t.suspend()
		key = keyRedraw
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return 0, false
	case ctx.Err() != nil:
		t.end, key = context.Cause(ctx), keyInterrupt
	case key == keyGone:
		t.end, key = signalled{syscall.SIGHUP}, keyInterrupt
	}
	t.text = t.keys.text
	t.busy = true
	return key, true
}

// suspend stops the process as Ctrl-Z does, and goes on when the shell continues it. readline's own
// way stops the parent too.
func (t *Terminal) suspend() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.screen.finish(t.layout(), pasteOff)
	t.tty.restore()
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	unix.Kill(0, unix.SIGTSTP)
	select {
	case <-continued:
	case <-time.After(200 * time.Millisecond): // no shell to go back to: not stopped
	}
	signal.Stop(continued)
	t.tty.raw()
	io.WriteString(t.o.Out, t.screen.fresh(t.color)+pasteOn)
}

// Readline first draws the empty text, and must be done with it before a key comes: it would read
// what the other goroutine writes. It is done when it writes what Paint returned.
const (
	startDone = iota
	startWanted
	startPainted
)

// started drops what readline writes.
type started struct{ t *Terminal }

func (s started) Write(p []byte) (int, error) {
	t := s.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.start == startPainted {
		t.start, t.active = startDone, true
		t.change.Broadcast()
	}
	return len(p), nil
}

// remember adds an entry to the history.
func (t *Terminal) remember(entry string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.warn(t.history.add(entry))
}

// filter decides what readline is given for a key.
func (t *Terminal) filter(key rune) (rune, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if key == 0 { // the end of nextKey
		return key, true
	}
	t.act = nil
	if t.end != nil {
		return t.leave(readline.CharInterrupt)
	}
	searched := t.searching != nil
	if searched {
		act, done := t.searchKey(key)
		if done {
			t.act = act
			return keyCommand, true
		}
	}
	if t.menu != nil && key != keyTab && key != keyBackTab && key != keyRedraw {
		t.menu = nil
	}
	switch {
	case key == keyInterrupt:
		t.end = ErrInterrupt
		if searched {
			t.end = ErrDropped
		}
		return t.leave(readline.CharInterrupt)
	case key == keyEnd && len(t.line) == 0:
		t.end = io.EOF
		return t.leave(readline.CharInterrupt)
	case key == keyEnd:
		key = keyDelete
	case key == keyEnter && t.incomplete():
		key = keyNewline
	case key == keyEnter:
		return t.leave(readline.CharEnter)
	}
	switch key {
	case keyLeft:
		return readline.CharBackward, true
	case keyRight:
		return readline.CharForward, true
	case keyBackspace:
		return readline.CharBackspace, true
	}
	if key >= 0x20 && key < firstKey {
		return key, true
	}
	t.act = stay
	if act, ok := edits[key]; ok {
		t.act = act
	}
	return keyCommand, true
}

// leave ends the entry: no key is read before the next Read.
func (t *Terminal) leave(key rune) (rune, bool) {
	t.active = false
	return key, true
}

// textOf is what a key adds to the text, "" for a key that does something else.
func (t *Terminal) textOf(key rune) string {
	switch {
	case key == keyText:
		return t.keys.text
	case key >= 0x20 && key < firstKey:
		return string(key)
	}
	return ""
}

// atEnd reports whether text is typed at the end of the entry, and nothing else goes on.
func (t *Terminal) atEnd() bool {
	return t.pos == len(t.line) && t.searching == nil && t.menu == nil
}

// incomplete reports whether Enter begins a new line.
func (t *Terminal) incomplete() bool { return t.goesOn(string(t.line)) }

// goesOn reports whether text is the beginning of an entry.
func (t *Terminal) goesOn(text string) (more bool) {
	defer func() {
		if recover() != nil {
			more = false
		}
	}()
	return strings.TrimSpace(text) != "" && t.ev.Incomplete(text)
}

// listener is called when readline is done with a key, and with key 0 when Readline begins.
func (t *Terminal) listener(line []rune, pos int, key rune) ([]rune, int, bool) {
	if key == 0 {
		return nil, 0, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.change.Broadcast()
	t.busy = false
	act := t.act
	t.act = nil
	if key != keyCommand || act == nil || pos == 0 {
		return nil, 0, false
	}
	line, pos = act(t, cut(line, pos-1, pos), pos-1)
	t.line, t.pos = slices.Clone(line), pos // as Paint will tell; the next key may come before it
	return line, pos, true
}

// Paint is called when readline would draw. It draws, and leaves nothing to readline.
func (t *Terminal) Paint(line []rune, pos int) []rune {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.start == startWanted {
		t.start = startPainted
	} else if t.act != nil || !t.active {
		return nil
	}
	t.line, t.pos = append([]rune(nil), line...), pos
	if !t.keys.src.pending() { // else the next key draws
		t.draw()
	}
	return nil
}

func (t *Terminal) draw() {
	var extra func(cols, limit int) []string
	if t.menu != nil {
		extra = func(cols, limit int) []string { return t.menu.rows(cols, limit) }
	}
	t.screen.draw(t.layout(), extra)
}

// layout breaks the entry into rows for the screen as wide as it is now.
func (t *Terminal) layout() layout {
	cols, _ := size(t.screen.fd)
	prompt := t.prompt
	if s := t.searching; s != nil {
		prompt = s.prompt()
	}
	switch {
	case cols < 8:
		prompt = ""
	case textWidth(prompt) > cols/2:
		prompt = "> "
	}
	more := ""
	if prompt != "" {
		more = continuation(prompt)
	}
	style, promptStyle := func(int) string { return "" }, ""
	if t.color {
		promptStyle = sgrPrompt
		style = t.styles(string(t.line))
	}
	return lay(prompt, more, promptStyle, string(t.line), len(string(t.line[:t.pos])), cols, style)
}

// maxHighlight is how long a text may be, in bytes, to be coloured at every key.
const maxHighlight = 64 << 10

// styles returns the code of the character at each byte.
func (t *Terminal) styles(text string) func(int) string {
	if len(text) > maxHighlight {
		return func(int) string { return "" }
	}
	if text != t.painted {
		t.painted, t.spans = text, t.highlight(text)
	}
	kinds := make([]Kind, len(text))
	for _, s := range t.spans {
		for i := max(0, s.Start); i < min(s.End, len(text)); i++ {
			kinds[i] = s.Kind
		}
	}
	return func(i int) string { return colors[kinds[i]] }
}

func (t *Terminal) highlight(text string) (spans []Span) {
	defer func() {
		if recover() != nil {
			spans = nil
		}
	}()
	if !utf8.ValidString(text) {
		return nil
	}
	return t.ev.Highlight(text)
}
