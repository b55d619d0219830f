/* SPDX-License-Identifier: Apache-2.0 */
/* The state is the description of the convolution, then its plan. */
#include "kernels/cpu/matmul/matmul_igemm.h"

#include "base/whole.h"
#include "kernels/cpu/conv/igemm_prepare.h"

bool matmul_igemm_takes(const ry_problem *problem)
{
    matmul_as_conv conv;
    return matmul_as_conv_of(problem, &conv) && igemm_takes_floats(&conv.problem);
}

void matmul_igemm_values(const ry_query *query, int knob, ry_knob_values *values)
{
    matmul_as_conv conv;
    if (matmul_as_conv_of(query->problem, &conv)) {
        ry_query as_conv = *query;
        as_conv.problem = &conv.problem;
        igemm_values(&as_conv, knob, values);
    }
}

rynd_status matmul_igemm_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    matmul_as_conv conv;
    if (!matmul_as_conv_of(query->problem, &conv)) {
        return ry_fail(error, RYND_ERROR_SHAPE, "matmul: not a product of two matrices");
    }
    ry_query as_conv = *query;
    as_conv.problem = &conv.problem;
    RY_TRY(igemm_prepare(&as_conv, prepared, error));
    prepared->state_size += ry_aligned(sizeof conv);
    return RYND_OK;
}

void matmul_igemm_initialise(const ry_query *query, const ry_prepared *prepared, void *state)
{
    matmul_as_conv *conv = state;
    if (matmul_as_conv_of(query->problem, conv)) {
        ry_query as_conv = *query;
        as_conv.problem = &conv->problem;
        igemm_initialise(&as_conv, prepared, (char *)state + ry_aligned(sizeof *conv));
        conv->problem.in = conv->problem.out = NULL;
    }
}

ry_cpu_launch matmul_igemm_launch(const ry_cpu_launch *launch, matmul_as_conv *conv)
{
    *conv = *(const matmul_as_conv *)launch->state;
    matmul_as_conv_tie(conv);
    ry_cpu_launch as_conv = *launch;
    as_conv.problem = &conv->problem;
    as_conv.state = (const char *)launch->state + ry_aligned(sizeof *conv);
    return as_conv;
}
