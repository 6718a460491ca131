// What operators are given.
#ifndef TENSOR_H
#define TENSOR_H
#include "standin.h"

#define MAX_DIMS 8

struct tensor {
	struct nn nn;
	int type, format, dims;
	int64_t dim[MAX_DIMS], stride[MAX_DIMS], offset;
	int64_t storage; // elements
	uint8_t *data;
};
struct scalar {
	struct nn nn;
	double value;
};
struct ints {
	struct nn nn;
	uint64_t count;
	int64_t value[];
};
#endif
