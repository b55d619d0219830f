/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of float32 that are stored anyhow in memory of their own, which is watched: for tests of
 * the public functions that take strides. Failures are cmocka's. */
#ifndef TESTS_PLACED_TENSOR_H
#define TESTS_PLACED_TENSOR_H

#include <rynd/tensor.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GUARD = 64, FILL = 0xA5 };

/* How a tensor is stored. */
typedef struct lie {
    const char *name;
    bool reversed; /* the first dim is innermost */
    /* elements from one to the next along the innermost dim; and as many between lines */
    int64_t gap;
    unsigned backwards; /* bit i: dim i runs to lower addresses */
    size_t odd;         /* misalignment of the first element in bytes */
    unsigned repeated;  /* bit i: dim i has stride 0; for inputs only */
} lie;

/* A tensor that is stored so, in memory of its own between guards. */
typedef struct placed {
    rynd_tensor tensor;
    uint8_t *memory;
    size_t size;
} placed;

static inline placed place(const lie *how, int rank, const int64_t *dims)
{
    placed p = {.tensor = rynd_tensor_of(NULL, RYND_DTYPE_F32, rank, dims)};
    int64_t step = how->gap, first = 0, last = 0;
    for (int k = 0; k < rank; k++) {
        const int d = how->reversed ? k : rank - 1 - k;
        p.tensor.stride[d] = how->repeated >> d & 1u ? 0 : how->backwards >> d & 1u ? -step : step;
        *(p.tensor.stride[d] < 0 ? &first : &last) += (dims[d] - 1) * p.tensor.stride[d];
        step = step * dims[d] + how->gap - 1;
    }
    p.size = (size_t)(last - first + 1) * sizeof(float) + 2 * GUARD + how->odd;
    p.memory = malloc(p.size);
    assert_non_null(p.memory);
    memset(p.memory, FILL, p.size);
    p.tensor.data = p.memory + GUARD + how->odd + (size_t)-first * sizeof(float);
    return p;
}

/* The address of element `index` in row-major order. */
static inline uint8_t *element(const rynd_tensor *t, int64_t index)
{
    int64_t offset = 0;
    for (int d = t->rank - 1; d >= 0; d--) {
        offset += index % t->dim[d] * t->stride[d];
        index /= t->dim[d];
    }
    return (uint8_t *)t->data + offset * (int64_t)sizeof(float);
}

/* Overwrites the elements and finds nothing but the filling. */
static inline void check_bytes(const placed *p, const char *name)
{
    static const uint8_t filling[sizeof(float)] = {FILL, FILL, FILL, FILL};
    for (int64_t i = 0; i < rynd_tensor_elements(&p->tensor); i++) {
        memcpy(element(&p->tensor, i), filling, sizeof filling);
    }
    for (size_t i = 0; i < p->size; i++) {
        if (p->memory[i] != FILL) {
            fail_msg("%s: byte %zu, which is no element's, was written", name, i);
        }
    }
}

/* The elements are `values`, and no other byte has changed; overwrites the elements. */
static inline void check_placed(const placed *p, const float *values, const char *name)
{
    for (int64_t i = 0; i < rynd_tensor_elements(&p->tensor); i++) {
        if (memcmp(element(&p->tensor, i), &values[i], sizeof(float)) != 0) {
            fail_msg("%s: element %lld has another value", name, (long long)i);
        }
    }
    check_bytes(p, name);
}

#endif
