// Memory. Device addresses lie in reserved memory that faults where the program touches it; their bytes
// are somewhere else. Pinned host memory can be touched until it is freed.
#include "standin.h"
#include <sys/mman.h>

#define DEVICE_SPACE ((size_t)1 << 37)
#define HOST_SPACE ((size_t)1 << 38)
#define PAGE 4096
#define HUGE ((size_t)2 << 20)

struct block {
	uintptr_t at;
	size_t size, taken;
};
struct arena {
	uintptr_t base, space;
	uint8_t *bytes;
	struct block *blocks; // by address
	size_t count, room;
	uintptr_t next;
	int64_t used;
};
static struct arena arenas[MAX_DEVICES + 1]; // the last one is host memory
#define HOST (&arenas[MAX_DEVICES])
pthread_rwlock_t memory_lock = PTHREAD_RWLOCK_INITIALIZER; // read: allocations stay what they are
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER; // for the blocks of all arenas; the last one to take

API void standin_begin(void) { pthread_rwlock_rdlock(&memory_lock); }
API void standin_end(void) { pthread_rwlock_unlock(&memory_lock); }

int64_t memory_total(void) { return control.memory_mb > 0 ? control.memory_mb << 20 : soc()->memory; }

static void *reserve(size_t size, int prot) {
	void *p = mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED) {
		perror("standin: no room for memory");
		abort();
	}
	return p;
}

static void arena_start(struct arena *a) {
	if (a->base)
		return;
	bool host = a == HOST;
	a->space = host ? HOST_SPACE : DEVICE_SPACE;
	a->base = (uintptr_t)reserve(a->space, PROT_NONE);
	a->bytes = host ? (uint8_t *)a->base : reserve(a->space, PROT_READ | PROT_WRITE);
	a->next = a->base + HUGE;
}

// find is the index of the first block that ends after p; with the table lock.
static size_t find(struct arena *a, uintptr_t p) {
	size_t lo = 0, hi = a->count;
	while (lo < hi) {
		size_t m = (lo + hi) / 2;
		if (a->blocks[m].at + a->blocks[m].taken <= p)
			lo = m + 1;
		else
			hi = m;
	}
	return lo;
}

static uintptr_t take_locked(struct arena *a, size_t size, size_t taken) {
	arena_start(a);
	if (taken > a->space / 2)
		return 0;
	uintptr_t at = control.reuse ? a->base + HUGE : a->next;
	size_t i = find(a, at);
	for (int wrapped = 0;;) {
		while (i < a->count && at + taken + 64 > a->blocks[i].at) {
			at = (a->blocks[i].at + a->blocks[i].taken + PAGE - 1) / PAGE * PAGE;
			i++;
		}
		if (at + taken + PAGE <= a->base + a->space)
			break;
		if (wrapped++)
			return 0;
		at = a->base + HUGE;
		i = find(a, at);
	}
	if (a->count == a->room) {
		a->room = a->room ? 2 * a->room : 64;
		a->blocks = realloc(a->blocks, a->room * sizeof *a->blocks);
	}
	memmove(a->blocks + i + 1, a->blocks + i, (a->count - i) * sizeof *a->blocks);
	a->blocks[i] = (struct block){at, size, taken};
	a->count++;
	a->next = at + taken + PAGE; // what lies behind is no memory
	a->next = (a->next + PAGE - 1) / PAGE * PAGE;
	a->used += (int64_t)taken;
	return at;
}

static uintptr_t take(struct arena *a, size_t size, size_t taken, int64_t most) {
	pthread_mutex_lock(&table_lock);
	uintptr_t at = (int64_t)taken > most - a->used ? 0 : take_locked(a, size, taken);
	pthread_mutex_unlock(&table_lock);
	return at;
}

