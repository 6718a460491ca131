// Streams: their life, and waits for them.
#include "standin.h"

static uint64_t serials;

static void stream_release(struct stream *s) {
	if (--s->o.refs == 0) {
		context_release(s->ctx);
		pthread_cond_destroy(&s->wake);
		free(s);
	}
}

bool broken(struct stream *s) { return s->dead || s->abort || s->ctx->stop; }

// Streams that look as if they had work left, because nobody was told of a failed task.
static uint64_t *hidden;
static int hidden_count, hidden_room;

bool stream_hidden(uint64_t serial) {
	for (int i = 0; i < hidden_count; i++)
		if (hidden[i] == serial)
			return true;
	return false;
}

static void hide(struct stream *s) {
	if (s->hidden)
		return;
	s->hidden = true;
	if (hidden_count == hidden_room) {
		hidden_room = hidden_room ? 2 * hidden_room : 16;
		hidden = realloc(hidden, (size_t)hidden_room * sizeof *hidden);
	}
	hidden[hidden_count++] = s->serial;
}

static void show(struct stream *s) {
	if (!s->hidden)
		return;
	s->hidden = false;
	for (int i = 0; i < hidden_count; i++)
		if (hidden[i] == s->serial) {
			hidden[i] = hidden[--hidden_count];
			return;
		}
}

// skipped ends a record that is not run.
static void skipped(struct stream *s, struct record *r) {
	if (s->ctx->stop && !s->dead && !s->abort) {
		r->failed = s->ctx->stop;
		r->hidden = true;
		hide(s);
		pthread_cond_broadcast(&changed);
	}
	if (!control.stuck)
		record_done(r);
}

static void finish(struct stream *s, struct task *t) {
	s->count--;
	s->finished++;
	task_free(t);
	pthread_cond_broadcast(&changed);
}

// drop ends the tasks of s that have not started.
static void drop(struct stream *s) {
	struct task **p = s->busy ? &s->head->next : &s->head;
	struct task *t = *p;
	*p = NULL;
	s->tail = s->busy ? s->head : NULL;
	while (t) {
		struct task *next = t->next;
		if (t->op == T_RECORD)
			skipped(s, t->record);
		finish(s, t);
		t = next;
	}
}

static void *work(void *p) {
	struct stream *s = p;
	GUARD();
	for (;;) {
		while (!s->head && !s->dead)
			wait_on(&s->wake, -1);
		if (!s->head)
			break;
		if (control.hang && !broken(s)) {
			wait_on(&changed, -1);
			continue;
		}
		struct task *t = s->head;
		s->busy = true;
		int code = OK;
		bool run = !s->ctx->stop && !(s->dead || s->abort);
		if (run && control.slow_us > 0) {
			int64_t until = now_ns() + control.slow_us * 1000;
			while (!broken(s) && now_ns() < until)
				wait_on(&changed, until);
			run = !broken(s);
		}
		if (run && control.fault && atomic_fetch_sub(&control.nth_task, 1) <= 1)
			code = (int)atomic_exchange(&control.fault, 0);
		else if (run)
			code = task_run(s, t);
		if (t->op == T_RECORD && run) {
			t->record->hidden = s->hidden;
			record_done(t->record);
		} else if (t->op == T_RECORD) {
			skipped(s, t->record);
		}
		if (code && !s->dead) { // else nobody is there to be told
			if (t->op != T_REPLAY) // whose commands told themselves
				tell_exception(s, t, code);
			else if (code > RT_INTERNAL)
				code = RT_MODEL_EXECUTE;
			s->ctx->dev->faults++;
			hide(s);
			if (s->ctx->mode) {
				if (!s->ctx->stop)
					s->ctx->stop = code;
			} else if (!s->err) {
				s->err = code;
			}
		}
		s->busy = false;
		s->head = t->next;
		if (!s->head)
			s->tail = NULL;
		finish(s, t);
	}
	show(s);
	stream_release(s);
	return NULL;
}

static void start(struct stream *s) {
	pthread_t t;
	s->thread = true;
	s->o.refs++;
	pthread_attr_t a;
	pthread_attr_init(&a);
	pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&a, 256 << 10);
	if (pthread_create(&t, &a, work, s)) {
		perror("standin: no thread for a stream");
		abort();
	}
	pthread_attr_destroy(&a);
}

