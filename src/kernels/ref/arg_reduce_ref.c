/* SPDX-License-Identifier: Apache-2.0 */
/* Reference argmax and argmin along an axis; ties by the first (or last) position, and a NaN wins
 * over every number, as in numpy. */
#include "kernels/ref/ref_common.h"

static int axis_of(const ry_problem *p)
{
    return ry_axis(p->attrs.arg_reduce.axis, p->in[0].rank);
}

/* Above 0: element a is preferred to element b. */
static int preference(const ry_problem *p, const void *data, int64_t a, int64_t b)
{
    ry_dtype dtype = ry_ref_dtype(&p->in[0]);
    int order = ry_ref_compare(dtype, data, a, b);
    bool nan = ry_dtype_is_float(dtype) &&
               (isnan(ry_ref_get(dtype, data, a)) || isnan(ry_ref_get(dtype, data, b)));
    return p->attrs.arg_reduce.min && !nan ? -order : order;
}

static void lane(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *x = &p->in[0], *y = &p->out[0];
    int axis = axis_of(p);
    int64_t base = ry_index_offset(x, index), step = x->stride[axis], best = 0;
    for (int64_t i = 1; i < x->dim[axis]; i++) {
        int order = preference(p, launch->in[0], base + i * step, base + best * step);
        if (order > 0 || (order == 0 && p->attrs.arg_reduce.select_last)) {
            best = i;
        }
    }
    int64_t at[RY_MAX_RANK] = {0};
    for (int i = 0, j = 0; i < x->rank; i++) {
        if (i != axis || p->attrs.arg_reduce.keepdims) {
            at[j++] = index[i];
        }
    }
    ry_set_i64(ry_ref_dtype(y), launch->out[0], ry_index_offset(y, at), best);
}

static bool applicable(const ry_problem *problem)
{
    return ry_ref_numeric(problem) && axis_of(problem) >= 0;
}

RY_REF_LANES(arg_reduce, applicable, axis_of(p), axis_of(p) + 1, lane)
