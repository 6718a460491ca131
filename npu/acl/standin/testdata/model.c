// libacl_mdl.so: models. A model is a text; a line is
//	standin model 1                    the first one
//	batches 1 2 4                      gears of the batch, which is N in what follows
//	input NAME DTYPE DIMS              dims with commas: 4,8 or N,8
//	output NAME DTYPE DIMS
//	temp NAME DTYPE DIMS
//	const NAME DTYPE DIMS VALUE...
//	op KERNEL ARGUMENT...              in the order of its signature: a name, an integer or a product
//	                                   such as N*8, or a float32 (with a point or an exponent)
#include "standin.h"
#include <unistd.h>

REGISTER

#define NAME 128
#define MAX_BATCHES 128
#define DYNAMIC "ascend_mbatch_shape_data"
#define DIMENSIONS 8

enum role { INPUT, OUTPUT, TEMP, CONST };

struct value {
	enum role role;
	char name[NAME];
	int type, dims;
	int64_t dim[DIMENSIONS]; // -1: the batch
	uint8_t *data;           // of a constant
	size_t at;               // in the work or weight memory
};
struct step {
	char kernel[NAME];
	int nargs;
	char *args[16];
};
struct model {
	int refs;
	uint32_t id;
	void *context;
	int device;
	struct value *values;
	int nvalues;
	struct step *steps;
	int nsteps;
	uint64_t batches[MAX_BATCHES];
	int nbatches;
	uint64_t batch; // set last; 0: none
	size_t work_size, weight_size;
	uint8_t *work, *weight; // device memory
	bool own_work, own_weight;
	_Atomic int running, queued;
	struct model *next;
};
struct desc {
	struct nn nn;
	struct model *model;
};
struct buffer {
	struct nn nn;
	void *data;
	size_t size;
};
struct dataset {
	struct nn nn;
	struct buffer **list;
	size_t count;
};

static struct model *models;
static uint32_t next_id;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void model_release(struct model *m) {
	pthread_mutex_lock(&lock);
	int left = --m->refs;
	pthread_mutex_unlock(&lock);
	if (left)
		return;
	for (int i = 0; i < m->nvalues; i++)
		free(m->values[i].data);
	for (int i = 0; i < m->nsteps; i++)
		for (int k = 0; k < m->steps[i].nargs; k++)
			free(m->steps[i].args[k]);
	free(m->values);
	free(m->steps);
	free(m);
}

static size_t bytes(const struct value *v, uint64_t batch) {
	size_t n = (size_t)standin_type_size(v->type);
	for (int i = 0; i < v->dims; i++)
		n *= v->dim[i] < 0 ? batch : (size_t)v->dim[i];
	return n;
}

static uint64_t largest(const struct model *m) {
	uint64_t n = 1;
	for (int i = 0; i < m->nbatches; i++)
		n = m->batches[i] > n ? m->batches[i] : n;
	return n;
}

static const struct value *named(const struct model *m, const char *name) {
	for (int i = 0; i < m->nvalues; i++)
		if (strcmp(m->values[i].name, name) == 0)
			return &m->values[i];
	return NULL;
}

// Parsing.
static const struct { const char *name; int type; } types[] = {
	{"float32", 0}, {"float16", 1}, {"int8", 2}, {"int32", 3}, {"uint8", 4}, {"uint32", 8}, {"bfloat16", 27},
};

