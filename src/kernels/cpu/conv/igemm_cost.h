/* SPDX-License-Identifier: Apache-2.0 */
/* What a way to cut a convolution into matrix products costs, by a count of cycles, in units of one vector's multiply-add. */
#ifndef RY_KERNELS_CPU_CONV_IGEMM_COST_H
#define RY_KERNELS_CPU_CONV_IGEMM_COST_H

#include "kernels/cpu/conv/igemm_plan.h"

enum {
    IGEMM_PANEL_MOST = 224 * 1024, /* bytes: the panel stays in a second-level cache of 512 KiB beside the weights that stream through */
    IGEMM_PHASE_OVERHEAD = 20000,  /* cycles: the threads meet */
};

/* Floats of a chunk's panel. */
int64_t igemm_panel_floats(const igemm_plan *plan, const igemm_phase *phase, int64_t block);

/* Does x, in place, come from memory? */
bool igemm_is_far(const igemm_plan *plan, const igemm_phase *phase);

/* Of the bundle that begins with `first`, in tasks of `block` pixels and so many units. */
double igemm_cost_of(const igemm_plan *plan, const igemm_phase *first, int64_t block, int64_t units);

#endif
