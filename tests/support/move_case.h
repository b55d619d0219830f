/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a kernel that moves data on random tensors of random strides, and compares each element of
 * the output with what the test's own function says. Every byte that belongs to no output element
 * must stay as it was. */
#ifndef RY_TESTS_MOVE_CASE_H
#define RY_TESTS_MOVE_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "every_kernel.h"
#include "gpu_run.h"
#include "kernels/form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOVE_GUARD 64
#define MAX_MOVE   8

typedef struct move_host {
    unsigned char *memory, *before;
    size_t bytes;
} move_host;

typedef struct move_case {
    ry_problem problem;
    ry_tensor in[MAX_MOVE], out[MAX_MOVE];
    move_host in_host[MAX_MOVE], out_host[MAX_MOVE];
    int64_t actual[MAX_MOVE][RY_MAX_RANK];
} move_case;

/* Writes the expected element at `index` of output `out` to `value`. */
typedef void (*move_expect)(const move_case *c, int out, const int64_t *index, void *value);

static uint64_t move_seed = 88172645463325252u;

static inline uint64_t move_random(void)
{
    move_seed ^= move_seed << 13;
    move_seed ^= move_seed >> 7;
    move_seed ^= move_seed << 17;
    return move_seed * 0x2545f4914f6cdd1du >> 11;
}

static inline int64_t move_pick(int64_t low, int64_t high) /* both included */
{
    return low + (int64_t)(move_random() % (uint64_t)(high - low + 1));
}

static inline ry_dtype move_dtype(void)
{
    return (ry_dtype)move_pick(1, RY_DTYPES - 1);
}

/* A random order of dims, with gaps and reversed dims at times. */
static inline void move_layout(ry_tensor *t, move_host *host, bool plain)
{
    int order[RY_MAX_RANK] = {0};
    for (int i = 0; i < t->rank; i++) {
        int j = (int)move_pick(0, i);
        order[i] = order[j];
        order[j] = i;
    }
    int kind = (int)move_pick(0, 3);
    if (plain || kind == 0) {
        for (int i = 0; i < t->rank; i++) {
            order[i] = i;
        }
    }
    int64_t step = 1, start = 0;
    for (int k = t->rank - 1; k >= 0; k--) {
        int i = order[k];
        t->stride[i] = step;
        if (!plain && kind == 3 && t->dim[i] > 0 && move_pick(0, 3) == 0) {
            start += step * (t->dim[i] - 1);
            t->stride[i] = -step;
        }
        step *= t->dim[i] > 0 ? t->dim[i] : 1;
        step += !plain && kind >= 2 ? move_pick(0, 2) : 0;
    }
    size_t size = ry_dtype_size((ry_dtype)t->dtype);
    host->bytes = (size_t)step * size + 2 * MOVE_GUARD;
    host->memory = malloc(host->bytes);
    host->before = malloc(host->bytes);
    assert_non_null(host->memory);
    assert_non_null(host->before);
    for (size_t i = 0; i < host->bytes; i++) {
        host->memory[i] =
            t->dtype == RYND_DTYPE_BOOL ? move_random() & 1u : (unsigned char)move_random();
    }
    memcpy(host->before, host->memory, host->bytes);
    t->data = host->memory + MOVE_GUARD + (size_t)start * size;
}

static inline ry_tensor *move_in(move_case *c, ry_dtype dtype, int rank, const int64_t *dim)
{
    ry_shape shape = ry_shape_of(rank, dim);
    int i = c->problem.inputs++;
    c->in[i] = ry_tensor_row_major(dtype, &shape, NULL);
    move_layout(&c->in[i], &c->in_host[i], false);
    return &c->in[i];
}

static inline ry_tensor *move_out(move_case *c, ry_dtype dtype, int rank, const int64_t *dim,
                                  bool plain)
{
    ry_shape shape = ry_shape_of(rank, dim);
    int i = c->problem.outputs++;
    c->out[i] = ry_tensor_row_major(dtype, &shape, NULL);
    move_layout(&c->out[i], &c->out_host[i], plain);
    return &c->out[i];
}

static inline void move_begin(move_case *c, ry_op op)
{
    memset(c, 0, sizeof *c);
    c->problem.op = op;
    c->problem.attrs = ry_attrs_default(op);
}

static inline void *move_at(const ry_tensor *t, const int64_t *index)
{
    return (char *)t->data + ry_index_offset(t, index) * (int64_t)ry_dtype_size((ry_dtype)t->dtype);
}

/* Fills an integer tensor with numbers from [low, high]. */
static inline void move_fill(const ry_tensor *t, int64_t low, int64_t high)
{
    int64_t index[RY_MAX_RANK] = {0};
    if (ry_tensor_count(t) > 0) {
        do {
            ry_set_i64((ry_dtype)t->dtype, t->data, ry_index_offset(t, index),
                       move_pick(low, high));
        } while (ry_index_next(t->rank, t->dim, index));
    }
}

