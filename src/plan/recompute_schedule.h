/* SPDX-License-Identifier: Apache-2.0 */
/* Recomputation as a problem of numbers: steps that run one after another, of which the first are a
 * forward pass, and values that they make and read. A value of the forward pass is kept until the
 * backward pass has read it, or it is dropped behind its last reader in the forward pass and
 * recomputed, as late as can be: its step runs again, and what that step reads was kept, or is
 * recomputed in its turn. What is kept decides about memory and time. */
#ifndef RY_PLAN_RECOMPUTE_SCHEDULE_H
#define RY_PLAN_RECOMPUTE_SCHEDULE_H

#include "plan/arena_map.h"

typedef struct ry_recompute_value {
    size_t bytes;   /* bytes in the arena */
    uint32_t maker; /* step */
    bool stays;     /* it is never dropped */
} ry_recompute_value;

/* A list for each of a number of things: that of thing i is item[at[i]] .. item[at[i + 1] - 1]. */
typedef struct ry_lists {
    uint32_t *at, *item;
} ry_lists;

typedef struct ry_recompute_graph {
    uint32_t steps, forward; /* the first `forward` of them are the forward pass */
    const double *seconds;   /* seconds per step */
    /* per step: first and last step of the run that takes turns, share by share of the batch; the
     * step itself if it takes no turns */
    const uint32_t *first, *last;
    const size_t *workspace; /* bytes per step; NULL: all 0 */
    uint32_t values;
    const ry_recompute_value *value;
    /* what step s makes may be stored over what it reads, if it is the last that does:
     * overwrites[overwrites_at[s]] .. overwrites[overwrites_at[s + 1] - 1]; NULL: nothing may */
    const ry_overwrite *overwrites;
    const uint32_t *overwrites_at;
    /* per step: values read and made; per value: its readers, rising. No entry twice. */
    ry_lists reads, makes, readers;
} ry_recompute_graph;

/* A step at its new place. */
typedef struct ry_scheduled_step {
    uint32_t step;
    bool again; /* it has run before */
} ry_scheduled_step;

typedef struct ry_recompute_schedule {
    double seconds; /* seconds of recomputation */
    size_t bytes;   /* bytes of the arena, with values and workspaces packed (arena_map.h) */
    uint32_t count; /* length of `order` */
    ry_scheduled_step *order;
    bool *again; /* per step of the forward pass: runs again */
} ry_recompute_schedule;

/* What comes of keeping those values (a flag for each), and dropping the others that the backward
 * pass reads. The lists are in the arena, and memory on the way is taken from it. False: out of
 * memory. */
bool ry_recompute_evaluate(const ry_recompute_graph *graph, const bool *keep, ry_arena *arena,
                           ry_recompute_schedule *schedule);

/* Which of the steps from `begin` to before `end` run again: again[step - begin]. `asked`: a flag
 * for each value, false at first, and set for what those steps read. */
void ry_recompute_find_again(const ry_recompute_graph *graph, uint32_t begin, uint32_t end,
                             const bool *keep, bool *asked, bool *again);

/* Does the backward pass read a value? */
bool ry_recompute_is_read_back(const ry_recompute_graph *graph, uint32_t value);

#endif