// give_back frees the block that begins at p, with the memory lock for writing.
static void give_back(struct arena *a, uintptr_t p) {
	pthread_mutex_lock(&table_lock);
	size_t i = find(a, p);
	struct block b = a->blocks[i];
	a->used -= (int64_t)b.taken;
	memmove(a->blocks + i, a->blocks + i + 1, (a->count - i - 1) * sizeof *a->blocks);
	a->count--;
	pthread_mutex_unlock(&table_lock);
	if (b.taken >= (1 << 20))
		madvise(a->bytes + (b.at - a->base), b.taken, MADV_DONTNEED);
	if (a == HOST)
		mprotect((void *)b.at, b.taken, PROT_NONE);
}

static void poison(uint8_t *p, size_t size) {
	if (size <= 64 << 10) {
		memset(p, 0xcd, size);
		return;
	}
	memset(p, 0xcd, PAGE);
	memset(p + size - PAGE, 0xcd, PAGE);
}

static struct where look(const void *p) {
	uintptr_t at = (uintptr_t)p;
	for (int d = 0; d <= MAX_DEVICES; d++) {
		struct arena *a = &arenas[d];
		if (!a->base || at < a->base || at >= a->base + a->space)
			continue;
		size_t i = find(a, at);
		if (i == a->count || at < a->blocks[i].at || at >= a->blocks[i].at + a->blocks[i].size)
			return (struct where){.place = NOWHERE};
		struct block *b = &a->blocks[i];
		return (struct where){a == HOST ? ON_HOST : ON_DEVICE, d, a->bytes + (at - a->base), b->at + b->size - at, b->at};
	}
	return (struct where){.place = UNREGISTERED, .mem = (uint8_t *)at, .left = SIZE_MAX};
}

API struct where standin_where(const void *p) {
	pthread_mutex_lock(&table_lock);
	struct where w = look(p);
	pthread_mutex_unlock(&table_lock);
	return w;
}

void memory_reset(struct device *d) {
	struct arena *a = &arenas[d->id];
	pthread_rwlock_wrlock(&memory_lock);
	while (a->count)
		give_back(a, a->blocks[a->count - 1].at);
	pthread_rwlock_unlock(&memory_lock);
	d->peers = 0;
}

int64_t memory_used(int device) {
	pthread_mutex_lock(&table_lock);
	int64_t n = device < 0 ? HOST->used : arenas[device].used;
	pthread_mutex_unlock(&table_lock);
	return n;
}

static bool reaches(int a, int b) { return a == b || devices[a].peers >> b & 1; }

API void *standin_memory(const void *p, size_t size, int device) {
	struct where w = memory_find(p);
	return w.place == ON_DEVICE && size <= w.left && reaches(device, w.device) ? w.mem : NULL;
}

// memory_take allocates on the device of the current context; with the lock.
int memory_take(void **out, size_t size, int policy) {
	struct context *c;
	int code = context_need(&c);
	if (code)
		return code;
	if (size > DEVICE_SPACE)
		return fail(RT_NO_MEMORY, "%zu B", size);
	size_t page = PAGE;
	if (policy == 1 || policy == 4)
		page = HUGE;
	else if (policy == 0 || policy == 3)
		page = size > 1 << 20 ? HUGE : PAGE;
	else if (policy != 2 && policy != 5)
		page = size >= HUGE ? HUGE : PAGE;
	size_t taken = (size + page - 1) / page * page;
	struct arena *a = &arenas[c->dev->id];
	uintptr_t at = take(a, size, taken, memory_total());
	if (!at)
		return fail(RT_NO_MEMORY, "%zu B, %lld B are free", size, (long long)(memory_total() - memory_used(c->dev->id)));
	poison(a->bytes + (at - a->base), size);
	*out = (void *)at;
	return OK;
}

static int allocate(void **out, size_t size, int policy) {
	if (!out || !size)
		return fail(INVALID_PARAM, "%zu B", size);
	GUARD();
	return memory_take(out, size, policy);
}

API aclError aclrtMalloc(void **out, size_t size, int policy) {
	ENTER(aclrtMalloc, THREAD);
	return allocate(out, size, policy);
}

