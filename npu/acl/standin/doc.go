// Package standin builds a stand-in for the vendor's runtime library, for tests: C libraries with the
// vendor's functions, which behave as the real ones were observed to do, on a CPU, and check what they
// are given. Streams are threads, time is real, device memory is host memory that the program cannot
// touch at its device address.
//
// The libraries are libascendcl.so, which is empty and depends on libacl_rt.so (runtime, graphs) and
// libacl_mdl.so (models, datasets, data buffers), and libopapi.so (operators), which depends on
// libnnopbase.so (tensors). libdcmi.so (temperature, power, memory errors, health) stands alone.
//
// # Rules
//
// A caller that breaks a rule ends the process (SIGABRT) with one line that names the function and the
// rule. Each rule is a switch of that name; strict=0 turns all off, and then the call returns a code.
//
//	check_thread    between aclInit and aclFinalize, calls that use a context come from one thread
//	check_callback  no call inside a host function, report or exception callback, but the accessors of
//	                exceptions and aclGetRecentErrMsg
//	check_closed    a handle, tensor, dataset or executor that was closed or used up is not passed
//	check_event     no query and no wait for an event whose context is destroyed
//	check_pageable  queued copies use device or pinned memory
//	check_struct    structs are aligned, reserved parts zero, arguments of a launch complete
//	check_model     a model runs once at a time and is not unloaded in use
//
// # Control
//
// The variable ACL_STANDIN ("key=value,key=value") is read when the library is loaded; standin_set(key,
// value) sets a key later and returns 0, or -1 where there is none; standin_get(key) reads one.
//
//	devices         number of devices (2, at most 16)
//	first_visible   logical and physical id of device 0; the others follow, as with ASCEND_RT_VISIBLE_DEVICES
//	memory_mb       memory of a device (0: what the part has)
//	soc             910 or 910b, 310 or 310p
//	depth           tasks that a stream holds; a call waits where that is full (2013)
//	slow_us         every queued task takes so much longer
//	absorb_ns       a queued copy takes so long in the call and does nothing else: for measuring callers
//	hang            1: queued tasks do not finish, until 0
//	hang_sync       1: waits for streams, devices and events do not end, until 0 (or their timeout)
//	fail:FUNCTION   code that FUNCTION returns instead of doing anything
//	nth:FUNCTION    0: at every call; N: at the Nth call from now on, and only there
//	fault           code of the next queued task; nth_task=N: of the Nth from now on
//	reuse           1: the handle of what is closed, and freed memory, are given out again at once, as the
//	                vendor's library does; a stale one then means the new object. 0: never again
//	signals         1: handlers for signals on loading, with SA_ONSTACK; 2: without it; 3: without it, for
//	                all but realtime signals; none where ASCEND_COREDUMP_SIGNAL is "none"
//	signals_at      when they are installed; 0: on loading, 1: in aclInit, 2: in aclrtSetDevice, at its begin
//	                3: on a thread that aclrtSetDevice starts, after signals_ms (20)
//	late_us         the time of a record comes so much later than somebody asked for it first (200)
//	told_late       1: exception callbacks come in the wait that returns the failure; 0: when the task fails
//	stuck           1: a record that was dropped is never reached: who waits for it waits for ever
//	forgets         1: in a context that a failure has stopped, events that were reached before answer with it too
//	exit_ms         the end of the process takes so long (the vendor's about 1100)
//	setdevice_ms    aclrtSetDevice takes so long
//	fds             file descriptors that the first aclrtSetDevice of a device opens, without O_CLOEXEC
//	restart         set: the state of aclInit and of the default contexts is that of a new process
//
// Only to read: calls (of all functions), calls:FUNCTION, threads (that called), signals_seen,
// live:KIND (contexts, streams, events, binaries, functions, graphs, groups; tensors, scalars, lists, executors,
// descs, datasets, buffers; memory and host in bytes).
//
// # Device state
//
// libdcmi.so has switches of its own: the variable DCMI_STANDIN, dcmi_standin_set and dcmi_standin_get. "KEY@3" sets a
// value of the device with logical id 3, "KEY" that of all.
//
//	cards, chips    number of cards (2, at most 8), and of chips on each (2, at most 4); card ids have gaps
//	first_phy       physical id of logical id 0
//	hbm             0: parts have DDR memory, no HBM (1)
//	temperature, hbm_temperature in degrees, power and card_power in 0.1 W, voltage in 0.01 V, health (0 to 3, or
//	0xffffffff: the device is gone), fault0 to fault2 (fault codes, 0: none), cores, vector, memory, hbm_bandwidth in
//	percent (-1: not supported), hbm_size and hbm_used in MB, ecc (0: detection is off), single, double, total_single,
//	total_double, pages
//	hang            1: calls do not return, until 0
//	slow_us         every call takes so much longer
//	fail:FUNCTION   code that FUNCTION returns instead of doing anything; also of one device
//
// Only to read: inits (calls of dcmi_init), overlaps (calls that began while another one was under way).
//
// # Kernels
//
// A kernel binary is a text file: a line "standin kernels", then the name of a function a line: the name
// of a kernel of the simulator, and its types in the order in which the type variables appear in the
// signature (vector_add_float32, cast_float32_int8: to float32; without types: float32). Arguments are
// words of 8 bytes in the order of the signature, and a pointer is one word, the device address. Results
// are those of the simulator. An address that is no memory of that size in reach of the device is fault
// 507035. Beside those there are copy (out T* y, in T* x, uint32 n) and fault (int32 code), which fails with
// that code.
//
// # Models
//
// A model is a text file; see testdata/model.c for its lines, and testdata/mlp.om and mlp_batch.om.
package standin
