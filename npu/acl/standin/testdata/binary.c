// Kernel binaries, their functions, argument lists and launches. A binary is a text: "standin kernels",
// then the name of one function a line.
#include "standin.h"

struct function {
	struct object o;
	struct function *next;
	struct binary *binary;
	char name[128];
	const struct kernel *kernel;
	int types[2];
};
struct args {
	struct args *next;
	struct function *function;
	void *handle;
	uint64_t words[MAX_ARGS];
	void *data[MAX_ARGS]; // of place holders
	size_t size[MAX_ARGS];
	bool holder[MAX_ARGS];
	int count;
	bool finalized;
};

static void args_clear(struct args *a) {
	for (int i = 0; i < a->count; i++) {
		free(a->data[i]);
		a->data[i] = NULL;
		a->holder[i] = false;
	}
	a->count = 0;
	a->finalized = false;
}
struct binary {
	struct object o;
	struct device *dev;
	struct function *functions;
	char *text;
};
static struct args *all_args;

struct option {
	int type;
	uint32_t value[4];
};
struct options {
	struct option *options;
	size_t count;
};

static int load(char *text, const struct options *o, void **out) { // takes text
	if (o && standin_on(CHECK_STRUCT) && ((uintptr_t)o % 8 || (o->count && (!o->options || (uintptr_t)o->options % 4))))
		die("check_struct", "aclrtBinaryLoadOptions is not aligned, or has no options");
	GUARD();
	struct context *c;
	int code = context_need(&c);
	if (!code && strncmp(text, "standin kernels\n", 16))
		code = fail(RT_PARAM, "the file is no binary of kernels");
	if (code) {
		free(text);
		return code;
	}
	struct binary *b = calloc(1, sizeof *b);
	b->dev = c->dev;
	b->text = text;
	*out = handle_new(&b->o, K_BINARY);
	return OK;
}

API aclError aclrtBinaryLoadFromFile(const char *path, const struct options *o, void **out) {
	ENTER(aclrtBinaryLoadFromFile, THREAD);
	if (!path || !out)
		return fail(INVALID_PARAM, "NULL");
	FILE *f = fopen(path, "r");
	if (!f)
		return fail(RT_PARAM, "cannot read %s", path);
	char *text = calloc(1, (1 << 20) + 1);
	size_t n = fread(text, 1, 1 << 20, f);
	fclose(f);
	text[n] = 0;
	return load(text, o, out);
}

API aclError aclrtBinaryLoadFromData(const void *data, size_t size, const struct options *o, void **out) {
	ENTER(aclrtBinaryLoadFromData, THREAD);
	if (!data || !size || !out)
		return fail(INVALID_PARAM, "NULL");
	char *text = calloc(1, size + 1);
	memcpy(text, data, size);
	return load(text, o, out);
}

static bool lists(const char *text, const char *name) {
	size_t n = strlen(name);
	for (const char *p = strchr(text, '\n'); p; p = strchr(p + 1, '\n'))
		if (n && strncmp(p + 1, name, n) == 0 && (p[1 + n] == '\n' || p[1 + n] == 0 || p[1 + n] == '\r'))
			return true;
	return false;
}

API aclError aclrtBinaryGetFunction(void *binary, const char *name, void **out) {
	ENTER(aclrtBinaryGetFunction, THREAD);
	if (!binary || !name || !out)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct binary *b = handle_find(binary, K_BINARY);
	if (!b)
		return fail(RT_HANDLE, "%p is no live binary", binary);
	struct context *c;
	int code = context_need(&c);
	if (code)
		return code;
	if (b->dev != c->dev)
		return fail(RT_PARAM, "the binary is of device %d", b->dev->id);
	for (struct function *f = b->functions; f; f = f->next)
		if (strcmp(f->name, name) == 0) {
			*out = f->o.handle;
			return OK;
		}
	int types[2];
	const struct kernel *k = kernel_find(name, types);
	if (!k || !lists(b->text, name))
		return fail(RT_PARAM, "the binary has no function %s", name);
	struct function *f = calloc(1, sizeof *f);
	snprintf(f->name, sizeof f->name, "%s", name);
	f->binary = b;
	f->kernel = k;
	memcpy(f->types, types, sizeof types);
	f->next = b->functions;
	b->functions = f;
	*out = handle_new(&f->o, K_FUNCTION);
	return OK;
}

