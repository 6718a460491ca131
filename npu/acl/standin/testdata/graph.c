// Graphs: capture, replay, task groups. A replay runs its commands one after the other, in the order
// they were recorded in.
#include "standin.h"

__thread int exchange_mode;
__thread int thread_captures[3];

void graph_release(struct graph *g) {
	if (--g->refs)
		return;
	for (int i = 0; i < g->count; i++)
		task_free(g->nodes[i].task);
	free(g->nodes);
	context_release(g->ctx);
	free(g);
}

static void join(struct graph *g, struct stream *s) {
	struct capture *p = calloc(1, sizeof *p);
	*p = (struct capture){g, s, g->lanes++, -1, g->parts};
	g->parts = p;
	g->refs++;
	s->capture = p;
}

void graph_spoil(struct stream *s, int code) {
	if (s->capture && !s->capture->graph->invalid)
		s->capture->graph->invalid = code;
}

// capture_drop lets the streams and events of a capture be ordinary ones again.
static void capture_drop(struct graph *g) {
	while (g->parts) {
		struct capture *p = g->parts;
		g->parts = p->next;
		p->stream->capture = NULL;
		free(p);
		g->refs--;
	}
	for (int i = 0; i < g->count; i++) {
		struct event *e = g->nodes[i].task->event;
		if (e && e->captured == g)
			e->captured = NULL;
		if (e && e->was_captured == g)
			e->was_captured = NULL;
	}
	g->ended = true;
	g->ctx->captures[g->mode]--;
	if (pthread_equal(g->thread, pthread_self()))
		thread_captures[g->mode]--;
}

// capture_abandon ends a capture without a graph.
void capture_abandon(struct graph *g) {
	g->refs++;
	capture_drop(g);
	handle_close(&g->o);
	g->dead = true;
	graph_release(g);
	graph_release(g);
}

int capture_unsafe(int refused) {
	struct context *c = current;
	if (!c || !(c->captures[0] | c->captures[1] | c->captures[2]) || exchange_mode == 2)
		return OK;
	bool strict = exchange_mode == 0 ? c->captures[0] || thread_captures[1] : thread_captures[0] || thread_captures[1];
	return strict ? fail(refused, "not while a capture is active") : OK;
}

int capture_meet(struct stream *s, struct event *e, bool record) {
	struct graph *g = e->captured;
	if (!g)
		return OK;
	if (record) {
		e->captured = NULL; // an ordinary event again, but for the host
		e->was_captured = g;
		return OK;
	}
	if (s->def)
		return fail(RT_CAPTURE_IMPLICIT, "a default stream cannot take part in a capture");
	if (s->ctx->dev != g->dev)
		return fail(RT_STREAM_CONTEXT, "the capture is of another device");
	join(g, s);
	return OK;
}

static int invalid(struct graph *g) {
	return g->invalid ? fail(RT_INVALIDATED, "the capture was spoiled before (%d)", g->invalid) : OK;
}

// check finds what t waits for, and whether it can be captured.
static int check(struct capture *p, struct task *t, int *waits) {
	struct graph *g = p->graph;
	struct event *e = t->event;
	if (t->op == T_RECORD && e->captured && e->captured != g)
		return fail(RT_CAPTURE_CONFLICT, "the event is of another capture");
	if (t->op != T_WAIT)
		return OK;
	if (e->captured && e->captured != g)
		return fail(RT_CAPTURE_CONFLICT, "the event is of another capture");
	if (!e->captured)
		return fail(RT_CAPTURE_DEPENDENCY, "the event was not recorded in the capture");
	if (!e->legacy && !(e->flags & 1))
		return fail(RT_NOT_SUPPORTED, "no stream can wait for an event with flags %#x", e->flags);
	*waits = e->node;
	return OK;
}

int capture_submit(struct stream *s, struct task *t) {
	if (s->updating) {
		t->next = NULL;
		if (s->update_last)
			s->update_last->next = t;
		else
			s->update_first = t;
		s->update_last = t;
		s->update_count++;
		return OK;
	}
	struct capture *p = s->capture;
	struct graph *g = p->graph;
	int waits = -1, code = invalid(g);
	if (!code) {
		code = check(p, t, &waits);
		if (!code && g->group && t->op != T_KERNEL && t->op != T_CALL)
			code = fail(RT_TASK_TYPE, "only operators belong into a task group");
		else if (!code && g->group && s != g->group_stream)
			code = fail(RT_GROUP_INTERRUPTED, "the task group is of another stream");
		if (code && code != RT_CAPTURE_DEPENDENCY)
			g->invalid = code;
	}
	if (code) {
		task_free(t);
		return code;
	}
	if (g->count == g->room) {
		g->room = g->room ? 2 * g->room : 16;
		g->nodes = realloc(g->nodes, (size_t)g->room * sizeof *g->nodes);
	}
	g->nodes[g->count] = (struct node){t, p->lane, {p->last, waits}, g->group};
	if (g->group)
		g->group->count++;
	p->last = g->count;
	if (t->op == T_RECORD) {
		t->event->captured = g;
		t->event->node = g->count;
	}
	g->count++;
	return OK;
}