__thread uint32_t last_task;

int stream_stopped(struct stream *s) {
	if (s->ctx->stop_told)
		return fail(s->ctx->stop, "the context stopped after a failure");
	return OK;
}

int task_submit(struct stream *s, struct task *t) {
	t->id = s->tasks++;
	t->thread = (uint32_t)(uintptr_t)pthread_self();
	if (!s->def)
		last_task = t->id;
	if (s->capture || s->updating)
		return capture_submit(s, t);
	int code = stream_stopped(s);
	while (!code && s->count >= control.depth) {
		s->o.refs++;
		wait_on(&changed, -1);
		if (s->dead)
			code = fail(RT_HANDLE, "the stream was destroyed meanwhile");
		else
			code = stream_stopped(s);
		stream_release(s);
	}
	if (code || s->abort) { // what comes during an abort is ignored
		if (t->op == T_RECORD)
			skipped(s, t->record);
		task_free(t);
		return code;
	}
	t->stream = s;
	t->next = NULL;
	if (s->tail)
		s->tail->next = t;
	else
		s->head = t;
	s->tail = t;
	s->count++;
	s->submitted++;
	if (!s->thread)
		start(s);
	pthread_cond_signal(&s->wake);
	return OK;
}

struct stream *stream_new(struct context *c, uint32_t priority, uint32_t flags, int *code) {
	struct device *d = c->dev;
	if (d->streams >= soc()->streams) {
		*code = fail(RT_NO_STREAM, "the device has no more than %d streams", soc()->streams);
		return NULL;
	}
	struct stream *s = calloc(1, sizeof *s);
	handle_new(&s->o, K_STREAM);
	while (d->ids[s->id])
		s->id++;
	d->ids[s->id] = 1;
	d->streams++;
	s->serial = ++serials;
	s->ctx = c;
	c->o.refs++;
	s->priority = priority > 7 ? 7 : priority;
	s->flags = flags;
	pthread_condattr_t a;
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &a);
	struct stream **p = &c->streams; // the default stream first
	while (*p)
		p = &(*p)->next;
	*p = s;
	return s;
}

void report_forget(struct stream *s);

void stream_end(struct stream *s, bool force) {
	if (!force)
		stream_wait(s, -1);
	report_forget(s);
	for (struct stream **p = &s->ctx->streams; *p; p = &(*p)->next)
		if (*p == s) {
			*p = s->next;
			break;
		}
	s->dead = true;
	show(s);
	drop(s);
	drop_failed(s);
	s->ctx->dev->ids[s->id] = 0;
	s->ctx->dev->streams--;
	handle_close(&s->o);
	pthread_cond_signal(&s->wake);
	pthread_cond_broadcast(&changed);
	stream_release(s);
}

int stream_wait(struct stream *s, int64_t deadline) {
	uint64_t until = s->submitted;
	s->o.refs++;
	int code = OK;
	while (!s->dead && s->finished < until)
		if (!wait_on(&changed, deadline)) {
			if (!s->dead && s->finished < until)
				code = RT_STREAM_TIMEOUT;
			break;
		}
	stream_release(s);
	return code;
}

int stream_any(void *h, struct stream **s) {
	struct context *c;
	if (h) {
		*s = handle_find(h, K_STREAM);
		if (!*s)
			return fail(RT_HANDLE, "%p is no live stream", h);
	}
	int code = context_need(&c);
	if (code)
		return code;
	if (!h)
		*s = c->def;
	return OK;
}

int stream_own(void *h, struct stream **s) {
	int code = stream_any(h, s);
	if (!code && (*s)->ctx != current)
		code = fail(RT_STREAM_CONTEXT, "the stream is of another context than the current one");
	return code;
}

static int captured(struct stream *s) { return s->capture ? fail(RT_STREAM_CAPTURED, "stream %d captures", s->id) : OK; }

static int create(void **out, uint32_t priority, uint32_t flags) {
	if (!out)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct context *c;
	int code = context_need(&c);
	if (code)
		return code;
	struct stream *s = stream_new(c, priority, flags, &code);
	if (!s)
		return code;
	*out = s->o.handle;
	return OK;
}

