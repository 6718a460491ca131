// Kernels: the simulator's, with the same results. Arguments are words in the order of the signature;
// a pointer is a device address.
#include "standin.h"

enum { F32 = 0, F16 = 1, I8 = 2, I32 = 3, U8 = 4, U32 = 8, BF16 = 27 };

static float from_bits(uint32_t u) {
	float f;
	memcpy(&f, &u, 4);
	return f;
}

static uint32_t to_bits(float f) {
	uint32_t u;
	memcpy(&u, &f, 4);
	return u;
}

static float half_float(uint16_t h) {
	uint32_t sign = (uint32_t)(h >> 15) << 31, e = h >> 10 & 31, m = h & 1023;
	if (e == 31)
		return from_bits(sign | 0x7f800000 | m << 13);
	if (e)
		return from_bits(sign | (e + 112) << 23 | m << 13);
	float f = (float)m / 16777216.0f; // 2^-24
	return sign ? -f : f;
}

static uint16_t float_half(float f) {
	uint32_t u = to_bits(f), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
	if (a > 0x7f800000)
		return (uint16_t)(sign | 0x7c00 | 0x200 | (a >> 13 & 0x3ff));
	if (a >= 0x477ff000) // rounds to 65520 and more
		return (uint16_t)(sign | 0x7c00);
	if (a < 0x38800000) { // below the normal numbers
		float x = from_bits(a) * 16777216.0f;
		return (uint16_t)(sign | (uint32_t)rint(x));
	}
	a += 0xfff + (a >> 13 & 1);
	return (uint16_t)(sign | ((a - 0x38000000) >> 13));
}

