/* SPDX-License-Identifier: Apache-2.0 */
/* Reference softmax, log-softmax and hardmax along an axis, or over all dims from an axis on. */
#include "kernels/ref/ref_common.h"

/* The dims that one lane has. */
static int begin_of(const ry_problem *p)
{
    int axis = ry_axis(p->attrs.softmax.axis, p->in[0].rank);
    return axis < 0 ? p->in[0].rank : axis;
}

static int end_of(const ry_problem *p)
{
    int begin = begin_of(p);
    return p->attrs.softmax.flatten || begin == p->in[0].rank ? p->in[0].rank : begin + 1;
}

static double value_at(const ry_cpu_launch *launch, const int64_t *at)
{
    const ry_tensor *x = &launch->problem->in[0];
    return ry_ref_get(ry_ref_dtype(x), launch->in[0], ry_index_offset(x, at));
}

static void lane(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *x = &p->in[0], *y = &p->out[0];
    ry_softmax_kind kind = p->attrs.softmax.kind;
    int begin = begin_of(p), rank = end_of(p) - begin;
    int64_t at[RY_MAX_RANK];
    memcpy(at, index, sizeof at);
    int64_t highest = ry_index_offset(x, at);
    do {
        int64_t offset = ry_index_offset(x, at);
        highest =
            ry_ref_compare(ry_ref_dtype(x), launch->in[0], offset, highest) > 0 ? offset : highest;
    } while (ry_index_next(rank, x->dim + begin, at + begin));
    double shift = ry_ref_get(ry_ref_dtype(x), launch->in[0], highest), sum = 0;
    do {
        sum += exp(value_at(launch, at) - shift);
    } while (ry_index_next(rank, x->dim + begin, at + begin));
    do {
        double d = value_at(launch, at) - shift;
        double result = kind == RY_softmax_kind_softmax       ? exp(d) / sum
                        : kind == RY_softmax_kind_log_softmax ? d - log(sum)
                                                              : ry_index_offset(x, at) == highest;
        ry_set_f64(ry_ref_dtype(y), launch->out[0], ry_index_offset(y, at), result);
    } while (ry_index_next(rank, x->dim + begin, at + begin));
}

RY_REF_LANES(softmax, ry_ref_floats, begin_of(p), end_of(p), lane)
