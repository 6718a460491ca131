// Objects of the host: tensors, datasets and the like. Which of their addresses are in use.
#include "standin.h"

static struct nn *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

API bool standin_nn_live(const void *p, enum nn_kind kind) {
	pthread_mutex_lock(&lock);
	struct nn *x = all;
	while (x && (x != p || x->kind != kind))
		x = x->next;
	pthread_mutex_unlock(&lock);
	return x != NULL;
}

static const char *const nn_names[] = {"", "tensors", "scalars", "lists", "executors", "descs", "datasets", "buffers"};

int64_t nn_count(const char *kind) {
	for (size_t k = NN_TENSOR; k < sizeof nn_names / sizeof *nn_names; k++)
		if (strcmp(kind, nn_names[k]) == 0) {
			int64_t n = 0;
			pthread_mutex_lock(&lock);
			for (struct nn *x = all; x; x = x->next)
				n += x->kind == (enum nn_kind)k;
			pthread_mutex_unlock(&lock);
			return n;
		}
	return -1;
}

API void standin_nn_add(void *p, enum nn_kind kind) {
	struct nn *x = p;
	x->kind = kind;
	pthread_mutex_lock(&lock);
	x->next = all;
	all = x;
	pthread_mutex_unlock(&lock);
}

API int standin_nn_remove(const void *p, enum nn_kind kind) {
	if (!p)
		return fail(ACLNN_NULL, "NULL");
	int code = ACLNN_PARAM;
	pthread_mutex_lock(&lock);
	for (struct nn **x = &all; *x; x = &(*x)->next)
		if (*x == p && (*x)->kind == kind) {
			*x = (*x)->next;
			code = OK;
			break;
		}
	pthread_mutex_unlock(&lock);
	if (code && standin_on(CHECK_CLOSED))
		die("check_closed", "%p is closed, or was never made", p);
	return code ? fail(code, "%p is closed, or was never made", p) : OK;
}