static int release(void *p, bool host) {
	if (!p)
		return fail(INVALID_PARAM, "NULL");
	pthread_rwlock_wrlock(&memory_lock);
	struct where w = memory_find(p);
	int code = OK;
	if ((w.place != ON_DEVICE && w.place != ON_HOST) || w.base != (uintptr_t)p || (host && w.place == ON_DEVICE))
		code = RT_PARAM;
	else if (host == (w.place == ON_HOST)) // Free of host memory does nothing
		give_back(&arenas[w.device], (uintptr_t)p);
	pthread_rwlock_unlock(&memory_lock);
	return code ? fail(code, "%p is no allocation", p) : OK;
}

API aclError aclrtFree(void *p) {
	ENTER(aclrtFree, THREAD);
	return release(p, false);
}

API int standin_take(size_t size, void **out) { return allocate(out, size, 0); }
API void standin_give(void *p) { release(p, false); }

// memory_put writes device memory for the library itself.
void memory_put(void *p, const void *from, size_t size) {
	pthread_rwlock_rdlock(&memory_lock);
	struct where w = memory_find(p);
	if (w.place == ON_DEVICE && size <= w.left)
		memcpy(w.mem, from, size);
	pthread_rwlock_unlock(&memory_lock);
}

API aclError aclrtMallocHost(void **out, size_t size) {
	ENTER(aclrtMallocHost, THREAD);
	if (!out || !size)
		return fail(INVALID_PARAM, "%zu B", size);
	GUARD();
	struct context *c;
	int code = context_need(&c);
	if (code)
		return code;
	size_t taken = (size + PAGE - 1) / PAGE * PAGE;
	uintptr_t at = size > HOST_SPACE ? 0 : take(HOST, size, taken, INT64_MAX);
	if (at && mprotect((void *)at, taken, PROT_READ | PROT_WRITE))
		abort();
	if (!at)
		return fail(RT_NO_MEMORY, "%zu B of host memory", size);
	*out = (void *)at;
	return OK;
}

API aclError aclrtFreeHost(void *p) {
	ENTER(aclrtFreeHost, THREAD);
	return release(p, true);
}

API aclError aclrtGetMemInfo(int attribute, size_t *unused, size_t *total) {
	ENTER(aclrtGetMemInfo, THREAD);
	if (!unused || !total)
		return fail(INVALID_PARAM, "NULL");
	GUARD();
	struct context *c;
	int code = context_need(&c);
	if (code)
		return code;
	*unused = *total = 0;
	if (attribute < 0 || attribute > 5 || (attribute != 1 && attribute != 4 && attribute != 5 && soc()->hbm))
		return OK;
	*total = (size_t)memory_total();
	*unused = *total - (size_t)memory_used(c->dev->id);
	return OK;
}

struct attributes {
	uint32_t id;
	int type;
	uint32_t page, reserved[4];
};

API aclError aclrtPointerGetAttributes(const void *p, struct attributes *a) {
	ENTER(aclrtPointerGetAttributes, THREAD);
	if (!p || !a)
		return fail(INVALID_PARAM, "NULL");
	if (standin_on(CHECK_STRUCT) && ((uintptr_t)a % 4 || a->reserved[0] || a->reserved[1] || a->reserved[2] || a->reserved[3]))
		die("check_struct", "aclrtPtrAttributes is not aligned, or its reserved words are not zero");
	pthread_rwlock_rdlock(&memory_lock);
	struct where w = memory_find(p);
	pthread_rwlock_unlock(&memory_lock);
	a->id = w.place == ON_DEVICE ? (uint32_t)w.device : 0;
	a->type = w.place == ON_DEVICE ? 1 : w.place == ON_HOST ? 0 : 2;
	a->page = PAGE;
	return OK;
}

