// Tasks: what a stream runs, and the host functions and exception callbacks that come of it.
#include "standin.h"

struct task *task_new(enum op op) {
	struct task *t = calloc(1, sizeof *t);
	t->op = op;
	return t;
}

static void call_release(struct call *c) {
	if (c && --c->refs == 0) {
		c->drop(c->data);
		free(c);
	}
}

void task_free(struct task *t) {
	record_release(t->record);
	if (t->event)
		event_free(t->event);
	if (t->graph)
		graph_release(t->graph);
	call_release(t->call);
	if (t->scratch)
		standin_give(t->scratch);
	free(t->args);
	free(t);
}

// Exceptions.
struct info {
	uint32_t task, stream, thread, device, code;
};
typedef void (*exception_fn)(struct info *);

#define MAX_CALLBACKS 16
static exception_fn callbacks[MAX_CALLBACKS + 1]; // the last one is that of SetExceptionInfoCallback
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void deliver(struct info info) {
	exception_fn list[MAX_CALLBACKS + 1];
	pthread_mutex_lock(&one_at_a_time);
	memcpy(list, callbacks, sizeof list);
	in_callback = true;
	for (int i = 0; i <= MAX_CALLBACKS; i++)
		if (list[i])
			list[i](&info);
	in_callback = false;
	memset(&info, 0xff, sizeof info);
	pthread_mutex_unlock(&one_at_a_time);
}

struct failed {
	struct failed *next;
	struct info info;
};

static void tell(struct stream *s, struct task *t, int id, int code) {
	struct info info = {t->id, (uint32_t)id, t->thread, (uint32_t)s->ctx->dev->id, (uint32_t)code};
	if (control.told_late) {
		struct failed **p = &s->failed;
		while (*p)
			p = &(*p)->next;
		*p = calloc(1, sizeof **p);
		(*p)->info = info;
		return;
	}
	pthread_mutex_unlock(&big_lock);
	deliver(info);
	pthread_mutex_lock(&big_lock);
}

void tell_exception(struct stream *s, struct task *t, int code) { tell(s, t, s->id, code); }

// tell_recorded tells of a command of a graph: it ran on a stream of the graph, which the program never saw.
void tell_recorded(struct stream *s, struct task *t, int lane, int code) { tell(s, t, MAX_STREAM_IDS + lane, code); }

static void *deliver_all(void *p) {
	for (struct failed *f = p; f;) {
		struct failed *next = f->next;
		deliver(f->info);
		free(f);
		f = next;
	}
	return NULL;
}

// tell_failed tells of the failed tasks of s that are to be told late, on a thread of the library.
void tell_failed(struct stream *s) {
	struct failed *list = s->failed;
	pthread_t thread;
	if (!list)
		return;
	s->failed = NULL;
	pthread_mutex_unlock(&big_lock);
	if (pthread_create(&thread, NULL, deliver_all, list) == 0)
		pthread_join(thread, NULL);
	pthread_mutex_lock(&big_lock);
}

void drop_failed(struct stream *s) {
	while (s->failed) {
		struct failed *f = s->failed;
		s->failed = f->next;
		free(f);
	}
}

API aclError aclrtSetExceptionInfoCallback(exception_fn fn) {
	ENTER(aclrtSetExceptionInfoCallback, ANY);
	GUARD();
	callbacks[MAX_CALLBACKS] = fn;
	return OK;
}

API aclError aclrtExceptionInfoCallbackRegister(exception_fn fn) {
	ENTER(aclrtExceptionInfoCallbackRegister, ANY);
	if (!fn)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	for (int i = 0; i < MAX_CALLBACKS; i++)
		if (callbacks[i] == fn)
			return OK;
	for (int i = 0; i < MAX_CALLBACKS; i++)
		if (!callbacks[i]) {
			callbacks[i] = fn;
			return OK;
		}
	return fail(RT_PARAM, "no more than %d callbacks", MAX_CALLBACKS);
}

API aclError aclrtExceptionInfoCallbackUnregister(exception_fn fn) {
	ENTER(aclrtExceptionInfoCallbackUnregister, ANY);
	GUARD();
	for (int i = 0; i < MAX_CALLBACKS; i++)
		if (callbacks[i] == fn)
			callbacks[i] = NULL;
	return OK;
}

#define ACCESSOR(name, field) \
	API uint32_t name(const struct info *info) { \
		ENTER_VALUE(name, IN_CALLBACK, UINT32_MAX); \
		return info ? info->field : UINT32_MAX; \
	}
ACCESSOR(aclrtGetTaskIdFromExceptionInfo, task)
ACCESSOR(aclrtGetStreamIdFromExceptionInfo, stream)
ACCESSOR(aclrtGetThreadIdFromExceptionInfo, thread)
ACCESSOR(aclrtGetDeviceIdFromExceptionInfo, device)
ACCESSOR(aclrtGetErrorCodeFromExceptionInfo, code)

