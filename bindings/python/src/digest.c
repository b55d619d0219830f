/* SPDX-License-Identifier: Apache-2.0 */
#include "digest.h"

#include "errors.h"

#include <stdint.h>
#include <string.h>

/* Independent sums, which hide a multiplication's latency, and their bytes. */
enum { LANES = 8, BLOCK = LANES * 8 };

/* An odd constant of xxHash64 (Y. Collet): a bijection of each word and of each sum. */
static const uint64_t factor = 0x9E3779B185EBCA87U;

static inline uint64_t mix(uint64_t sum, uint64_t word)
{
    const uint64_t product = (sum ^ word) * factor;
    return product << 31 | product >> 33;
}

static uint64_t digest_bytes(const unsigned char *bytes, size_t size, uint64_t sum)
{
    uint64_t sums[LANES];
    for (size_t lane = 0; lane < LANES; lane++) {
        sums[lane] = mix(sum, lane);
    }
    size_t at = 0;
    for (; at + BLOCK <= size; at += BLOCK) {
        uint64_t words[LANES];
        memcpy(words, bytes + at, BLOCK);
        for (size_t lane = 0; lane < LANES; lane++) {
            sums[lane] = mix(sums[lane], words[lane]);
        }
    }
    uint64_t rest[LANES] = {0};
    memcpy(rest, bytes + at, size - at);
    for (size_t lane = 0; lane < LANES; lane++) {
        sum = mix(mix(sum, sums[lane]), rest[lane]);
    }
    return mix(sum, size);
}

/* False: an exception is set. */
static bool add_buffer(PyObject *object, uint64_t *sum)
{
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) != 0) {
        return false;
    }
    Py_BEGIN_ALLOW_THREADS
    *sum = digest_bytes(view.buf, (size_t)view.len, *sum);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&view);
    return true;
}

PyObject *py_digest(PyObject *module, PyObject *buffers)
{
    (void)module;
    if (!PyList_Check(buffers)) {
        return py_fail_type("digest() takes a list of buffers");
    }
    uint64_t sum = 0;
    for (Py_ssize_t i = 0; i < PyList_Size(buffers); i++) {
        if (!add_buffer(PyList_GetItem(buffers, i), &sum)) {
            return NULL;
        }
    }
    return PyLong_FromUnsignedLongLong(sum);
}
