/* SPDX-License-Identifier: Apache-2.0 */
/* A candidate made ready to run: packed and bound; measuring it takes no memory.
 *
 * Inputs that change from run to run, and outputs, are in the caches as far as they fit, as behind
 * the step before. Constants are too (warm), or are taken out of the caches before every run
 * (cold), as where a network's weights are more than the caches hold. */
#ifndef RY_TUNE_TRIAL_H
#define RY_TUNE_TRIAL_H

#include "kernels/prepared.h"
#include "tune/operands.h"

typedef struct ry_trial {
    ry_prepared prepared;
    ry_operands *operands;
    ry_arena arena;
    double seconds[RY_MAX_PHASES + 1]; /* predicted, of each phase on one worker */
    int64_t (*actual)[RY_MAX_RANK];
    ry_bound bound;
    ry_buffer *packed, *work, *fault; /* work: workspace, then scratch */
    ry_event *from, *to;              /* events of a device; NULL on the CPU */
    ry_launch flush; /* flushes constants from the caches; no tasks: flushes nothing */
    struct ry_flushed *flushed;
    size_t flush_tasks;
    int runs; /* runs in one measurement; 0 before the first ry_trial_measure */
} ry_trial;

/* Bit i: input i is a constant in networks, as weights and biases are. */
unsigned ry_trial_constants(const ry_problem *problem);

/* constants: bit i, input i is one. cold: take constants out of the caches before every run, where
 * the device can (a CPU). `trial` must stay where it is; what it is given must outlive it. To be
 * freed also where this fails. */
rynd_status ry_trial_make(ry_trial *trial, const ry_prepared *candidate, unsigned constants,
                          bool cold, ry_operands *operands, const ry_target *target,
                          ry_error *error);
void ry_trial_free(ry_trial *trial);

/* Bytes that it holds beside the operands. */
size_t ry_trial_bytes(const ry_trial *trial);

/* Runs once; fails if an input is illegal (an index out of bounds). */
rynd_status ry_trial_run(ry_trial *trial, ry_error *error);

/* Seconds of a run: the mean of as many as one measurement needs, by the clock, or by the events of
 * a device other than the CPU. */
rynd_status ry_trial_measure(ry_trial *trial, double *seconds, ry_error *error);

/* The median of measurements during `seconds`, behind one run that does not count; one at least. */
rynd_status ry_trial_median(ry_trial *trial, double seconds, double *median, ry_error *error);

#endif