static uint16_t float_bfloat(float f) {
	uint32_t u = to_bits(f);
	if (f != f)
		return (uint16_t)(u >> 16 | 0x40);
	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static int type_size(int type) {
	switch (type) {
	case I8: case U8: case 12:
		return 1;
	case F16: case BF16: case 6: case 7:
		return 2;
	case F32: case I32: case U32:
		return 4;
	case 9: case 10: case 11:
		return 8;
	}
	return 0;
}

API int standin_type_size(int type) { return type_size(type); }

API int standin_size(int type) { return kernel_takes('n', type) ? type_size(type) : 0; }

API double standin_get_number(int type, const void *mem, int64_t i) {
	const uint8_t *p = (const uint8_t *)mem + i * type_size(type);
	uint16_t h;
	uint32_t u;
	switch (type) {
	case I8:
		return (int8_t)*p;
	case U8:
		return *p;
	case F16:
		memcpy(&h, p, 2);
		return half_float(h);
	case BF16:
		memcpy(&h, p, 2);
		return from_bits((uint32_t)h << 16);
	case F32:
		memcpy(&u, p, 4);
		return from_bits(u);
	case I32:
		memcpy(&u, p, 4);
		return (int32_t)u;
	case U32:
		memcpy(&u, p, 4);
		return u;
	}
	return 0;
}
#define get standin_get_number

static double saturate(double v, double lo, double hi) {
	if (v != v)
		return 0;
	v = rint(v);
	return v < lo ? lo : v > hi ? hi : v;
}

API void standin_put_number(int type, void *mem, int64_t i, double v) {
	uint8_t *p = (uint8_t *)mem + i * type_size(type);
	float f = (float)v;
	uint16_t h;
	uint32_t u;
	switch (type) {
	case I8:
		*p = (uint8_t)(int8_t)saturate(v, -128, 127);
		break;
	case U8:
		*p = (uint8_t)saturate(v, 0, 255);
		break;
	case F16:
		h = float_half(f);
		memcpy(p, &h, 2);
		break;
	case BF16:
		h = float_bfloat(f);
		memcpy(p, &h, 2);
		break;
	case F32:
		memcpy(p, &f, 4);
		break;
	case I32:
		u = (uint32_t)(int32_t)saturate(v, INT32_MIN, INT32_MAX);
		memcpy(p, &u, 4);
		break;
	case U32:
		u = (uint32_t)v;
		memcpy(p, &u, 4);
		break;
	}
}
#define put standin_put_number

// put_wrapped is for integers, which wrap around.
static void put_wrapped(int type, void *mem, int64_t i, int64_t v) {
	put(type, mem, i, type == I8 ? (int8_t)v : type == U8 ? (double)(uint8_t)v : (double)(int32_t)v);
}

static bool is_float(int type) { return type == F32 || type == F16 || type == BF16; }

bool kernel_takes(char kind, int type) {
	switch (kind) {
	case 'f':
		return is_float(type);
	case 'n':
		return is_float(type) || type == I8 || type == U8 || type == I32;
	case 'r':
		return is_float(type) || type == I8 || type == I32;
	case 'p':
		return type == F32 || type == F16;
	case 'i':
		return type == F32 || type == F16 || type == U8;
	}
	return type_size(type) > 0;
}

// Scalars of a launch, by argument.
static uint32_t word(struct launch *l, int i) { return (uint32_t)l->args[i]; }
static float number(struct launch *l, int i) { return from_bits((uint32_t)l->args[i]); }

static int volume(int64_t *out, int64_t a, int64_t b) {
	*out = a * b;
	return a && b > ((int64_t)1 << 40) / a ? RT_VECTOR : OK;
}

static int elements(struct launch *l) {
	uint32_t n = word(l, l->kernel->nargs - 1);
	l->n[0] = l->n[1] = l->n[2] = n;
	return OK;
}

static int elements_before(struct launch *l) { // y, x, a, n
	l->n[0] = l->n[1] = word(l, 3);
	return OK;
}

#define BINARY(name, op) \
	static void name(struct launch *l) { \
		int t = l->types[0]; \
		for (int64_t i = 0; i < l->n[0]; i++) { \
			double a = get(t, l->mem[1], i), b = get(t, l->mem[2], i); \
			if (is_float(t)) \
				put(t, l->mem[0], i, (float)a op (float)b); \
			else \
				put_wrapped(t, l->mem[0], i, (int64_t)a op (int64_t)b); \
		} \
	}
BINARY(vector_add, +)
BINARY(vector_sub, -)
BINARY(vector_mul, *)

static void axpy(struct launch *l) {
	float a = number(l, 2);
	for (int64_t i = 0; i < l->n[0]; i++) {
		float x = (float)get(l->types[0], l->mem[1], i), y = (float)get(l->types[0], l->mem[0], i), ax = a * x;
		put(l->types[0], l->mem[0], i, ax + y);
	}
}

static void scale(struct launch *l) {
	float a = number(l, 2);
	for (int64_t i = 0; i < l->n[0]; i++)
		put(l->types[0], l->mem[0], i, a * (float)get(l->types[0], l->mem[1], i));
}

#define UNARY(name, value) \
	static void name(struct launch *l) { \
		for (int64_t i = 0; i < l->n[0]; i++) { \
			double x = get(l->pointer[1], l->mem[1], i); \
			put(l->pointer[0], l->mem[0], i, value); \
		} \
	}
UNARY(relu, x > 0 || x != x ? x : 0)
UNARY(exponential, exp(x))
UNARY(sigmoid, 1 / (1 + exp(-x)))
UNARY(cast, x)

static void copy(struct launch *l) { memmove(l->mem[0], l->mem[1], (size_t)(l->n[0] * type_size(l->types[0]))); }

// bias_add: y[r,c] = x[r,c] + b[c].
static int biased(struct launch *l) {
	l->n[2] = word(l, 4);
	int code = volume(&l->n[0], word(l, 3), word(l, 4));
	l->n[1] = l->n[0];
	return code;
}

static void bias_add(struct launch *l) {
	for (int64_t i = 0; i < l->n[0]; i++) {
		float x = (float)get(l->types[0], l->mem[1], i), b = (float)get(l->types[0], l->mem[2], i % l->n[2]);
		put(l->types[0], l->mem[0], i, x + b);
	}
}

static double larger(double a, double b) { return a != a || b != b ? (double)NAN : b > a ? b : a; }

static int rows(struct launch *l) {
	int code = volume(&l->n[0], word(l, 2), word(l, 3));
	l->n[1] = l->n[0];
	return code;
}

static void softmax(struct launch *l) {
	int64_t cols = word(l, 3);
	double *row = malloc(sizeof *row * (size_t)(cols + 1));
	for (int64_t first = 0; first < l->n[0]; first += cols) {
		double top = -(double)INFINITY, sum = 0;
		for (int64_t c = 0; c < cols; c++) {
			row[c] = get(l->types[0], l->mem[1], first + c);
			top = larger(top, row[c]);
		}
		for (int64_t c = 0; c < cols; c++)
			sum += row[c] = exp(row[c] - top);
		for (int64_t c = 0; c < cols; c++)
			put(l->types[0], l->mem[0], first + c, row[c] / sum);
	}
	free(row);
}

static int norm(struct launch *l) {
	float eps = number(l, 6);
	if (!(eps >= 0) || isinf(eps))
		return RT_VECTOR;
	l->n[2] = l->n[3] = word(l, 5);
	int code = volume(&l->n[0], word(l, 4), word(l, 5));
	l->n[1] = l->n[0];
	return code;
}

static void layer_norm(struct launch *l) {
	int t = l->types[0];
	int64_t cols = word(l, 5);
	double eps = number(l, 6);
	for (int64_t first = 0; first < l->n[0]; first += cols) {
		double sum = 0, squares = 0;
		for (int64_t c = 0; c < cols; c++)
			sum += get(t, l->mem[1], first + c);
		double mean = sum / (double)cols;
		for (int64_t c = 0; c < cols; c++) {
			double v = get(t, l->mem[1], first + c) - mean;
			squares += v * v;
		}
		double factor = 1 / sqrt(squares / (double)cols + eps);
		for (int64_t c = 0; c < cols; c++) {
			double v = (get(t, l->mem[1], first + c) - mean) * factor * get(t, l->mem[2], c);
			put(t, l->mem[0], first + c, v + get(t, l->mem[3], c));
		}
	}
}

#define GRAIN 4096

static int reduction(struct launch *l) {
	l->n[0] = 1;
	l->n[1] = word(l, 2);
	return l->n[1] < 1 ? RT_VECTOR : OK;
}

static void reduce_sum(struct launch *l) {
	int t = l->types[0];
	double sum = 0;
	int64_t whole = 0;
	for (int64_t first = 0; first < l->n[1]; first += GRAIN) {
		int64_t last = first + GRAIN < l->n[1] ? first + GRAIN : l->n[1];
		double half[2] = {0, 0};
		for (int64_t i = first; i < last; i++)
			half[(i - first) & 1] += get(t, l->mem[1], i);
		sum += half[0] + half[1];
		whole += (int64_t)(is_float(t) ? 0 : half[0] + half[1]);
	}
	if (is_float(t))
		put(t, l->mem[0], 0, sum);
	else
		put_wrapped(t, l->mem[0], 0, whole);
}

static void reduce_max(struct launch *l) {
	double m = get(l->types[0], l->mem[1], 0);
	for (int64_t i = 1; i < l->n[1]; i++)
		m = larger(m, get(l->types[0], l->mem[1], i));
	put(l->types[0], l->mem[0], 0, m);
}

static void argmax(struct launch *l) {
	int64_t best = 0;
	double m = get(l->types[0], l->mem[1], 0);
	for (int64_t i = 1; i < l->n[1]; i++) {
		double v = get(l->types[0], l->mem[1], i);
		if (v > m || (v != v && m == m)) {
			best = i;
			m = v;
		}
	}
	put(U32, l->mem[0], 0, (double)best);
}

static int product(struct launch *l) {
	int64_t m = word(l, 3), n = word(l, 4), k = word(l, 5);
	int code = volume(&l->n[0], m, n);
	if (!code)
		code = volume(&l->n[1], m, k);
	return code ? code : volume(&l->n[2], k, n);
}

static void matmul(struct launch *l) {
	int64_t m = word(l, 3), n = word(l, 4), k = word(l, 5);
	int t = l->types[0];
	float *b = malloc(sizeof *b * (size_t)(l->n[2] + 1)), *c = malloc(sizeof *c * (size_t)(n + 1));
	for (int64_t i = 0; i < l->n[2]; i++)
		b[i] = (float)get(t, l->mem[2], i);
	for (int64_t i = 0; i < m && n; i++) {
		memset(c, 0, sizeof *c * (size_t)n);
		for (int64_t x = 0; x < k; x++) {
			float a = (float)get(t, l->mem[1], i * k + x);
			for (int64_t j = 0; j < n; j++)
				c[j] += a * b[x * n + j];
		}
		for (int64_t j = 0; j < n; j++)
			put(t, l->mem[0], i * n + j, c[j]);
	}
	free(b);
	free(c);
}

static void matmul_int8(struct launch *l) {
	int64_t m = word(l, 3), n = word(l, 4), k = word(l, 5);
	const int8_t *a = (const int8_t *)l->mem[1], *b = (const int8_t *)l->mem[2];
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			int64_t sum = 0;
			for (int64_t x = 0; x < k; x++)
				sum += a[i * k + x] * b[x * n + j];
			put_wrapped(I32, l->mem[0], i * n + j, sum);
		}
}