API aclError aclrtGetThreadLastTaskId(uint32_t *id) {
	ENTER(aclrtGetThreadLastTaskId, ANY);
	if (!id)
		return fail(INVALID_PARAM, "NULL");
	*id = last_task;
	return OK;
}

static _Atomic uint32_t execute_timeout;

API aclError aclrtSetOpExecuteTimeOut(uint32_t seconds) {
	ENTER(aclrtSetOpExecuteTimeOut, THREAD);
	GUARD();
	struct context *c;
	int code = context_need(&c);
	if (code)
		return code;
	execute_timeout = seconds;
	return OK;
}

// Host functions: one thread a context runs those of all its streams.
static void *host_work(void *p) {
	struct context *c = p;
	GUARD();
	while (!c->dead || c->hosts) {
		struct task *t = c->hosts;
		if (!t) {
			wait_on(&changed, -1);
			continue;
		}
		c->hosts = *(struct task **)&t->src;
		t->started = true;
		pthread_mutex_unlock(&big_lock);
		in_callback = true;
		t->fn(t->arg);
		in_callback = false;
		pthread_mutex_lock(&big_lock);
		t->done = true;
		pthread_cond_broadcast(&changed);
	}
	context_release(c);
	return NULL;
}

// run_host gives t to the thread of host functions and waits for it; t->src links the waiting ones.
static void run_host(struct stream *s, struct task *t) {
	struct context *c = s->ctx;
	if (!c->host_thread) {
		pthread_t thread;
		c->host_thread = true;
		c->o.refs++;
		if (pthread_create(&thread, NULL, host_work, c)) {
			perror("standin: no thread for host functions");
			abort();
		}
		pthread_detach(thread);
	}
	struct task **p = &c->hosts;
	while (*p)
		p = (struct task **)&(*p)->src;
	*p = t;
	t->src = NULL;
	t->started = t->done = false;
	pthread_cond_broadcast(&changed);
	while (!t->done) {
		if (!t->started && broken(s)) {
			for (p = &c->hosts; *p != t;)
				p = (struct task **)&(*p)->src;
			*p = (struct task *)t->src;
			return;
		}
		wait_on(&changed, -1);
	}
}

API aclError aclrtLaunchHostFunc(void *stream, void (*fn)(void *), void *arg) {
	ENTER(aclrtLaunchHostFunc, THREAD);
	if (!fn)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct stream *s;
	int code = stream_own(stream, &s);
	if (!code)
		code = stream_stopped(s);
	if (code)
		return code;
	if (s->reporter)
		return fail(RT_STREAM_SUBSCRIBE, "the stream has a report thread");
	s->hosts = true;
	struct task *t = task_new(T_HOST);
	t->fn = fn;
	t->arg = arg;
	return task_submit(s, t);
}

// Reports: a thread of the program runs the functions of the streams that it serves.
struct report {
	struct report *next;
	struct task *task; // NULL: nobody waits
	void (*fn)(void *);
	void *arg;
};
struct reporter {
	struct reporter *next;
	uint64_t thread;
	int device, streams;
	struct report *first;
};
static struct reporter *reporters;

static struct reporter *reporter_of(uint64_t thread) {
	for (struct reporter *r = reporters; r; r = r->next)
		if (r->thread == thread)
			return r;
	return NULL;
}

void report_forget(struct stream *s) {
	if (s->reporter)
		s->reporter->streams--;
	s->reporter = NULL;
}

API aclError aclrtSubscribeReport(uint64_t thread, void *stream) {
	ENTER(aclrtSubscribeReport, THREAD);
	GUARD();
	struct stream *s;
	int code = stream_own(stream, &s);
	if (code)
		return code;
	if (s->reporter || s->hosts)
		return fail(RT_STREAM_SUBSCRIBE, "the stream is subscribed, or had host functions");
	struct reporter *r = reporter_of(thread);
	if (r && r->streams && r->device != s->ctx->dev->id)
		return fail(RT_THREAD_SUBSCRIBE, "the thread serves device %d", r->device);
	if (!r) {
		r = calloc(1, sizeof *r);
		r->thread = thread;
		r->next = reporters;
		reporters = r;
	}
	r->device = s->ctx->dev->id;
	r->streams++;
	s->reporter = r;
	return OK;
}

API aclError aclrtUnSubscribeReport(uint64_t thread, void *stream) {
	ENTER(aclrtUnSubscribeReport, THREAD);
	GUARD();
	struct stream *s;
	int code = stream_own(stream, &s);
	if (code)
		return code;
	if (!s->reporter)
		return fail(RT_STREAM_SUBSCRIBE, "the stream is not subscribed");
	if (s->reporter->thread != thread)
		return fail(RT_THREAD_SUBSCRIBE, "the stream is not subscribed by that thread");
	report_forget(s);
	return OK;
}