API aclError aclrtCreateStream(void **out) {
	ENTER(aclrtCreateStream, THREAD);
	return create(out, 0, 0);
}

API aclError aclrtCreateStreamWithConfig(void **out, uint32_t priority, uint32_t flags) {
	ENTER(aclrtCreateStreamWithConfig, THREAD);
	return create(out, priority, flags);
}

static int destroy(void *h, bool force) {
	if (!h)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct stream *s;
	int code = stream_own(h, &s);
	if (!code && s->def)
		code = fail(RT_PARAM, "a default stream cannot be destroyed");
	if (!code)
		code = captured(s);
	if (!code)
		stream_end(s, force);
	return code;
}

API aclError aclrtDestroyStream(void *h) {
	ENTER(aclrtDestroyStream, THREAD);
	return destroy(h, false);
}

API aclError aclrtDestroyStreamForce(void *h) {
	ENTER(aclrtDestroyStreamForce, THREAD);
	return destroy(h, true);
}

API aclError aclrtSetStreamFailureMode(void *h, uint64_t mode) {
	ENTER(aclrtSetStreamFailureMode, THREAD);
	if (mode > 1)
		return fail(INVALID_PARAM, "mode %llu", (unsigned long long)mode);
	if (!h && control.soc == 310)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct stream *s;
	int code = stream_own(h, &s);
	if (code)
		return code;
	if (s->stop_set && !mode)
		return fail(RT_NOT_SUPPORTED, "there is no way back from stop to continue");
	if (mode) { // of another stream, continue changes nothing
		s->stop_set = true;
		s->ctx->mode = 1;
	}
	return OK;
}

API aclError aclrtStreamQuery(void *h, int *status) {
	ENTER(aclrtStreamQuery, THREAD);
	if (!status)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct stream *s;
	int code = stream_any(h, &s);
	if (!code)
		code = captured(s);
	if (code)
		return code;
	if (s->ctx->stop_told)
		return fail(s->ctx->stop, "the context stopped after a failure");
	*status = s->count || s->hidden ? 1 : 0;
	return OK;
}

// fail_task is fail for the code of a failed task: the first line of the message says nothing, and the first wait that
// tells of a failure of the device says more than later ones.
static int fail_task(int code, struct stream *s) {
	const char *reason = code == RT_VECTOR ? "vector core exception" : code == RT_MODEL_EXECUTE ? "model execute failed" : "task failed";
	const char *trace = "rtStreamSynchronize execution failed, reason=";
	if (code < RT_INTERNAL || s->ctx->dev->told_faults == s->ctx->dev->faults)
		return standin_fail_lines(code, "EE9999", "%s%s", trace, reason);
	s->ctx->dev->told_faults = s->ctx->dev->faults;
	return standin_fail_lines(code, "EZ9999", "An error occurs on the device(chipId:%d, dieId:0), the serial number is %d, "
		"the error is aivec error, core id is 0, error code = 0x800000", s->ctx->dev->id, s->ctx->dev->faults);
}

// take is what a wait returns of the work of s that is done.
int stream_take(struct stream *s) {
	int code = s->err;
	s->err = OK;
	tell_failed(s);
	show(s);
	if (s->ctx->stop) {
		for (struct stream *x = s->ctx->streams; x; x = x->next) {
			tell_failed(x);
			show(x);
		}
		s->ctx->stop_told = true;
		code = s->ctx->stop;
	}
	return code ? fail_task(code, s) : OK;
}

// hold is for hang_sync.
static int hold(int64_t deadline) {
	while (control.hang_sync)
		if (!wait_on(&changed, deadline))
			return control.hang_sync ? RT_STREAM_TIMEOUT : OK;
	return OK;
}

static int synchronize(void *h, int64_t deadline) {
	GUARD();
	struct stream *s;
	int code = stream_any(h, &s);
	if (!code)
		code = captured(s);
	if (code)
		return code;
	if (s->abort)
		return fail(RT_STREAM_ABORT, "stream %d is being aborted", s->id);
	s->o.refs++;
	code = hold(deadline);
	if (!code)
		code = stream_wait(s, deadline);
	if (code)
		code = fail(code, "stream %d has work left", s->id);
	else if (s->abort)
		code = fail(RT_STREAM_ABORT, "stream %d is being aborted", s->id);
	else
		code = stream_take(s);
	stream_release(s);
	return code;
}

