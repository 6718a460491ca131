package luabind

// doc is what a row says to people. Help, completion, the reference manual and the checks that no
// row is undocumented read it.
type doc struct {
	Args    string // "(dst, src)", or "" for a field
	Returns string // "event"; "" for nothing
	Text    string // what it does, with units, in full sentences
	Errors  string // "207001 where that much is not free"; "" for none of its own
	Example string // one line of Lua, or a chunk of lines that runs in a fresh session
}

// option is one key of an options table.
type option struct {
	name, text string
	takes      choice
}