static void transpose(struct launch *l) {
	int64_t r = word(l, 2), c = word(l, 3);
	size_t size = (size_t)type_size(l->types[0]);
	for (int64_t i = 0; i < r; i++)
		for (int64_t j = 0; j < c; j++)
			memcpy(l->mem[0] + (size_t)(j * r + i) * size, l->mem[1] + (size_t)(i * c + j) * size, size);
}

static int gray(struct launch *l) {
	int64_t channels = word(l, 4);
	if (channels != 1 && channels != 3 && channels != 4)
		return RT_VECTOR;
	int code = volume(&l->n[0], word(l, 2), word(l, 3));
	return code ? code : volume(&l->n[1], l->n[0], channels);
}

static void rgb_to_gray(struct launch *l) {
	int64_t channels = word(l, 4);
	for (int64_t i = 0; i < l->n[0]; i++) {
		const uint8_t *p = l->mem[1] + i * channels;
		l->mem[0][i] = channels == 1 ? *p : (uint8_t)((299u * p[0] + 587u * p[1] + 114u * p[2] + 500) / 1000);
	}
}

static int64_t clamp(int64_t v, int64_t n) { return v < 0 ? 0 : v >= n ? n - 1 : v; }

static void sobel(struct launch *l) {
	int64_t height = word(l, 2), width = word(l, 3);
	for (int64_t r = 0; r < height && width; r++) {
		const uint8_t *above = l->mem[1] + clamp(r - 1, height) * width, *here = l->mem[1] + r * width;
		const uint8_t *below = l->mem[1] + clamp(r + 1, height) * width;
		for (int64_t c = 0; c < width; c++) {
			int64_t w = clamp(c - 1, width), e = clamp(c + 1, width);
			int gx = above[e] + 2 * here[e] + below[e] - above[w] - 2 * here[w] - below[w];
			int gy = below[w] + 2 * below[c] + below[e] - above[w] - 2 * above[c] - above[e];
			double v = sqrt((double)(gx * gx + gy * gy)) + 0.5;
			l->mem[0][r * width + c] = (uint8_t)(v > 255 ? 255 : v);
		}
	}
}

