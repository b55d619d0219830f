/* SPDX-License-Identifier: Apache-2.0 */
/* nonzero and compress: outputs whose extent depends on data, row-major in the extent that they
 * really have. The numbers that select are cut into one chunk a task. Phase 0 counts those of each
 * chunk that are set; phase 1 knows where each chunk's part of the output begins. */
#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/kernel.h"
#include "kernels/move/strided_copy.h"

#include <string.h>

enum { BATCH = 256 }; /* numbers that are looked at together */

/* The selecting tensor, flattened. An element is set if it has a bit of `mask`. */
typedef struct chunks {
    int64_t count, chunk;
    uint64_t mask;
} chunks;

/* Every bit but the sign of a float: both zeros have none of them. */
static uint64_t value_bits(ry_dtype dtype)
{
    unsigned bits = 8 * (unsigned)ry_dtype_size(dtype) - (ry_dtype_is_float(dtype) ? 1 : 0);
    return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static const ry_tensor *selector(const ry_problem *problem)
{
    return &problem->in[problem->op == RY_OP_compress ? 1 : 0];
}

static void initialise(const ry_query *query, void *state)
{
    chunks *s = state;
    const ry_problem *problem = query->problem;
    const ry_tensor *by = selector(problem);
    const double bytes = ry_problem_bytes(problem);
    *s = (chunks){.count = ry_tensor_count(by), .mask = value_bits((ry_dtype)by->dtype)};
    if (problem->op == RY_OP_compress) {
        const ry_compress_attrs *a = &problem->attrs.compress;
        const ry_tensor *x = &problem->in[0];
        s->count =
            ry_min(s->count, a->flat ? ry_tensor_count(x) : x->dim[ry_axis(a->axis, x->rank)]);
    }
    const double share = (double)ry_machine_task_bytes(query->target->machine, bytes) / bytes;
    s->chunk = bytes > 0
                   ? ry_clamp((int64_t)((double)s->count * share), BATCH, ry_max(s->count, BATCH))
                   : BATCH;
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    chunks s;
    (void)error;
    initialise(query, &s);
    prepared->phases = 2;
    prepared->tasks[0] = prepared->tasks[1] = (size_t)ry_max(ry_ceil_div(s.count, s.chunk), 1);
    prepared->state_size = sizeof s;
    prepared->workspace = prepared->tasks[0] * sizeof(int64_t);
    const double work = (double)s.count * ry_costs_asked(query)->move.selected +
                        ry_stream_work(query->target->machine, ry_problem_bytes(query->problem));
    ry_count_work(work, ry_problem_bytes(query->problem), prepared);
    prepared->work[1] = prepared->work[0];
    return RYND_OK;
}

static bool applicable_nonzero(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
           problem->out[0].dtype == RYND_DTYPE_I64;
}

static bool applicable_compress(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_input(problem, 1) &&
           ry_problem_has_output(problem, 0) && problem->in[1].dtype == RYND_DTYPE_BOOL &&
           problem->in[1].rank == 1 && problem->in[0].dtype == problem->out[0].dtype;
}

/* Writes which of n elements, `step` apart, are set, and returns how many; found has room for n
 * + 1. Inlined with an unsigned type of the element's size. */
#define FIND(type)                                                \
    for (int64_t i = 0; i < n; i++) {                             \
        found[count] = i;                                         \
        count += (((const type *)x)[i * step] & (type)mask) != 0; \
    }
static int64_t find(int64_t *found, const void *x, size_t size, int64_t step, int64_t n,
                    uint64_t mask)
{
    int64_t count = 0;
    switch (size) {
    case 1: FIND(uint8_t) break;
    case 2: FIND(uint16_t) break;
    case 4: FIND(uint32_t) break;
    default: FIND(uint64_t) break;
    }
    return count;
}

/* A run of elements along the last dim. */
typedef struct batch {
    int64_t index[RY_MAX_RANK]; /* index of the first element */
    int64_t offset, step, n;    /* elements of the tensor */
} batch;

/* The batch of `t` that begins at element `at` in row-major order, and ends before `end`. */
static batch batch_at(const ry_tensor *t, int64_t at, int64_t end)
{
    batch b = {.n = ry_min(end - at, BATCH)};
    for (int i = t->rank - 1; i >= 0; i--) {
        b.index[i] = at % t->dim[i];
        b.offset += b.index[i] * t->stride[i];
        at /= t->dim[i];
    }
    if (t->rank > 0) {
        b.step = t->stride[t->rank - 1];
        b.n = ry_min(b.n, t->dim[t->rank - 1] - b.index[t->rank - 1]);
    }
    return b;
}

static int64_t find_batch(const ry_cpu_launch *launch, const batch *b, int64_t *found)
{
    const chunks *s = launch->state;
    const ry_problem *problem = launch->problem;
    const int input = problem->op == RY_OP_compress ? 1 : 0;
    const size_t size = ry_dtype_size((ry_dtype)problem->in[input].dtype);
    return find(found, (const char *)launch->in[input] + b->offset * (int64_t)size, size, b->step,
                b->n, s->mask);
}

static void count_chunk(const ry_cpu_launch *launch, size_t task)
{
    const chunks *s = launch->state;
    int64_t found[BATCH + 1], count = 0, at = (int64_t)task * s->chunk;
    const int64_t end = ry_min(at + s->chunk, s->count);
    while (at < end) {
        const batch b = batch_at(selector(launch->problem), at, end);
        count += find_batch(launch, &b, found);
        at += b.n;
    }
    ((int64_t *)launch->workspace)[task] = count;
}

/* Where the output of a task begins, and how much all tasks have. */
static int64_t before_task(const ry_cpu_launch *launch, size_t task, int64_t *total)
{
    const int64_t *counts = launch->workspace;
    int64_t before = 0;
    *total = 0;
    for (size_t i = 0; i < launch->prepared->tasks[0]; i++) {
        before += i < task ? counts[i] : 0;
        *total += counts[i];
    }
    return before;
}

static void tell_actual(const ry_cpu_launch *launch, size_t task, const ry_shape *shape)
{
    if (launch->actual && task == 0) {
        memcpy(launch->actual[0], shape->dim, (size_t)shape->rank * sizeof *shape->dim);
    }
}

/* y[d][...] = index along dim d of each of `count` elements of a batch */
static void write_indices(const ry_tensor *x, const batch *b, const int64_t *found, int64_t count,
                          int64_t *y, int64_t total)
{
    for (int d = 0; d < x->rank; d++) {
        const int64_t first = b->index[d], along = d == x->rank - 1;
        for (int64_t i = 0; i < count; i++) {
            y[d * total + i] = along ? first + found[i] : first;
        }
    }
}

static void run_nonzero(const ry_cpu_launch *launch, size_t task)
{
    const chunks *s = launch->state;
    const ry_tensor *x = &launch->problem->in[0];
    int64_t found[BATCH + 1], total, at = (int64_t)task * s->chunk;
    if (launch->phase == 0) {
        count_chunk(launch, task);
        return;
    }
    int64_t *y = (int64_t *)launch->out[0] + before_task(launch, task, &total);
    const int64_t end = ry_min(at + s->chunk, s->count);
    while (at < end) {
        const batch b = batch_at(x, at, end);
        const int64_t count = find_batch(launch, &b, found);
        write_indices(x, &b, found, count, y, total);
        y += count;
        at += b.n;
    }
    tell_actual(launch, task, &(ry_shape){.rank = 2, .dim = {x->rank, total}});
}

/* Elements of x, flattened, at at + found[i]. */
static void copy_elements(const ry_tensor *x, const char *from, char *to, int64_t at,
                          const int64_t *found, int64_t count)
{
    const int64_t size = (int64_t)ry_dtype_size((ry_dtype)x->dtype);
    const bool dense = ry_tensor_is_row_major(x);
    for (int64_t i = 0; i < count; i++) {
        const int64_t position =
            dense ? at + found[i] : batch_at(x, at + found[i], INT64_MAX).offset;
        switch (size) {
        case 1: to[i] = from[position]; break;
        case 2: memcpy(to + i * 2, from + position * 2, 2); break;
        case 4: memcpy(to + i * 4, from + position * 4, 4); break;
        default: memcpy(to + i * 8, from + position * 8, 8); break;
        }
    }
}

/* A selected slice along `axis`: all other dims. */
static ry_box slice_of(const ry_tensor *x, const ry_tensor *y, int axis)
{
    ry_box slice = {.size = ry_dtype_size((ry_dtype)x->dtype)};
    for (int i = 0; i < x->rank; i++) {
        if (i != axis) {
            ry_box_add(&slice, x->dim[i], y->stride[i], x->stride[i]);
        }
    }
    ry_box_prepare(&slice);
    return slice;
}

static void run_compress(const ry_cpu_launch *launch, size_t task)
{
    const chunks *s = launch->state;
    const ry_tensor *x = &launch->problem->in[0], *condition = &launch->problem->in[1];
    const ry_compress_attrs *a = &launch->problem->attrs.compress;
    const int64_t size = (int64_t)ry_dtype_size((ry_dtype)x->dtype);
    int64_t found[BATCH + 1], total, at = (int64_t)task * s->chunk;
    if (launch->phase == 0) {
        count_chunk(launch, task);
        return;
    }
    const int axis = a->flat ? 0 : ry_axis(a->axis, x->rank);
    const int64_t before = before_task(launch, task, &total), end = ry_min(at + s->chunk, s->count);
    ry_shape shape = a->flat ? (ry_shape){.rank = 1} : ry_tensor_shape(x);
    shape.dim[axis] = total;
    const ry_tensor y = ry_tensor_row_major((ry_dtype)x->dtype, &shape, launch->out[0]);
    const ry_box slice = a->flat ? (ry_box){0} : slice_of(x, &y, axis);
    char *to = (char *)launch->out[0] + before * y.stride[axis] * size;
    while (at < end) {
        const batch b = batch_at(condition, at, end);
        const int64_t count = find_batch(launch, &b, found);
        if (a->flat) {
            copy_elements(x, launch->in[0], to, at, found, count);
        }
        for (int64_t i = 0; i < count && !a->flat; i++) {
            ry_box_copy(&slice, to + i * y.stride[axis] * size,
                        (const char *)launch->in[0] + (at + found[i]) * x->stride[axis] * size);
        }
        to += count * y.stride[axis] * size;
        at += b.n;
    }
    tell_actual(launch, task, &shape);
}

RY_PLAIN_KERNEL(nonzero_move, nonzero, .applicable = applicable_nonzero, .prepare = prepare,
                .initialise = initialise, .run = run_nonzero);
RY_PLAIN_KERNEL(compress_move, compress, .applicable = applicable_compress, .prepare = prepare,
                .initialise = initialise, .run = run_compress);
