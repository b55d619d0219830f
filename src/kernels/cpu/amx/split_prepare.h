/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels by tiles of split bfloat16 are asked before they run. */
#ifndef RY_KERNELS_CPU_AMX_SPLIT_PREPARE_H
#define RY_KERNELS_CPU_AMX_SPLIT_PREPARE_H

#include "kernels/cpu/amx/split_plan.h"
#include "kernels/form_method.h"

extern const ry_knob ry_split_knobs[SPLIT_KNOBS];
RY_FORM_FUNCTIONS(ry_split);

/* The functions of kernel.h for a matrix product, as the convolution that it is. */
bool ry_matmul_split_is_possible(const ry_problem *problem);
void ry_matmul_split_values(const ry_query *query, int knob, ry_knob_values *values);
rynd_status ry_matmul_split_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_matmul_split_initialise(const ry_query *query, void *state);

/* `packing` of convolutions, and of products. */
void ry_split_packing(const ry_prepared *prepared, ry_text *key);
void ry_matmul_split_packing(const ry_prepared *prepared, ry_text *key);

#endif
