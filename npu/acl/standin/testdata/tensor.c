// libnnopbase.so: tensors, scalars and lists of integers for operators.
#include "tensor.h"

REGISTER

API void *aclCreateTensor(const int64_t *dims, uint64_t ndims, int type, const int64_t *strides, int64_t offset, int format,
		const int64_t *storage, uint64_t nstorage, void *data) {
	ENTER_VALUE(aclCreateTensor, ANY, NULL);
	if ((ndims && !dims) || ndims > MAX_DIMS || (nstorage && !storage) || !standin_type_size(type) || offset < 0) {
		fail(ACLNN_PARAM, "%llu dimensions of type %d", (unsigned long long)ndims, type);
		return NULL;
	}
	struct tensor *t = calloc(1, sizeof *t);
	t->type = type;
	t->format = format;
	t->dims = (int)ndims;
	t->offset = offset;
	t->data = data;
	t->storage = 1;
	for (uint64_t i = 0; i < nstorage; i++)
		t->storage *= storage[i];
	int64_t step = 1;
	for (int i = t->dims - 1; i >= 0; i--) {
		t->dim[i] = dims[i];
		t->stride[i] = strides ? strides[i] : step;
		step *= dims[i];
		if (dims[i] < 0 || t->stride[i] < 0) {
			fail(ACLNN_PARAM, "dimension %d is %lld", i, (long long)dims[i]);
			free(t);
			return NULL;
		}
	}
	standin_nn_add(t, NN_TENSOR);
	return t;
}

API int aclDestroyTensor(const void *p) {
	ENTER(aclDestroyTensor, ANY);
	int code = standin_nn_remove(p, NN_TENSOR);
	if (!code)
		free((void *)p);
	return code;
}

API void *aclCreateScalar(void *value, int type) {
	ENTER_VALUE(aclCreateScalar, ANY, NULL);
	if (!value || !standin_type_size(type)) {
		fail(ACLNN_PARAM, "a scalar of type %d", type);
		return NULL;
	}
	struct scalar *s = calloc(1, sizeof *s);
	int64_t i;
	switch (type) {
	case 9: case 10:
		memcpy(&i, value, 8);
		s->value = (double)i;
		break;
	case 11:
		memcpy(&s->value, value, 8);
		break;
	case 12:
		s->value = *(uint8_t *)value != 0;
		break;
	case 6:
		s->value = *(int16_t *)value;
		break;
	case 7:
		s->value = *(uint16_t *)value;
		break;
	default:
		s->value = standin_get_number(type, value, 0);
	}
	standin_nn_add(s, NN_SCALAR);
	return s;
}

API int aclDestroyScalar(const void *p) {
	ENTER(aclDestroyScalar, ANY);
	int code = standin_nn_remove(p, NN_SCALAR);
	if (!code)
		free((void *)p);
	return code;
}

API void *aclCreateIntArray(const int64_t *values, uint64_t count) {
	ENTER_VALUE(aclCreateIntArray, ANY, NULL);
	if (count && !values) {
		fail(ACLNN_NULL, "NULL");
		return NULL;
	}
	struct ints *x = calloc(1, sizeof *x + count * sizeof *values);
	x->count = count;
	for (uint64_t i = 0; i < count; i++)
		x->value[i] = values[i];
	standin_nn_add(x, NN_INTS);
	return x;
}

API int aclDestroyIntArray(const void *p) {
	ENTER(aclDestroyIntArray, ANY);
	int code = standin_nn_remove(p, NN_INTS);
	if (!code)
		free((void *)p);
	return code;
}