API aclError aclmdlRICaptureBegin(void *h, int mode) {
	ENTER(aclmdlRICaptureBegin, THREAD);
	GUARD();
	struct stream *s;
	struct context *c;
	int code = context_need(&c);
	if (code)
		return code;
	if (!h)
		return fail(RT_CAPTURE_IMPLICIT, "a default stream cannot capture");
	code = stream_own(h, &s);
	if (code)
		return code;
	if (mode < 0 || mode > 2)
		return fail(RT_PARAM, "mode %d", mode);
	if (s->def)
		return fail(RT_CAPTURE_IMPLICIT, "a default stream cannot capture");
	if (s->capture)
		return fail(RT_STREAM_CAPTURED, "stream %d captures already", s->id);
	if (s->flags & (0x4 | 0x20))
		return fail(RT_INTERNAL, "a stream with flags %#x cannot capture", s->flags);
	struct graph *g = calloc(1, sizeof *g);
	g->refs = 1;
	g->ctx = s->ctx;
	g->ctx->o.refs++;
	g->dev = s->ctx->dev;
	g->origin = s;
	g->mode = mode;
	g->thread = pthread_self();
	handle_new(&g->o, K_GRAPH);
	join(g, s);
	g->ctx->captures[mode]++;
	thread_captures[mode]++;
	return OK;
}

API aclError aclmdlRICaptureGetInfo(void *h, int *status, void **graph) {
	ENTER(aclmdlRICaptureGetInfo, THREAD);
	if (!status || !graph)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct stream *s;
	int code = stream_own(h, &s);
	if (code)
		return code;
	*status = !s->capture ? 0 : s->capture->graph->invalid ? 2 : 1;
	*graph = s->capture ? s->capture->graph->o.handle : NULL;
	return OK;
}

API aclError aclmdlRICaptureThreadExchangeMode(int *mode) {
	ENTER(aclmdlRICaptureThreadExchangeMode, ANY);
	if (!mode || *mode < 0 || *mode > 2)
		return fail(INVALID_PARAM, "mode");
	int old = exchange_mode;
	exchange_mode = *mode;
	*mode = old;
	return OK;
}

static bool joined(struct graph *g) {
	bool *reached = calloc((size_t)g->count + 1, 1);
	for (struct capture *p = g->parts; p; p = p->next)
		if (p->stream == g->origin && p->last >= 0)
			reached[p->last] = true;
	for (int i = g->count - 1; i >= 0; i--) // what a node comes after has a smaller number
		for (int k = 0; reached[i] && k < 2; k++)
			if (g->nodes[i].after[k] >= 0)
				reached[g->nodes[i].after[k]] = true;
	bool all = true;
	for (struct capture *p = g->parts; p; p = p->next)
		all = all && (p->last < 0 || reached[p->last]);
	free(reached);
	return all;
}

API aclError aclmdlRICaptureEnd(void *h, void **out) {
	ENTER(aclmdlRICaptureEnd, THREAD);
	if (!out)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct stream *s;
	int code = stream_own(h, &s);
	if (code)
		return code;
	if (!s->capture)
		return fail(RT_NOT_CAPTURED, "stream %d captures nothing", s->id);
	struct graph *g = s->capture->graph;
	if (g->origin != s)
		return fail(RT_UNMATCHED, "the capture began on another stream");
	if (g->mode != 2 && !pthread_equal(g->thread, pthread_self()))
		return fail(RT_WRONG_THREAD, "the capture began in another thread");
	code = invalid(g);
	if (!code && g->group)
		code = fail(RT_GROUP_STATUS, "a task group is open");
	if (!code && !joined(g))
		code = fail(RT_UNJOINED, "a stream was not joined back");
	if (code) {
		capture_abandon(g);
		return code;
	}
	capture_drop(g);
	*out = g->o.handle;
	return OK;
}

static int find(void *h, struct graph **g) {
	if (!h)
		return fail(INVALID_PARAM, "NULL");
	*g = handle_find(h, K_GRAPH);
	return *g ? OK : fail(RT_HANDLE, "%p is no live graph", h);
}

API aclError aclmdlRIExecuteAsync(void *h, void *stream) {
	ENTER(aclmdlRIExecuteAsync, THREAD);
	GUARD();
	struct graph *g;
	struct stream *s;
	int code = find(h, &g);
	if (!code)
		code = stream_own(stream, &s);
	if (code)
		return code;
	if (s->capture)
		return fail(RT_STREAM_CAPTURED, "stream %d captures", s->id);
	if (!g->ended)
		return fail(RT_MODEL_CAPTURED, "the graph is being captured");
	code = stream_stopped(s);
	if (code)
		return code;
	struct task *t = task_new(T_REPLAY);
	t->graph = g;
	g->refs++;
	return task_submit(s, t);
}

