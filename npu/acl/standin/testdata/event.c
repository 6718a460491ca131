// Events. An event points to its last record; a wait keeps the record of its moment.
#include "standin.h"

struct record *record_new(void) {
	struct record *r = calloc(1, sizeof *r);
	r->refs = 1;
	return r;
}

void record_release(struct record *r) {
	if (r && --r->refs == 0)
		free(r);
}

void record_done(struct record *r) {
	if (r->done)
		return;
	r->done = true;
	r->at = now_ns();
	pthread_cond_broadcast(&changed);
}

void event_free(struct event *e) {
	if (--e->o.refs == 0) {
		record_release(e->record);
		context_release(e->ctx);
		free(e);
	}
}

static int create(void **out, uint32_t flags, bool legacy, bool ex) {
	if (!out)
		return fail(INVALID_PARAM, "NULL");
	uint32_t all = ex ? 0x1 | 0x2 | 0x4 | 0x8 | 0x40 : 0x1 | 0x2 | 0x8 | 0x10 | 0x20, alone = ex ? 0x40 : 0x10 | 0x20;
	if (!legacy && (!flags || flags & ~all || (flags & alone && flags & (flags - 1))))
		return fail(RT_PARAM, "flags %#x", flags);
	GUARD();
	struct context *c;
	int code = context_need(&c);
	if (code)
		return code;
	if (c->dev->events >= soc()->events)
		return fail(RT_NO_EVENT, "the device has no more than %d events", soc()->events);
	struct event *e = calloc(1, sizeof *e);
	e->ctx = c;
	c->o.refs++;
	e->dev = c->dev;
	e->dev->events++;
	e->flags = flags;
	e->legacy = legacy;
	e->ex = ex;
	*out = handle_new(&e->o, K_EVENT);
	return OK;
}

API aclError aclrtCreateEvent(void **out) {
	ENTER(aclrtCreateEvent, THREAD);
	return create(out, 0, true, false);
}

API aclError aclrtCreateEventWithFlag(void **out, uint32_t flags) {
	ENTER(aclrtCreateEventWithFlag, THREAD);
	return create(out, flags, false, false);
}

API aclError aclrtCreateEventExWithFlag(void **out, uint32_t flags) {
	ENTER(aclrtCreateEventExWithFlag, THREAD);
	return create(out, flags, false, true);
}

static int find(void *h, struct event **e) {
	if (!h)
		return fail(INVALID_PARAM, "event is NULL");
	*e = handle_find(h, K_EVENT);
	return *e ? OK : fail(RT_HANDLE, "%p is no live event", h);
}

API aclError aclrtDestroyEvent(void *h) {
	ENTER(aclrtDestroyEvent, THREAD);
	GUARD();
	struct event *e;
	int code = find(h, &e);
	if (code)
		return code;
	handle_close(&e->o);
	e->dev->events--;
	event_free(e);
	return OK;
}

API aclError aclrtRecordEvent(void *h, void *stream) {
	ENTER(aclrtRecordEvent, THREAD);
	GUARD();
	struct event *e;
	struct stream *s;
	int code = find(h, &e);
	if (!code)
		code = stream_own(stream, &s);
	if (code)
		return code;
	if (!s->capture) {
		code = capture_meet(s, e, true);
		if (!code)
			code = stream_stopped(s);
		if (code)
			return code;
	}
	struct task *t = task_new(T_RECORD);
	t->event = e;
	e->o.refs++;
	if (!s->capture) {
		if (!e->record || e->record->queued) {
			record_release(e->record);
			e->record = record_new();
		}
		e->record->queued = true;
		e->record->serial = s->serial;
		t->record = e->record;
		t->record->refs++;
	}
	return task_submit(s, t);
}

API aclError aclrtResetEvent(void *h, void *stream) {
	ENTER(aclrtResetEvent, THREAD);
	GUARD();
	struct event *e;
	struct stream *s;
	int code = find(h, &e);
	if (!code)
		code = stream_own(stream, &s);
	if (code)
		return code;
	if (s->capture) {
		graph_spoil(s, RT_NOT_SUPPORTED);
		return fail(RT_NOT_SUPPORTED, "a reset cannot be captured");
	}
	if (e->ex || (!e->legacy && !(e->flags & 1)))
		return fail(RT_NOT_SUPPORTED, "not for an event with flags %#x", e->flags);
	struct task *t = task_new(T_RESET);
	t->event = e;
	e->o.refs++;
	t->record = e->record;
	if (t->record)
		t->record->refs++;
	return task_submit(s, t);
}

static int use(struct event *e) {
	if (e->captured || e->was_captured)
		return fail(RT_EVENT_CAPTURED, "the event was recorded in a capture");
	if (!e->ctx->dead)
		return OK;
	if (standin_on(CHECK_EVENT))
		die("check_event", "event %p of a destroyed context", e->o.handle);
	return fail(RT_HANDLE, "the context of the event is gone");
}

// stamped reads the time of a record that is reached: the first who asks only wakes the thread that reads it.
static bool stamped(struct event *e) {
	struct record *r = e->record;
	if (r->stamped || !(e->flags & 8) || control.late_us <= 0)
		return true;
	if (!r->asked)
		r->asked = now_ns();
	else if (now_ns() - r->asked >= control.late_us * 1000)
		r->stamped = true;
	return r->stamped;
}

