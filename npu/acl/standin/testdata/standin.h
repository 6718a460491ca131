// The stand-in for the vendor's runtime library: what its files share. One lock guards all state but
// the bytes of memory; tasks run without it on a thread of their stream.
#ifndef STANDIN_H
#define STANDIN_H
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int aclError;
#define API __attribute__((visibility("default")))

enum {
	OK = 0,
	INVALID_PARAM = 100000,
	UNINITIALIZE = 100001,
	REPEAT_INITIALIZE = 100002,
	INVALID_FILE = 100003,
	REPEAT_FINALIZE = 100037,
	STUB_LIBRARY = 100039,
	RT_PARAM = 107000,
	RT_DEVICE = 107001,
	RT_CONTEXT = 107002,
	RT_STREAM_CONTEXT = 107003,
	RT_MODEL_CONTEXT = 107004,
	RT_TIMESTAMP = 107006,
	RT_STREAM_SUBSCRIBE = 107011,
	RT_THREAD_SUBSCRIBE = 107012,
	RT_NO_CALLBACK = 107015,
	RT_HANDLE = 107017,
	RT_OPTION_NOT_SET = 107021,
	RT_STREAM_ABORT = 107023,
	RT_CAPTURE_DEPENDENCY = 107024,
	RT_UNJOINED = 107025,
	RT_MODEL_CAPTURED = 107026,
	RT_STREAM_CAPTURED = 107027,
	RT_EVENT_CAPTURED = 107028,
	RT_NOT_CAPTURED = 107029,
	RT_CAPTURE_MODE = 107030,
	RT_CAPTURE_IMPLICIT = 107031,
	RT_CAPTURE_CONFLICT = 107032,
	RT_GROUP_STATUS = 107033,
	RT_GROUP_INTERRUPTED = 107034,
	RT_UNMATCHED = 107036,
	RT_MODEL_RUNNING = 107037,
	RT_WRONG_THREAD = 107038,
	RT_CAPTURE_ASYNC = 107041,
	GE_PARAM = 145000,
	GE_NOT_INIT = 145001,
	GE_PATH = 145002,
	GE_MODEL_ID = 145003,
	GE_DATA_SIZE = 145006,
	GE_INPUT_LENGTH = 145012,
	GE_BATCH_SIZE = 145013,
	ACLNN_NULL = 161001,
	ACLNN_PARAM = 161002,
	ACLNN_RUNTIME = 361001,
	PEER_FLAGS = 200006,
	RT_NOT_SUPPORTED = 207000,
	RT_NO_MEMORY = 207001,
	RT_NO_STREAM = 207005,
	RT_NO_EVENT = 207007,
	RT_INTERNAL = 507000,
	RT_DEVICE_NOT_SET = 507007,
	RT_TASK_TYPE = 507009,
	RT_MODEL_EXECUTE = 507011,
	RT_REPORT_TIMEOUT = 507012,
	RT_AICORE = 507015,
	RT_VECTOR = 507035,
	RT_STREAM_TIMEOUT = 507046,
	RT_EVENT_TIMEOUT = 507047,
	RT_INVALIDATED = 507903,
	GE_INTERNAL = 545000,
};

// Functions. Each exported one starts with ENTER, which counts the call, checks the rules that hold for
// every call, and makes it fail where that was asked for.

struct fn {
	const char *name;
	_Atomic int64_t calls;
	_Atomic int64_t code; // code to return instead of working
	_Atomic int64_t nth;  // 0: every call; else the nth from now on, and only that one
};

enum { ANY = 0, THREAD = 1, IN_CALLBACK = 2 }; // uses a context; allowed in callbacks

API void standin_register(struct fn *const *first, struct fn *const *last);
API int standin_enter(struct fn *f, unsigned flags);

