/* SPDX-License-Identifier: Apache-2.0 */
/* Reference batch normalisation for inference: given statistics of each channel, or of each
 * position of dims 1.. (spatial 0). */
#include "kernels/ref/ref_common.h"

static double parameter(const ry_cpu_launch *launch, int input, const int64_t *index)
{
    const ry_tensor *t = &launch->problem->in[input];
    int64_t offset = 0;
    for (int i = 0; i < t->rank; i++) {
        offset += index[i + 1] * t->stride[i];
    }
    return ry_ref_get(ry_ref_dtype(t), launch->in[input], offset);
}

static void element(const ry_cpu_launch *launch, const int64_t *index)
{
    const ry_problem *p = launch->problem;
    const ry_tensor *x = &p->in[0], *y = &p->out[0];
    double value = ry_ref_get(ry_ref_dtype(x), launch->in[0], ry_index_offset(x, index));
    double scale = parameter(launch, 1, index), bias = parameter(launch, 2, index);
    double mean = parameter(launch, 3, index), variance = parameter(launch, 4, index);
    double result = (value - mean) / sqrt(variance + p->attrs.batch_norm.epsilon) * scale + bias;
    ry_set_f64(ry_ref_dtype(y), launch->out[0], ry_index_offset(y, index), result);
}

/* Statistics of rank 1 (a channel) or of rank x.rank - 1 (every position). */
static bool applicable(const ry_problem *problem)
{
    if (!ry_ref_floats(problem) || problem->inputs < 5) {
        return false;
    }
    for (int i = 1; i < 5; i++) {
        if (!ry_ref_dtype(&problem->in[i]) || problem->in[i].rank >= problem->in[0].rank) {
            return false;
        }
    }
    return true;
}

RY_REF_ELEMENTS(batch_norm, applicable, element)