API aclError aclrtBinaryUnLoad(void *binary) {
	ENTER(aclrtBinaryUnLoad, THREAD);
	if (!binary)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct binary *b = handle_find(binary, K_BINARY);
	if (!b)
		return fail(RT_HANDLE, "%p is no live binary", binary);
	struct context *c;
	int code = context_need(&c);
	if (code)
		return code;
	while (b->functions) {
		struct function *f = b->functions;
		b->functions = f->next;
		for (struct args **p = &all_args; *p;) {
			struct args *a = *p;
			if (a->function == f) {
				*p = a->next;
				args_clear(a);
				free(a);
			} else {
				p = &a->next;
			}
		}
		handle_close(&f->o);
		free(f);
	}
	handle_close(&b->o);
	free(b->text);
	free(b);
	return OK;
}

static int function(void *h, struct function **f) {
	if (!h)
		return fail(INVALID_PARAM, "function is NULL");
	*f = handle_find(h, K_FUNCTION);
	return *f ? OK : fail(RT_HANDLE, "%p is no live function", h);
}

API aclError aclrtGetFunctionName(void *h, uint32_t room, char *name) {
	ENTER(aclrtGetFunctionName, THREAD);
	if (!name || !room)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct function *f;
	int code = function(h, &f);
	if (code)
		return code;
	if (strlen(f->name) >= room)
		return fail(RT_PARAM, "the name needs %zu B", strlen(f->name) + 1);
	strcpy(name, f->name);
	return OK;
}

struct attribute {
	int id;
	uint8_t value[16];
};
struct config {
	struct attribute *attributes;
	size_t count;
};

static int check_config(const struct config *c) {
	static const int sizes[] = {0, 1, 4, 4, 4, 1, 1, 2, 8, 1};
	if (!c)
		return OK;
	if (standin_on(CHECK_STRUCT) && ((uintptr_t)c % 8 || (uintptr_t)c->attributes % 4 || (c->count && !c->attributes)))
		die("check_struct", "aclrtLaunchKernelCfg is not aligned, or has no attributes");
	bool timeouts[2] = {false, false};
	for (size_t i = 0; i < c->count; i++) {
		int id = c->attributes[i].id;
		if (id < 1 || id > 9)
			return fail(RT_PARAM, "launch attribute %d", id);
		for (int k = sizes[id]; k < 16; k++)
			if (c->attributes[i].value[k] && standin_on(CHECK_STRUCT))
				die("check_struct", "launch attribute %d: reserved bytes are not zero", id);
		if (id == 7 || id == 8)
			timeouts[id - 7] = true;
	}
	return timeouts[0] && timeouts[1] ? fail(RT_PARAM, "two timeouts") : OK;
}

struct place_holder {
	uint32_t address, data; // offsets of the slot for the address, and of the data
};

// launch takes size bytes of arguments: words, then the data of the place holders.
static int launch(struct function *f, uint32_t blocks, void *stream, const struct config *cfg, const void *host, size_t size,
		const struct place_holder *holders, size_t nholders) {
	size_t slots = size;
	for (size_t i = 0; i < nholders; i++)
		if (holders[i].data < slots)
			slots = holders[i].data;
	if (standin_on(CHECK_STRUCT) && ((uintptr_t)host % 8 || size % 8 || slots % 8 || slots > 8 * MAX_ARGS))
		die("check_struct", "%zu B of arguments at %p, want at most %d aligned slots of 8 B", slots, host, MAX_ARGS);
	int count = (int)(slots / 8);
	if (slots % 8 || slots > 8 * MAX_ARGS)
		return fail(RT_PARAM, "%zu B of arguments", slots);
	for (size_t i = 0; i < nholders; i++)
		if (holders[i].address % 8 || holders[i].address >= slots || holders[i].data >= size)
			return fail(RT_PARAM, "place holder %zu is outside the arguments", i);
	if (!blocks)
		return fail(RT_PARAM, "no blocks");
	int code = check_config(cfg);
	struct stream *s;
	if (!code)
		code = stream_own(stream, &s);
	if (!code)
		code = stream_stopped(s);
	if (!code && f->binary->dev != s->ctx->dev)
		code = fail(RT_PARAM, "the function is of device %d", f->binary->dev->id);
	if (code)
		return code;
	if (count != f->kernel->nargs && standin_on(CHECK_STRUCT))
		die("check_struct", "%d argument slots, kernel %s has %d", count, f->name, f->kernel->nargs);
	struct task *t = task_new(T_KERNEL);
	t->kernel = f->kernel;
	memcpy(t->types, f->types, sizeof t->types);
	t->args = calloc((size_t)count + 1, sizeof *t->args);
	memcpy(t->args, host, slots);
	if (nholders) {
		code = memory_take(&t->scratch, size - slots, 0);
		if (code) {
			task_free(t);
			return code;
		}
		memory_put(t->scratch, (const uint8_t *)host + slots, size - slots);
		for (size_t i = 0; i < nholders; i++)
			t->args[holders[i].address / 8] = (uint64_t)(uintptr_t)t->scratch + holders[i].data - slots;
	}
	t->nargs = count;
	t->blocks = blocks;
	return task_submit(s, t);
}

