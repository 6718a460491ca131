// Switches, counters, the rules that hold for every call, and what the library does on loading.
#include "standin.h"
#include <signal.h>
#include <stdarg.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

struct control control = {.devices = 2, .memory_mb = 0, .soc = 910, .depth = 2013, .late_us = 200, .signals_ms = 20, .check = {1, 1, 1, 1, 1, 1, 1}};

static const char *const rule_names[RULES] = {"check_thread", "check_callback", "check_closed", "check_event", "check_pageable", "check_struct", "check_model"};

static struct { const char *name; _Atomic int64_t *value; } keys[] = {
	{"devices", &control.devices}, {"memory_mb", &control.memory_mb}, {"soc", &control.soc}, {"slow_us", &control.slow_us},
	{"hang", &control.hang}, {"hang_sync", &control.hang_sync}, {"reuse", &control.reuse}, {"signals", &control.signals}, {"signals_at", &control.signals_at},
	{"exit_ms", &control.exit_ms}, {"setdevice_ms", &control.setdevice_ms}, {"fds", &control.fds}, {"depth", &control.depth},
	{"absorb_ns", &control.absorb_ns}, {"fault", &control.fault}, {"nth_task", &control.nth_task}, {"first_visible", &control.first_visible},
	{"late_us", &control.late_us}, {"told_late", &control.told_late}, {"stuck", &control.stuck}, {"forgets", &control.forgets}, {"signals_ms", &control.signals_ms},
};

// The functions of all libraries.
#define MAX_LISTS 16
static struct { struct fn *const *first, *const *last; } lists[MAX_LISTS];
static int nlists;

static bool loaded;
static void environment(bool only);

API void standin_register(struct fn *const *first, struct fn *const *last) {
	if (nlists < MAX_LISTS) {
		lists[nlists].first = first;
		lists[nlists++].last = last;
	}
	if (loaded)
		environment(true);
}

static struct fn *find_function(const char *name) {
	for (int i = 0; i < nlists; i++)
		for (struct fn *const *f = lists[i].first; f < lists[i].last; f++)
			if (strcmp((*f)->name, name) == 0)
				return *f;
	return NULL;
}

API bool standin_on(enum rule r) { return control.check[r] != 0; }

// Threads.
static _Atomic int64_t threads_seen;
static __thread bool seen;
static _Atomic int owner; // thread that uses contexts since aclInit
static _Atomic bool inited;
__thread bool in_callback;
static __thread const char *entered;

void owner_reset(bool on) {
	inited = on;
	owner = 0;
}

API bool standin_inited(void) { return inited; }

API int standin_enter(struct fn *f, unsigned flags) {
	atomic_fetch_add(&f->calls, 1);
	entered = f->name;
	if (!seen) {
		seen = true;
		atomic_fetch_add(&threads_seen, 1);
	}
	if (in_callback && !(flags & IN_CALLBACK) && standin_on(CHECK_CALLBACK))
		die("check_callback", "runtime call inside a callback");
	if (flags & THREAD && inited && !in_callback && standin_on(CHECK_THREAD)) {
		int me = (int)syscall(SYS_gettid), none = 0;
		if (!atomic_compare_exchange_strong(&owner, &none, me) && none != me)
			die("check_thread", "call on thread %d, the runtime was used on thread %d", me, none);
	}
	int64_t code = f->code;
	if (code) {
		int64_t nth = f->nth;
		if (nth == 0)
			return fail((int)code, "failure that was asked for");
		if (nth > 0 && atomic_fetch_sub(&f->nth, 1) == 1) {
			f->code = 0;
			return fail((int)code, "failure that was asked for");
		}
	}
	return OK;
}

// Messages and the last error, by thread.
#define MESSAGES 2048
static __thread char messages[MESSAGES], given[MESSAGES];
static __thread int last_error;

// push puts a message above those that were not taken yet.
static int push(int code, const char *text) {
	size_t len = strlen(text), old = strlen(messages);
	if (len + old + 2 > MESSAGES)
		messages[old = MESSAGES - len - 2] = 0;
	memmove(messages + len + 1, messages, old + 1);
	memcpy(messages, text, len);
	messages[len] = '\n';
	if (code >= RT_PARAM)
		last_error = code;
	return code;
}