static bool parse_value(struct model *m, enum role role, char **save) {
	char *name = strtok_r(NULL, " \t", save), *type = strtok_r(NULL, " \t", save), *dims = strtok_r(NULL, " \t", save);
	if (!dims || named(m, name))
		return false;
	m->values = realloc(m->values, (size_t)(m->nvalues + 1) * sizeof *m->values);
	struct value *v = &m->values[m->nvalues++];
	memset(v, 0, sizeof *v);
	v->role = role;
	v->type = -1;
	snprintf(v->name, sizeof v->name, "%s", name);
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strcmp(type, types[i].name) == 0)
			v->type = types[i].type;
	char *more = NULL;
	for (char *d = strtok_r(dims, ",", &more); d; d = strtok_r(NULL, ",", &more)) {
		if (v->dims == DIMENSIONS)
			return false;
		v->dim[v->dims] = strcmp(d, "N") == 0 ? -1 : atoll(d);
		if (v->dim[v->dims] == 0 || v->dim[v->dims] < -1)
			return false;
		v->dims++;
	}
	if (v->type < 0)
		return false;
	if (role == CONST) {
		size_t size = bytes(v, 1), n = size / (size_t)standin_type_size(v->type);
		v->data = calloc(1, size + 8);
		for (size_t i = 0; i < n; i++) {
			char *x = strtok_r(NULL, " \t", save);
			if (!x)
				return false;
			standin_put_number(v->type, v->data, (int64_t)i, atof(x));
		}
	}
	size_t *total = role == CONST ? &m->weight_size : role == TEMP ? &m->work_size : NULL;
	if (total) {
		v->at = *total;
		*total += (bytes(v, largest(m)) + 63) / 64 * 64;
	}
	return true;
}

static bool parse_step(struct model *m, char **save) {
	char *kernel = strtok_r(NULL, " \t", save);
	if (!kernel)
		return false;
	m->steps = realloc(m->steps, (size_t)(m->nsteps + 1) * sizeof *m->steps);
	struct step *s = &m->steps[m->nsteps++];
	memset(s, 0, sizeof *s);
	snprintf(s->kernel, sizeof s->kernel, "%s", kernel);
	for (char *a; (a = strtok_r(NULL, " \t", save));) {
		if (s->nargs == 16)
			return false;
		s->args[s->nargs++] = strdup(a);
	}
	return standin_arguments(kernel) == s->nargs;
}

static bool parse(struct model *m, char *text) {
	char *lines = NULL, *line = strtok_r(text, "\r\n", &lines);
	if (!line || strcmp(line, "standin model 1"))
		return false;
	while ((line = strtok_r(NULL, "\r\n", &lines))) {
		char *save = NULL, *word = strtok_r(line, " \t", &save);
		bool good = true;
		if (!word || *word == '#')
			continue;
		if (strcmp(word, "batches") == 0) {
			for (char *b; good && (b = strtok_r(NULL, " \t", &save));) {
				good = m->nbatches < MAX_BATCHES && atoll(b) > 0 && !m->nvalues;
				if (good)
					m->batches[m->nbatches++] = (uint64_t)atoll(b);
			}
		} else if (strcmp(word, "input") == 0) {
			good = parse_value(m, INPUT, &save);
		} else if (strcmp(word, "output") == 0) {
			good = parse_value(m, OUTPUT, &save);
		} else if (strcmp(word, "temp") == 0) {
			good = parse_value(m, TEMP, &save);
		} else if (strcmp(word, "const") == 0) {
			good = parse_value(m, CONST, &save);
		} else {
			good = strcmp(word, "op") == 0 && parse_step(m, &save);
		}
		if (!good) {
			fail(GE_DATA_SIZE, "bad line: %s", word);
			return false;
		}
	}
	return m->nsteps > 0;
}

static int read_model(const char *path, struct model **out) {
	if (!path)
		return fail(INVALID_PARAM, "path is NULL");
	FILE *f = fopen(path, "r");
	if (!f)
		return fail(GE_PATH, "cannot read %s", path);
	size_t room = 1 << 22;
	char *text = malloc(room + 1);
	size_t n = fread(text, 1, room, f);
	fclose(f);
	text[n] = 0;
	if (!n) {
		free(text);
		return fail(GE_PATH, "%s is empty", path);
	}
	struct model *m = calloc(1, sizeof *m);
	m->refs = 1;
	bool good = parse(m, text);
	free(text);
	if (!good) {
		model_release(m);
		return fail(GE_DATA_SIZE, "%s is no model", path);
	}
	if (m->nbatches) { // the hidden input
		m->values = realloc(m->values, (size_t)(m->nvalues + 1) * sizeof *m->values);
		struct value *v = &m->values[m->nvalues++];
		memset(v, 0, sizeof *v);
		v->role = INPUT;
		v->type = 9;
		v->dims = 1;
		v->dim[0] = 1;
		strcpy(v->name, DYNAMIC);
	}
	*out = m;
	return OK;
}

