package luabind

import (
	"context"

	lua "github.com/yuin/gopher-lua"

	"npulua/luabind/display"
)

var screenModule = &module{
	name: "screen",
	text: "The whole terminal as a screen of text that is drawn again and again, such as one of the state of devices. It is the terminal's second screen: the first one comes back as it was when the screen is closed, " +
		"which the end of the script, an error, os.exit and signals do, too. What is printed while it is open is held back until then, up to 1 MiB. In a sandbox there is no terminal.",
	functions: []function{
		{"size", doc{"()", "columns, rows", "The size of the terminal now; nil where standard output is none.", "", `local columns, rows = require("screen").size()`}, nil, screenSize},
		{"open", doc{"()", "view", "Opens the screen, empty and without a cursor. Keys are not shown, and come one by one (`key`).", "standard output is no terminal; a screen is open already",
			"local screen = require \"screen\"\nlocal s = screen.terminal and screen.open()\nrepeat\n  local text = npu.device(0).name .. \", \" .. npu.device(0):memory().free .. \" B free\"\n  if s then s:draw(text .. \"\\n\\nq: quit\") else print(text) end\nuntil not s or s:key(1) == \"q\"\nif s then s:close() end"}, nil, screenOpen},
	},
	fields: []constant{
		{"terminal", doc{Text: "Whether standard output is a terminal that a screen can be opened on. Where it is none, print lines."}, func(in *Interp) lua.LValue {
			return lua.LBool(in.opts.Display.Shows(in.opts.Stdout))
		}},
	},
	classes: []func() classHelp{screenClass.help},
}

// textScreen is a screen in scripts.
type textScreen struct {
	*display.Screen
	bound any
}

var screenClass = &class[*textScreen]{
	name: "view", plain: true,
	text: "A screen that was opened (`screen.open`).",
	methods: []method[*textScreen]{
		{"draw", doc{"(text)", "", "Shows the lines of text from the upper left on, and nothing else; only lines that have changed are written. What the terminal has no room for is cut, and shown when it is made larger. " +
			"Codes for colours (`\"\\27[1m\"`, `\"\\27[31m\"`, `\"\\27[0m\"`) work within a line, unless NO_COLOR is set; other codes are not obeyed.", "a screen that is closed", `s:draw("device 0\n42 C")`}, nil, screenDraw},
		{"key", doc{"([timeout])", "string", "Waits for a key: the character that it types, or `up`, `down`, `left`, `right`, `home`, `end`, `page_up`, `page_down`, `insert`, `delete`, `enter`, `tab`, `backtab`, `backspace`, `escape`, `ctrl-d`, `ctrl-l`. `resize` stands for a terminal that was given another size. " +
			"`timeout` in seconds of real time, left out it waits for ever; nil where no key came. Ctrl-C stays the end of the script; Ctrl-Z stops npulua when a key is waited for. In real time other tasks go on meanwhile; virtual time stands still, and no other task of the script runs. Where standard input is no terminal no key comes, and the timeout passes.",
			"a screen that is closed, also meanwhile; no timeout where no key can come; another task that waits for a key", `if s:key(1) == "q" then s:close() end`}, nil, screenKey},
		{"close", doc{"()", "", "Brings back what the terminal had before, and writes what was printed meanwhile. A screen that is closed stays so.", "", `s:close()`}, nil, screenClose},
	},
	str: func(*textScreen) string { return "view" },
}

func screenSize(c *call) error {
	columns, rows, ok := c.in.opts.Display.Size()
	if !ok || !c.in.opts.Display.Shows(c.in.opts.Stdout) {
		c.push(lua.LNil)
		return nil
	}
	c.push(lua.LNumber(columns))
	c.push(lua.LNumber(rows))
	return nil
}

func screenOpen(c *call) error {
	in := c.in
	if !in.opts.Display.Shows(in.opts.Stdout) {
		return c.errorf("%v; screen.terminal tells", display.ErrNoTerminal)
	}
	if err := in.std.Stdout.Flush(c.context()); err != nil { // it is for the screen before
		return c.errorf("%v", err)
	}
	s, err := in.opts.Display.OpenScreen(c.context(), in)
	if err != nil {
		return c.errorf("%v", err)
	}
	if in.screenType == nil {
		in.screenType = register(in, screenClass)
	}
	w := &textScreen{Screen: s}
	c.push(in.screenType.wrap(w, &w.bound))
	return nil
}

func screenDraw(c *call, s *textScreen) error {
	text, err := c.string(1, "text")
	if err != nil {
		return err
	}
	if err := s.Draw(c.context(), text); err != nil {
		return c.errorf("%v", err)
	}
	return nil
}

func screenKey(c *call, s *textScreen) error {
	timeout, err := c.timeout(1)
	if err != nil {
		return err
	}
	var key string
	var failed error
	err = c.t.Outside("a key", func(ctx context.Context) error {
		if key, failed = s.Key(ctx, timeout); ctx.Err() != nil {
			failed = nil
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case failed != nil:
		return c.errorf("%v", failed)
	case key == "":
		c.push(lua.LNil)
	default:
		c.push(lua.LString(key))
	}
	return nil
}

func screenClose(c *call, s *textScreen) error {
	ctx := c.context()
	if err := c.in.std.Stdout.Flush(ctx); err != nil { // it was printed meanwhile
		return c.errorf("%v", err)
	}
	if err := s.Close(ctx); err != nil {
		return c.errorf("%v", err)
	}
	return nil
}
