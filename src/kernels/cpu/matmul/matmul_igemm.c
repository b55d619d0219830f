/* SPDX-License-Identifier: Apache-2.0 */
/* The state is the description of the convolution, then its plan. */
#include "kernels/cpu/matmul/matmul_igemm.h"

#include "base/whole.h"
#include "kernels/costs.h"
#include "kernels/cpu/conv/igemm_prepare.h"
#include "machine/machine.h"

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

/* Multiply-adds of a vector that take as long as packing the right operand. */
static double pack_cycles(const ry_query *query, const matmul_as_conv *conv)
{
    const struct ry_matmul_costs *cost = &ry_costs_of(query->kernel->simd.width)->matmul;
    const ry_tensor *w = &conv->in[1];
    const double elements = (double)(w->dim[0] * w->dim[1]), vectors = elements / query->kernel->simd.width;
    const bool far = ry_machine_is_far(query->target->machine, 4 * elements);
    return query->kernel->accuracy == RY_ACCURACY_bf16 ? elements * cost->pack_rounded
           : w->stride[0] == 1                         ? vectors * (far ? cost->pack_row_far : cost->pack_row)
           : w->stride[1] == 1                         ? vectors * cost->pack_column
                                                       : elements * cost->pack_element;
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
    prepared->pack_work = 2 * pack_cycles(query, &conv) * query->kernel->simd.width;
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