API aclError aclrtLaunchCallback(void (*fn)(void *), void *arg, int block, void *stream) {
	ENTER(aclrtLaunchCallback, THREAD);
	if (!fn)
		return fail(RT_PARAM, "NULL");
	if (block < 0 || block > 1)
		return fail(INVALID_PARAM, "block type %d", block);
	GUARD();
	struct stream *s;
	int code = stream_own(stream, &s);
	if (!code)
		code = stream_stopped(s);
	if (code)
		return code;
	if (s->hosts)
		return fail(RT_STREAM_SUBSCRIBE, "the stream had host functions");
	if (!s->reporter)
		return fail(RT_NO_CALLBACK, "no thread is subscribed");
	struct task *t = task_new(T_REPORT);
	t->fn = fn;
	t->arg = arg;
	t->block = block;
	return task_submit(s, t);
}

API aclError aclrtProcessReport(int32_t timeout) {
	ENTER(aclrtProcessReport, ANY);
	if (timeout == 0 || timeout < -1)
		return fail(INVALID_PARAM, "timeout %d", timeout);
	int64_t deadline = timeout < 0 ? -1 : now_ns() + (int64_t)timeout * 1000000;
	GUARD();
	struct reporter *r = reporter_of((uint64_t)(uintptr_t)pthread_self());
	if (!r || !r->streams)
		return fail(RT_THREAD_SUBSCRIBE, "the thread is not subscribed");
	while (!r->first)
		if (!wait_on(&changed, deadline) && !r->first)
			return fail(RT_REPORT_TIMEOUT, "nothing came");
	while (r->first) {
		struct report *x = r->first;
		r->first = x->next;
		pthread_mutex_unlock(&big_lock);
		in_callback = true;
		x->fn(x->arg);
		in_callback = false;
		pthread_mutex_lock(&big_lock);
		if (x->task)
			x->task->done = true;
		free(x);
		pthread_cond_broadcast(&changed);
	}
	return OK;
}

static void run_report(struct stream *s, struct task *t) {
	struct reporter *r = s->reporter;
	if (!r)
		return;
	struct report *x = calloc(1, sizeof *x);
	x->fn = t->fn;
	x->arg = t->arg;
	x->task = t->block ? t : NULL;
	t->done = false;
	struct report **p = &r->first;
	while (*p)
		p = &(*p)->next;
	*p = x;
	pthread_cond_broadcast(&changed);
	while (t->block && !t->done) {
		if (broken(s)) {
			for (struct report *y = r->first; y; y = y->next)
				if (y->task == t)
					y->task = NULL;
			break;
		}
		wait_on(&changed, -1);
	}
}

static int spin(struct stream *s, struct task *t) {
	double seconds;
	memcpy(&seconds, &t->args[0], sizeof seconds);
	if (!(seconds >= 0 && seconds <= 1e9))
		return RT_VECTOR;
	int64_t start = now_ns(), until = start + (int64_t)(seconds * 1e9 + 0.5);
	while (!broken(s) && now_ns() < until)
		wait_on(&changed, until);
	s->ctx->dev->busy_ns += now_ns() - start;
	return OK;
}

int task_run(struct stream *s, struct task *t) {
	int code = OK;
	switch (t->op) {
	case T_RECORD:
		return OK;
	case T_WAIT:
		while (t->record && !t->record->done && !broken(s))
			wait_on(&changed, -1);
		return OK;
	case T_RESET:
		if (t->event->record == t->record) {
			record_release(t->event->record);
			t->event->record = NULL;
		}
		return OK;
	case T_HOST:
		run_host(s, t);
		return OK;
	case T_REPORT:
		run_report(s, t);
		return OK;
	case T_REPLAY:
		return graph_replay(s, t);
	case T_UPDATE:
		graph_update(t);
		return OK;
	case T_KERNEL:
		if (strcmp(t->kernel->name, "spin") == 0)
			return spin(s, t);
		break;
	default:
		break;
	}
	int device = s->ctx->dev->id;
	int64_t start = now_ns();
	struct call *call = t->call;
	pthread_mutex_unlock(&big_lock);
	switch (t->op) {
	case T_COPY:
		code = copy_run(t->dst, t->src, t->size);
		break;
	case T_FILL:
		code = fill_run(t->dst, t->value, t->width, t->size);
		break;
	case T_KERNEL:
		code = kernel_run(t->kernel, t->types, t->args, t->nargs, device);
		break;
	case T_CALL:
		code = call->run(call->data, device);
		break;
	default:
		break;
	}
	pthread_mutex_lock(&big_lock);
	if (t->op == T_KERNEL || t->op == T_CALL)
		s->ctx->dev->busy_ns += now_ns() - start;
	return code;
}

API int standin_queue(const char *what, void *stream, int (*run)(void *, int), void (*release)(void *), void *data) {
	GUARD();
	struct stream *s;
	int code = stream_own(stream, &s);
	if (!code)
		code = stream_stopped(s);
	if (code) {
		(void)what;
		release(data);
		return code;
	}
	struct task *t = task_new(T_CALL);
	t->call = calloc(1, sizeof *t->call);
	*t->call = (struct call){run, release, data, 1};
	return task_submit(s, t);
}
