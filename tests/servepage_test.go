package tests

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var screenshots = flag.String("screenshots", "", "folder that pictures of the status page are written to")

// browser is a Chromium that notes what it asks for and what it complains of.
type browser struct {
	ctx context.Context

	mu        sync.Mutex
	requested []string // URLs
	complains []string // of the console
}

// openBrowser starts a Chromium without a window, which can reach this machine only.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium is installed (Debian's chromium): the page is not looked at")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"), chromedp.WSURLReadTimeout(2*time.Minute))
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute) // it ends in the cleanup
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	ctx, quit := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil { // waits for its end
			t.Logf("the end of the browser: %v", err)
		}
		quit()
		stop()
		cancel()
	})
	b := &browser{ctx: ctx}
	if err := chromedp.Listen(ctx, b.note); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return b
}

func (b *browser) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requested = append(b.requested, e.Request.URL)
	case *runtime.EventConsoleAPICalled:
		b.complains = append(b.complains, string(e.Type))
	case *runtime.EventExceptionThrown:
		b.complains = append(b.complains, e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		b.complains = append(b.complains, e.Entry.Text+" "+e.Entry.URL)
	}
}

// look is a way to look at a page.
type look struct {
	name   string
	width  int64
	scheme string // light or dark
}

var looks = []look{{"light", 1100, "light"}, {"dark", 1100, "dark"}, {"narrow", 390, "light"}}

// seen is what a page shows, as its elements tell.
type seen struct {
	Title    string              `json:"title"`
	Text     string              `json:"text"`
	Last     string              `json:"last"`
	Rows     map[string][]string `json:"rows"`     // of the table in each section, by heading
	Picture  []float64           `json:"picture"`  // width and height of the timeline, and how many colours it has
	Overflow float64             `json:"overflow"` // pixels that the page is wider than the window
	Contrast map[string]float64  `json:"contrast"` // of text on what is behind it, by class of the element
}

// readPage is run in the page. Contrast is that of WCAG 2: 1 is none, 21 black on white.
const readPage = `(() => {
	const text = e => e ? e.innerText.trim() : "";
	const rows = {};
	for (const s of document.querySelectorAll("section")) {
		const name = text(s.querySelector("h2"));
		rows[name] = [...s.querySelectorAll("tr")].slice(1).map(r => [...r.children].map(text).join(" | "));
	}
	const channels = c => c.match(/[\d.]+/g).map(Number);
	const light = c => {
		const [r, g, b] = channels(c).map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const behind = e => {
		for (; e; e = e.parentElement) {
			const c = getComputedStyle(e).backgroundColor, v = channels(c);
			if (v.length < 4 || v[3] > 0) return c;
		}
		return "rgb(255, 255, 255)";
	};
	const contrast = {};
	for (const e of document.querySelectorAll("h1, h2, p, li, td, th, .last, summary, pre, a")) {
		const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
		const name = e.tagName + "." + e.className, v = (a + 0.05) / (b + 0.05);
		contrast[name] = Math.min(contrast[name] || 21, v);
	}
	const picture = document.querySelector("img"), colors = new Set();
	if (picture) {
		const c = Object.assign(document.createElement("canvas"), {width: picture.clientWidth, height: picture.clientHeight}), pen = c.getContext("2d");
		pen.drawImage(picture, 0, 0, c.width, c.height);
		for (const v of new Uint32Array(pen.getImageData(0, 0, c.width, c.height).data.buffer)) colors.add(v);
	}
	return {title: document.title, text: document.body.innerText, last: text(document.querySelector(".last")), rows, contrast,
		picture: picture ? [picture.clientWidth, picture.clientHeight, colors.size] : [],
		overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth};
})()`

// show opens a page in one look and says what is there.
func (b *browser) show(t *testing.T, url, name string, l look) seen {
	t.Helper()
	err := chromedp.Do(b.ctx, chromedp.EmulateViewport(l.width, 800))
	if err == nil {
		scheme := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}}}
		_, err = chromedp.Call(b.ctx, emulation.SetEmulatedMedia, scheme)
	}
	if err == nil {
		err = chromedp.Do(b.ctx, chromedp.Navigate(url), chromedp.WaitReady(chromedp.CSS("footer")))
	}
	var s seen
	if err == nil {
		s, err = chromedp.Run(b.ctx, chromedp.Evaluate[seen](readPage))
	}
	var picture []byte
	if err == nil {
		picture, err = chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	}
	if err != nil {
		t.Fatalf("%s, %s: %v", name, l.name, err)
	}
	if *screenshots != "" {
		if err := os.WriteFile(filepath.Join(*screenshots, name+"-"+l.name+".png"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if s.Overflow > 0 {
		t.Errorf("%s, %s: the page is %v pixels wider than the window", name, l.name, s.Overflow)
	}
	const readable = 4.5 // the least contrast of WCAG 2 AA for text of usual size
	for class, v := range s.Contrast {
		if v < readable {
			t.Errorf("%s, %s: text of %s has a contrast of %.1f, want %.1f", name, l.name, class, v, readable)
		}
	}
	return s
}

// alone checks that the page asked for nothing outside of base, and that the console has nothing to say.
func (b *browser) alone(t *testing.T, base string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.requested, base+"/") {
		t.Errorf("the page was not asked for: %q", b.requested)
	}
	for _, url := range b.requested {
		if !strings.HasPrefix(url, base+"/") {
			t.Errorf("the page asked for %s", url)
		}
	}
	if len(b.complains) > 0 {
		t.Errorf("the console says %q", b.complains)
	}
	b.requested, b.complains = nil, nil
}

// row says whether one of rows has all of the words.
func (s seen) row(heading string, words ...string) bool {
	for name, rows := range s.Rows {
		if !strings.HasPrefix(name, heading) {
			continue
		}
		for _, row := range rows {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(row, w) }) {
				return true
			}
		}
	}
	return false
}

