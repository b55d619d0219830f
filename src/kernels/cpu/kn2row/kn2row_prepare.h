/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of products first are asked before they run. */
#ifndef RY_KERNELS_CPU_KN2ROW_KN2ROW_PREPARE_H
#define RY_KERNELS_CPU_KN2ROW_KN2ROW_PREPARE_H

#include "kernels/cpu/kn2row/kn2row_plan.h"

/* The order of the sum, and so a result's bits, follow from nothing that a form sets. */
extern const ry_knob ry_kn2row_knobs[KN2ROW_KNOBS];

void ry_kn2row_values(const ry_query *query, int knob, ry_knob_values *values);
rynd_status ry_kn2row_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_kn2row_initialise(const ry_query *query, void *state);
void ry_kn2row_packing(const ry_prepared *prepared, ry_text *key);

#endif