#define FN(fname) \
	static struct fn fn_ = {.name = #fname}; \
	static struct fn *const fnp_ __attribute__((section("standin_fns"), used)) = &fn_; \
	(void)fnp_

#ifdef STANDIN_STUB
#define ENTER(fname, flags) do { FN(fname); atomic_fetch_add(&fn_.calls, 1); return STUB_LIBRARY; } while (0)
#define ENTER_VALUE(fname, flags, value) do { FN(fname); atomic_fetch_add(&fn_.calls, 1); return value; } while (0)
#else
#define ENTER(fname, flags) do { FN(fname); int code_ = standin_enter(&fn_, flags); if (code_) return code_; } while (0)
#define ENTER_VALUE(fname, flags, value) do { FN(fname); if (standin_enter(&fn_, flags)) return value; } while (0)
#endif

// Each library calls REGISTER once, at file level.
#define REGISTER \
	extern struct fn *const __start_standin_fns[] __attribute__((visibility("hidden"))); \
	extern struct fn *const __stop_standin_fns[] __attribute__((visibility("hidden"))); \
	__attribute__((constructor(200))) static void register_functions(void) { \
		standin_register(__start_standin_fns, __stop_standin_fns); \
	}

// fail notes the message of an error, and the last error of the thread, and returns code.
API int standin_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define fail standin_fail
// fail_lines is fail with a first line that names id alone: the text is on the next one.
int standin_fail_lines(int code, const char *id, const char *format, ...) __attribute__((format(printf, 3, 4)));
// die ends the process: the caller broke a rule.
API void standin_die(const char *rule, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
#define die standin_die
// signals installs handlers where the switch signals_at says now.
void standin_signals(int now);
// on says whether the rule is checked.
enum rule { CHECK_THREAD, CHECK_CALLBACK, CHECK_CLOSED, CHECK_EVENT, CHECK_PAGEABLE, CHECK_STRUCT, CHECK_MODEL, RULES };
API bool standin_on(enum rule r);

// Control.
struct control {
	_Atomic int64_t devices, memory_mb, soc, slow_us, hang, hang_sync, reuse, signals, signals_at, exit_ms, setdevice_ms, fds, depth, absorb_ns, first_visible;
	_Atomic int64_t late_us; // that the time of a record comes after it was asked for first
	_Atomic int64_t told_late; // failed tasks are told in the wait that returns the failure
	_Atomic int64_t stuck;     // a record that was dropped is never reached
	_Atomic int64_t forgets;   // events of a context that stopped answer with the failure
	_Atomic int64_t signals_ms; // how long the thread of signals_at=3 waits
	_Atomic int64_t fault, nth_task; // the nth task from now on fails with the code fault
	_Atomic int64_t check[RULES];
};
extern struct control control;

// The lock.
extern pthread_mutex_t big_lock;
extern pthread_cond_t changed; // of whatever somebody may wait for
static inline void unlock_guard(int *g) {
	(void)g;
	pthread_mutex_unlock(&big_lock);
}
#define GUARD() \
	__attribute__((cleanup(unlock_guard))) int guard_ = pthread_mutex_lock(&big_lock); \
	(void)guard_

int64_t now_ns(void);
// wait_on waits with the lock until deadline (negative: for ever); false where that is over.
bool wait_on(pthread_cond_t *c, int64_t deadline);

// Handles. The values point into reserved memory that nobody can touch.
enum kind { K_NONE, K_CONTEXT, K_STREAM, K_EVENT, K_BINARY, K_FUNCTION, K_ARGS, K_GRAPH, K_GROUP, KINDS };
extern const char *const kind_names[KINDS];

struct object {
	enum kind kind;
	void *handle;
	int refs;
};
void *handle_new(struct object *o, enum kind kind); // o->handle too
void handle_close(struct object *o);
void handle_open(struct object *o, void *handle); // once more, for another object
// handle_find is the live object of h: NULL where there is none. A closed handle ends the process where
// that rule is on.
void *handle_find(void *h, enum kind kind);
int64_t handle_live(enum kind kind);

// Devices.
#define MAX_DEVICES 16
#define MAX_STREAM_IDS 4096

struct soc {
	const char *name;
	int cube, vector, aicore, aicpu;
	int64_t memory, l2;
	int streams, events;
	bool hbm;
};
const struct soc *soc(void);

struct device {
	int id;
	int set;        // how often SetDevice was called
	int contexts;   // live ones, the primary among them
	int events;
	void *handle;   // of the primary context, kept for the next one
	struct context *primary;
	uint64_t peers; // devices whose memory it may reach
	uint8_t ids[MAX_STREAM_IDS];
	int streams;
	int faults, told_faults;
	int64_t busy_ns, asked_ns, asked_busy; // of cores
	bool fds;
};
extern struct device devices[MAX_DEVICES];

// Contexts.
struct context {
	struct object o;
	struct device *dev;
	bool dead, primary;
	struct stream *def, *streams;
	int mode, stop; // failure mode, and the code that stopped it
	bool stop_told; // a wait has returned that code: calls return it from then on
	bool option_set[3];
	int64_t option[3];
	int captures[3]; // active ones by mode
	struct task *hosts; // host functions that wait
	bool host_thread;
};
extern __thread struct context *current;
struct context *context_new(struct device *d, bool primary);
int context_end(struct context *c); // drops what is queued; called with the lock
int context_need(struct context **c);
void context_release(struct context *c);

// Tasks.
enum op { T_COPY, T_FILL, T_KERNEL, T_RECORD, T_WAIT, T_RESET, T_HOST, T_REPORT, T_REPLAY, T_CALL, T_UPDATE };

struct record {
	int refs;
	bool done, queued, stamped; // stamped: its time was read
	int64_t at, asked;
	uint64_t serial; // of the stream that recorded it
	bool hidden;     // it came after a failed task that no wait has told of
	int failed;      // code of the failure that had it dropped
};

struct call { // of another library
	int (*run)(void *data, int device);
	void (*drop)(void *data);
	void *data;
	int refs;
};

struct task {
	struct task *next;
	enum op op;
	uint32_t id, thread;
	void *dst;
	const void *src;
	size_t size;
	uint64_t value;
	int width;
	const struct kernel *kernel;
	int types[2];
	uint64_t *args;
	int nargs;
	void *scratch; // device memory of place holders
	uint32_t blocks;
	struct record *record;
	struct event *event;
	void (*fn)(void *);
	void *arg;
	bool block, started, done;
	struct graph *graph;
	struct group *group;
	struct call *call;
	struct stream *stream;
};

struct stream {
	struct object o;
	struct context *ctx;
	struct stream *next;
	bool dead, thread, busy, def; // has a thread; runs a task; is a default stream
	uint64_t serial;
	int id;
	uint32_t priority, flags;
	struct task *head, *tail;
	int count; // queued, the running one among them
	uint64_t submitted, finished;
	uint32_t tasks; // their numbers count from 0
	int err;
	bool hidden;   // a task has failed, and no wait has told of it: it does not look done
	bool stop_set; // SetStreamFailureMode(stop) was called for it
	struct failed *failed; // to be told, with told_late
	bool abort;
	pthread_cond_t wake;
	struct capture *capture;
	struct group *updating;
	struct task *update_first, *update_last;
	int update_count;
	bool hosts; // used LaunchHostFunc
	struct reporter *reporter;
};

struct task *task_new(enum op op);
void task_free(struct task *t);
// task_submit gives t to s, which captures it, or queues it; it waits where the queue is full.
int task_submit(struct stream *s, struct task *t);
int task_run(struct stream *s, struct task *t); // drops the lock meanwhile
// stream_stopped is the code of a context that stopped after a failure.
int stream_stopped(struct stream *s);
struct stream *stream_new(struct context *c, uint32_t priority, uint32_t flags, int *code);
void stream_end(struct stream *s, bool force); // waits without force
// stream_own is the stream of h for a call that queues, stream_any for one that waits or asks.
int stream_own(void *h, struct stream **s);
int stream_any(void *h, struct stream **s);
int stream_wait(struct stream *s, int64_t deadline); // OK or RT_STREAM_TIMEOUT
int stream_take(struct stream *s);
bool broken(struct stream *s); // its work is not wanted any more
void tell_exception(struct stream *s, struct task *t, int code);
void tell_recorded(struct stream *s, struct task *t, int lane, int code);
void tell_failed(struct stream *s);
void drop_failed(struct stream *s);
bool stream_hidden(uint64_t serial); // of the stream with that serial

// Events.
struct event {
	struct object o;
	struct context *ctx;
	struct device *dev;
	uint32_t flags;
	bool legacy, ex;
	struct record *record;
	struct graph *captured, *was_captured; // was: recorded outside since
	int node;
};
struct record *record_new(void);
void record_release(struct record *r);
void record_done(struct record *r);
void event_free(struct event *e);

// Graphs.
struct node {
	struct task *task;
	int lane, after[2];
	struct group *group;
};
struct graph {
	struct object o;
	struct device *dev;
	struct context *ctx;
	struct stream *origin;
	struct node *nodes;
	int count, room, lanes;
	struct capture *parts;
	int invalid, mode;
	bool active, ended, dead;
	pthread_t thread;
	struct group *group; // being recorded
	struct stream *group_stream;
	char name[128];
	int refs;
};
struct capture {
	struct graph *graph;
	struct stream *stream;
	int lane, last;
	struct capture *next;
};
struct group {
	struct object o;
	struct graph *graph;
	int first, count;
	int *nodes;
};
int capture_submit(struct stream *s, struct task *t);
int capture_meet(struct stream *s, struct event *e, bool record); // before it is queued
int capture_unsafe(int refused); // whether a blocking copy is refused
void capture_abandon(struct graph *g);
void graph_release(struct graph *g);
void graph_spoil(struct stream *s, int code);
int graph_replay(struct stream *s, struct task *t);
void graph_update(struct task *t);

// Memory.
enum place { NOWHERE, ON_DEVICE, ON_HOST, UNREGISTERED };
struct where {
	enum place place;
	int device;
	uint8_t *mem; // bytes to use; valid with memory_use
	size_t left;  // bytes to the end of the allocation
	uintptr_t base;
};
extern pthread_rwlock_t memory_lock;
// memory_find looks up an address; what it finds holds while the memory lock is held. UNREGISTERED outside all device and host
// memory, NOWHERE inside it but in no allocation.
API struct where standin_where(const void *p);
#define memory_find standin_where
int memory_take(void **out, size_t size, int policy);
void memory_put(void *p, const void *from, size_t size);
void memory_reset(struct device *d);
int64_t memory_used(int device);
int copy_check(void *dst, size_t max, const void *src, size_t size, int kind, struct context *c, bool *pageable, bool queued);
int copy_run(void *dst, const void *src, size_t size);
int fill_run(void *dst, uint64_t value, int width, size_t size);
int fill_check(void *dst, size_t size, struct context *c);

// For other libraries: device memory of size bytes that device may use, or NULL. standin_begin and
// standin_end keep it alive; nothing else of this list may be called between them.
API void standin_begin(void);
API void standin_end(void);
API void *standin_memory(const void *p, size_t size, int device);
API int standin_queue(const char *what, void *stream, int (*run)(void *, int), void (*drop)(void *), void *data);
API int standin_device(void);   // of the current context, or -1
API void *standin_current(void); // handle of the current context, or NULL
API bool standin_inited(void);
API bool standin_captures(void *stream);
API int standin_take(size_t size, void **out); // device memory for the library itself
API void standin_give(void *p);
API int standin_compute(const char *name, const uint64_t *args, int nargs, int device);
API int standin_arguments(const char *name); // of a kernel; -1: there is none
API int standin_host(const char *name, const int *types, const uint64_t *args, void *const *mem); // on host memory
API int standin_type_size(int type);
API int standin_size(int type); // bytes of an aclDataType, 0 where the kernels do not compute with it
API double standin_get_number(int type, const void *mem, int64_t i);
API void standin_put_number(int type, void *mem, int64_t i, double v);

// Objects of the host, whose addresses are their handles.
enum nn_kind { NN_TENSOR = 1, NN_SCALAR, NN_INTS, NN_EXECUTOR, NN_DESC, NN_DATASET, NN_BUFFER };

struct nn {
	struct nn *next;
	enum nn_kind kind;
};
// nn_live says whether p is a live object of that kind; another pointer is not touched.
API bool standin_nn_live(const void *p, enum nn_kind kind);
int64_t nn_count(const char *kind); // live ones of "tensors" and so on; -1: no such kind
API void standin_nn_add(void *p, enum nn_kind kind);
API int standin_nn_remove(const void *p, enum nn_kind kind); // 161001, 161002 where it is not there


// Kernels.
#define MAX_ARGS 128
struct kernel;
struct launch {
	const struct kernel *kernel;
	int types[2];    // of the type variables
	const uint64_t *args;
	int pointer[4];  // types of the pointer parameters
	uint8_t *mem[4]; // their bytes
	int64_t n[4];    // their elements
};
struct kernel {
	const char *name;
	const char *vars;     // type variables in order, and for each the types that it takes:
	const char *kinds;    // f floats, n numbers, r those of relu, p and i those of pictures, x all
	const char *pointers; // of each pointer parameter: a type variable, or b uint8, c int8, i int32, u uint32
	int nargs;
	int (*plan)(struct launch *l); // sets n; a code is the fault of the launch
	void (*run)(struct launch *l);
};
const struct kernel *kernel_find(const char *name, int types[2]);
bool kernel_takes(char kind, int type);
int kernel_run(const struct kernel *k, const int *types, const uint64_t *args, int nargs, int device);

extern __thread bool in_callback;
extern __thread uint32_t last_task;
extern __thread int exchange_mode; // of captures
extern __thread int thread_captures[3];

#endif
