// libopapi.so: operators in two phases. The first checks its operands and makes an executor, which the
// second uses up. Results are those of the kernels: operands are gathered, computed and scattered.
#include "tensor.h"

REGISTER

struct executor {
	struct nn nn;
	int (*run)(struct executor *e, uint8_t **mem, int device);
	struct tensor t[6]; // the outputs first
	bool there[6];
	int count;
	double number;
	int64_t a, b;
	int64_t list[MAX_DIMS];
	int nlist;
	uint64_t need; // workspace
};

// Shapes.
static int64_t volume(const struct tensor *t) {
	int64_t n = 1;
	for (int i = 0; i < t->dims; i++)
		n *= t->dim[i];
	return n;
}

static int64_t place(const struct tensor *t, int64_t i) { // of element i in row-major order
	int64_t at = 0;
	for (int d = t->dims - 1; d >= 0; d--) {
		at += i % t->dim[d] * t->stride[d];
		i /= t->dim[d];
	}
	return at;
}

// place_in is place for a tensor that is broadcast to the shape of y.
static int64_t place_in(const struct tensor *t, const struct tensor *y, int64_t i) {
	int64_t at = 0;
	for (int d = y->dims - 1; d >= 0; d--) {
		int k = d - (y->dims - t->dims);
		if (k >= 0 && t->dim[k] != 1)
			at += i % y->dim[d] * t->stride[k];
		i /= y->dim[d];
	}
	return at;
}

static bool same_shape(const struct tensor *a, const struct tensor *b) {
	if (a->dims != b->dims)
		return false;
	for (int i = 0; i < a->dims; i++)
		if (a->dim[i] != b->dim[i])
			return false;
	return true;
}

static bool broadcasts(const struct tensor *a, const struct tensor *b, const struct tensor *y) {
	if (y->dims != (a->dims > b->dims ? a->dims : b->dims))
		return false;
	for (int i = 1; i <= y->dims; i++) {
		int64_t p = i <= a->dims ? a->dim[a->dims - i] : 1, q = i <= b->dims ? b->dim[b->dims - i] : 1;
		int64_t want = p == 1 ? q : p;
		if ((q != 1 && q != want) || y->dim[y->dims - i] != want)
			return false;
	}
	return true;
}

static double at(const struct tensor *t, const uint8_t *mem, int64_t i) { return standin_get_number(t->type, mem, i); }

static void *gather(const struct tensor *t, const uint8_t *mem) {
	int64_t n = volume(t);
	size_t size = (size_t)standin_type_size(t->type);
	uint8_t *out = malloc((size_t)n * size + 8);
	for (int64_t i = 0; i < n; i++)
		memcpy(out + (size_t)i * size, mem + (size_t)place(t, i) * size, size);
	return out;
}

static void scatter(const struct tensor *t, uint8_t *mem, const uint8_t *from) {
	size_t size = (size_t)standin_type_size(t->type);
	for (int64_t i = 0, n = volume(t); i < n; i++)
		memcpy(mem + (size_t)place(t, i) * size, from + (size_t)i * size, size);
}

// Executors.
static int tensor_in(struct executor *e, const void *p, bool optional, const char *kinds) {
	int i = e->count++;
	if (!p)
		return optional ? OK : fail(ACLNN_NULL, "tensor %d is NULL", i);
	if (!standin_nn_live(p, NN_TENSOR)) {
		if (standin_on(CHECK_CLOSED))
			die("check_closed", "tensor %p is closed, or was never made", p);
		return fail(ACLNN_PARAM, "tensor %d is closed", i);
	}
	e->t[i] = *(const struct tensor *)p;
	e->there[i] = true;
	int type = e->t[i].type;
	bool number = standin_size(type), fl = type == 0 || type == 1 || type == 27;
	if ((*kinds == 'n' && !number) || (*kinds == 'f' && !fl) || (*kinds == 'r' && (!number || type == 4)))
		return fail(ACLNN_PARAM, "tensor %d has type %d", i, type);
	return OK;
}

static int drop_executor(struct executor *e, int code) {
	free(e);
	return code;
}