static int planes(struct launch *l) {
	float deviation = number(l, 6);
	if (deviation == 0 || deviation != deviation)
		return RT_VECTOR;
	int64_t n;
	int code = volume(&n, word(l, 2), word(l, 3));
	if (!code)
		code = volume(&l->n[0], n, word(l, 4));
	l->n[1] = l->n[0];
	return code;
}

static void normalize(struct launch *l) {
	int64_t pixels = (int64_t)word(l, 2) * word(l, 3), channels = word(l, 4);
	double mean = number(l, 5), deviation = number(l, 6);
	for (int64_t c = 0; c < channels; c++)
		for (int64_t p = 0; p < pixels; p++)
			put(l->types[0], l->mem[0], c * pixels + p, (l->mem[1][p * channels + c] / 255.0 - mean) / deviation);
}

static int resized(struct launch *l) {
	int64_t in, out;
	int code = volume(&in, word(l, 2), word(l, 3));
	if (!code)
		code = volume(&out, word(l, 4), word(l, 5));
	if (!code)
		code = volume(&l->n[0], out, word(l, 6));
	if (!code)
		code = volume(&l->n[1], in, word(l, 6));
	return code ? code : l->n[0] && !l->n[1] ? RT_VECTOR : OK;
}

struct tap {
	int64_t a, b;
	float weight;
};

static struct tap tap_of(int64_t i, int64_t in, int64_t out) {
	double p = ((double)i + 0.5) * ((double)in / (double)out) - 0.5;
	p = p < 0 ? 0 : p > (double)(in - 1) ? (double)(in - 1) : p;
	double a = floor(p);
	return (struct tap){(int64_t)a, clamp((int64_t)a + 1, in), (float)(p - a)};
}

static float between(float a, float b, float weight) {
	if (weight == 0)
		return a;
	float d = (b - a) * weight;
	return a + d;
}

