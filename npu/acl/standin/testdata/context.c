// Contexts, and which one is current in a thread.
#include "standin.h"

__thread struct context *current;

void context_release(struct context *c) {
	if (c && --c->o.refs == 0)
		free(c);
}

struct context *context_new(struct device *d, bool primary) {
	struct context *c = calloc(1, sizeof *c);
	c->dev = d;
	c->primary = primary;
	if (primary && d->handle) {
		c->o.kind = K_CONTEXT;
		handle_open(&c->o, d->handle);
	} else {
		handle_new(&c->o, K_CONTEXT);
		if (primary)
			d->handle = c->o.handle;
	}
	int code = OK;
	c->def = stream_new(c, 0, 0, &code);
	if (!c->def) {
		handle_close(&c->o);
		free(c);
		return NULL;
	}
	c->def->def = true;
	d->contexts++;
	return c;
}

int context_end(struct context *c) {
	for (struct stream *s = c->streams; s;) {
		if (s->capture)
			capture_abandon(s->capture->graph);
		s = s->next;
	}
	c->dead = true;
	while (c->streams)
		stream_end(c->streams, true);
	handle_close(&c->o);
	if (--c->dev->contexts == 0)
		memory_reset(c->dev);
	pthread_cond_broadcast(&changed);
	context_release(c);
	return OK;
}

int context_need(struct context **c) {
	if (current && current->dead) {
		context_release(current);
		current = NULL;
	}
	if (!current)
		return fail(RT_CONTEXT, "the thread has no current context");
	*c = current;
	return OK;
}

API aclError aclrtCreateContext(void **out, int32_t id) {
	ENTER(aclrtCreateContext, THREAD);
	if (!out)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	if (id < 0 || id >= control.devices)
		return fail(RT_DEVICE, "device %d, there are %lld", id, (long long)control.devices);
	struct context *c = context_new(&devices[id], false);
	if (!c)
		return fail(RT_NO_STREAM, "no stream for the context");
	context_release(current);
	current = c;
	c->o.refs++;
	*out = c->o.handle;
	return OK;
}

API aclError aclrtDestroyContext(void *h) {
	ENTER(aclrtDestroyContext, THREAD);
	if (!h)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct context *c = handle_find(h, K_CONTEXT);
	if (!c || c->primary || c->dead)
		return fail(RT_CONTEXT, "%p is no context that can be destroyed", h);
	return context_end(c);
}

API aclError aclrtSetCurrentContext(void *h) {
	ENTER(aclrtSetCurrentContext, THREAD);
	if (!h)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct context *c = handle_find(h, K_CONTEXT);
	if (!c || c->dead)
		return fail(RT_PARAM, "%p is no live context", h);
	c->o.refs++;
	context_release(current);
	current = c;
	return OK;
}

API aclError aclrtGetCurrentContext(void **out) {
	ENTER(aclrtGetCurrentContext, THREAD);
	if (!out)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct context *c;
	int code = context_need(&c);
	if (code)
		return code;
	*out = c->o.handle;
	return OK;
}

API int standin_device(void) {
	GUARD();
	return current && !current->dead ? current->dev->id : -1;
}

API void *standin_current(void) {
	GUARD();
	return current && !current->dead ? current->o.handle : NULL;
}

API aclError aclrtCtxSetSysParamOpt(int option, int64_t value) {
	ENTER(aclrtCtxSetSysParamOpt, THREAD);
	if (option < 0 || option > 2)
		return fail(INVALID_PARAM, "option %d", option);
	GUARD();
	struct context *c;
	int code = context_need(&c);
	if (code)
		return code;
	c->option[option] = value;
	c->option_set[option] = true;
	return OK;
}

API aclError aclrtCtxGetSysParamOpt(int option, int64_t *value) {
	ENTER(aclrtCtxGetSysParamOpt, THREAD);
	if (option < 0 || option > 2 || !value)
		return fail(INVALID_PARAM, "option %d", option);
	GUARD();
	struct context *c;
	int code = context_need(&c);
	if (code)
		return code;
	if (!c->option_set[option])
		return fail(RT_OPTION_NOT_SET, "option %d was never set", option);
	*value = c->option[option];
	return OK;
}

static _Atomic int64_t process_options[4];

API aclError aclrtSetSysParamOpt(int option, int64_t value) {
	ENTER(aclrtSetSysParamOpt, ANY);
	if (option < 0 || option > 3)
		return fail(INVALID_PARAM, "option %d", option);
	process_options[option] = value;
	return OK;
}

API aclError aclrtGetSysParamOpt(int option, int64_t *value) {
	ENTER(aclrtGetSysParamOpt, ANY);
	if (option < 0 || option > 3 || !value)
		return fail(INVALID_PARAM, "option %d", option);
	*value = process_options[option];
	return OK;
}

API aclError aclrtCtxGetCurrentDefaultStream(void **out) {
	ENTER(aclrtCtxGetCurrentDefaultStream, THREAD);
	if (!out)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct context *c;
	int code = context_need(&c);
	if (code)
		return code;
	*out = c->def->o.handle;
	return OK;
}
