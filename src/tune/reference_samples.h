/* SPDX-License-Identifier: Apache-2.0 */
/* What a problem's outputs should be, at some places, and whether a candidate's are.
 *
 * The places are those that some tasks of the reference kernel write: its work is cut into as many
 * tasks as wanted (ref_common.h), so some hundred of them, drawn at random from pieces of one
 * element, or of a lane where an element is not computed by itself, cost a small part of the whole;
 * the first and the last are always among them. This is the same for every operator that has a
 * reference. One that only moves elements has none: its candidates are compared with the whole
 * output of the first, the untuned choice. */
#ifndef RY_TUNE_REFERENCE_SAMPLES_H
#define RY_TUNE_REFERENCE_SAMPLES_H

#include "kernels/kernel.h"
#include "tune/operands.h"

typedef struct ry_reference_sample {
    int output;
    size_t element; /* index in the output's memory */
} ry_reference_sample;

typedef struct ry_reference_samples {
    const ry_problem *problem;
    const ry_kernel *reference; /* NULL: the untuned choice is it */
    size_t count;
    ry_reference_sample *samples;
    unsigned char *values; /* one value a sample, 8 bytes each, in the output's dtype */
} ry_reference_samples;

/* Computes the reference's part on the calling thread, in some hundredths of a second where that
 * is possible. `host`: the CPU's target. Takes memory in `arena` and, until it returns, an output's
 * from its allocator. Where there is no reference nothing is sampled yet. */
rynd_status ry_reference_samples_make(ry_reference_samples *truth, const ry_operands *operands,
                                      const ry_target *host, uint64_t seed, ry_arena *arena,
                                      ry_error *error);

/* Computes the reference's outputs, or those of the CPU's kernel where there is no reference,
 * whole: for small problems. */
rynd_status ry_reference_samples_whole(ry_reference_samples *truth, const ry_operands *operands,
                                       const ry_target *host, ry_arena *arena, ry_error *error);

/* Takes the operands' outputs as true, whole. */
rynd_status ry_reference_samples_take(ry_reference_samples *truth, ry_operands *operands,
                                      ry_arena *arena, ry_error *error);

enum { RY_DOUBT_LENGTH = 160 };

/* Are the operands' outputs true, within the bound of the kernel's class? If not, `doubt` says
 * where they are not. */
rynd_status ry_reference_samples_compare(const ry_reference_samples *truth, ry_operands *operands,
                                         ry_accuracy accuracy, char doubt[RY_DOUBT_LENGTH],
                                         ry_error *error);

#endif
