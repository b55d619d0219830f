/* SPDX-License-Identifier: Apache-2.0 */
/* Reference cumulative sum or product along an axis: inclusive or exclusive, forward or reverse. */
#include "kernels/ref/ref_common.h"

static int axis_of(const ry_problem *p)
{
    return ry_axis(p->attrs.cumsum.axis, p->in[0].rank);
}

static void accumulate(ry_ref_sum *total, bool product, ry_dtype dtype, const void *data,
                       int64_t index)
{
    if (!product) {
        ry_ref_add(total, dtype, data, index);
    } else if (total->integer) {
        total->i *= (uint64_t)ry_get_i64(dtype, data, index);
    } else {
        total->f *= ry_ref_get(dtype, data, index);
    }
}

static void lane(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *x = &p->in[0], *y = &p->out[0];
    int axis = axis_of(p);
    int64_t length = x->dim[axis], x_base = ry_index_offset(x, index),
            y_base = ry_index_offset(y, index);
    bool product = p->attrs.cumsum.product != 0;
    ry_ref_sum total = {.integer = ry_ref_integers(p), .f = product, .i = product};
    for (int64_t j = 0; j < length; j++) {
        int64_t i = p->attrs.cumsum.reverse ? length - 1 - j : j;
        if (p->attrs.cumsum.exclusive) {
            ry_ref_store(&total, ry_ref_dtype(y), launch->out[0], y_base + i * y->stride[axis]);
        }
        accumulate(&total, product, ry_ref_dtype(x), launch->in[0], x_base + i * x->stride[axis]);
        if (!p->attrs.cumsum.exclusive) {
            ry_ref_store(&total, ry_ref_dtype(y), launch->out[0], y_base + i * y->stride[axis]);
        }
    }
}

static bool applicable(const ry_problem *problem)
{
    return ry_ref_numeric(problem) && axis_of(problem) >= 0;
}

RY_REF_LANES(cumsum, applicable, axis_of(p), axis_of(p) + 1, lane)