API aclError aclmdlQuerySize(const char *path, size_t *work, size_t *weight) {
	ENTER(aclmdlQuerySize, ANY);
	if (!work || !weight)
		return fail(INVALID_PARAM, "NULL");
	struct model *m;
	int code = read_model(path, &m);
	if (code)
		return code;
	*work = m->work_size;
	*weight = m->weight_size;
	model_release(m);
	return OK;
}

// memory takes what the caller gives for a part of a model, or device memory of its own.
static int memory(uint8_t **out, bool *own, void *given, size_t size, size_t need) {
	if (given) {
		int device = standin_device();
		standin_begin();
		bool good = size >= need && standin_memory(given, need, device);
		standin_end();
		*out = given;
		return good ? OK : fail(GE_PARAM, "%zu B at %p, want %zu B of device memory", size, given, need);
	}
	if (!need)
		return OK;
	int code = standin_take(need, (void **)out);
	*own = !code;
	return code;
}

static int load(const char *path, uint32_t *id, void *work, size_t work_size, void *weight, size_t weight_size) {
	if (!path || !id)
		return fail(INVALID_PARAM, "NULL");
	if (!standin_inited())
		return fail(GE_NOT_INIT, "aclInit was not called");
	if (standin_device() < 0)
		return fail(RT_CONTEXT, "the thread has no current context");
	struct model *m;
	int code = read_model(path, &m);
	if (code)
		return code;
	m->device = standin_device();
	m->context = standin_current();
	code = memory(&m->work, &m->own_work, work, work_size, m->work_size);
	if (!code)
		code = memory(&m->weight, &m->own_weight, weight, weight_size, m->weight_size);
	if (code) {
		if (m->own_work)
			standin_give(m->work);
		model_release(m);
		return code;
	}
	standin_begin();
	for (int i = 0; i < m->nvalues; i++) {
		struct value *v = &m->values[i];
		uint8_t *mem = v->role == CONST ? standin_memory(m->weight + v->at, bytes(v, 1), m->device) : NULL;
		if (mem)
			memcpy(mem, v->data, bytes(v, 1));
	}
	standin_end();
	pthread_mutex_lock(&lock);
	*id = m->id = ++next_id;
	m->next = models;
	models = m;
	pthread_mutex_unlock(&lock);
	return OK;
}

API aclError aclmdlLoadFromFile(const char *path, uint32_t *id) {
	ENTER(aclmdlLoadFromFile, THREAD);
	return load(path, id, NULL, 0, NULL, 0);
}

API aclError aclmdlLoadFromFileWithMem(const char *path, uint32_t *id, void *work, size_t work_size, void *weight, size_t weight_size) {
	ENTER(aclmdlLoadFromFileWithMem, THREAD);
	return load(path, id, work, work_size, weight, weight_size);
}

// find takes a reference.
static int find(uint32_t id, struct model **out) {
	pthread_mutex_lock(&lock);
	struct model *m = models;
	while (m && m->id != id)
		m = m->next;
	if (m)
		m->refs++;
	pthread_mutex_unlock(&lock);
	*out = m;
	return m ? OK : fail(GE_MODEL_ID, "no model %u", id);
}

API aclError aclmdlUnload(uint32_t id) {
	ENTER(aclmdlUnload, THREAD);
	struct model *m;
	int code = find(id, &m);
	if (code)
		return code;
	if (m->queued && standin_on(CHECK_MODEL))
		die("check_model", "model %u is in use", id);
	pthread_mutex_lock(&lock);
	for (struct model **p = &models; *p; p = &(*p)->next)
		if (*p == m) {
			*p = m->next;
			m->refs--;
			break;
		}
	pthread_mutex_unlock(&lock);
	if (m->own_work)
		standin_give(m->work);
	if (m->own_weight)
		standin_give(m->weight);
	model_release(m);
	return OK;
}

