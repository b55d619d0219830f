/* SPDX-License-Identifier: Apache-2.0 */
/* Reference dropout (Srivastava et al., JMLR 15, 2014), inverted: what stays is scaled, so that
 * inference need not be. */
#include "kernels/common/dropout.h"
#include "kernels/ref/ref_common.h"

static void element(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *x = &p->in[0], *y = &p->out[0];
    const ry_dropout drop = ry_dropout_of(&p->attrs.dropout, *(const double *)launch->in[1]);
    uint64_t position = 0;
    for (int d = 0; d < x->rank; d++) {
        position = position * (uint64_t)x->dim[d] + (uint64_t)index[d];
    }
    const double value =
        ry_random_word(&drop.random, position) < drop.least
            ? 0
            : ry_ref_get(ry_ref_dtype(x), launch->in[0], ry_index_offset(x, index)) * drop.scale;
    ry_set_f64(ry_ref_dtype(y), launch->out[0], ry_index_offset(y, index), value);
}

static bool applicable(const ry_problem *problem)
{
    return ry_ref_floats(problem) && problem->attrs.dropout.ratio >= 0 &&
           problem->attrs.dropout.ratio < 1;
}

RY_REF_ELEMENTS(dropout, applicable, element)
