// Handles: addresses in reserved memory that nobody can touch, each given out once, or again at once
// with reuse=1, as the vendor's library does.
#include "standin.h"
#include <sys/mman.h>

#define STEP 64
#define SPACE ((size_t)1 << 32)

const char *const kind_names[KINDS] = {"", "contexts", "streams", "events", "binaries", "functions", "args", "graphs", "groups"};

static uintptr_t base;
static struct object **table; // by number; CLOSED where the object is gone
#define CLOSED ((struct object *)1)
static size_t next_number;
static int64_t live[KINDS];
static struct { size_t *list; int count, room; } unused[KINDS];

static void start(void) {
	if (base)
		return;
	void *p = mmap(NULL, SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	void *t = mmap(NULL, SPACE / STEP * sizeof *table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED || t == MAP_FAILED) {
		perror("standin: no room for handles");
		abort();
	}
	base = (uintptr_t)p;
	table = t;
}

void *handle_new(struct object *o, enum kind kind) {
	start();
	size_t n;
	if (control.reuse && unused[kind].count)
		n = unused[kind].list[--unused[kind].count];
	else
		n = ++next_number;
	if (n >= SPACE / STEP) {
		fprintf(stderr, "standin: out of handles\n");
		abort();
	}
	o->kind = kind;
	o->refs = 1;
	o->handle = (void *)(base + n * STEP);
	table[n] = o;
	live[kind]++;
	return o->handle;
}

void handle_open(struct object *o, void *handle) {
	o->handle = handle;
	o->refs = 1;
	table[((uintptr_t)handle - base) / STEP] = o;
	live[o->kind]++;
}

void handle_close(struct object *o) {
	size_t n = ((uintptr_t)o->handle - base) / STEP;
	table[n] = CLOSED;
	live[o->kind]--;
	if (o->kind == K_CONTEXT && ((struct context *)o)->primary)
		return; // its handle is the device's
	if (unused[o->kind].count == unused[o->kind].room) {
		unused[o->kind].room = unused[o->kind].room ? 2 * unused[o->kind].room : 16;
		unused[o->kind].list = realloc(unused[o->kind].list, (size_t)unused[o->kind].room * sizeof(size_t));
	}
	unused[o->kind].list[unused[o->kind].count++] = n;
}

void *handle_find(void *h, enum kind kind) {
	uintptr_t p = (uintptr_t)h;
	if (!base || p < base || p >= base + SPACE || (p - base) % STEP)
		return NULL;
	struct object *o = table[(p - base) / STEP];
	if (o == CLOSED) {
		if (standin_on(CHECK_CLOSED))
			die("check_closed", "closed handle %p", h);
		return NULL;
	}
	return o && o->kind == kind ? o : NULL;
}

int64_t handle_live(enum kind kind) { return live[kind]; }
