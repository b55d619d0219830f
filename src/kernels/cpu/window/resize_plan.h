/* SPDX-License-Identifier: Apache-2.0 */
/* Resize as tables of taps and weights: what its kernels of every instruction set share. */
#ifndef RY_KERNELS_CPU_WINDOW_RESIZE_PLAN_H
#define RY_KERNELS_CPU_WINDOW_RESIZE_PLAN_H

#include "kernels/kernel.h"

/* Taps that are kept in a ring; wider (antialiasing) windows overlap too little for it. */
enum { RESIZE_RING = 4 };

/* Enlargements that have loops of their own. */
enum { RESIZE_PERIOD = 4 };

/* One axis's table: for output o, input first[o] + j has the weight w(j, o) = weight[j * step_tap +
 * o * step_out]. */
typedef struct resize_axis {
    /* repeat: every input position fills that many outputs in turn; 0: no such pattern */
    int64_t in, out, taps, repeat;
    bool plain; /* one tap of weight 1 */
    /* outputs [begin, end), by periods: the same weights, one input further each; 0: no such
     * pattern */
    int64_t period, begin, end;
    /* offsets in the state, in bytes: int32_t, float, and a row of double for filling the table */
    size_t first, weight, spare;
    int64_t step_tap, step_out;
} resize_axis;

typedef struct resize_plan {
    resize_axis height, width;
    int64_t outer, inner, rows_per_task, tasks_per_plane;
} resize_plan;

static inline const int32_t *resize_firsts(const resize_plan *s, const resize_axis *t)
{
    return (const int32_t *)(const void *)((const char *)s + t->first);
}

static inline const float *resize_weights(const resize_plan *s, const resize_axis *t)
{
    return (const float *)(const void *)((const char *)s + t->weight);
}

bool ry_resize_applicable(const ry_problem *problem);
rynd_status ry_resize_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
/* state: a resize_plan, then its tables */
void ry_resize_initialise(const ry_query *query, void *state);

#endif
