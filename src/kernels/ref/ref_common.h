/* SPDX-License-Identifier: Apache-2.0 */
/* What the reference kernels share: cutting into tasks, exact sums, strided dot products,
 * activations.
 *
 * A reference kernel computes one output element (or one lane: a row along some dims) at a time
 * from its definition, in float64, or exactly in 64-bit integers where every operand is an integer.
 * It takes any strides. */
#ifndef RY_KERNELS_REF_COMMON_H
#define RY_KERNELS_REF_COMMON_H

#include "kernels/kernel.h"

#include <string.h>

/* Computes what belongs to the position `index` of the shape that ry_ref_each walks. */
typedef void (*ry_ref_element)(const ry_cpu_launch *launch, const int64_t *index);

/* One phase whose tasks share `elements` positions; fixed by the problem alone. */
void ry_ref_prepare(ry_prepared *prepared, int64_t elements);
size_t ry_ref_tasks(int64_t elements);
/* Task `task` of `tasks`: its share of the positions of dim[rank], in row-major order. `tasks` is
 * what the prepared kernel says: whoever prepared it may set any number before it runs, and so have
 * some positions only (tune/reference_samples.h). */
void ry_ref_each(const ry_cpu_launch *launch, int rank, const int64_t *dim, size_t tasks,
                 size_t task, ry_ref_element element);
/* Over the positions of the first output. */
rynd_status ry_ref_prepare_elements(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_ref_each_output(const ry_cpu_launch *launch, size_t task, ry_ref_element element);
/* Over the lanes of the first input: dims [begin, end) are walked by the element itself. */
void ry_ref_prepare_lanes(const ry_problem *problem, ry_prepared *prepared, int begin, int end);
void ry_ref_each_lane(const ry_cpu_launch *launch, size_t task, int begin, int end,
                      ry_ref_element lane);

/* A reference kernel's row. */
#define RY_REF_KERNEL(operator, applicable_fn, prepare_fn, ...)                                 \
    RY_PLAIN_KERNEL(operator##_ref, operator, .reference = true, .applicable = (applicable_fn), \
                    .prepare = (prepare_fn), __VA_ARGS__)

/* The same of one that computes each element of its first output by itself. */
#define RY_REF_ELEMENTS(operator, applicable_fn, element)     \
    static void run(const ry_cpu_launch *launch, size_t task) \
    {                                                         \
        ry_ref_each_output(launch, task, element);            \
    }                                                         \
    RY_REF_KERNEL(operator, applicable_fn, ry_ref_prepare_elements, .run = run);

/* The same of one that computes lanes: dims [begin, end) of its first input, both expressions of
 * the problem p. */
#define RY_REF_LANES(operator, applicable_fn, begin, end, lane)                               \
    static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error) \
    {                                                                                         \
        const ry_problem *p = query->problem;                                                 \
        (void)error;                                                                          \
        ry_ref_prepare_lanes(p, prepared, begin, end);                                        \
        return RYND_OK;                                                                       \
    }                                                                                         \
    static void run(const ry_cpu_launch *launch, size_t task)                                 \
    {                                                                                         \
        const ry_problem *p = launch->problem;                                                \
        ry_ref_each_lane(launch, task, begin, end, lane);                                     \
    }                                                                                         \
    RY_REF_KERNEL(operator, applicable_fn, prepare, .run = run);

/* every operand present is a number (not bool), and the first input and output are there */
bool ry_ref_numeric(const ry_problem *problem);
/* the first input and output are floats, and every other operand a number */
bool ry_ref_floats(const ry_problem *problem);

static inline ry_dtype ry_ref_dtype(const ry_tensor *tensor)
{
    return (ry_dtype)tensor->dtype;
}

static inline double ry_ref_get(ry_dtype dtype, const void *data, int64_t index)
{
    return dtype == RY_f32 ? (double)((const float *)data)[index] : ry_get_f64(dtype, data, index);
}

void ry_ref_copy_element(ry_dtype dtype, void *to, int64_t to_index, const void *from,
                         int64_t from_index);
/* -1, 0, 1 as element a is below, equal to or above element b; NaN is above everything and equal to
 * itself. */
int ry_ref_compare(ry_dtype dtype, const void *data, int64_t a, int64_t b);
/* The offset in `tensor`, broadcast by numpy's rules, of position `index` of a shape of `rank`
 * dims. */
int64_t ry_ref_broadcast_offset(const ry_tensor *tensor, const int64_t *index, int rank);

/* A sum that is exact (modulo 2^64) when its operands are integers. */
typedef struct ry_ref_sum {
    bool integer;
    double f;
    uint64_t i;
} ry_ref_sum;

/* Input `i` of a launch, or an output by hand: a strided run of elements from `offset`, one step a
 * dimension of the walk. */
typedef struct ry_ref_operand {
    ry_dtype dtype;
    const void *data;
    int64_t offset;
    int64_t step[RY_MAX_RANK];
} ry_ref_operand;

bool ry_ref_integers(const ry_problem *problem); /* every operand is an integer */
/* sum += the products of a and b (b NULL: of a alone) over all positions of count[rank]; nothing
 * when a count is 0. */
void ry_ref_dot(ry_ref_sum *sum, int rank, const int64_t *count, const ry_ref_operand *a,
                const ry_ref_operand *b);
void ry_ref_add(ry_ref_sum *sum, ry_dtype dtype, const void *data, int64_t index);
void ry_ref_store(const ry_ref_sum *sum, ry_dtype dtype, void *data, int64_t index);

/* Stores what an interpolation gives. Integers take the nearest number of their range; halves round
 * to even, as in ONNX's reference of Resize. */
void ry_ref_store_interpolated(ry_dtype dtype, void *data, int64_t index, double value);

void ry_ref_activate(ry_ref_sum *sum, ry_activation activation, double a, double b);

/* The taps of one dimension of an interpolation. */
typedef struct ry_ref_taps {
    int count;
    int64_t index[4];
    double weight[4];
} ry_ref_taps;

/* The sum over all taps of every dimension of the product of their weights times the element;
 * stride[d] goes with taps[d]. */
double ry_ref_interpolate(ry_dtype dtype, const void *data, int64_t offset, int rank,
                          const ry_ref_taps *taps, const int64_t *stride);

#endif