API aclError aclrtLaunchKernelWithHostArgs(void *h, uint32_t blocks, void *stream, struct config *cfg, void *host, size_t size,
		struct place_holder *holders, size_t nholders) {
	ENTER(aclrtLaunchKernelWithHostArgs, THREAD);
	if (!h || !host || (nholders && !holders))
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct function *f;
	int code = function(h, &f);
	return code ? code : launch(f, blocks, stream, cfg, host, size, holders, nholders);
}

// Argument lists.
static struct args *args_of(void *handle) {
	for (struct args *a = all_args; a; a = a->next)
		if (a->handle == handle)
			return a;
	return NULL;
}

static struct args *args_new(struct function *f, void *handle) {
	struct args *a = handle ? args_of(handle) : NULL;
	if (!a) {
		a = calloc(1, sizeof *a);
		a->next = all_args;
		all_args = a;
	}
	a->function = f;
	a->handle = handle ? handle : a;
	args_clear(a);
	return a;
}

API aclError aclrtKernelArgsInit(void *h, void **out) {
	ENTER(aclrtKernelArgsInit, THREAD);
	if (!out)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct function *f;
	int code = function(h, &f);
	if (!code)
		*out = args_new(f, NULL)->handle;
	return code;
}

#define HANDLE_SIZE 64

API aclError aclrtKernelArgsInitByUserMem(void *h, void *args, void *mem, size_t size) {
	ENTER(aclrtKernelArgsInitByUserMem, THREAD);
	if (!args || !mem)
		return fail(INVALID_PARAM, "NULL");
	if (standin_on(CHECK_STRUCT) && ((uintptr_t)args % 8 || (uintptr_t)mem % 8))
		die("check_struct", "the memory for arguments is not aligned");
	GUARD();
	struct function *f;
	int code = function(h, &f);
	if (code)
		return code;
	if (size < 8 * (size_t)f->kernel->nargs)
		return fail(RT_PARAM, "%zu B for %d arguments", size, f->kernel->nargs);
	memset(args, 0, HANDLE_SIZE);
	memset(mem, 0, size);
	args_new(f, args);
	return OK;
}

API aclError aclrtKernelArgsGetMemSize(void *h, size_t size, size_t *out) {
	ENTER(aclrtKernelArgsGetMemSize, THREAD);
	if (!out)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct function *f;
	int code = function(h, &f);
	if (!code)
		*out = (size + 7) / 8 * 8 + 64;
	return code;
}

API aclError aclrtKernelArgsGetHandleMemSize(void *h, size_t *out) {
	ENTER(aclrtKernelArgsGetHandleMemSize, THREAD);
	if (!out)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct function *f;
	int code = function(h, &f);
	if (!code)
		*out = HANDLE_SIZE;
	return code;
}

static int args_find(void *h, struct args **a) {
	if (!h)
		return fail(INVALID_PARAM, "arguments are NULL");
	*a = args_of(h);
	return *a ? OK : fail(RT_HANDLE, "%p is no live list of arguments", h);
}

