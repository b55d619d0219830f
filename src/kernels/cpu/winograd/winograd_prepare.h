/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of Winograd's form are asked before they run. */
#ifndef RY_KERNELS_CPU_WINOGRAD_WINOGRAD_PREPARE_H
#define RY_KERNELS_CPU_WINOGRAD_WINOGRAD_PREPARE_H

#include "kernels/cpu/winograd/winograd_search.h"

extern const ry_knob ry_winograd_knobs[WINOGRAD_KNOBS];

bool ry_winograd_takes_near32(const ry_problem *problem);
bool ry_winograd_takes_strict(const ry_problem *problem);
rynd_status ry_winograd_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_winograd_packing(const ry_prepared *prepared, ry_text *key);

/* Where the flags of all parts are: behind all blocks' shared V. */
static inline size_t winograd_find_flags(const winograd_plan *plan)
{
    return (size_t)(plan->geometry.groups * plan->blocks * plan->points * plan->v_point) *
           sizeof(float);
}

/* Flags of a part of a block's channels: is it finite; is it uneven, of each tile. */
static inline int64_t winograd_part_flags(const winograd_plan *plan)
{
    return 1 + plan->block;
}

#endif
