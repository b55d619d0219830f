/* SPDX-License-Identifier: Apache-2.0 */
/* nonzero and compress: outputs whose extent depends on data. They are row-major in the extent that
 * they really have. One task: where an element goes depends on all before it. */
#include "kernels/kernel.h"
#include "kernels/move/strided_copy.h"

#include <string.h>

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    (void)query;
    (void)error;
    prepared->phases = 1;
    prepared->tasks[0] = 1;
    return RYND_OK;
}

static void tell_actual(const ry_cpu_launch *launch, const ry_shape *shape)
{
    if (launch->actual) {
        memcpy(launch->actual[0], shape->dim, (size_t)shape->rank * sizeof *shape->dim);
    }
}

static bool applicable_nonzero(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
           problem->out[0].dtype == RYND_DTYPE_I64;
}

/* Every bit but the sign of a float: both zeros have none of them. */
static uint64_t value_bits(ry_dtype dtype)
{
    unsigned bits = 8 * (unsigned)ry_dtype_size(dtype) - (ry_dtype_is_float(dtype) ? 1 : 0);
    return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static bool is_set(const char *at, size_t size, uint64_t mask)
{
    uint64_t bits = 0;
    switch (size) { /* a constant size each, in the byte order of the machine */
    case 1: bits = *(const uint8_t *)at; break;
    case 2: bits = *(const uint16_t *)(const void *)at; break;
    case 4: bits = *(const uint32_t *)(const void *)at; break;
    default: bits = *(const uint64_t *)(const void *)at; break;
    }
    return (bits & mask) != 0;
}

static void run_nonzero(const ry_cpu_launch *launch, size_t task)
{
    (void)task;
    const ry_tensor *x = &launch->problem->in[0];
    const size_t size = ry_dtype_size((ry_dtype)x->dtype);
    const uint64_t mask = value_bits((ry_dtype)x->dtype);
    int64_t count = 0, *out = launch->out[0];
    for (int pass = 0; pass < 2; pass++) { /* count, then write */
        int64_t index[RY_MAX_RANK] = {0}, found = 0;
        bool more = ry_tensor_count(x) > 0;
        while (more) {
            if (is_set((const char *)launch->in[0] + ry_index_offset(x, index) * (int64_t)size,
                       size, mask)) {
                for (int i = 0; i < x->rank && pass == 1; i++) {
                    out[i * count + found] = index[i];
                }
                found++;
            }
            more = ry_index_next(x->rank, x->dim, index);
        }
        count = found;
    }
    tell_actual(launch, &(ry_shape){.rank = 2, .dim = {x->rank, count}});
}

static bool applicable_compress(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_input(problem, 1) &&
           ry_problem_has_output(problem, 0) && problem->in[0].dtype == problem->out[0].dtype &&
           ry_dtype_size((ry_dtype)problem->in[1].dtype) == 1;
}

static bool selected(const ry_cpu_launch *launch, int64_t i)
{
    return ((const uint8_t *)launch->in[1])[i * launch->problem->in[1].stride[0]] != 0;
}

static void compress_flat(const ry_cpu_launch *launch)
{
    const ry_tensor *x = &launch->problem->in[0];
    const size_t size = ry_dtype_size((ry_dtype)x->dtype);
    int64_t length = launch->problem->in[1].dim[0], count = 0, index[RY_MAX_RANK] = {0};
    bool more = ry_tensor_count(x) > 0;
    for (int64_t i = 0; i < length && more; i++) {
        if (selected(launch, i)) {
            const char *from =
                (const char *)launch->in[0] + ry_index_offset(x, index) * (int64_t)size;
            memcpy((char *)launch->out[0] + count++ * (int64_t)size, from, size);
        }
        more = ry_index_next(x->rank, x->dim, index);
    }
    tell_actual(launch, &(ry_shape){.rank = 1, .dim = {count}});
}

static void compress_axis(const ry_cpu_launch *launch)
{
    const ry_tensor *x = &launch->problem->in[0];
    const int64_t size = (int64_t)ry_dtype_size((ry_dtype)x->dtype);
    int axis = ry_axis(launch->problem->attrs.compress.axis, x->rank);
    int64_t length = launch->problem->in[1].dim[0], count = 0;
    length = length < x->dim[axis] ? length : x->dim[axis];
    for (int64_t i = 0; i < length; i++) {
        count += selected(launch, i);
    }
    ry_shape shape = ry_tensor_shape(x);
    shape.dim[axis] = count;
    ry_tensor y = ry_tensor_row_major((ry_dtype)x->dtype, &shape, launch->out[0]);
    ry_box slice = {.size = (size_t)size};
    for (int i = 0; i < x->rank; i++) {
        if (i != axis) {
            ry_box_add(&slice, x->dim[i], y.stride[i], x->stride[i]);
        }
    }
    ry_box_prepare(&slice);
    for (int64_t i = 0, at = 0; i < length; i++) {
        if (selected(launch, i)) {
            ry_box_copy(&slice, (char *)launch->out[0] + at++ * y.stride[axis] * size,
                        (const char *)launch->in[0] + i * x->stride[axis] * size);
        }
    }
    tell_actual(launch, &shape);
}

static void run_compress(const ry_cpu_launch *launch, size_t task)
{
    (void)task;
    if (launch->problem->attrs.compress.flat) {
        compress_flat(launch);
    } else {
        compress_axis(launch);
    }
}

RY_PLAIN_KERNEL(nonzero_move, nonzero, .applicable = applicable_nonzero, .prepare = prepare,
                .run = run_nonzero);
RY_PLAIN_KERNEL(compress_move, compress, .applicable = applicable_compress, .prepare = prepare,
                .run = run_compress);
