/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of the implicit GEMM are asked before they run; their products are of bfloat16 where
 * their class is. */
#ifndef RY_KERNELS_CPU_IGEMM_IGEMM_PREPARE_H
#define RY_KERNELS_CPU_IGEMM_IGEMM_PREPARE_H

#include "kernels/cpu/igemm/igemm_plan.h"

/* The order of the sum, and so a result's bits, follow from mode and split; and from k block, where
 * k blocks are split or products are of pairs. */
extern const ry_knob ry_igemm_knobs[IGEMM_KNOBS];
extern const char *const ry_igemm_modes[], *const ry_igemm_inputs[];

void ry_igemm_values(const ry_query *query, int knob, ry_knob_values *values);
rynd_status ry_igemm_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_igemm_initialise(const ry_query *query, void *state);

/* `packing` of convolutions; then that of a plan, for the kernels built on it. */
void ry_igemm_packing(const ry_prepared *prepared, ry_text *key);
void ry_igemm_packing_of(const igemm_plan *plan, ry_text *key);

#endif