static inline void move_end(move_case *c)
{
    for (int i = 0; i < MAX_MOVE; i++) {
        free(c->in_host[i].memory);
        free(c->in_host[i].before);
        free(c->out_host[i].memory);
        free(c->out_host[i].before);
    }
}

/* The group of a GPU's kernels, which run in the place of a CPU's where they take a problem; 0:
 * they do not. */
static int64_t move_group;
static int move_runs_on_gpu;

static inline const ry_kernel *move_kernel_of_gpu(const ry_problem *problem)
{
    size_t at = 0;
    const ry_kernel *kernel = move_group ? ry_kernel_next(problem, gpu_run_target(), &at) : NULL;
    return kernel && kernel->device == RY_DEVICE_gpu ? kernel : NULL;
}

static inline rynd_status move_run_on_gpu(move_case *c, const ry_kernel *kernel, void *const *in,
                                          void *const *out, ry_error *error)
{
    gpu_operand from[MAX_MOVE] = {{0}}, to[MAX_MOVE] = {{0}};
    ry_form form = ry_form_free();
    form.value[0] = gpu_run_group(move_group);
    for (int i = 0; i < MAX_MOVE; i++) {
        from[i] = (gpu_operand){c->in_host[i].memory, c->in_host[i].bytes, in[i]};
        to[i] = (gpu_operand){c->out_host[i].memory, c->out_host[i].bytes, out[i]};
    }
    const ry_query query = {kernel, &c->problem, gpu_run_target(), &form};
    move_runs_on_gpu++;
    return gpu_run(&query, from, to, error);
}

/* Runs the kernel that is chosen. */
static inline rynd_status move_try(move_case *c, const ry_kernel **chosen, ry_error *error)
{
    void *in[MAX_MOVE], *out[MAX_MOVE];
    for (int i = 0; i < MAX_MOVE; i++) {
        in[i] = c->in[i].data;
        out[i] = c->out[i].data;
        c->in[i].data = c->out[i].data = NULL;
    }
    c->problem.in = c->in;
    c->problem.out = c->out;
    const ry_kernel *of_gpu = move_kernel_of_gpu(&c->problem),
                    *kernel = of_gpu ? of_gpu : every_kernel_first(&c->problem, RY_ISA_generic);
    assert_non_null(kernel);
    rynd_status status = of_gpu ? move_run_on_gpu(c, kernel, in, out, error)
                                : every_kernel_execute(kernel, &c->problem, (const void *const *)in,
                                                       out, c->actual, &ry_system_allocator, error);
    for (int i = 0; i < MAX_MOVE; i++) {
        c->in[i].data = in[i];
        c->out[i].data = out[i];
    }
    *chosen = kernel;
    return status;
}

static inline const ry_kernel *move_execute(move_case *c)
{
    const ry_kernel *kernel;
    ry_error error = {{0}};
    if (move_try(c, &kernel, &error) != RYND_OK) {
        fail_msg("%s: %s", kernel->name, error.text);
    }
    return kernel;
}

/* Runs the case, checks every output and frees it. `expect` sees the inputs, and the outputs'
 * memory from before in out_host. */
static inline void move_check(move_case *c, move_expect expect)
{
    const ry_kernel *kernel = move_execute(c);
    for (int k = 0; k < c->problem.outputs; k++) {
        const ry_tensor *y = &c->out[k];
        size_t size = ry_dtype_size((ry_dtype)y->dtype);
        int64_t index[RY_MAX_RANK] = {0};
        bool more = ry_tensor_count(y) > 0;
        while (more) {
            unsigned char value[8] = {0};
            expect(c, k, index, value);
            unsigned char *at = move_at(y, index);
            if (memcmp(at, value, size) != 0) {
                char place[256] = "";
                for (int i = 0; i < y->rank; i++) {
                    snprintf(place + strlen(place), sizeof place - strlen(place), " %lld",
                             (long long)index[i]);
                }
                fail_msg("%s (%s): output %d differs at%s", kernel->name,
                         ry_dtype_name((ry_dtype)y->dtype), k, place);
            }
            memcpy(c->out_host[k].before + (at - c->out_host[k].memory), value, size);
            more = ry_index_next(y->rank, y->dim, index);
        }
        assert_memory_equal(c->out_host[k].memory, c->out_host[k].before, c->out_host[k].bytes);
    }
    for (int k = 0; k < c->problem.inputs; k++) {
        if (c->in_host[k].memory) {
            for (size_t i = 0; i < MOVE_GUARD; i++) {
                assert_int_equal(c->in_host[k].memory[i], c->in_host[k].before[i]);
            }
        }
    }
    move_end(c);
}

static inline void move_take(const ry_tensor *x, const int64_t *index, void *value)
{
    memcpy(value, move_at(x, index), ry_dtype_size((ry_dtype)x->dtype));
}

#endif
