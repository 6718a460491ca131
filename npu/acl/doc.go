// Package acl drives NPUs through the vendor's runtime library, AscendCL, which is loaded when the driver is
// opened: no C compiler and no header is needed to build it.
//
// Handles are numbers of this package, never used twice, and only those of live objects reach the library: a
// stale one may hit another object there, or end the process. Events are destroyed before their context for the
// same reason.
//
// The library keeps the current context in the thread, so every method belongs to one thread (see package
// driver). Two things come on threads of the library's own: host functions, and the news of failed commands, which
// wait in a list until the driver is asked for the stream.
//
// Nothing here waits long: waits ask again and again (QueryStream, QueryEvent), at a pace that the executor sets.
package acl