int graph_replay(struct stream *s, struct task *t) {
	struct graph *g = t->graph;
	if (g->ctx != s->ctx)
		return RT_MODEL_CONTEXT; // found when it runs
	while (g->active && !broken(s))
		wait_on(&changed, -1);
	if (broken(s))
		return OK;
	g->active = true;
	int first = OK;
	for (int i = 0; i < g->count && !broken(s); i++) {
		struct task *n = g->nodes[i].task;
		if (n->op == T_RECORD || n->op == T_WAIT)
			continue;
		int code = task_run(s, n);
		if (code) {
			tell_recorded(s, n, g->nodes[i].lane, code);
			if (!first)
				first = code;
			if (s->ctx->mode)
				break;
		}
	}
	g->active = false;
	pthread_cond_broadcast(&changed);
	return first;
}

API aclError aclmdlRIDestroy(void *h) {
	ENTER(aclmdlRIDestroy, THREAD);
	GUARD();
	struct graph *g;
	int code = find(h, &g);
	if (code)
		return code;
	if (!g->ended)
		return fail(RT_MODEL_CAPTURED, "the graph is being captured");
	handle_close(&g->o);
	g->dead = true;
	graph_release(g);
	return OK;
}

API aclError aclmdlRISetName(void *h, const char *name) {
	ENTER(aclmdlRISetName, ANY);
	if (!name)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct graph *g;
	int code = find(h, &g);
	if (!code)
		snprintf(g->name, sizeof g->name, "%s", name);
	return code;
}

// Task groups.
API aclError aclmdlRICaptureTaskGrpBegin(void *h) {
	ENTER(aclmdlRICaptureTaskGrpBegin, THREAD);
	GUARD();
	struct stream *s;
	int code = stream_own(h, &s);
	if (code)
		return code;
	if (!s->capture)
		return fail(RT_NOT_CAPTURED, "stream %d captures nothing", s->id);
	struct graph *g = s->capture->graph;
	code = invalid(g);
	if (code)
		return code;
	if (g->group)
		return fail(RT_GROUP_STATUS, "a task group is open already");
	g->group = calloc(1, sizeof *g->group);
	g->group->graph = g;
	g->group->first = g->count;
	g->group_stream = s;
	return OK;
}

API aclError aclmdlRICaptureTaskGrpEnd(void *h, void **out) {
	ENTER(aclmdlRICaptureTaskGrpEnd, THREAD);
	if (!out)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct stream *s;
	int code = stream_own(h, &s);
	if (code)
		return code;
	if (!s->capture)
		return fail(RT_NOT_CAPTURED, "stream %d captures nothing", s->id);
	struct graph *g = s->capture->graph;
	code = invalid(g);
	if (code)
		return code;
	if (!g->group || g->group_stream != s)
		return fail(RT_GROUP_STATUS, "no task group is open");
	struct group *p = g->group;
	g->group = NULL;
	*out = handle_new(&p->o, K_GROUP);
	g->refs++; // groups live as long as the process: they have no call that ends them
	return OK;
}

API aclError aclmdlRICaptureTaskUpdateBegin(void *h, void *group) {
	ENTER(aclmdlRICaptureTaskUpdateBegin, THREAD);
	if (!group)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct group *p = handle_find(group, K_GROUP);
	if (!p || p->graph->dead)
		return fail(RT_HANDLE, "%p is no task group of a live graph", group);
	struct stream *s;
	int code = stream_own(h, &s);
	if (code)
		return code;
	if (s->capture)
		return fail(RT_STREAM_CAPTURED, "stream %d captures", s->id);
	if (s->updating || !p->graph->ended)
		return fail(RT_GROUP_STATUS, "an update is open already, or the capture is not over");
	s->updating = p;
	return OK;
}

API aclError aclmdlRICaptureTaskUpdateEnd(void *h) {
	ENTER(aclmdlRICaptureTaskUpdateEnd, THREAD);
	GUARD();
	struct stream *s;
	int code = stream_own(h, &s);
	if (code)
		return code;
	struct group *p = s->updating;
	if (!p)
		return fail(RT_GROUP_STATUS, "no update is open");
	struct task *first = s->update_first;
	int count = s->update_count;
	s->updating = NULL;
	s->update_first = s->update_last = NULL;
	s->update_count = 0;
	if (count != p->count)
		code = fail(RT_GROUP_STATUS, "%d tasks, the group has %d", count, p->count);
	int i = p->first;
	for (struct task *t = first; t && !code; t = t->next) {
		struct task *old = p->graph->nodes[i++].task;
		if (t->op != old->op || (t->op == T_KERNEL && (t->kernel != old->kernel || t->nargs != old->nargs)))
			code = fail(RT_GROUP_STATUS, "a task of another type than in the group");
	}
	if (code) {
		while (first) {
			struct task *next = first->next;
			task_free(first);
			first = next;
		}
		return code;
	}
	struct task *t = task_new(T_UPDATE);
	t->group = p;
	t->arg = first;
	return task_submit(s, t);
}

void graph_update(struct task *t) {
	struct group *p = t->group;
	while (p->graph->active)
		wait_on(&changed, -1);
	int i = p->first;
	for (struct task *x = t->arg; x;) {
		struct task *next = x->next;
		x->next = NULL;
		x->id = p->graph->nodes[i].task->id;
		task_free(p->graph->nodes[i].task);
		p->graph->nodes[i++].task = x;
		x = next;
	}
	t->arg = NULL;
}