static void resize(struct launch *l) {
	int64_t in_h = word(l, 2), in_w = word(l, 3), out_h = word(l, 4), out_w = word(l, 5), channels = word(l, 6);
	int t = l->types[0];
	for (int64_t i = 0; i < l->n[0]; i++) {
		int64_t c = i % channels, x = i / channels % out_w, y = i / channels / out_w;
		struct tap v = tap_of(y, in_h, out_h), h = tap_of(x, in_w, out_w);
		const uint8_t *m = l->mem[1];
		float upper = between((float)get(t, m, (v.a * in_w + h.a) * channels + c), (float)get(t, m, (v.a * in_w + h.b) * channels + c), h.weight);
		float lower = between((float)get(t, m, (v.b * in_w + h.a) * channels + c), (float)get(t, m, (v.b * in_w + h.b) * channels + c), h.weight);
		put(t, l->mem[0], i, between(upper, lower, v.weight));
	}
}

// y, x, w, bias, batch, c_in, height, width, c_out, kernel_h, kernel_w, stride, pad
static int convolution(struct launch *l) {
	int64_t kh = word(l, 9), kw = word(l, 10), stride = word(l, 11), pad = word(l, 12);
	int64_t ph = word(l, 6) + 2 * pad, pw = word(l, 7) + 2 * pad, n;
	if (!kh || !kw || !stride || kh > ph || kw > pw)
		return RT_VECTOR;
	int code = volume(&n, word(l, 4), word(l, 8));
	if (!code)
		code = volume(&n, n, (ph - kh) / stride + 1);
	if (!code)
		code = volume(&l->n[0], n, (pw - kw) / stride + 1);
	if (!code)
		code = volume(&n, word(l, 4), word(l, 5));
	if (!code)
		code = volume(&n, n, word(l, 6));
	if (!code)
		code = volume(&l->n[1], n, word(l, 7));
	if (!code)
		code = volume(&n, word(l, 8), word(l, 5));
	if (!code)
		code = volume(&n, n, kh);
	if (!code)
		code = volume(&l->n[2], n, kw);
	l->n[3] = word(l, 8);
	return code;
}

static void conv2d(struct launch *l) {
	int64_t c_in = word(l, 5), height = word(l, 6), width = word(l, 7), c_out = word(l, 8), kh = word(l, 9), kw = word(l, 10);
	int64_t stride = word(l, 11), pad = word(l, 12), oh = (height + 2 * pad - kh) / stride + 1, ow = (width + 2 * pad - kw) / stride + 1;
	int t = l->types[0];
	for (int64_t i = 0; i < l->n[0]; i++) {
		int64_t x = i % ow, y = i / ow % oh, co = i / ow / oh % c_out, image = i / ow / oh / c_out;
		float sum = 0;
		for (int64_t k = 0; k < c_in * kh * kw; k++) {
			int64_t ci = k / kw / kh, iy = y * stride + k / kw % kh - pad, ix = x * stride + k % kw - pad;
			bool inside = iy >= 0 && iy < height && ix >= 0 && ix < width;
			float v = inside ? (float)get(t, l->mem[1], ((image * c_in + ci) * height + iy) * width + ix) : 0;
			sum += v * (float)get(t, l->mem[2], co * c_in * kh * kw + k);
		}
		put(t, l->mem[0], i, sum + (float)get(t, l->mem[3], co));
	}
}

static int fault(struct launch *l) { return (int)word(l, 0); }

static const struct kernel kernels[] = {
	{"vector_add", "T", "n", "TTT", 4, elements, vector_add},
	{"vector_sub", "T", "n", "TTT", 4, elements, vector_sub},
	{"vector_mul", "T", "n", "TTT", 4, elements, vector_mul},
	{"axpy", "T", "f", "TT", 4, elements_before, axpy},
	{"scale", "T", "f", "TT", 4, elements_before, scale},
	{"relu", "T", "r", "TT", 3, elements, relu},
	{"exp", "T", "f", "TT", 3, elements, exponential},
	{"sigmoid", "T", "f", "TT", 3, elements, sigmoid},
	{"cast", "UT", "nn", "UT", 3, elements, cast},
	{"copy", "T", "x", "TT", 3, elements, copy},
	{"bias_add", "T", "f", "TTT", 5, biased, bias_add},
	{"softmax", "T", "f", "TT", 4, rows, softmax},
	{"layer_norm", "T", "f", "TTTT", 7, norm, layer_norm},
	{"reduce_sum", "T", "n", "TT", 3, reduction, reduce_sum},
	{"reduce_max", "T", "n", "TT", 3, reduction, reduce_max},
	{"argmax", "T", "n", "uT", 3, reduction, argmax},
	{"matmul", "T", "f", "TTT", 6, product, matmul},
	{"matmul_int8", "", "", "icc", 6, product, matmul_int8},
	{"transpose", "T", "x", "TT", 4, rows, transpose},
	{"conv2d", "T", "f", "TTTT", 13, convolution, conv2d},
	{"resize", "T", "i", "TT", 7, resized, resize},
	{"normalize", "T", "p", "Tb", 7, planes, normalize},
	{"rgb_to_gray", "", "", "bb", 5, gray, rgb_to_gray},
	{"sobel", "", "", "bb", 4, rows, sobel},
	{"spin", "", "", "", 1, NULL, NULL},
	{"fault", "", "", "", 1, fault, NULL},
};