static bool unseen(struct record *r) { return r->hidden && stream_hidden(r->serial); }

// lost is the failure that had the record of e dropped, once it was told.
static int lost(struct event *e) {
	struct record *r = e->record;
	if (control.forgets && e->ctx->stop_told)
		return fail(e->ctx->stop, "the context stopped after a failure");
	if (!r->failed || stream_hidden(r->serial))
		return OK;
	return fail(r->failed, "the context stopped after a failure");
}

API aclError aclrtQueryEventStatus(void *h, int *status) {
	ENTER(aclrtQueryEventStatus, THREAD);
	if (!status)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct event *e;
	int code = find(h, &e);
	if (!code)
		code = use(e);
	if (code)
		return code;
	struct record *r = e->record;
	if (!r || !r->queued) {
		*status = e->ex;
		return OK;
	}
	code = lost(e);
	if (!code)
		*status = r->done && !unseen(r) && stamped(e);
	return code;
}

API aclError aclrtQueryEvent(void *h, int *status) {
	ENTER(aclrtQueryEvent, THREAD);
	if (!status)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct event *e;
	int code = find(h, &e);
	if (!code && e->ex)
		code = fail(RT_NOT_SUPPORTED, "not for an event of the new kind");
	if (!code)
		code = use(e);
	if (code)
		return code;
	*status = e->record && e->record->done ? 0 : 1;
	return OK;
}

static struct stream *stream_of(struct context *c, uint64_t serial) {
	struct stream *s = c->streams;
	while (s && s->serial != serial)
		s = s->next;
	return s;
}

static int synchronize(void *h, int64_t deadline) {
	GUARD();
	struct event *e;
	struct context *c;
	int code = find(h, &e);
	if (!code)
		code = use(e);
	if (!code)
		code = context_need(&c);
	if (code || !e->record || !e->record->queued)
		return code;
	struct record *r = e->record;
	r->refs++;
	while (control.hang_sync || !(r->done || r->failed))
		if (!wait_on(&changed, deadline)) {
			if (control.hang_sync || !(r->done || r->failed))
				code = fail(RT_EVENT_TIMEOUT, "the event is not reached");
			break;
		}
	if (!code) {
		r->stamped = true;
		r->hidden = false;
		if (r->failed) {
			struct stream *s = stream_of(e->ctx, r->serial);
			code = s ? stream_take(s) : r->failed;
		} else {
			code = lost(e);
		}
	}
	record_release(r);
	return code;
}

API aclError aclrtSynchronizeEvent(void *h) {
	ENTER(aclrtSynchronizeEvent, THREAD);
	return synchronize(h, -1);
}

API aclError aclrtSynchronizeEventWithTimeout(void *h, int32_t timeout) {
	ENTER(aclrtSynchronizeEventWithTimeout, THREAD);
	if (timeout < -1 || timeout == 0)
		return fail(RT_PARAM, "timeout %d", timeout);
	return synchronize(h, timeout < 0 ? -1 : now_ns() + (int64_t)timeout * 1000000);
}

API aclError aclrtEventElapsedTime(float *ms, void *first, void *last) {
	ENTER(aclrtEventElapsedTime, THREAD);
	if (!ms)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct event *e[2];
	struct context *c;
	int code = find(first, &e[0]);
	if (!code)
		code = find(last, &e[1]);
	for (int i = 0; i < 2 && !code; i++)
		code = use(e[i]);
	if (!code)
		code = context_need(&c);
	for (int i = 0; i < 2 && !code; i++)
		if (!e[i]->record || !e[i]->record->queued)
			code = fail(RT_INTERNAL, "an event that was never recorded");
	for (int i = 0; i < 2 && !code; i++)
		if (!e[i]->record->done)
			code = fail(RT_TIMESTAMP, "an event that is not reached");
	if (code)
		return code;
	*ms = (float)((double)(e[1]->record->at / 20 - e[0]->record->at / 20) * 20e-6); // 50 MHz
	return OK;
}

API aclError aclrtStreamWaitEvent(void *stream, void *h) {
	ENTER(aclrtStreamWaitEvent, THREAD);
	GUARD();
	struct event *e;
	struct stream *s;
	int code = find(h, &e);
	if (!code)
		code = stream_own(stream, &s);
	if (code)
		return code;
	if (!s->capture) {
		code = capture_meet(s, e, false);
		if (!code && !s->capture && !e->legacy && !(e->flags & (1 | 0x20 | 0x40)))
			code = fail(RT_NOT_SUPPORTED, "no stream can wait for an event with flags %#x", e->flags);
		if (!code && !s->capture)
			code = stream_stopped(s);
		if (code)
			return code;
	}
	if (!s->capture) {
		if (e->ctx->dead)
			use(e);
		bool recorded = e->record && e->record->queued;
		if (!recorded && e->ex)
			return OK;
		if (!recorded && e->legacy)
			return fail(RT_PARAM, "the event was never recorded");
		if (recorded && (e->record->done || e->record->serial == s->serial))
			return OK;
		if (!recorded && !e->record)
			e->record = record_new();
	}
	struct task *t = task_new(T_WAIT);
	t->event = e;
	e->o.refs++;
	if (!s->capture) {
		t->record = e->record;
		t->record->refs++;
	}
	return task_submit(s, t);
}
