/* SPDX-License-Identifier: Apache-2.0 */
/* Resize as tables of taps and weights: what its kernels of every instruction set share.
 *
 * Memory is [leads..][width][inner]: `width` is the last axis that changes, `inner` are the
 * elements behind it, and a row is width and inner. An output row is a weighted sum of input rows,
 * each resized along the width. */
#ifndef RY_KERNELS_CPU_SAMPLE_RESIZE_PLAN_H
#define RY_KERNELS_CPU_SAMPLE_RESIZE_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/kernel.h"

/* Resized rows that are kept in a ring. */
enum { RESIZE_RING = 16 };

/* Enlargements, and numbers of taps, that have loops of their own. */
enum { RESIZE_PERIOD = 4, RESIZE_PERIOD_TAPS = 4 };

/* One axis's table: for output o, input first[o] + j has the weight w(j, o) = weight[j * step_tap +
 * o * step_out]. A table that is too large for the state is in the workspace: the first phase of
 * each run fills it. */
typedef struct resize_axis {
    int dim;   /* the problem's */
    bool late; /* is the table in the workspace? */
    /* repeat: every input position fills that many outputs in turn; 0: no such pattern */
    int64_t in, out, taps, repeat;
    int64_t slots; /* ring slots, a power of two: input i is in slot i % slots */
    bool kept;     /* every output is its own input: no table */
    bool plain;    /* one tap of weight 1 */
    /* outputs [begin, end), by periods: the same weights, one input further each; 0: no such
     * pattern */
    int64_t period, begin, end;
    int64_t inside_begin, inside_end; /* outputs that are not extrapolated */
    /* offsets in the state or the workspace, in bytes: int32_t, float or double */
    size_t first, weight;
    int64_t step_tap, step_out;
} resize_axis;

typedef struct resize_plan {
    rynd_dtype dtype;
    bool picks; /* nearest: elements are copied */
    bool wide;  /* weights and sums are double */
    bool plain; /* leads have one tap of weight 1 */
    bool extrapolates;
    bool single; /* one lead has a table, behind a kept one at most, and the ring holds its taps */
    int leads;
    resize_axis lead[RY_MAX_RANK], width;
    int64_t inner;
    ry_cut_axis rows;
    int64_t taps;  /* input rows of an output row */
    bool ring;     /* are resized rows kept for the next output rows? */
    int64_t slots; /* resized rows in the scratch */
    int64_t pitch; /* sums from row to row in the ring */
    /* integers: leads whose rows are summed one lead after the other, as the definition rounds
     * them; 0: all taps at once */
    int levels;
    size_t line, sum;  /* an input row as sums, and an output row: bytes into the scratch */
    size_t level;      /* a sum for each level */
    int64_t most_taps; /* the largest axis's */
    size_t fills;      /* tasks that fill tables of the workspace; 0: no such table */
} resize_plan;

/* The memory that tables are in. */
typedef struct resize_tables {
    const char *memory[2]; /* state, workspace */
    bool wide;             /* weights are double */
} resize_tables;

static inline const int32_t *resize_firsts(const resize_tables *tables, const resize_axis *t)
{
    return (const int32_t *)(const void *)(tables->memory[t->late] + t->first);
}

static inline const void *resize_weights(const resize_tables *tables, const resize_axis *t)
{
    return tables->memory[t->late] + t->weight;
}

static inline double resize_weight(const resize_tables *tables, const resize_axis *t, int64_t tap,
                                   int64_t o)
{
    const int64_t at = tap * t->step_tap + o * t->step_out;
    return t->kept        ? 1
           : tables->wide ? ((const double *)resize_weights(tables, t))[at]
                          : (double)((const float *)resize_weights(tables, t))[at];
}

bool ry_resize_applicable(const ry_problem *problem);
rynd_status ry_resize_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
/* state: a resize_plan, room for transposing an axis, then the tables */
void ry_resize_initialise(const ry_query *query, void *state);
/* Task `task` of plan->fills: a part of a table in the workspace. */
void ry_resize_fill(const ry_problem *problem, const resize_plan *plan, size_t task,
                    void *workspace, void *scratch);

#endif