static const struct { const char *name; int type; } type_names[] = {
	{"float32", F32}, {"float16", F16}, {"bfloat16", BF16}, {"int8", I8}, {"uint8", U8}, {"int32", I32}, {"uint32", U32},
	{"float64", 11}, {"int16", 6}, {"uint16", 7}, {"int64", 9}, {"uint64", 10}, {"bool", 12},
};

// cut takes _TYPE off the end of name; -1: there is none.
static int cut(char *name) {
	char *at = strrchr(name, '_');
	for (size_t i = 0; at && i < sizeof type_names / sizeof *type_names; i++)
		if (strcmp(at + 1, type_names[i].name) == 0) {
			*at = 0;
			return type_names[i].type;
		}
	return -1;
}

static const struct kernel *row(const char *name) {
	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
		if (strcmp(kernels[i].name, name) == 0)
			return &kernels[i];
	return NULL;
}

// kernel_find reads NAME or NAME_TYPES; types are those of the type variables in order, float32 where
// none is there. Types of a kernel that has no type variables are ignored.
const struct kernel *kernel_find(const char *name, int types[2]) {
	char text[128];
	snprintf(text, sizeof text, "%s", name);
	int found[2] = {F32, F32}, n = 0, list[2];
	const struct kernel *k = row(text);
	while (!k && n < 2) {
		int t = cut(text);
		if (t < 0)
			return NULL;
		list[n++] = t;
		k = row(text);
		if (k && (int)strlen(k->vars) > n)
			k = NULL; // cast_float32_int8: one more
	}
	if (!k)
		return NULL;
	int vars = (int)strlen(k->vars);
	for (int i = 0; n && i < vars; i++)
		found[i] = list[n - 1 - i];
	for (int i = 0; i < vars; i++)
		if (!kernel_takes(k->kinds[i], found[i]))
			return NULL;
	types[0] = found[0];
	types[1] = found[1];
	return k;
}

static int pointer_type(const struct launch *l, char c) {
	switch (c) {
	case 'b':
		return U8;
	case 'c':
		return I8;
	case 'i':
		return I32;
	case 'u':
		return U32;
	}
	return l->types[strchr(l->kernel->vars, c) - l->kernel->vars];
}

int kernel_run(const struct kernel *k, const int *types, const uint64_t *args, int nargs, int device) {
	struct launch l = {.kernel = k, .types = {types[0], types[1]}, .args = args};
	if (nargs != k->nargs)
		return RT_VECTOR;
	int code = k->plan(&l);
	if (code)
		return code;
	standin_begin();
	for (int i = 0; k->pointers[i] && !code; i++) {
		l.pointer[i] = pointer_type(&l, k->pointers[i]);
		l.mem[i] = standin_memory((void *)args[i], (size_t)(l.n[i] * type_size(l.pointer[i])), device);
		if (!l.mem[i] && l.n[i])
			code = RT_VECTOR;
	}
	if (!code && k->run)
		k->run(&l);
	standin_end();
	return code;
}

API int standin_compute(const char *name, const uint64_t *args, int nargs, int device) {
	int types[2];
	const struct kernel *k = kernel_find(name, types);
	return k ? kernel_run(k, types, args, nargs, device) : RT_VECTOR;
}

API int standin_arguments(const char *name) {
	int types[2];
	const struct kernel *k = kernel_find(name, types);
	return k && k->run ? k->nargs : -1;
}

API int standin_host(const char *name, const int *types, const uint64_t *args, void *const *mem) {
	const struct kernel *k = row(name);
	if (!k)
		return RT_VECTOR;
	struct launch l = {.kernel = k, .types = {types[0], types[1]}, .args = args};
	int code = k->plan(&l);
	for (int i = 0; k->pointers[i] && !code; i++) {
		l.pointer[i] = pointer_type(&l, k->pointers[i]);
		l.mem[i] = mem[i];
	}
	if (!code)
		k->run(&l);
	return code;
}
