/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs that follow from positions, row by row: trilu, eye_like, range, shape, one_hot. */
#include "base/integer.h"
#include "kernels/kernel.h"
#include "kernels/move/strided_planes.h"
#include "machine/machine.h"

#include <string.h>

static const uint64_t zero;

/* The last dim of the output is a row; tasks are runs of rows. */
static int64_t row_width(const ry_tensor *y)
{
    return y->rank > 0 ? y->dim[y->rank - 1] : 1;
}

static int64_t row_count(const ry_tensor *y)
{
    int64_t width = row_width(y);
    return width > 0 ? ry_tensor_count(y) / width : 0;
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    (void)error;
    const ry_tensor *y = &problem->out[0];
    prepared->phases = 1;
    const int64_t rows = row_count(y), bytes = (int64_t)ry_tensor_bytes(y);
    const int64_t task = ry_machine_task_bytes(query->target->machine, (double)bytes);
    prepared->tasks[0] = (size_t)ry_min(rows, ry_ceil_div(bytes, task));
    return RYND_OK;
}

/* The position of a row in all dims but the last. */
static void locate_row(const ry_tensor *y, int64_t row, int64_t *index)
{
    for (int i = y->rank - 2; i >= 0; i--) {
        index[i] = row % y->dim[i];
        row /= y->dim[i];
    }
}

/* Positions [from, to) of a row, from `src` with stride s0 (0: one value, repeated). */
static void write_row(const ry_tensor *y, char *row, int64_t from, int64_t to, const void *src,
                      int64_t s0)
{
    size_t size = ry_dtype_size((ry_dtype)y->dtype);
    int64_t d0 = (y->rank > 0 ? y->stride[y->rank - 1] : 1) * (int64_t)size;
    if (from < to) {
        ry_plane plane = {.src = src, .n1 = 1, .n0 = to - from, .d0 = d0, .s0 = s0};
        plane.dst = row + from * d0;
        ry_plane_copy(&plane, size);
    }
}

typedef struct rows {
    const ry_tensor *y;
    int64_t index[RY_MAX_RANK]; /* index of the row; 0 for the last dim */
    char *row;
    int64_t first, end;
} rows;

static rows task_rows(const ry_cpu_launch *launch, size_t task)
{
    const ry_tensor *y = &launch->problem->out[0];
    const int64_t count = row_count(y), tasks = (int64_t)launch->prepared->tasks[0];
    const int64_t step = ry_ceil_div(count, tasks), first = ry_min((int64_t)task * step, count);
    return (rows){.y = y, .first = first, .end = ry_min(first + step, count)};
}

static bool next_row(rows *r, const ry_cpu_launch *launch)
{
    if (r->first >= r->end) {
        return false;
    }
    locate_row(r->y, r->first++, r->index);
    r->row = (char *)launch->out[0] +
             ry_index_offset(r->y, r->index) * (int64_t)ry_dtype_size((ry_dtype)r->y->dtype);
    return true;
}

static bool same_dtype(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
           problem->in[0].dtype == problem->out[0].dtype;
}

static void run_trilu(const ry_cpu_launch *launch, size_t task)
{
    const ry_trilu_attrs *a = &launch->problem->attrs.trilu;
    const ry_tensor *x = &launch->problem->in[0];
    int64_t size = (int64_t)ry_dtype_size((ry_dtype)x->dtype), width = row_width(x),
            s0 = x->stride[x->rank - 1] * size;
    for (rows r = task_rows(launch, task); next_row(&r, launch);) {
        /* no sum overflows */
        int64_t line = r.index[x->rank - 2], k = ry_clamp(a->k, -line - 1, width);
        int64_t from = a->upper ? ry_clamp(line + k, 0, width) : 0,
                to = a->upper ? width : ry_clamp(line + k + 1, 0, width);
        const char *src = (const char *)launch->in[0] + ry_index_offset(x, r.index) * size;
        write_row(r.y, r.row, 0, from, &zero, 0);
        write_row(r.y, r.row, from, to, src + from * s0, s0);
        write_row(r.y, r.row, to, width, &zero, 0);
    }
}

static bool applicable_trilu(const ry_problem *problem)
{
    return same_dtype(problem) && problem->out[0].rank >= 2;
}

static void run_eye_like(const ry_cpu_launch *launch, size_t task)
{
    const ry_tensor *y = &launch->problem->out[0];
    uint64_t one = 0;
    ry_set_f64((ry_dtype)y->dtype, &one, 0, 1);
    for (rows r = task_rows(launch, task); next_row(&r, launch);) {
        int64_t at;
        write_row(y, r.row, 0, y->dim[1], &zero, 0);
        if (!__builtin_add_overflow(r.index[0], launch->problem->attrs.eye_like.k, &at) &&
            at >= 0 && at < y->dim[1]) {
            write_row(y, r.row, at, at + 1, &one, 0);
        }
    }
}