static struct executor *executor_new(int (*run)(struct executor *, uint8_t **, int)) {
	struct executor *e = calloc(1, sizeof *e);
	e->run = run;
	return e;
}

static int give(struct executor *e, uint64_t need, uint64_t *size, void **out) {
	if (!size || !out)
		return drop_executor(e, fail(ACLNN_NULL, "workspaceSize or executor is NULL"));
	if (standin_device() < 0)
		return drop_executor(e, fail(ACLNN_RUNTIME, "the thread has no current context"));
	e->need = *size = need;
	standin_nn_add(e, NN_EXECUTOR);
	*out = e;
	return OK;
}

static int run(void *p, int device) {
	struct executor *e = p;
	uint8_t *mem[6] = {NULL};
	int code = OK;
	standin_begin();
	for (int i = 0; i < e->count && !code; i++) {
		struct tensor *t = &e->t[i];
		if (!e->there[i] || volume(t) == 0)
			continue;
		int64_t last = t->offset;
		for (int d = 0; d < t->dims; d++)
			last += (t->dim[d] - 1) * t->stride[d];
		size_t size = (size_t)standin_type_size(t->type);
		mem[i] = standin_memory(t->data, (size_t)(last + 1) * size, device);
		if (!mem[i])
			code = RT_VECTOR;
		else
			mem[i] += (size_t)t->offset * size;
	}
	if (!code)
		code = e->run(e, mem, device);
	standin_end();
	return code;
}

static int start(void *workspace, uint64_t size, void *p, void *stream, const char *name) {
	if (!p)
		return fail(ACLNN_NULL, "executor is NULL");
	if (!standin_nn_live(p, NN_EXECUTOR)) {
		if (standin_on(CHECK_CLOSED))
			die("check_closed", "executor %p was used up, or never made", p);
		return fail(ACLNN_PARAM, "executor %p was used up", p);
	}
	struct executor *e = p;
	if (e->need) {
		int device = standin_device();
		standin_begin();
		bool good = size >= e->need && standin_memory(workspace, e->need, device);
		standin_end();
		if (!good)
			return fail(ACLNN_PARAM, "a workspace of %llu B at %p, want %llu B of device memory", (unsigned long long)size, workspace,
				(unsigned long long)e->need);
	}
	standin_nn_remove(e, NN_EXECUTOR);
	int code = standin_queue(name, stream, run, free, e);
	return code ? fail(ACLNN_RUNTIME, "the stream refuses it (%d)", code) : OK;
}

