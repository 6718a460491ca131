package lua51

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

var osCases = []struct{ source, want string }{
	{`p(os.execute()) p(os.execute("exit 3")) p(os.execute("kill -9 $$")) p(os.execute(""))`, "1\n768\n9\n0"},
	{`p(os.execute("nonexistent-command 2>/dev/null"))`, "32512"},
	{`p(os.getenv("LUA51_NOT_SET"))`, "nil"},
	{`p(os.remove("nope")) p(os.remove("sub")) p(os.rename("nope", "x")) p(os.rename("sample", "none/x")) p(os.rename("sample", "sub"))`,
		"nil|nope: No such file or directory|2\nnil|sub: Directory not empty|39\nnil|nope: No such file or directory|2\n" +
			"nil|sample: No such file or directory|2\nnil|sample: Is a directory|21"},
	{`p(os.setlocale("C"), os.setlocale("POSIX", "time"), os.setlocale("xx_XX"))`, "C|C|nil"},
	{`p(select(2, pcall(os.setlocale, "C", "x")):match("%(.*"))`, "(invalid option 'x')"},
	{`p(pcall(os.time, {})) p(pcall(os.time, {day = 1})) p(pcall(os.time, {day = 1, month = 1}))`,
		"false|field 'day' missing in date table\nfalse|field 'month' missing in date table\nfalse|field 'year' missing in date table"},
	{`p(os.time{year = 2020, month = 14, day = -3, hour = 30, min = -5, sec = 100})`, "1611899800"},
	{`p(os.time{year = "2020", month = "0x1", day = 1.9, isdst = true}, os.time{year = 2020, month = 1, day = 1, isdst = false})`, "1577876400|1577880000"},
	{`p(os.time{year = 1969, month = 12, day = 31, hour = 23, min = 59, sec = 59}, os.time{year = 1e9, month = 1, day = 1})`, "nil|3.1556889832824e+16"},
	{`p(os.time{year = 1e10, month = 1, day = 1}, os.time{year = -1, month = 1, day = 1}, os.time{year = 2020, month = 1, day = 1, sec = 1e20})`,
		"4.4497304229902e+16|-62198712000|1577880000"},
	{`p(os.time(setmetatable({}, {__index = function() return 3 end})))`, "-62067247017"},
	{`p(os.date("!%c", 0)) p(os.date("!%c", -1.9)) p(os.date("!%c", "100")) p(os.date("!%c", 1e18)) p(os.date("!%c", 1/0))`,
		"Thu Jan  1 00:00:00 1970\nWed Dec 31 23:59:59 1969\nThu Jan  1 00:01:40 1970\nnil\nnil"},
	{`p(os.date("!%x %X %p %A %a %B %b %d %H %I %j %m %M %S %U %w %W %y %Y %Z %% %q %", 1e9))`,
		"09/09/01 01:46:40 AM Sunday Sun September Sep 09 01 01 252 09 46 40 36 0 36 01 2001 GMT % %q %"},
	{`local t = os.date("!*t", 1e9) p(t.year, t.month, t.day, t.hour, t.min, t.sec, t.wday, t.yday, t.isdst)`, "2001|9|9|1|46|40|1|252|false"},
	{`p(os.difftime(5), os.difftime(5.5, 2), os.difftime("7", "2"))`, "5|3|5"},
}

func prepareOS(t *testing.T) {
	t.Helper()
	inTemp(t)
	if err := os.MkdirAll("sub/inner", 0o700); err != nil {
		t.Fatal(err)
	}
}

// useZone makes local time that of name, for this process and its children.
func useZone(t *testing.T, name string) {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Skip(err)
	}
	if name == "UTC" {
		zone = time.FixedZone(name, 0) // LoadLocation's is what "!" in a format stands for
	}
	old := time.Local
	time.Local = zone
	t.Cleanup(func() { time.Local = old })
	t.Setenv("TZ", name)
}

func TestOS(t *testing.T) {
	prepareOS(t)
	useZone(t, "UTC")
	for _, c := range osCases {
		if got := newScript(t, nil, "").run(t, c.source); got != c.want+"\n" {
			t.Errorf("%s\n got %q\nwant %q", c.source, got, c.want)
		}
	}
}

func TestOSAgainstReference(t *testing.T) {
	prepareOS(t)
	useZone(t, "UTC")
	for _, c := range osCases {
		want := reference(t, c.source)
		if got := newScript(t, nil, "").run(t, c.source); got != want {
			t.Errorf("%s\n got %q\nwant %q", c.source, got, want)
		}
	}
}

// zoneSources print dates of every sort. Each time that occurs twice or never is asked for first
// thing, because C remembers the offset of its last answer.
var zoneSources = []string{
	`for _, at in ipairs{0, 1e9, 1577880000, 1593600000, 1585445399, 1585445400, 4e9} do
		p(os.date("%c %Z %z", at)) local d = os.date("*t", at) p(d.isdst, d.hour, os.time(d))
		for c in ("aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYzZ%"):gmatch(".") do p(c, os.date("%" .. c, at), os.date("!%" .. c, at)) end
	end`,
	`for year = 1990, 2030 do for day = 1, 366, 5 do local at = os.time{year = year, month = 1, day = day} p(at, os.date("%G %g %V %U %W %j %u", at)) end end`,
	`p(os.time{year = 2020, month = 1, day = 1, isdst = true}, os.time{year = 2020, month = 7, day = 1, isdst = false}, os.time{year = 2020, month = 7, day = 1, isdst = true})`,
	`p(os.time{year = 2020, month = 3, day = 29, hour = 2, min = 30})`,
	`p(os.time{year = 2020, month = 3, day = 8, hour = 2, min = 30})`,
	`p(os.time{year = 2020, month = 3, day = 8, hour = 2, min = 30, isdst = true})`,
	`p(os.time{year = 2020, month = 3, day = 8, hour = 2, min = 30, isdst = false})`,
	`p(os.time{year = 2020, month = 10, day = 25, hour = 2, min = 30})`,
	`p(os.time{year = 2020, month = 11, day = 1, hour = 1, min = 30})`,
	`p(os.time{year = 2020, month = 10, day = 4, hour = 2, min = 10})`,
	`p(os.time{year = 2020, month = 4, day = 5, hour = 1, min = 50})`,
}

func TestZonesAgainstReference(t *testing.T) {
	inTemp(t)
	for _, name := range []string{"UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Europe/Dublin", "Asia/Kolkata"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			useZone(t, name)
			for _, source := range zoneSources {
				want := reference(t, source)
				if got := newScript(t, nil, "").run(t, source); got != want {
					t.Errorf("%s\n got %.300q\nwant %.300q", source, got, want)
				}
			}
		})
	}
}

func TestTmpname(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	got := newScript(t, nil, "").run(t, `local n = os.tmpname() p(n:match("lua_......$") ~= nil, io.open(n):read("*a"), os.remove(n))`)
	if got != "true||true\n" {
		t.Errorf("got %q", got)
	}
}

func TestClockIsProcessTime(t *testing.T) {
	got := newScript(t, nil, "").run(t, `local c = os.clock() os.execute("sleep 0.2") p(c >= 0, os.clock() - c < 0.15)`)
	if _, err := exec.LookPath("sleep"); err == nil && got != "true|true\n" {
		t.Errorf("got %q", got)
	}
}
