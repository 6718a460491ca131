// Package lua51 makes gopher-lua give the answers of PUC Lua 5.1: a pass over the syntax tree
// before it is compiled, and the base and library functions that the library gets wrong.
package lua51
