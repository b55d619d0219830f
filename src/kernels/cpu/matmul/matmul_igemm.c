/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/matmul/matmul_igemm.h"

#include "kernels/costs.h"
#include "kernels/cpu/igemm/igemm_prepare.h"
#include "machine/machine.h"

bool ry_matmul_igemm_takes(const ry_problem *problem)
{
    return ry_matmul_as_conv_takes(problem, ry_conv_takes_floats);
}

void ry_matmul_igemm_values(const ry_query *query, int knob, ry_knob_values *values)
{
    ry_matmul_as_conv_values(query, knob, values, ry_igemm_values);
}

/* Multiply-adds of a vector that take as long as packing the right operand. */
static double pack_cycles(const ry_query *query, const matmul_as_conv *conv)
{
    const struct ry_matmul_costs *cost = &ry_costs_asked(query)->matmul;
    const ry_tensor *w = &conv->in[1];
    const double elements = (double)(w->dim[0] * w->dim[1]),
                 vectors = elements / query->kernel->simd.width;
    const bool from_memory = ry_machine_exceeds_cache(query->target->machine, 4 * elements);
    return query->kernel->accuracy == RY_ACCURACY_bf16 ? elements * cost->pack_rounded
           : w->stride[0] == 1 ? vectors * (from_memory ? cost->pack_row_memory : cost->pack_row)
           : w->stride[1] == 1 ? vectors * cost->pack_column
                               : elements * cost->pack_element;
}

rynd_status ry_matmul_igemm_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    matmul_as_conv conv;
    RY_TRY(ry_matmul_as_conv_prepare(query, prepared, error, ry_igemm_prepare));
    ry_matmul_as_conv_of(query->problem, &conv);
    prepared->pack_work = 2 * pack_cycles(query, &conv) * query->kernel->simd.width;
    return RYND_OK;
}

void ry_matmul_igemm_initialise(const ry_query *query, void *state)
{
    ry_matmul_as_conv_initialise(query, state, ry_igemm_initialise);
}

void ry_matmul_igemm_packing(const ry_prepared *prepared, ry_text *key)
{
    ry_igemm_packing_of(ry_matmul_as_conv_state(prepared->state), key);
}
