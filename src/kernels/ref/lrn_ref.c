/* SPDX-License-Identifier: Apache-2.0 */
/* Reference local response normalisation across channels (Krizhevsky et al., NIPS 2012,
 * section 3.3). */
#include "base/integer.h"
#include "kernels/ref/ref_common.h"

static void element(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_lrn_attrs *attrs = &p->attrs.lrn;
    const ry_tensor *x = &p->in[0], *y = &p->out[0];
    int64_t centre = ry_index_offset(x, index);
    int64_t first = ry_clamp(index[1] - (attrs->size - 1) / 2, 0, x->dim[1]);
    int64_t end = ry_clamp(index[1] + attrs->size / 2 + 1, first, x->dim[1]);
    double squares = 0;
    for (int64_t c = first; c < end; c++) {
        double value =
            ry_ref_get(ry_ref_dtype(x), launch->in[0], centre + (c - index[1]) * x->stride[1]);
        squares += value * value;
    }
    double result = ry_ref_get(ry_ref_dtype(x), launch->in[0], centre) /
                    pow(attrs->bias + attrs->alpha / (double)attrs->size * squares, attrs->beta);
    ry_set_f64(ry_ref_dtype(y), launch->out[0], ry_index_offset(y, index), result);
}

static bool applicable(const ry_problem *problem)
{
    return ry_ref_floats(problem) && problem->in[0].rank >= 2 && problem->attrs.lrn.size > 0;
}

RY_REF_ELEMENTS(lrn, applicable, element)