// copy_check finds what is wrong with a copy. pageable is set where one side is plain host memory.
int copy_check(void *dst, size_t max, const void *src, size_t size, int kind, struct context *c, bool *pageable, bool queued) {
	(void)max;
	struct where d = memory_find(dst), s = memory_find(src);
	if (d.place == NOWHERE || s.place == NOWHERE || size > d.left || size > s.left)
		return fail(RT_PARAM, "%zu B from %p to %p leave their allocations", size, src, dst);
	bool to = d.place == ON_DEVICE, from = s.place == ON_DEVICE;
	*pageable = d.place == UNREGISTERED || s.place == UNREGISTERED;
	if (*pageable && kind != 4 && kind != 5) {
		bool right = to ? kind == 1 || kind == 3 : from ? kind == 2 || kind == 3 :
			d.place == ON_HOST ? kind == 0 || kind == 2 : s.place == ON_HOST ? kind == 0 || kind == 1 : kind == 0;
		if (!right)
			return fail(RT_PARAM, "kind %d does not fit plain host memory", kind);
	}
	if (to && from && !reaches(d.device, s.device) && !reaches(s.device, d.device))
		return fail(RT_PARAM, "devices %d and %d have no access to each other", s.device, d.device);
	if (queued && !to && !from)
		return fail(RT_NOT_SUPPORTED, "no queued copy inside the host");
	(void)c;
	return OK;
}

int copy_run(void *dst, const void *src, size_t size) {
	pthread_rwlock_rdlock(&memory_lock);
	struct where d = memory_find(dst), s = memory_find(src);
	bool good = d.place != NOWHERE && s.place != NOWHERE && size <= d.left && size <= s.left;
	if (good)
		memmove(d.mem, s.mem, size);
	pthread_rwlock_unlock(&memory_lock);
	return good ? OK : RT_AICORE;
}

int fill_run(void *dst, uint64_t value, int width, size_t size) {
	pthread_rwlock_rdlock(&memory_lock);
	struct where d = memory_find(dst);
	bool good = (d.place == ON_DEVICE || d.place == ON_HOST) && size <= d.left;
	if (good && width == 1)
		memset(d.mem, (int)value, size);
	else if (good)
		for (size_t i = 0; i + (size_t)width <= size; i += (size_t)width)
			memcpy(d.mem + i, &value, (size_t)width);
	pthread_rwlock_unlock(&memory_lock);
	return good ? OK : RT_AICORE;
}

int fill_check(void *dst, size_t size, struct context *c) {
	(void)c;
	pthread_rwlock_rdlock(&memory_lock);
	struct where d = memory_find(dst);
	pthread_rwlock_unlock(&memory_lock);
	if ((d.place != ON_DEVICE && d.place != ON_HOST) || size > d.left)
		return fail(RT_PARAM, "%zu B at %p leave their allocation", size, dst);
	return OK;
}

API aclError aclrtMemcpy(void *dst, size_t max, const void *src, size_t size, int kind) {
	ENTER(aclrtMemcpy, THREAD);
	if (!size)
		return OK;
	if (!dst || !src || kind < 0 || kind > 5)
		return fail(INVALID_PARAM, "NULL, or kind %d", kind);
	if (max < size)
		return fail(RT_PARAM, "%zu B into %zu B", size, max);
	struct context *c;
	bool pageable;
	{
		GUARD();
		int code = context_need(&c);
		if (!code)
			code = capture_unsafe(RT_CAPTURE_MODE);
		if (code)
			return code;
	}
	pthread_rwlock_rdlock(&memory_lock);
	int code = copy_check(dst, max, src, size, kind, c, &pageable, false);
	if (!code) {
		struct where d = memory_find(dst), s = memory_find(src);
		memmove(d.mem, s.mem, size);
	}
	pthread_rwlock_unlock(&memory_lock);
	return code;
}