static bool applicable_eye_like(const ry_problem *problem)
{
    return ry_problem_has_output(problem, 0) && problem->out[0].rank == 2;
}

static void run_range(const ry_cpu_launch *launch, size_t task)
{
    (void)task;
    const ry_range_attrs *a = &launch->problem->attrs.range;
    const ry_tensor *y = &launch->problem->out[0];
    ry_dtype dtype = (ry_dtype)y->dtype;
    for (int64_t i = 0; i < y->dim[0]; i++) {
        if (ry_dtype_is_float(dtype)) {
            ry_set_f64(dtype, launch->out[0], i * y->stride[0], a->start + (double)i * a->delta);
        } else { /* modulo 2^64: the sum is in range where the product is not */
            uint64_t number = (uint64_t)a->integer_start + (uint64_t)i * (uint64_t)a->integer_delta;
            ry_set_i64(dtype, launch->out[0], i * y->stride[0], (int64_t)number);
        }
    }
}

static bool applicable_range(const ry_problem *problem)
{
    return ry_problem_has_output(problem, 0) && problem->out[0].rank == 1;
}

static void run_shape(const ry_cpu_launch *launch, size_t task)
{
    (void)task;
    const ry_shape_attrs *a = &launch->problem->attrs.shape;
    const ry_tensor *x = &launch->problem->in[0], *y = &launch->problem->out[0];
    int64_t *out = launch->out[0];
    if (a->size) {
        *out = ry_tensor_count(x);
        return;
    }
    int64_t start = ry_clamp(a->start < 0 ? a->start + x->rank : a->start, 0, x->rank);
    for (int64_t i = 0; i < y->dim[0]; i++) {
        out[i * y->stride[0]] = x->dim[start + i];
    }
}

static bool applicable_shape(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
           problem->out[0].dtype == RYND_DTYPE_I64 &&
           problem->out[0].rank == (problem->attrs.shape.size ? 0 : 1);
}

/* One task: few bytes, or many in a row that one core fills at the speed of memory. */
static rynd_status prepare_single(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    (void)query;
    (void)error;
    prepared->phases = 1;
    prepared->tasks[0] = 1;
    return RYND_OK;
}

/* The output's dims without the axis are the indices'. A class may be counted from the end; what is
 * out of range is nowhere on. */
static void run_one_hot(const ry_cpu_launch *launch, size_t task)
{
    const ry_tensor *indices = &launch->problem->in[0], *values = &launch->problem->in[2],
                    *y = &launch->problem->out[0];
    size_t size = ry_dtype_size((ry_dtype)y->dtype);
    const char *off = launch->in[2], *on = off + values->stride[0] * (int64_t)size;
    int axis = ry_axis(launch->problem->attrs.one_hot.axis, y->rank), last = y->rank - 1;
    int64_t depth = y->dim[axis];
    for (rows r = task_rows(launch, task); next_row(&r, launch);) {
        int64_t at = 0;
        for (int i = 0; i < last; i++) {
            at += i == axis ? 0 : r.index[i] * indices->stride[i - (i > axis)];
        }
        write_row(y, r.row, 0, y->dim[last], off, 0);
        for (int64_t j = 0; j < (axis == last ? 1 : y->dim[last]); j++) {
            int64_t step = axis == last ? 0 : j * indices->stride[last - 1];
            int64_t class = ry_get_i64((ry_dtype)indices->dtype, launch->in[0], at + step);
            /* a u64 below 0 is one beyond 2^63 */
            class += class < 0 && indices->dtype != RYND_DTYPE_U64 ? depth : 0;
            if (axis == last && class >= 0 && class < depth) {
                write_row(y, r.row, class, class + 1, on, 0);
            } else if (axis != last && class == r.index[axis]) {
                write_row(y, r.row, j, j + 1, on, 0);
            }
        }
    }
}

static bool applicable_one_hot(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_input(problem, 2) &&
           ry_problem_has_output(problem, 0) && problem->in[2].dtype == problem->out[0].dtype &&
           problem->in[2].rank == 1 && problem->out[0].rank == problem->in[0].rank + 1;
}

#define PATTERN(op_name, prepare_function)                                       \
    RY_PLAIN_KERNEL(op_name##_move, op_name, .applicable = applicable_##op_name, \
                    .prepare = prepare_function, .run = run_##op_name);
PATTERN(trilu, prepare)
PATTERN(eye_like, prepare)
PATTERN(range, prepare_single)
PATTERN(shape, prepare_single)
PATTERN(one_hot, prepare)