// frame is a line as the vendor's library writes it: who, when, which error, and where in its source.
static void frame(char *out, size_t room, const char *name, const char *id, const char *text) {
	snprintf(out, room, "[PID: %d] 2026-12-01-02:33:35.040.175 %s(%s): %s[FUNC:%s][FILE:standin.c][LINE:61]", (int)getpid(), name, id, text,
		entered ? entered : "runtime");
}

API int standin_fail(int code, const char *format, ...) {
	char text[400], id[16], line[640];
	int n = snprintf(text, sizeof text, "[stand-in] %s returns %d: ", entered ? entered : "runtime", code);
	va_list ap;
	va_start(ap, format);
	vsnprintf(text + n, sizeof text - (size_t)n, format, ap);
	va_end(ap);
	snprintf(id, sizeof id, "EE%04d", code % 10000);
	frame(line, sizeof line, "Stand_In_Error", id, text);
	return push(code, line);
}

int standin_fail_lines(int code, const char *id, const char *format, ...) {
	char text[400], line[1024];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	int n = snprintf(line, sizeof line, "%s: Internal error!\n", id);
	frame(line + n, sizeof line - (size_t)n, "", id, text);
	return push(code, line);
}

API const char *aclGetRecentErrMsg(void) {
	ENTER_VALUE(aclGetRecentErrMsg, IN_CALLBACK, NULL);
	if (!current || current->dead) { // it asks the device, of which there is none
		char line[640];
		frame(line, sizeof line, "Execution_Error_Invalid_Context", "EE1018", "aclGetRecentErrMsg failed. Reason: rtGetDevMsg execution failed, the thread has no context");
		push(OK, line);
	}
	if (!messages[0])
		return NULL;
	memcpy(given, messages, sizeof given);
	messages[0] = 0;
	return given;
}

API aclError aclrtPeekAtLastError(int level) {
	ENTER(aclrtPeekAtLastError, ANY);
	return level ? INVALID_PARAM : last_error;
}

API aclError aclrtGetLastError(int level) {
	ENTER(aclrtGetLastError, ANY);
	if (level)
		return INVALID_PARAM;
	int code = last_error;
	last_error = OK;
	return code;
}

API void standin_die(const char *rule, const char *format, ...) {
	char line[512];
	int n = snprintf(line, sizeof line, "standin: %s: ", entered ? entered : "runtime");
	va_list ap;
	va_start(ap, format);
	n += vsnprintf(line + n, sizeof line - (size_t)n, format, ap);
	va_end(ap);
	if (n > 400)
		n = 400;
	n += snprintf(line + n, sizeof line - (size_t)n, " (%s=0 allows it)\n", rule);
	if (write(2, line, (size_t)n) < 0) {
	}
	signal(SIGABRT, SIG_DFL);
	abort();
}