// Objects of the host.
static int object(const void *p, enum nn_kind kind, const char *what) {
	if (!p)
		return fail(INVALID_PARAM, "%s is NULL", what);
	if (standin_nn_live(p, kind))
		return OK;
	if (standin_on(CHECK_CLOSED))
		die("check_closed", "closed %s %p", what, p);
	return fail(INVALID_PARAM, "%s %p is closed", what, p);
}

static int destroy(const void *p, enum nn_kind kind, const char *what) {
	int code = object(p, kind, what);
	if (!code)
		standin_nn_remove(p, kind);
	return code;
}

API void *aclCreateDataBuffer(void *data, size_t size) {
	ENTER_VALUE(aclCreateDataBuffer, ANY, NULL);
	struct buffer *b = calloc(1, sizeof *b);
	b->data = data;
	b->size = size;
	standin_nn_add(b, NN_BUFFER);
	return b;
}

API aclError aclDestroyDataBuffer(const void *p) {
	ENTER(aclDestroyDataBuffer, ANY);
	int code = destroy(p, NN_BUFFER, "data buffer");
	if (!code)
		free((void *)p);
	return code;
}

API aclError aclUpdateDataBuffer(void *p, void *data, size_t size) {
	ENTER(aclUpdateDataBuffer, ANY);
	int code = object(p, NN_BUFFER, "data buffer");
	if (code)
		return code;
	struct buffer *b = p;
	b->data = data;
	b->size = size;
	return OK;
}

API void *aclGetDataBufferAddr(const void *p) {
	ENTER_VALUE(aclGetDataBufferAddr, ANY, NULL);
	return object(p, NN_BUFFER, "data buffer") ? NULL : ((const struct buffer *)p)->data;
}

API size_t aclGetDataBufferSizeV2(const void *p) {
	ENTER_VALUE(aclGetDataBufferSizeV2, ANY, 0);
	return object(p, NN_BUFFER, "data buffer") ? 0 : ((const struct buffer *)p)->size;
}

API void *aclmdlCreateDataset(void) {
	ENTER_VALUE(aclmdlCreateDataset, ANY, NULL);
	struct dataset *d = calloc(1, sizeof *d);
	standin_nn_add(d, NN_DATASET);
	return d;
}

API aclError aclmdlDestroyDataset(const void *p) {
	ENTER(aclmdlDestroyDataset, ANY);
	int code = destroy(p, NN_DATASET, "dataset");
	if (!code) {
		free(((struct dataset *)p)->list);
		free((void *)p);
	}
	return code;
}

API aclError aclmdlAddDatasetBuffer(void *p, void *buffer) {
	ENTER(aclmdlAddDatasetBuffer, ANY);
	int code = object(p, NN_DATASET, "dataset");
	if (!code)
		code = object(buffer, NN_BUFFER, "data buffer");
	if (code)
		return code;
	struct dataset *d = p;
	d->list = realloc(d->list, (d->count + 1) * sizeof *d->list);
	d->list[d->count++] = buffer;
	return OK;
}

API size_t aclmdlGetDatasetNumBuffers(const void *p) {
	ENTER_VALUE(aclmdlGetDatasetNumBuffers, ANY, 0);
	return object(p, NN_DATASET, "dataset") ? 0 : ((const struct dataset *)p)->count;
}

API void *aclmdlGetDatasetBuffer(const void *p, size_t index) {
	ENTER_VALUE(aclmdlGetDatasetBuffer, ANY, NULL);
	const struct dataset *d = p;
	return object(p, NN_DATASET, "dataset") || index >= d->count ? NULL : d->list[index];
}

// Descriptions.
API void *aclmdlCreateDesc(void) {
	ENTER_VALUE(aclmdlCreateDesc, ANY, NULL);
	struct desc *d = calloc(1, sizeof *d);
	standin_nn_add(d, NN_DESC);
	return d;
}

API aclError aclmdlDestroyDesc(void *p) {
	ENTER(aclmdlDestroyDesc, ANY);
	int code = destroy(p, NN_DESC, "description");
	if (code)
		return code;
	struct desc *d = p;
	if (d->model)
		model_release(d->model);
	free(d);
	return OK;
}

