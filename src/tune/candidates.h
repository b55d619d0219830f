/* SPDX-License-Identifier: Apache-2.0 */
/* Every form of every kernel in the list that takes a problem, but for hopeless ones. */
#ifndef RY_TUNE_CANDIDATES_H
#define RY_TUNE_CANDIDATES_H

#include "kernels/prepared.h"

enum { RY_MAX_CANDIDATES = 256 };

typedef struct ry_candidate {
    ry_prepared prepared; /* without its state; its form is complete */
    double predicted;     /* seconds, on the device's workers */
    int order;            /* in the list of kernels, and of their forms */
} ry_candidate;

typedef struct ry_candidates {
    int count;
    int left_out; /* that are predicted to be hopeless */
    ry_candidate *items;
} ry_candidates;

/* The untuned choice first, then the others by predicted time. Hopeless are those whose prediction
 * is three times the least: of the 801 layers of bench/results/forms-zen4-*.jsonl.gz no best form
 * is predicted to take more than 2.4 times as long. A device other than the CPU, whose kernels'
 * predictions are less alike, is asked eight times the least of the same kernel. No kernel takes
 * the problem: none. The problem and the target must outlive them; they take memory in an arena. */
rynd_status ry_candidates_list(const ry_problem *problem, unsigned constants,
                               const ry_target *target, unsigned workers, ry_arena *arena,
                               ry_candidates *candidates, ry_error *error);

#endif
