// Package npu drives neural processing units through the AscendCL runtime model: devices, contexts,
// streams, events, device and pinned host memory, kernels. It is what the Lua bindings stand on,
// and can be used from Go without Lua.
//
// # Object model
//
// A Session is one process's use of the runtime. Session.Device retains a device; a Device has a
// default Context and can have explicit ones; a Context owns streams and events; memory belongs to
// its device. Every handle knows its owner: the executor makes the right context current before
// each command, so that a handle cannot be used in the wrong one.
//
// # Threads
//
// Every driver call runs on one locked OS thread, the executor's. A Thread is what a host thread is
// in AscendCL: it has a current context of its own, which decides where new objects go. Calls take
// their Thread as first argument. A Thread belongs to one goroutine at a time, and so does a handle;
// a device and its contexts may be used from several, and host memory may be shared (Buffer.Share): whoever receives
// it counts, and it lives as long as one handle does.
//
// A Scheduler lets tasks take turns on one goroutine, each with a Thread of its own: their waits suspend only
// themselves, and their order is the same in every run. Channels connect tasks, also those of several
// schedulers, which then run on goroutines of their own.
//
// # Order and errors
//
// Commands of one thread run in program order; streams run in parallel. Copy, Fill, Launch, Record,
// Wait and Callback queue a command and return at once. What can be checked before is checked before
// and returned at the call; what only the device can tell is kept on the stream, with the Site of
// its command, and returned once by the next call on the stream that waits for the device
// (Synchronize, Query, Close) or by Session.Close. A queued call never returns an earlier error,
// because whether that has arrived yet would depend on the timing of two threads.
//
// # Lifetimes
//
// Close is idempotent and closes children first; using a closed handle says where it was closed. What is being closed
// takes nothing new, neither commands nor children. A
// handle that nobody can reach any more is given back after garbage collection, and the rest at
// Session.Close, newest first.
//
// # Addresses
//
// Who waits gets its operands anew, because others may have closed them meanwhile. So an address is nothing that this
// package can keep: package span gives one to three places only, where nothing waits. A command gets it in the place of
// the queue that Stream.begin has claimed; whoever closes something refuses it to others first, and then sends its
// end through the same queue. A function on the executor's thread gets it (Thread.callOn, which asks before whether the operands
// are open). And Buffer.Read and Write hold the bytes while a function uses them. What is made, is made and adopted by its
// parent in one step on that thread (Thread.create), so that closing the parent either refuses or closes it.
package npu