API aclError aclmdlGetDesc(void *p, uint32_t id) {
	ENTER(aclmdlGetDesc, THREAD);
	int code = object(p, NN_DESC, "description");
	struct model *m;
	if (!code)
		code = find(id, &m);
	if (code)
		return code;
	struct desc *d = p;
	if (d->model)
		model_release(d->model);
	d->model = m;
	return OK;
}

static const struct model *described(const void *p) {
	return object(p, NN_DESC, "description") ? NULL : ((const struct desc *)p)->model;
}

static const struct value *role(const struct model *m, enum role r, size_t index) {
	for (int i = 0; m && i < m->nvalues; i++)
		if (m->values[i].role == r && index-- == 0)
			return &m->values[i];
	fail(INVALID_PARAM, "no such input or output");
	return NULL;
}

static size_t count(const struct model *m, enum role r) {
	size_t n = 0;
	for (int i = 0; m && i < m->nvalues; i++)
		n += m->values[i].role == r;
	return n;
}

#define BOTH(verb, Input, r) \
	API size_t aclmdlGetNum##Input##s(void *p) { \
		ENTER_VALUE(aclmdlGetNum##Input##s, ANY, 0); \
		return count(described(p), r); \
	} \
	API size_t aclmdlGet##Input##SizeByIndex(void *p, size_t index) { \
		ENTER_VALUE(aclmdlGet##Input##SizeByIndex, ANY, 0); \
		const struct model *m = described(p); \
		const struct value *v = role(m, r, index); \
		return v ? bytes(v, largest(m)) : 0; \
	} \
	API const char *aclmdlGet##Input##NameByIndex(const void *p, size_t index) { \
		ENTER_VALUE(aclmdlGet##Input##NameByIndex, ANY, ""); \
		const struct value *v = role(described(p), r, index); \
		return v ? v->name : ""; \
	} \
	API int aclmdlGet##Input##DataType(const void *p, size_t index) { \
		ENTER_VALUE(aclmdlGet##Input##DataType, ANY, -1); \
		const struct value *v = role(described(p), r, index); \
		return v ? v->type : -1; \
	} \
	API int aclmdlGet##Input##Format(const void *p, size_t index) { \
		ENTER_VALUE(aclmdlGet##Input##Format, ANY, -1); \
		const struct value *v = role(described(p), r, index); \
		return v ? 2 : -1; \
	} \
	API aclError aclmdlGet##Input##IndexByName(const void *p, const char *name, size_t *index) { \
		ENTER(aclmdlGet##Input##IndexByName, ANY); \
		if (!name || !index) \
			return fail(INVALID_PARAM, "NULL"); \
		const struct model *m = described(p); \
		for (size_t i = 0; i < count(m, r); i++) \
			if (strcmp(role(m, r, i)->name, name) == 0) { \
				*index = i; \
				return OK; \
			} \
		return fail(INVALID_PARAM, "no %s %s", #verb, name); \
	}
BOTH(input, Input, INPUT)
BOTH(output, Output, OUTPUT)

struct dims {
	char name[128];
	size_t count;
	int64_t dim[128];
};

static int dims_of(const struct value *v, struct dims *d, int64_t batch) {
	if (!v || !d)
		return INVALID_PARAM;
	if (standin_on(CHECK_STRUCT) && (uintptr_t)d % 8)
		die("check_struct", "aclmdlIODims is not aligned");
	memset(d, 0, sizeof *d);
	snprintf(d->name, sizeof d->name, "%s", v->name);
	d->count = (size_t)v->dims;
	for (int i = 0; i < v->dims; i++)
		d->dim[i] = v->dim[i] < 0 ? batch : v->dim[i];
	return OK;
}

API aclError aclmdlGetInputDims(const void *p, size_t index, struct dims *d) {
	ENTER(aclmdlGetInputDims, ANY);
	return dims_of(role(described(p), INPUT, index), d, -1);
}

API aclError aclmdlGetOutputDims(const void *p, size_t index, struct dims *d) {
	ENTER(aclmdlGetOutputDims, ANY);
	return dims_of(role(described(p), OUTPUT, index), d, -1);
}

API aclError aclmdlGetCurOutputDims(const void *p, size_t index, struct dims *d) {
	ENTER(aclmdlGetCurOutputDims, ANY);
	const struct model *m = described(p);
	if (m && m->nbatches && !m->batch)
		return fail(INVALID_PARAM, "no batch was set");
	return dims_of(role(m, OUTPUT, index), d, m ? (int64_t)m->batch : 0);
}

struct batches {
	size_t count;
	uint64_t batch[MAX_BATCHES];
};

API aclError aclmdlGetDynamicBatch(const void *p, struct batches *b) {
	ENTER(aclmdlGetDynamicBatch, ANY);
	const struct model *m = described(p);
	if (!m || !b)
		return fail(INVALID_PARAM, "NULL");
	if (standin_on(CHECK_STRUCT) && (uintptr_t)b % 8)
		die("check_struct", "aclmdlBatch is not aligned");
	memset(b, 0, sizeof *b);
	b->count = (size_t)m->nbatches;
	memcpy(b->batch, m->batches, sizeof b->batch);
	return OK;
}

API aclError aclmdlSetDynamicBatchSize(uint32_t id, void *dataset, size_t index, uint64_t batch) {
	ENTER(aclmdlSetDynamicBatchSize, THREAD);
	int code = object(dataset, NN_DATASET, "dataset");
	if (code)
		return code;
	const struct dataset *d = dataset;
	if (!batch || index >= d->count)
		return fail(INVALID_PARAM, "batch %llu, index %zu", (unsigned long long)batch, index);
	code = object(d->list[index], NN_BUFFER, "data buffer");
	if (code)
		return code;
	struct buffer *b = d->list[index];
	if (!b->data)
		return fail(INVALID_PARAM, "the buffer has no memory");
	struct model *m;
	code = find(id, &m);
	if (code)
		return code;
	bool gear = false;
	for (int i = 0; i < m->nbatches; i++)
		gear = gear || m->batches[i] == batch;
	const struct value *v = role(m, INPUT, index);
	if (!v || strcmp(v->name, DYNAMIC))
		code = fail(INVALID_PARAM, "input %zu is not %s", index, DYNAMIC);
	else if (b->size < 8)
		code = fail(GE_INPUT_LENGTH, "%zu B, want 8", b->size);
	else if (!gear)
		code = fail(GE_BATCH_SIZE, "%llu is none of the batches", (unsigned long long)batch);
	if (!code) {
		int device = standin_device();
		standin_begin();
		uint8_t *mem = standin_memory(b->data, 8, device);
		if (mem)
			memcpy(mem, &batch, 8);
		else
			code = RT_PARAM;
		standin_end();
		if (code)
			fail(code, "%p is no device memory", b->data);
		else
			m->batch = batch;
	}
	model_release(m);
	return code;
}

// Execution.
struct execution {
	struct model *model;
	uint64_t batch;
	void **at; // address of each value
	void **given;
};

static int execution_run(void *p, int device) {
	struct execution *x = p;
	struct model *m = x->model;
	if (atomic_fetch_add(&m->running, 1) && standin_on(CHECK_MODEL))
		die("check_model", "model %u runs twice at once", m->id);
	int code = OK;
	for (int i = 0; i < m->nsteps && !code; i++) {
		struct step *s = &m->steps[i];
		uint64_t args[16];
		for (int k = 0; k < s->nargs; k++) {
			const struct value *v = named(m, s->args[k]);
			float f;
			if (v) {
				args[k] = (uint64_t)(uintptr_t)x->at[v - m->values];
				continue;
			}
			if (strpbrk(s->args[k], ".e")) {
				f = (float)atof(s->args[k]);
				args[k] = 0;
				memcpy(&args[k], &f, 4);
				continue;
			}
			args[k] = 1;
			for (const char *c = s->args[k]; c; c = strchr(c, '*') ? strchr(c, '*') + 1 : NULL)
				args[k] *= *c == 'N' ? x->batch : strtoull(c, NULL, 10);
		}
		code = standin_compute(s->kernel, args, s->nargs, device);
	}
	atomic_fetch_sub(&m->running, 1);
	return code;
}

static void execution_drop(void *p) {
	struct execution *x = p;
	atomic_fetch_sub(&x->model->queued, 1);
	model_release(x->model);
	free(x->at);
	free(x);
}

static int prepare(uint32_t id, const void *input, const void *output, bool queued, struct execution **out) {
	int code = object(input, NN_DATASET, "dataset");
	if (!code)
		code = object(output, NN_DATASET, "dataset");
	struct model *m;
	if (!code)
		code = find(id, &m);
	if (code)
		return code;
	struct execution *x = calloc(1, sizeof *x);
	x->model = m;
	x->at = calloc((size_t)m->nvalues, sizeof *x->at);
	x->batch = 1;
	atomic_fetch_add(&m->queued, 1);
	const struct dataset *sets[2] = {input, output};
	if (standin_device() < 0)
		code = fail(RT_CONTEXT, "the thread has no current context");
	else if (standin_current() != m->context)
		code = fail(RT_MODEL_CONTEXT, "the model was loaded in another context");
	for (int r = INPUT; r <= OUTPUT && !code; r++) {
		if (sets[r]->count < count(m, (enum role)r))
			code = fail(INVALID_PARAM, "%zu buffers, want %zu", sets[r]->count, count(m, (enum role)r));
		for (size_t i = 0; i < sets[r]->count && !code; i++)
			code = object(sets[r]->list[i], NN_BUFFER, "data buffer");
	}
	if (!code && m->nbatches) {
		size_t last = count(m, INPUT) - 1;
		uint64_t batch = 0;
		standin_begin();
		uint8_t *mem = standin_memory(sets[INPUT]->list[last]->data, 8, m->device);
		if (mem)
			memcpy(&batch, mem, 8);
		standin_end();
		x->batch = 0;
		for (int i = 0; i < m->nbatches; i++)
			if (m->batches[i] == batch)
				x->batch = batch;
		if (!x->batch)
			code = fail(GE_BATCH_SIZE, "the batch was not set");
	}
	size_t index[2] = {0, 0};
	for (int i = 0; i < m->nvalues && !code; i++) {
		struct value *v = &m->values[i];
		if (v->role == TEMP || v->role == CONST) {
			x->at[i] = (v->role == TEMP ? m->work : m->weight) + v->at;
			continue;
		}
		struct buffer *b = sets[v->role]->list[index[v->role]++];
		size_t need = bytes(v, x->batch);
		if (v->role == OUTPUT && !b->data && !b->size && !queued) {
			code = standin_take(need, &b->data);
			b->size = code ? 0 : need;
		}
		standin_begin();
		bool there = !code && standin_memory(b->data, b->size < need ? b->size : need, m->device);
		standin_end();
		if (!code && !b->data)
			code = fail(INVALID_PARAM, "%s has no memory", v->name);
		else if (!code && (b->size < need || !there))
			code = fail(GE_INTERNAL, "%s has %zu B, want %zu B of device memory", v->name, b->size, need);
		x->at[i] = b->data;
	}
	if (code) {
		execution_drop(x);
		return code;
	}
	*out = x;
	return OK;
}

API aclError aclmdlExecute(uint32_t id, const void *input, void *output) {
	ENTER(aclmdlExecute, THREAD);
	struct execution *x;
	int code = prepare(id, input, output, false, &x);
	if (code)
		return code;
	code = execution_run(x, x->model->device);
	execution_drop(x);
	return code ? fail(code, "the model failed") : OK;
}

API aclError aclmdlExecuteAsync(uint32_t id, const void *input, void *output, void *stream) {
	ENTER(aclmdlExecuteAsync, THREAD);
	if (standin_captures(stream))
		return fail(RT_STREAM_CAPTURED, "a model cannot be captured");
	struct execution *x;
	int code = prepare(id, input, output, true, &x);
	return code ? code : standin_queue("aclmdlExecuteAsync", stream, execution_run, execution_drop, x);
}