int64_t now_ns(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void init_restart(void);

static const struct { const char *name; int64_t value; } socs[] = {{"910b", 910}, {"310p", 310}};

API int64_t standin_set(const char *key, int64_t value) {
	const char *fn = strchr(key, ':');
	if (fn) {
		struct fn *f = find_function(fn + 1);
		if (!f)
			return -1;
		if (strncmp(key, "fail:", 5) == 0)
			f->code = value;
		else if (strncmp(key, "nth:", 4) == 0)
			f->nth = value;
		else if (strncmp(key, "calls:", 6) == 0)
			f->calls = value;
		else
			return -1;
		return 0;
	}
	if (strcmp(key, "restart") == 0) {
		init_restart();
		return 0;
	}
	if (strcmp(key, "strict") == 0) {
		for (int r = 0; r < RULES; r++)
			control.check[r] = value != 0;
		return 0;
	}
	for (int r = 0; r < RULES; r++)
		if (strcmp(key, rule_names[r]) == 0) {
			control.check[r] = value;
			return 0;
		}
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (strcmp(key, keys[i].name) == 0) {
			if (keys[i].value == &control.devices && (value < 0 || value > MAX_DEVICES))
				return -1;
			*keys[i].value = value;
			GUARD();
			pthread_cond_broadcast(&changed);
			return 0;
		}
	return -1;
}

static _Atomic int64_t signals_seen;

API int64_t standin_get(const char *key) {
	if (strncmp(key, "calls:", 6) == 0) {
		struct fn *f = find_function(key + 6);
		return f ? f->calls : -1;
	}
	if (strcmp(key, "calls") == 0) {
		int64_t n = 0;
		for (int i = 0; i < nlists; i++)
			for (struct fn *const *f = lists[i].first; f < lists[i].last; f++)
				n += (*f)->calls;
		return n;
	}
	if (strcmp(key, "threads") == 0)
		return threads_seen;
	if (strcmp(key, "signals_seen") == 0)
		return signals_seen;
	if (strncmp(key, "live:", 5) == 0) {
		GUARD();
		for (int k = 1; k < KINDS; k++)
			if (strcmp(key + 5, kind_names[k]) == 0)
				return handle_live((enum kind)k);
		if (strcmp(key + 5, "memory") == 0 || strcmp(key + 5, "host") == 0) {
			int64_t n = 0;
			if (key[5] == 'h')
				return memory_used(-1);
			for (int d = 0; d < MAX_DEVICES; d++)
				n += memory_used(d);
			return n;
		}
		return nn_count(key + 5);
	}
	for (int r = 0; r < RULES; r++)
		if (strcmp(key, rule_names[r]) == 0)
			return control.check[r];
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (strcmp(key, keys[i].name) == 0)
			return *keys[i].value;
	return -1;
}

static void caught(int sig) {
	atomic_fetch_add(&signals_seen, 1);
	char line[64];
	int n = snprintf(line, sizeof line, "standin: signal %d came to the library's handler\n", sig);
	if (write(2, line, (size_t)n) < 0) {
	}
	signal(sig, SIG_DFL);
	raise(sig);
}

static void install(void);

static void *install_later(void *p) {
	(void)p;
	usleep((useconds_t)(control.signals_ms * 1000));
	install();
	return NULL;
}

void standin_signals(int now) {
	const char *how = getenv("ASCEND_COREDUMP_SIGNAL");
	if (!control.signals || control.signals_at != now || (how && strcmp(how, "none") == 0))
		return;
	pthread_t thread;
	if (now != 3)
		install();
	else if (pthread_create(&thread, NULL, install_later, NULL) == 0)
		pthread_detach(thread);
}

static void install(void) {
	int list[] = {2, 3, 4, 5, 6, 7, 8, 11, 15, 24, 25, 31, SIGRTMIN + 5};
	struct sigaction a = {.sa_handler = caught};
	if (control.signals == 1)
		a.sa_flags = SA_ONSTACK;
	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		sigaction(list[i], &a, NULL);
	for (int sig = 1; control.signals == 3 && sig <= 31; sig++)
		sigaction(sig, &a, NULL); // refused for two of them
}

static void at_exit(void) {
	int64_t ms = control.exit_ms;
	if (ms > 0)
		usleep((useconds_t)(ms * 1000));
}

REGISTER

static int setting(char *p) {
	char *eq = strchr(p, '=');
	if (!eq)
		return -1;
	*eq++ = 0;
	char *end;
	int64_t v = strtoll(eq, &end, 0);
	for (size_t i = 0; i < sizeof socs / sizeof *socs; i++)
		if (strcasecmp(eq, socs[i].name) == 0) {
			v = socs[i].value;
			end = eq + strlen(eq);
		}
	return *end ? -1 : standin_set(p, v);
}

// environment applies ACL_STANDIN. Failures of functions in libraries that are not there yet are
// applied when they come; only is for those.
static void environment(bool only) {
	char text[4096];
	const char *env = getenv("ACL_STANDIN");
	if (!env)
		return;
	snprintf(text, sizeof text, "%s", env);
	char *save = NULL;
	for (char *p = strtok_r(text, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		bool later = strncmp(p, "fail:", 5) == 0 || strncmp(p, "nth:", 4) == 0;
		char shown[256];
		snprintf(shown, sizeof shown, "%s", p);
		if ((only && !later) || setting(p) == 0 || later)
			continue;
		fprintf(stderr, "standin: ACL_STANDIN: %s is no setting\n", shown);
		abort();
	}
}

__attribute__((constructor(300))) static void load(void) {
	environment(false);
	loaded = true;
	standin_signals(0);
	atexit(at_exit);
}