static int deadline_of(int32_t timeout, int64_t *deadline) {
	if (timeout < -1 || timeout == 0)
		return fail(RT_PARAM, "timeout %d", timeout);
	*deadline = timeout < 0 ? -1 : now_ns() + (int64_t)timeout * 1000000;
	return OK;
}

API aclError aclrtSynchronizeStream(void *h) {
	ENTER(aclrtSynchronizeStream, THREAD);
	return synchronize(h, -1);
}

API aclError aclrtSynchronizeStreamWithTimeout(void *h, int32_t timeout) {
	ENTER(aclrtSynchronizeStreamWithTimeout, THREAD);
	int64_t deadline = -1;
	int code = deadline_of(timeout, &deadline);
	return code ? code : synchronize(h, deadline);
}

static int synchronize_device(int64_t deadline) {
	GUARD();
	struct context *c;
	int code = context_need(&c);
	if (code)
		return code;
	for (struct stream *s = c->streams; s; s = s->next)
		if (s->capture)
			return captured(s);
	c->o.refs++;
	code = hold(deadline);
	for (struct stream *s = c->streams; s && !code;) {
		uint64_t serial = s->serial;
		code = stream_wait(s, deadline);
		for (s = c->streams; s && s->serial <= serial;) // the list is in order of creation
			s = s->next;
	}
	if (code)
		code = fail(code, "the device has work left");
	for (struct stream *s = c->streams; s && !code; s = s->next)
		code = stream_take(s);
	context_release(c);
	return code;
}

API aclError aclrtSynchronizeDevice(void) {
	ENTER(aclrtSynchronizeDevice, THREAD);
	return synchronize_device(-1);
}

API aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
	ENTER(aclrtSynchronizeDeviceWithTimeout, THREAD);
	int64_t deadline = -1;
	int code = deadline_of(timeout, &deadline);
	return code ? code : synchronize_device(deadline);
}

API aclError aclrtStreamAbort(void *h) {
	ENTER(aclrtStreamAbort, THREAD);
	if (control.soc == 310)
		return fail(RT_NOT_SUPPORTED, "not on this part");
	GUARD();
	struct stream *s;
	int code = stream_own(h, &s);
	if (!code)
		code = captured(s);
	if (code)
		return code;
	s->o.refs++;
	s->abort = true;
	drop(s);
	pthread_cond_broadcast(&changed);
	bool killed = s->busy;
	while (s->busy)
		wait_on(&changed, -1);
	s->abort = false;
	show(s);
	if (killed && !s->err)
		s->err = RT_VECTOR;
	stream_release(s);
	return OK;
}

API aclError aclrtStreamGetId(void *h, int32_t *id) {
	ENTER(aclrtStreamGetId, THREAD);
	if (!id)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct stream *s;
	int code = stream_any(h, &s);
	if (code)
		return code;
	*id = s->id;
	return OK;
}

API aclError aclrtStreamGetPriority(void *h, uint32_t *priority) {
	ENTER(aclrtStreamGetPriority, THREAD);
	if (!priority)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct stream *s;
	int code = stream_any(h, &s);
	if (code)
		return code;
	*priority = s->priority;
	return OK;
}

API aclError aclrtStreamGetFlags(void *h, uint32_t *flags) {
	ENTER(aclrtStreamGetFlags, THREAD);
	if (!flags)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct stream *s;
	int code = stream_any(h, &s);
	if (code)
		return code;
	*flags = s->flags;
	return OK;
}

API aclError aclrtGetStreamAvailableNum(uint32_t *count) {
	ENTER(aclrtGetStreamAvailableNum, THREAD);
	if (!count)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct context *c;
	int code = context_need(&c);
	if (code)
		return code;
	*count = (uint32_t)(soc()->streams - c->dev->streams);
	return OK;
}

API bool standin_captures(void *h) {
	GUARD();
	struct stream *s = h ? handle_find(h, K_STREAM) : NULL;
	return s && s->capture;
}