API aclError aclrtKernelArgsAppend(void *h, void *value, size_t size, void **out) {
	ENTER(aclrtKernelArgsAppend, THREAD);
	if (!value || !size || !out)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct args *a;
	int code = args_find(h, &a);
	if (code)
		return code;
	if (size > 8 || a->count == MAX_ARGS)
		return fail(RT_PARAM, "argument %d of %zu B", a->count, size);
	a->words[a->count] = 0;
	memcpy(&a->words[a->count++], value, size);
	a->finalized = false;
	*out = (void *)(uintptr_t)(a->count);
	return OK;
}

API aclError aclrtKernelArgsAppendPlaceHolder(void *h, void **out) {
	ENTER(aclrtKernelArgsAppendPlaceHolder, THREAD);
	if (!out)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct args *a;
	int code = args_find(h, &a);
	if (code)
		return code;
	if (a->count == MAX_ARGS)
		return fail(RT_PARAM, "no more than %d arguments", MAX_ARGS);
	a->words[a->count] = 0;
	a->holder[a->count++] = true;
	a->finalized = false;
	*out = (void *)(uintptr_t)(a->count);
	return OK;
}

API aclError aclrtKernelArgsGetPlaceHolderBuffer(void *h, void *parameter, size_t size, void **out) {
	ENTER(aclrtKernelArgsGetPlaceHolderBuffer, THREAD);
	if (!out || !size)
		return fail(INVALID_PARAM, "NULL, or %zu B", size);
	GUARD();
	struct args *a;
	int code = args_find(h, &a);
	if (code)
		return code;
	uintptr_t i = (uintptr_t)parameter - 1;
	if (i >= (uintptr_t)a->count || !a->holder[i])
		return fail(RT_PARAM, "no such place holder");
	free(a->data[i]);
	a->size[i] = (size + 7) / 8 * 8;
	*out = a->data[i] = calloc(1, a->size[i]);
	return OK;
}

API aclError aclrtKernelArgsParaUpdate(void *h, void *parameter, void *value, size_t size) {
	ENTER(aclrtKernelArgsParaUpdate, THREAD);
	if (!value || !parameter)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct args *a;
	int code = args_find(h, &a);
	if (code)
		return code;
	uintptr_t i = (uintptr_t)parameter - 1;
	if (i >= (uintptr_t)a->count || size > 8)
		return fail(RT_PARAM, "no such argument");
	a->words[i] = 0;
	memcpy(&a->words[i], value, size);
	a->finalized = false;
	return OK;
}

API aclError aclrtKernelArgsFinalize(void *h) {
	ENTER(aclrtKernelArgsFinalize, THREAD);
	GUARD();
	struct args *a;
	int code = args_find(h, &a);
	if (!code)
		a->finalized = true;
	return code;
}

API aclError aclrtLaunchKernelWithConfig(void *h, uint32_t blocks, void *stream, struct config *cfg, void *args, void *reserved) {
	ENTER(aclrtLaunchKernelWithConfig, THREAD);
	if (reserved && standin_on(CHECK_STRUCT))
		die("check_struct", "reserve is not NULL");
	GUARD();
	struct function *f;
	struct args *a;
	int code = function(h, &f);
	if (!code)
		code = args_find(args, &a);
	if (code)
		return code;
	if (!a->finalized || a->function != f)
		return fail(RT_PARAM, "the arguments are not finalized, or of another function");
	size_t size = 8 * (size_t)a->count, nholders = 0;
	struct place_holder holders[MAX_ARGS];
	for (int i = 0; i < a->count; i++)
		if (a->holder[i]) {
			if (!a->data[i])
				return fail(RT_PARAM, "place holder %d has no data", i);
			holders[nholders++] = (struct place_holder){8 * (uint32_t)i, (uint32_t)size};
			size += a->size[i];
		}
	uint64_t *host = calloc(1, size + 8);
	memcpy(host, a->words, 8 * (size_t)a->count);
	for (size_t i = 0; i < nholders; i++)
		memcpy((uint8_t *)host + holders[i].data, a->data[holders[i].address / 8], a->size[holders[i].address / 8]);
	code = launch(f, blocks, stream, cfg, host, size, holders, nholders);
	free(host);
	return code;
}
