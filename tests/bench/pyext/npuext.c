/* The yardstick of docs/performance.md: what a well-made CPython binding of an NPU runtime costs.
   A Stream with one hot method, copy(dst, src), that checks two Buffers as npulua does and calls
   a C function through a pointer; the function does nothing. No keywords, no tuples (fastcall),
   no allocation, the interpreter lock kept. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>
#include <stdint.h>

typedef int (*copy_fn)(void *dst, size_t dst_max, const void *src, size_t count, int kind, void *stream);

static int copy_nothing(void *dst, size_t dst_max, const void *src, size_t count, int kind, void *stream) {
    (void)dst, (void)dst_max, (void)src, (void)count, (void)kind, (void)stream;
    return 0;
}

/* volatile: as a pointer that dlsym gave, which no compiler can see through */
static copy_fn volatile copy_async = copy_nothing;

/* the runtime's own, after use_library; else NULL */
static int (*allocate)(void **, size_t, int), (*allocate_host)(void **, size_t), (*create_stream)(void **), (*synchronize)(void *);

typedef struct {
    PyObject_HEAD
    void *ptr;
    Py_ssize_t count, bytes;
    int dtype, device, pinned, closed; /* device is -1 for host memory */
} Buffer;

typedef struct {
    PyObject_HEAD
    void *handle;
    int device, closed;
    uint64_t queued;
} Stream;

static PyTypeObject BufferType, StreamType;

static int Buffer_init(Buffer *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"count", "device", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "ni", names, &self->count, &self->device))
        return -1;
    self->bytes = self->count * 4;
    self->pinned = self->device < 0;
    self->ptr = (void *)(uintptr_t)0x1000;
    if (allocate && (self->device < 0 ? allocate_host(&self->ptr, self->bytes) : allocate(&self->ptr, self->bytes, 0)) != 0) {
        PyErr_SetString(PyExc_RuntimeError, "no memory");
        return -1;
    }
    return 0;
}

static PyObject *Buffer_close(Buffer *self, PyObject *unused) {
    (void)unused;
    self->closed = 1;
    Py_RETURN_NONE;
}

static PyMethodDef Buffer_methods[] = {
    {"close", (PyCFunction)Buffer_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject BufferType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "npuext.Buffer",
    .tp_basicsize = sizeof(Buffer),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)Buffer_init,
    .tp_methods = Buffer_methods,
};

static int Stream_init(Stream *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"device", NULL};
    self->handle = (void *)(uintptr_t)0x2000;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "i", names, &self->device))
        return -1;
    if (create_stream && create_stream(&self->handle) != 0) {
        PyErr_SetString(PyExc_RuntimeError, "no stream");
        return -1;
    }
    return 0;
}

static PyObject *Stream_synchronize(Stream *self, PyObject *unused) {
    (void)unused;
    if (synchronize && synchronize(self->handle) != 0) {
        PyErr_SetString(PyExc_RuntimeError, "synchronize failed");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *Stream_copy(Stream *self, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 2 || !Py_IS_TYPE(args[0], &BufferType) || !Py_IS_TYPE(args[1], &BufferType)) {
        PyErr_SetString(PyExc_TypeError, "copy(dst, src) takes two buffers");
        return NULL;
    }
    Buffer *dst = (Buffer *)args[0], *src = (Buffer *)args[1];
    if (self->closed || dst->closed || src->closed) {
        PyErr_SetString(PyExc_ValueError, "closed handle");
        return NULL;
    }
    if (dst->dtype != src->dtype || dst->count != src->count) {
        PyErr_SetString(PyExc_ValueError, "type or count differs");
        return NULL;
    }
    int kind = 3;
    if (src->device < 0) {
        kind = 1;
        if (!src->pinned) {
            PyErr_SetString(PyExc_ValueError, "source is pageable");
            return NULL;
        }
    }
    if (dst->device < 0) {
        if (kind == 1 || !dst->pinned) {
            PyErr_SetString(PyExc_ValueError, "destination is host memory");
            return NULL;
        }
        kind = 2;
    }
    if (dst->device != self->device && src->device != self->device) {
        PyErr_SetString(PyExc_ValueError, "buffer of another device");
        return NULL;
    }
    int ret = copy_async(dst->ptr, (size_t)dst->bytes, src->ptr, (size_t)src->bytes, kind, self->handle);
    if (ret != 0) {
        PyErr_Format(PyExc_RuntimeError, "aclrtMemcpyAsync: %d", ret);
        return NULL;
    }
    self->queued++;
    Py_RETURN_NONE;
}

static PyMethodDef Stream_methods[] = {
    {"copy", (PyCFunction)(void (*)(void))Stream_copy, METH_FASTCALL, NULL},
    {"synchronize", (PyCFunction)Stream_synchronize, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject StreamType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "npuext.Stream",
    .tp_basicsize = sizeof(Stream),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)Stream_init,
    .tp_methods = Stream_methods,
};

/* memcpy_async(dst, dest_max, src, count, kind, stream) -> ret: the flat function with numbers for
   handles that pyACL has. The checks are up to whoever wraps it. */
static PyObject *memcpy_async(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    (void)self;
    unsigned long long v[6];
    if (nargs != 6) {
        PyErr_SetString(PyExc_TypeError, "memcpy_async takes 6 arguments");
        return NULL;
    }
    for (int i = 0; i < 6; i++) {
        v[i] = PyLong_AsUnsignedLongLong(args[i]);
        if (v[i] == (unsigned long long)-1 && PyErr_Occurred())
            return NULL;
    }
    return PyLong_FromLong(copy_async((void *)(uintptr_t)v[0], (size_t)v[1], (void *)(uintptr_t)v[2], (size_t)v[3], (int)v[4],
                                      (void *)(uintptr_t)v[5]));
}

/* use_library(path): from now on buffers, streams and copies are those of a runtime library. */
static PyObject *use_library(PyObject *self, PyObject *path) {
    (void)self;
    const char *name = PyUnicode_AsUTF8(path);
    void *lib = name ? dlopen(name, RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (!lib) {
        PyErr_Format(PyExc_OSError, "%s", name ? dlerror() : "no path");
        return NULL;
    }
    int (*init)(const char *) = (int (*)(const char *))dlsym(lib, "aclInit");
    int (*set_device)(int) = (int (*)(int))dlsym(lib, "aclrtSetDevice");
    allocate = (int (*)(void **, size_t, int))dlsym(lib, "aclrtMalloc");
    allocate_host = (int (*)(void **, size_t))dlsym(lib, "aclrtMallocHost");
    create_stream = (int (*)(void **))dlsym(lib, "aclrtCreateStream");
    synchronize = (int (*)(void *))dlsym(lib, "aclrtSynchronizeStream");
    copy_async = (copy_fn)dlsym(lib, "aclrtMemcpyAsync");
    if (!init || !set_device || !allocate || !allocate_host || !create_stream || !synchronize || !copy_async || init(NULL) || set_device(0)) {
        PyErr_SetString(PyExc_OSError, "no runtime library");
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"use_library", use_library, METH_O, NULL},
    {"memcpy_async", (PyCFunction)(void (*)(void))memcpy_async, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "npuext", .m_size = -1, .m_methods = functions};

PyMODINIT_FUNC PyInit_npuext(void) {
    PyObject *m = PyModule_Create(&module);
    if (m == NULL || PyModule_AddType(m, &BufferType) < 0 || PyModule_AddType(m, &StreamType) < 0)
        return NULL;
    return m;
}