// TestServePage looks at the status page in a browser.
func TestServePage(t *testing.T) {
	b := openBrowser(t)
	t.Run("passed", func(t *testing.T) {
		s := serveScript(t, []string{"--sim", "910b:2"}, []string{"--every", "1h", script(t, "devices.lua", devicesScript), "--", "10"})
		s.until("a result", func(st serveStatus) bool { return st.Last != nil })
		for _, l := range looks {
			p := b.show(t, s.base+"/", "passed", l)
			if p.Last != "passed" || !strings.Contains(p.Title, "devices.lua") || !strings.Contains(p.Text, "Simulated: these results say nothing about real hardware") {
				t.Errorf("%s: %q, %q\n%s", l.name, p.Last, p.Title, p.Text)
			}
			if !p.row("Checks: pass", "pass", "copies", "1") || !p.row("Live values", "npu_memory_free_bytes", "device=1", "simulated=true") || !p.row("History", "1", "passed") || !p.row("Live values", "npu_memory_free_bytes", "64 GiB") || !p.row("Live values", "copies: sum", "device=1", "10") {
				t.Errorf("%s: rows are missing: %q", l.name, p.Rows)
			}
			if len(p.Picture) != 3 || p.Picture[0] < 200 || p.Picture[1] < 20 || p.Picture[2] < 4 {
				t.Errorf("%s: the timeline is not drawn: %v", l.name, p.Picture)
			}
		}
		b.alone(t, s.base)
	})
	t.Run("failed", func(t *testing.T) {
		before := []string{"--sim", "910b:2", "--fault", "op=copy,device=1,code=507054"}
		s := serveScript(t, before, []string{"--every", "200ms", "--timeout", "1m", script(t, "devices.lua", devicesScript+`error("and it broke <b>here</b>")`), "--", "10"})
		s.until("five results", func(st serveStatus) bool { return len(st.History) >= 5 })
		for _, l := range looks {
			p := b.show(t, s.base+"/", "failed", l)
			if p.Last != "failed" || !p.row("Checks: fail", "fail", "copies", "1", "507054") || !p.row("Checks: fail", "pass", "copies", "0") || !strings.Contains(p.Text, "and it broke <b>here</b>") {
				t.Errorf("%s: %q\n%s", l.name, p.Last, p.Text)
			}
			if !p.row("History", "failed", "3", "copies: device 1: ") {
				t.Errorf("%s: the history does not name what failed: %q", l.name, p.Rows["History"])
			}
			if n := len(p.Rows["History"]); n < 5 {
				t.Errorf("%s: %d runs in the history", l.name, n)
			}
		}
		b.alone(t, s.base)
	})
	t.Run("never ran", func(t *testing.T) {
		s := serveScript(t, []string{"--sim", "910b"}, []string{"--every", "1h", script(t, "wait.lua", waitingScript), "--", pipe(t), "/dev/null"})
		s.until("running", func(st serveStatus) bool { return st.Running == 1 })
		for _, l := range looks {
			p := b.show(t, s.base+"/", "never", l)
			if p.Last != "no run has ended yet" || !strings.Contains(p.Text, "run 1 is under way") || strings.Contains(p.Text, "passed") || len(p.Picture) > 0 {
				t.Errorf("%s: %q\n%s", l.name, p.Last, p.Text)
			}
		}
		b.alone(t, s.base)
	})
	t.Run("timed out", func(t *testing.T) {
		s := serveScript(t, []string{"--sim", "910b"}, []string{"--every", "1h", "--timeout", "300ms", script(t, "hang.lua", "while true do end")})
		s.until("timed out", func(st serveStatus) bool { return st.Counts["timed_out"] == 1 })
		for _, l := range looks {
			p := b.show(t, s.base+"/", "timed-out", l)
			if p.Last != "timed out" || !strings.Contains(p.Text, "it took longer than 300ms") || !p.row("History", "timed out") {
				t.Errorf("%s: %q\n%s", l.name, p.Last, p.Text)
			}
		}
		b.alone(t, s.base)
		s.signal(syscall.SIGTERM)
	})
}