API aclError aclrtMemset(void *dst, size_t max, int32_t value, size_t size) {
	ENTER(aclrtMemset, THREAD);
	if (!size)
		return OK;
	if (!dst)
		return fail(INVALID_PARAM, "NULL");
	{
		GUARD();
		struct context *c;
		int code = context_need(&c);
		if (!code && max < size)
			code = fail(RT_PARAM, "%zu B into %zu B", size, max);
		if (!code)
			code = capture_unsafe(RT_CAPTURE_MODE);
		if (code)
			return code;
	}
	int code = fill_check(dst, size, NULL);
	return code ? code : fill_run(dst, (uint8_t)value, 1, size);
}

API aclError aclrtMemcpyAsync(void *dst, size_t max, const void *src, size_t size, int kind, void *stream) {
	ENTER(aclrtMemcpyAsync, THREAD);
	if (!size)
		return OK;
	if (!dst || !src || kind < 0 || kind > 5)
		return fail(INVALID_PARAM, "NULL, or kind %d", kind);
	if (max < size)
		return fail(RT_PARAM, "%zu B into %zu B", size, max);
	if (control.absorb_ns) { // nothing but the time that the host side of the call takes
		for (int64_t end = now_ns() + control.absorb_ns; now_ns() < end;)
			;
		return OK;
	}
	GUARD();
	struct stream *s;
	int code = stream_own(stream, &s);
	if (!code)
		code = stream_stopped(s);
	if (code)
		return code;
	bool pageable = false;
	pthread_rwlock_rdlock(&memory_lock);
	code = copy_check(dst, max, src, size, kind, s->ctx, &pageable, true);
	pthread_rwlock_unlock(&memory_lock);
	if (code) {
		if (s->capture)
			graph_spoil(s, code);
		return code;
	}
	const int from_buffer = 5; // the bytes are taken during the call
	if (pageable && kind != from_buffer) {
		if (s->capture)
			return fail(RT_CAPTURE_ASYNC, "pageable memory in a capture");
		if (standin_on(CHECK_PAGEABLE))
			die("check_pageable", "pageable memory in a queued copy");
		code = capture_unsafe(RT_CAPTURE_ASYNC);
		if (code)
			return code;
		s->o.refs++;
		stream_wait(s, -1);
		s->o.refs--;
		code = s->err;
		s->err = OK;
		if (code)
			return fail(code, "a task before the copy failed");
		return copy_run(dst, src, size);
	}
	struct task *t = task_new(T_COPY);
	t->dst = dst;
	t->src = src;
	t->size = size;
	if (pageable) {
		t->args = malloc(size);
		memcpy(t->args, src, size);
		t->src = t->args;
	}
	return task_submit(s, t);
}

static int fill_async(void *dst, uint64_t value, int width, size_t size, void *stream) {
	GUARD();
	struct stream *s;
	int code = stream_own(stream, &s);
	if (!code)
		code = stream_stopped(s);
	if (code)
		return code;
	code = fill_check(dst, size, s->ctx);
	if (code) {
		if (s->capture)
			graph_spoil(s, code);
		return code;
	}
	struct task *t = task_new(T_FILL);
	t->dst = dst;
	t->value = value;
	t->width = width;
	t->size = size;
	return task_submit(s, t);
}

API aclError aclrtMemsetAsync(void *dst, size_t max, int32_t value, size_t size, void *stream) {
	ENTER(aclrtMemsetAsync, THREAD);
	if (!size)
		return OK;
	if (!dst)
		return fail(INVALID_PARAM, "NULL");
	if (max < size)
		return fail(RT_PARAM, "%zu B into %zu B", size, max);
	return fill_async(dst, (uint8_t)value, 1, size, stream);
}

API aclError aclrtMemsetD32Async(void *dst, size_t max, uint32_t value, size_t count, void *stream) {
	ENTER(aclrtMemsetD32Async, THREAD);
	if (!dst || (uintptr_t)dst % 4 || count > max / 4)
		return fail(INVALID_PARAM, "%zu words at %p into %zu B", count, dst, max);
	if (!count)
		return OK;
	return fill_async(dst, value, 4, 4 * count, stream);
}