#define EXECUTE(name) \
	API int name(void *workspace, uint64_t size, void *executor, void *stream) { \
		ENTER(name, THREAD); \
		return start(workspace, size, executor, stream, #name); \
	}

static int scalar_in(struct executor *e, const void *p) {
	if (!p)
		return fail(ACLNN_NULL, "scalar is NULL");
	if (!standin_nn_live(p, NN_SCALAR)) {
		if (standin_on(CHECK_CLOSED))
			die("check_closed", "scalar %p is closed, or was never made", p);
		return fail(ACLNN_PARAM, "scalar is closed");
	}
	e->number = ((const struct scalar *)p)->value;
	return OK;
}

static int ints_in(struct executor *e, const void *p) {
	if (!p)
		return fail(ACLNN_NULL, "list is NULL");
	if (!standin_nn_live(p, NN_INTS)) {
		if (standin_on(CHECK_CLOSED))
			die("check_closed", "list %p is closed, or was never made", p);
		return fail(ACLNN_PARAM, "list is closed");
	}
	const struct ints *x = p;
	if (x->count > MAX_DIMS)
		return fail(ACLNN_PARAM, "%llu integers", (unsigned long long)x->count);
	e->nlist = (int)x->count;
	for (int i = 0; i < e->nlist; i++)
		e->list[i] = x->value[i];
	return OK;
}

// Elementwise.
static void wrapped(const struct tensor *t, uint8_t *mem, int64_t i, int64_t v) {
	double w = t->type == 2 ? (int8_t)v : t->type == 4 ? (double)(uint8_t)v : (double)(int32_t)v;
	standin_put_number(t->type, mem, i, w);
}

static int binary(struct executor *e, uint8_t **mem, char op) {
	struct tensor *y = &e->t[0], *a = &e->t[1], *b = &e->t[2];
	bool whole = y->type == 2 || y->type == 3 || y->type == 4;
	int64_t n = volume(y);
	size_t size = (size_t)standin_type_size(y->type);
	uint8_t *out = malloc((size_t)n * size + 8);
	for (int64_t i = 0; i < n; i++) {
		double p = at(a, mem[1], place_in(a, y, i)), q = at(b, mem[2], place_in(b, y, i));
		if (whole) {
			int64_t u = (int64_t)p, v = (int64_t)q, k = (int64_t)e->number;
			wrapped(y, out, i, op == '*' ? u * v : op == '+' ? u + k * v : u - k * v);
			continue;
		}
		float u = (float)p, v = (float)q, kv = (float)e->number * v;
		standin_put_number(y->type, out, i, op == '*' ? u * v : op == '+' ? u + kv : u - kv);
	}
	scatter(y, mem[0], out);
	free(out);
	return OK;
}

static int run_add(struct executor *e, uint8_t **mem, int d) { (void)d; return binary(e, mem, '+'); }
static int run_sub(struct executor *e, uint8_t **mem, int d) { (void)d; return binary(e, mem, '-'); }
static int run_mul(struct executor *e, uint8_t **mem, int d) { (void)d; return binary(e, mem, '*'); }

static int two(int (*f)(struct executor *, uint8_t **, int), const void *self, const void *other, const void *alpha, bool scaled,
		const void *out, uint64_t *size, void **executor) {
	struct executor *e = executor_new(f);
	int code = tensor_in(e, out, false, "n");
	if (!code)
		code = tensor_in(e, self, false, "n");
	if (!code)
		code = tensor_in(e, other, false, "n");
	if (!code && scaled)
		code = scalar_in(e, alpha);
	if (!code && (e->t[0].type != e->t[1].type || e->t[1].type != e->t[2].type))
		code = fail(ACLNN_PARAM, "types %d, %d and %d differ", e->t[1].type, e->t[2].type, e->t[0].type);
	if (!code && !broadcasts(&e->t[1], &e->t[2], &e->t[0]))
		code = fail(ACLNN_PARAM, "the shapes do not fit");
	return code ? drop_executor(e, code) : give(e, 0, size, executor);
}

API int aclnnAddGetWorkspaceSize(const void *self, const void *other, const void *alpha, void *out, uint64_t *size, void **executor) {
	ENTER(aclnnAddGetWorkspaceSize, THREAD);
	return two(run_add, self, other, alpha, true, out, size, executor);
}
EXECUTE(aclnnAdd)

API int aclnnSubGetWorkspaceSize(const void *self, const void *other, const void *alpha, void *out, uint64_t *size, void **executor) {
	ENTER(aclnnSubGetWorkspaceSize, THREAD);
	return two(run_sub, self, other, alpha, true, out, size, executor);
}
EXECUTE(aclnnSub)

API int aclnnMulGetWorkspaceSize(const void *self, const void *other, void *out, uint64_t *size, void **executor) {
	ENTER(aclnnMulGetWorkspaceSize, THREAD);
	return two(run_mul, self, other, NULL, false, out, size, executor);
}
EXECUTE(aclnnMul)

// unary runs a kernel on n elements of x and y, with a word of its own in front of n.
static int unary(struct executor *e, uint8_t **mem, const char *kernel) {
	struct tensor *y = &e->t[0], *x = &e->t[1];
	uint64_t args[4] = {0, 0, (uint64_t)volume(x), (uint64_t)volume(x)};
	float k = (float)e->number;
	if (strcmp(kernel, "scale") == 0) {
		args[2] = 0;
		memcpy(&args[2], &k, 4);
	}
	int types[2] = {y->type, x->type};
	uint8_t *in = gather(x, mem[1]), *out = malloc((size_t)(args[3] * (uint64_t)standin_type_size(y->type)) + 8);
	int code = standin_host(kernel, types, args, (void *[]){out, in, NULL, NULL});
	if (!code)
		scatter(y, mem[0], out);
	free(in);
	free(out);
	return code;
}

static int run_muls(struct executor *e, uint8_t **mem, int d) {
	(void)d;
	struct tensor *y = &e->t[0], *x = &e->t[1];
	if (y->type != 2 && y->type != 3 && y->type != 4)
		return unary(e, mem, "scale");
	uint8_t *in = gather(x, mem[1]);
	for (int64_t i = 0, n = volume(x); i < n; i++)
		wrapped(y, in, i, (int64_t)at(x, in, i) * (int64_t)e->number);
	scatter(y, mem[0], in);
	free(in);
	return OK;
}
static int run_relu(struct executor *e, uint8_t **mem, int d) { (void)d; return unary(e, mem, "relu"); }
static int run_exp(struct executor *e, uint8_t **mem, int d) { (void)d; return unary(e, mem, "exp"); }
static int run_sigmoid(struct executor *e, uint8_t **mem, int d) { (void)d; return unary(e, mem, "sigmoid"); }
static int run_cast(struct executor *e, uint8_t **mem, int d) { (void)d; return unary(e, mem, "cast"); }

static int one(int (*f)(struct executor *, uint8_t **, int), const char *kinds, const void *self, const void *out, struct executor **p) {
	struct executor *e = executor_new(f);
	int code = tensor_in(e, out, false, kinds);
	if (!code)
		code = tensor_in(e, self, false, kinds);
	if (!code && !same_shape(&e->t[0], &e->t[1]))
		code = fail(ACLNN_PARAM, "the shapes differ");
	if (!code && f != run_cast && e->t[0].type != e->t[1].type)
		code = fail(ACLNN_PARAM, "types %d and %d differ", e->t[1].type, e->t[0].type);
	if (code)
		return drop_executor(e, code);
	*p = e;
	return OK;
}

#define UNARY(name, f, kinds) \
	API int name##GetWorkspaceSize(const void *self, void *out, uint64_t *size, void **executor) { \
		ENTER(name##GetWorkspaceSize, THREAD); \
		struct executor *e; \
		int code = one(f, kinds, self, out, &e); \
		return code ? code : give(e, 0, size, executor); \
	} \
	EXECUTE(name)
UNARY(aclnnRelu, run_relu, "r")
UNARY(aclnnExp, run_exp, "f")
UNARY(aclnnSigmoid, run_sigmoid, "f")

API int aclnnMulsGetWorkspaceSize(const void *self, const void *other, void *out, uint64_t *size, void **executor) {
	ENTER(aclnnMulsGetWorkspaceSize, THREAD);
	struct executor *e;
	int code = one(run_muls, "n", self, out, &e);
	if (code)
		return code;
	code = scalar_in(e, other);
	return code ? drop_executor(e, code) : give(e, 0, size, executor);
}
EXECUTE(aclnnMuls)

API int aclnnCastGetWorkspaceSize(const void *self, int type, void *out, uint64_t *size, void **executor) {
	ENTER(aclnnCastGetWorkspaceSize, THREAD);
	struct executor *e;
	int code = one(run_cast, "n", self, out, &e);
	if (code)
		return code;
	if (e->t[0].type != type)
		return drop_executor(e, fail(ACLNN_PARAM, "dtype is %d, out has %d", type, e->t[0].type));
	return give(e, 0, size, executor);
}
EXECUTE(aclnnCast)

// Along a dimension: lanes are the elements that differ in it alone.
static int lane(struct tensor *t, int64_t dim, int64_t *count, int64_t *inner) {
	*count = t->dims ? t->dim[dim] : 1;
	*inner = 1;
	for (int i = (int)dim + 1; i < t->dims; i++)
		*inner *= t->dim[i];
	return OK;
}

static int dimension(const struct tensor *t, int64_t *dim) {
	int64_t n = t->dims ? t->dims : 1;
	if (*dim < -n || *dim >= n)
		return fail(ACLNN_PARAM, "dim %lld of %d dimensions", (long long)*dim, t->dims);
	if (*dim < 0)
		*dim += n;
	return OK;
}

static int run_softmax(struct executor *e, uint8_t **mem, int d) {
	(void)d;
	struct tensor *y = &e->t[0], *x = &e->t[1];
	int64_t count, inner, n = volume(x);
	lane(x, e->a, &count, &inner);
	size_t size = (size_t)standin_type_size(x->type);
	uint8_t *in = gather(x, mem[1]), *out = malloc((size_t)n * size + 8), *row = malloc((size_t)count * size + 8);
	int types[2] = {x->type, x->type}, code = OK;
	for (int64_t first = 0; first < n && !code; first++) {
		if (first / inner % count)
			continue;
		for (int64_t i = 0; i < count; i++)
			memcpy(row + (size_t)i * size, in + (size_t)(first + i * inner) * size, size);
		code = standin_host("softmax", types, (uint64_t[]){0, 0, 1, (uint64_t)count}, (void *[]){row, row, NULL, NULL});
		for (int64_t i = 0; i < count; i++)
			memcpy(out + (size_t)(first + i * inner) * size, row + (size_t)i * size, size);
	}
	scatter(y, mem[0], out);
	free(in);
	free(out);
	free(row);
	return code;
}

API int aclnnSoftmaxGetWorkspaceSize(const void *self, int64_t dim, void *out, uint64_t *size, void **executor) {
	ENTER(aclnnSoftmaxGetWorkspaceSize, THREAD);
	struct executor *e;
	int code = one(run_softmax, "f", self, out, &e);
	if (code)
		return code;
	e->a = dim;
	code = dimension(&e->t[1], &e->a);
	return code ? drop_executor(e, code) : give(e, 1024, size, executor);
}
EXECUTE(aclnnSoftmax)

static int run_matmul(struct executor *e, uint8_t **mem, int d) {
	(void)d;
	struct tensor *y = &e->t[0], *a = &e->t[1], *b = &e->t[2];
	uint8_t *p = gather(a, mem[1]), *q = gather(b, mem[2]), *out = malloc((size_t)volume(y) * 4 + 8);
	int types[2] = {y->type, y->type};
	int code = standin_host("matmul", types, (uint64_t[]){0, 0, 0, (uint64_t)a->dim[0], (uint64_t)b->dim[1], (uint64_t)a->dim[1]},
		(void *[]){out, p, q, NULL});
	if (!code)
		scatter(y, mem[0], out);
	free(p);
	free(q);
	free(out);
	return code;
}

API int aclnnMatmulGetWorkspaceSize(const void *self, const void *mat2, void *out, int8_t cube, uint64_t *size, void **executor) {
	ENTER(aclnnMatmulGetWorkspaceSize, THREAD);
	struct executor *e = executor_new(run_matmul);
	int code = tensor_in(e, out, false, "f");
	if (!code)
		code = tensor_in(e, self, false, "f");
	if (!code)
		code = tensor_in(e, mat2, false, "f");
	struct tensor *y = &e->t[0], *a = &e->t[1], *b = &e->t[2];
	if (!code && (a->dims != 2 || b->dims != 2 || y->dims != 2 || a->dim[1] != b->dim[0] || y->dim[0] != a->dim[0] || y->dim[1] != b->dim[1]))
		code = fail(ACLNN_PARAM, "the shapes do not fit");
	if (!code && (a->type != b->type || a->type != y->type || cube < 0 || cube > 3))
		code = fail(ACLNN_PARAM, "the types differ, or cubeMathType is %d", cube);
	return code ? drop_executor(e, code) : give(e, 4096, size, executor);
}
EXECUTE(aclnnMatmul)

// reduced says whether dimension d of the input goes; no list: all do.
static bool reduced(const struct executor *e, int d) {
	for (int i = 0; i < e->nlist; i++)
		if (e->list[i] == d)
			return true;
	return e->nlist == 0;
}

static int run_sum(struct executor *e, uint8_t **mem, int d) {
	(void)d;
	struct tensor *y = &e->t[0], *x = &e->t[1];
	int64_t n = volume(x), outs = volume(y), each = outs ? n / outs : 0;
	size_t size = (size_t)standin_type_size(x->type), ysize = (size_t)standin_type_size(y->type);
	uint8_t *in = gather(x, mem[1]), *row = malloc((size_t)each * size + 8), *out = calloc((size_t)outs + 1, ysize);
	int64_t *filled = calloc((size_t)outs + 1, sizeof *filled);
	uint8_t *rows = malloc((size_t)n * size + 8);
	for (int64_t i = 0; i < n; i++) {
		int64_t o = 0, step = 1, rest = i;
		for (int k = x->dims - 1; k >= 0; k--) {
			if (!reduced(e, k)) {
				o += rest % x->dim[k] * step;
				step *= x->dim[k];
			}
			rest /= x->dim[k];
		}
		memcpy(rows + (size_t)(o * each + filled[o]++) * size, in + (size_t)i * size, size);
	}
	int types[2] = {x->type, x->type}, code = OK;
	for (int64_t o = 0; o < outs && !code && each; o++) {
		code = standin_host("reduce_sum", types, (uint64_t[]){0, 0, (uint64_t)each}, (void *[]){row, rows + (size_t)(o * each) * size, NULL, NULL});
		if (x->type == y->type)
			memcpy(out + (size_t)o * ysize, row, ysize);
		else
			standin_put_number(y->type, out, o, standin_get_number(x->type, row, 0));
	}
	scatter(y, mem[0], out);
	free(in);
	free(row);
	free(rows);
	free(out);
	free(filled);
	return code;
}

API int aclnnReduceSumGetWorkspaceSize(const void *self, const void *dims, bool keep, int type, void *out, uint64_t *size, void **executor) {
	ENTER(aclnnReduceSumGetWorkspaceSize, THREAD);
	struct executor *e = executor_new(run_sum);
	int code = tensor_in(e, out, false, "n");
	if (!code)
		code = tensor_in(e, self, false, "n");
	if (!code)
		code = ints_in(e, dims);
	struct tensor *y = &e->t[0], *x = &e->t[1], want = {.dims = 0};
	for (int i = 0; i < e->nlist && !code; i++) {
		code = dimension(x, &e->list[i]);
		for (int k = 0; k < i && !code; k++)
			if (e->list[k] == e->list[i])
				code = fail(ACLNN_PARAM, "dimension %lld twice", (long long)e->list[i]);
	}
	for (int i = 0; i < x->dims && !code; i++)
		if (!reduced(e, i) || keep)
			want.dim[want.dims++] = reduced(e, i) ? 1 : x->dim[i];
	if (!code && (!same_shape(&want, y) || y->type != type))
		code = fail(ACLNN_PARAM, "out has another shape or type than the sum");
	return code ? drop_executor(e, code) : give(e, 2048, size, executor);
}
EXECUTE(aclnnReduceSum)

static int run_max(struct executor *e, uint8_t **mem, int d) {
	(void)d;
	struct tensor *x = &e->t[1];
	uint8_t *in = gather(x, mem[1]);
	int types[2] = {x->type, x->type};
	int code = standin_host("reduce_max", types, (uint64_t[]){0, 0, (uint64_t)volume(x)}, (void *[]){mem[0], in, NULL, NULL});
	free(in);
	return code;
}

API int aclnnMaxGetWorkspaceSize(const void *self, void *out, uint64_t *size, void **executor) {
	ENTER(aclnnMaxGetWorkspaceSize, THREAD);
	struct executor *e = executor_new(run_max);
	int code = tensor_in(e, out, false, "n");
	if (!code)
		code = tensor_in(e, self, false, "n");
	if (!code && (volume(&e->t[0]) != 1 || volume(&e->t[1]) == 0 || e->t[0].type != e->t[1].type))
		code = fail(ACLNN_PARAM, "want one element out of the type of some elements in");
	return code ? drop_executor(e, code) : give(e, 0, size, executor);
}
EXECUTE(aclnnMax)

static int run_argmax(struct executor *e, uint8_t **mem, int d) {
	(void)d;
	struct tensor *y = &e->t[0], *x = &e->t[1];
	int64_t count, inner, n = volume(x), o = 0;
	lane(x, e->a, &count, &inner);
	size_t size = (size_t)standin_type_size(x->type), ysize = (size_t)standin_type_size(y->type);
	uint8_t *in = gather(x, mem[1]), *row = malloc((size_t)count * size + 8), *out = calloc((size_t)volume(y) + 1, ysize);
	int types[2] = {x->type, x->type}, code = OK;
	for (int64_t first = 0; first < n && !code; first++) {
		if (first / inner % count)
			continue;
		for (int64_t i = 0; i < count; i++)
			memcpy(row + (size_t)i * size, in + (size_t)(first + i * inner) * size, size);
		uint32_t best;
		code = standin_host("argmax", types, (uint64_t[]){0, 0, (uint64_t)count}, (void *[]){&best, row, NULL, NULL});
		int64_t wide = best;
		memcpy(out + (size_t)o++ * ysize, &wide, ysize); // little-endian
	}
	scatter(y, mem[0], out);
	free(in);
	free(row);
	free(out);
	return code;
}

API int aclnnArgMaxGetWorkspaceSize(const void *self, int64_t dim, bool keep, void *out, uint64_t *size, void **executor) {
	ENTER(aclnnArgMaxGetWorkspaceSize, THREAD);
	struct executor *e = executor_new(run_argmax);
	int code = tensor_in(e, out, false, "x");
	if (!code)
		code = tensor_in(e, self, false, "n");
	e->a = dim;
	struct tensor *y = &e->t[0], *x = &e->t[1], want = {.dims = 0};
	if (!code)
		code = dimension(x, &e->a);
	for (int i = 0; i < x->dims && !code; i++)
		if (i != e->a || keep)
			want.dim[want.dims++] = i == e->a ? 1 : x->dim[i];
	if (!code && (!same_shape(&want, y) || (y->type != 3 && y->type != 9) || (x->dims && x->dim[e->a] == 0)))
		code = fail(ACLNN_PARAM, "out has another shape than the result, or is neither int32 nor int64");
	return code ? drop_executor(e, code) : give(e, 0, size, executor);
}
EXECUTE(aclnnArgMax)

static int run_permute(struct executor *e, uint8_t **mem, int d) {
	(void)d;
	struct tensor *y = &e->t[0], x = e->t[1];
	for (int i = 0; i < x.dims; i++) {
		x.dim[i] = e->t[1].dim[e->list[i]];
		x.stride[i] = e->t[1].stride[e->list[i]];
	}
	uint8_t *in = gather(&x, mem[1]);
	scatter(y, mem[0], in);
	free(in);
	return OK;
}

API int aclnnPermuteGetWorkspaceSize(const void *self, const void *dims, void *out, uint64_t *size, void **executor) {
	ENTER(aclnnPermuteGetWorkspaceSize, THREAD);
	struct executor *e = executor_new(run_permute);
	int code = tensor_in(e, out, false, "x");
	if (!code)
		code = tensor_in(e, self, false, "x");
	if (!code)
		code = ints_in(e, dims);
	struct tensor *y = &e->t[0], *x = &e->t[1];
	if (!code && (e->nlist != x->dims || y->dims != x->dims || y->type != x->type))
		code = fail(ACLNN_PARAM, "%d dimensions in, %d in the list, %d out, types %d and %d", x->dims, e->nlist, y->dims, x->type, y->type);
	unsigned seen = 0;
	for (int i = 0; i < e->nlist && !code; i++) {
		code = dimension(x, &e->list[i]);
		if (!code && (seen >> e->list[i] & 1 || y->dim[i] != x->dim[e->list[i]]))
			code = fail(ACLNN_PARAM, "dimension %d of out does not fit", i);
		if (!code)
			seen |= 1u << e->list[i];
	}
	return code ? drop_executor(e, code) : give(e, 0, size, executor);
}
EXECUTE(aclnnPermute)

static int run_norm(struct executor *e, uint8_t **mem, int d) {
	(void)d;
	struct tensor *y = &e->t[0], *x = &e->t[3];
	int64_t n = volume(x), cols = 1;
	for (int i = 0; i < e->nlist; i++)
		cols *= e->list[i];
	size_t size = (size_t)standin_type_size(x->type);
	uint8_t *in = gather(x, mem[3]), *out = malloc((size_t)n * size + 8), *g, *b;
	if (e->there[4]) {
		g = gather(&e->t[4], mem[4]);
	} else {
		g = malloc((size_t)cols * size + 8);
		for (int64_t i = 0; i < cols; i++)
			standin_put_number(x->type, g, i, 1);
	}
	b = e->there[5] ? gather(&e->t[5], mem[5]) : calloc((size_t)cols + 1, size);
	int64_t rows = cols ? n / cols : 0;
	uint64_t eps = 0;
	float f = (float)e->number;
	memcpy(&eps, &f, 4);
	int types[2] = {x->type, x->type};
	int code = standin_host("layer_norm", types, (uint64_t[]){0, 0, 0, 0, (uint64_t)rows, (uint64_t)cols, eps}, (void *[]){out, in, g, b});
	if (!code)
		scatter(y, mem[0], out);
	for (int64_t r = 0; r < rows && !code && (e->there[1] || e->there[2]); r++) {
		double sum = 0, squares = 0;
		for (int64_t c = 0; c < cols; c++)
			sum += at(x, in, r * cols + c);
		for (int64_t c = 0; c < cols; c++) {
			double v = at(x, in, r * cols + c) - sum / (double)cols;
			squares += v * v;
		}
		if (e->there[1])
			standin_put_number(e->t[1].type, mem[1], place(&e->t[1], r), sum / (double)cols);
		if (e->there[2])
			standin_put_number(e->t[2].type, mem[2], place(&e->t[2], r), 1 / sqrt(squares / (double)cols + (double)f));
	}
	free(in);
	free(out);
	free(g);
	free(b);
	return code;
}

API int aclnnLayerNormGetWorkspaceSize(const void *input, const void *shape, const void *weight, const void *bias, double eps, void *out,
		void *mean, void *deviation, uint64_t *size, void **executor) {
	ENTER(aclnnLayerNormGetWorkspaceSize, THREAD);
	struct executor *e = executor_new(run_norm);
	int code = tensor_in(e, out, false, "f");
	if (!code)
		code = tensor_in(e, mean, true, "f");
	if (!code)
		code = tensor_in(e, deviation, true, "f");
	if (!code)
		code = tensor_in(e, input, false, "f");
	if (!code)
		code = tensor_in(e, weight, true, "f");
	if (!code)
		code = tensor_in(e, bias, true, "f");
	if (!code)
		code = ints_in(e, shape);
	struct tensor *x = &e->t[3];
	if (!code && (!same_shape(x, &e->t[0]) || x->type != e->t[0].type || e->nlist < 1 || e->nlist > x->dims || !(eps >= 0)))
		code = fail(ACLNN_PARAM, "the shapes do not fit, or eps is %g", eps);
	int64_t cols = 1;
	for (int i = 0; i < e->nlist && !code; i++) {
		cols *= e->list[i];
		if (e->list[i] != x->dim[x->dims - e->nlist + i])
			code = fail(ACLNN_PARAM, "normalizedShape does not end the shape of the input");
	}
	int64_t rows = cols > 0 && !code ? volume(x) / cols : 0;
	for (int i = 1; i <= 5 && !code; i++)
		if (i != 3 && e->there[i] && (volume(&e->t[i]) != (i > 3 ? cols : rows) || (i > 3 && e->t[i].type != x->type)))
			code = fail(ACLNN_PARAM, "tensor %d has another size or type", i);
	e->number = eps;
	return code ? drop_executor(e, code) : give(e, 0, size, executor);
}
EXECUTE(aclnnLayerNorm)
