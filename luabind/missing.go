package luabind

import (
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"npulua/npu"
)

// foreign are modules that scripts for other Luas require: what is built in here for the same purpose, or what a
// person should know. A name stands for those below it, too: pl for pl.path.
var foreign = []struct{ names, builtIn, note string }{
	{"cjson cjson.safe lua-cjson dkjson rapidjson lunajson jsonlua rxi-json-lua json.lua lua.json", "json", ""},
	{"lfs luafilesystem path pl.path pl.dir pl.file", "fs", ""},
	{"posix luaposix", "", "fs has files and folders, exec runs programs, os.getenv reads the environment"},
	{"socket.http ssl.https http http.request requests lua-requests luajit-request resty.http curl lcurl cURL", "http", ""},
	{"socket ssl luasec luasocket copas cqueues turbo mime ltn12 socket.url websocket", "", "there are no sockets; http asks servers, and npulua serve is one"},
	{"luv uv lanes effil llthreads llthreads2 rings", "", "npu.spawn starts tasks, npu.worker runs scripts on other CPUs, exec runs programs"},
	{"argparse cliargs lapp pl.lapp alt_getopt getopt optparse", "args", ""},
	{"luaunit lunit lunitx busted telescope lust gambiarra laura", "check", ""},
	{"logging lualogging log4l", "log", ""},
	{"ansicolors term lua-term curses ncurses lcurses tui", "screen", ""},
	{"date luatz tz chronos", "time", ""},
	{"csv ftcsv lua-csv", "csv", ""},
	{"prometheus nginx-lua-prometheus", "metrics", ""},
	{"benchmark luabench", "measure", ""},
	{"progressbar pb", "progress", ""},
	{"bit bit32 bitop numberlua", "", "Lua 5.1 has no operations on bits; buffers and kernels of npu compute with integers"},
	{"struct pack lpack string.pack vstruct", "", "h:to_string() and h:set(text) of npu.host turn numbers into bytes and back"},
	{"ffi jit cffi alien", "", "this is no LuaJIT, and C is not called from scripts"},
	{"torch cutorch nn cunn torch7 lua-numlua numlua sci gsl lunum", "", "npu.host and ctx:alloc are the arrays here, npu.ops their operations"},
	{"lpeg re lpeglabel lulpeg rex rex_pcre rex_posix lrexlib", "", "string.find, string.match, string.gmatch and string.gsub have Lua's patterns"},
	{"lyaml yaml tinyyaml toml lua-toml lxp xml2lua", "", "of text formats json and csv are built in"},
	{"luasql lsqlite3 sqlite3 redis mysql pgmoon lmdb", "", "there are no databases"},
	{"zlib lzlib lz4 zstd brotli md5 sha1 sha2 crypto openssl luacrypto base64", "", "exec runs programs that do this, such as gzip and sha256sum"},
	{"inspect serpent ser pretty pl.pretty penlight pl lume lua-fun fun moses underscore middleclass classic 30log class etlua template lustache luacov", "",
		"it is written in Lua: put its files beside the script or on NPULUA_PATH"},
	{"table.new table.clear compat53 compat52 utf8 lua-utf8", "", "this is Lua 5.1, without what later versions and LuaJIT add"},
}

// missing is what a person should know of a module that was not found.
func (p *packages) missing(name string) string {
	const withoutC = "\n\t(modules in C cannot be loaded)"
	for below := name; below != ""; below = below[:max(strings.LastIndexByte(below, '.'), 0)] {
		for _, f := range foreign {
			if !slices.Contains(strings.Fields(f.names), strings.ToLower(below)) {
				continue
			}
			if f.builtIn != "" {
				return "\n\t(" + f.builtIn + " is built in: require \"" + f.builtIn + "\")"
			}
			return "\n\t(" + f.note + ")"
		}
	}
	names := slices.DeleteFunc(p.moduleNames(), func(s string) bool { return s == name }) // a loader that fails
	if meant := npu.Suggest(name, names); meant != "" {
		return withoutC[:len(withoutC)-1] + meant + ")"
	}
	return withoutC
}

// moduleNames are the modules that require finds without a file.
func (p *packages) moduleNames() []string {
	names := []string{"npu"}
	for _, m := range modules {
		names = append(names, m.name)
	}
	if preload, ok := p.table.RawGetString("preload").(*lua.LTable); ok {
		preload.ForEach(func(k, _ lua.LValue) {
			if name, ok := k.(lua.LString); ok && !slices.Contains(names, string(name)) {
				names = append(names, string(name))
			}
		})
	}
	slices.Sort(names)
	return names
}
