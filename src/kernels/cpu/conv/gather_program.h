/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of masked loads that gather the pixels of a task into a panel (igemm_plan.h). */
#ifndef RY_KERNELS_CPU_CONV_GATHER_PROGRAM_H
#define RY_KERNELS_CPU_CONV_GATHER_PROGRAM_H

#include "kernels/cpu/conv/igemm_plan.h"

/* A chunk of the reduction. */
typedef struct igemm_chunk {
    int64_t channel, channels, tap, taps; /* taps count from the phase's first */
    int64_t first;                        /* position in the packed weights, in steps */
    int64_t depth, steps;
} igemm_chunk;

/* Puts the plan's phases into bundles, and makes the grids of each equal. */
void igemm_bundle_phases(const ry_problem *problem, igemm_plan *plan, ry_conv_tap *tap);

/* Fills `passes` of a bundle from its members' chunks. */
void igemm_count_passes(igemm_phase *first);

/* Gives a bundle's members their places among the worker's panels and blocks, and counts the floats of both. */
void igemm_place_bundle(const igemm_plan *plan, igemm_phase *first, int64_t *panels, int64_t *blocks);

/* The chunk after `chunk`, in the reduction's order; the first one after an empty one. */
void igemm_next_chunk(const igemm_plan *plan, const igemm_phase *phase, igemm_chunk *chunk);

/* Cuts the pixels [first, first + count) of a range (in image `image` where ranges are images) into segments; returns their number. */
int64_t igemm_cut_segments(const igemm_plan *plan, const igemm_phase *phase, int64_t image, int64_t first, int64_t count,
                           igemm_segment *segment);

/* The program that gathers `taps` taps from `tap` on: entries ordered as [sliver][tap][vector]; slivers of `sliver` vectors. */
void igemm_write_program(const igemm_plan *plan, const igemm_phase *phase, const igemm_segment *segment, int64_t segments, int64_t vectors,
                         int64_t sliver, int64_t first_tap, int64_t taps, igemm_entry *program);

#endif
