/* SPDX-License-Identifier: Apache-2.0 */
/* Resize as tables of taps and weights, which its kernels of every instruction set share.
 *
 * Memory is [leads..][width][inner]: `width` is the last axis that changes, `inner` are the
 * elements behind it, and a row is width and inner. An output row is a weighted sum of input rows,
 * each resized along the width. */
#ifndef RY_KERNELS_CPU_SAMPLE_RESIZE_TABLES_H
#define RY_KERNELS_CPU_SAMPLE_RESIZE_TABLES_H

#include "kernels/common/resize_map.h"
#include "kernels/common/task_cut.h"
#include "kernels/kernel.h"

/* Resized rows that are kept in a ring. */
enum { RESIZE_RING = 16 };

/* Planning tries the outputs of an axis one by one up to this number. */
enum { RESIZE_TRIED = 1 << 16 };

/* Enlargements, and numbers of taps, that have loops of their own. */
enum { RESIZE_PERIOD = 4, RESIZE_PERIOD_TAPS = 4 };

/* One axis's table: for output base + e, input first[e] + j has the weight w(j, e) =
 * weight[j * step_tap + e * step_out]. A table that is too large for the state is in the workspace:
 * the first phase of each run fills it. */
typedef struct resize_axis {
    int dim;               /* the problem's */
    bool late;             /* is the table in the workspace? */
    bool far;              /* positions are int64_t: the input has more than int32_t counts */
    int64_t base, entries; /* the table's outputs: base .. base + entries - 1 */
    /* repeat: every input position fills that many outputs in turn; 0: no such pattern */
    int64_t in, out, taps, repeat;
    int64_t slots; /* ring slots, a power of two: input i is in slot i % slots */
    bool kept;     /* every output is its own input: no table */
    bool plain;    /* one tap of weight 1 */
    /* outputs [begin, end), by periods: the same weights, one input further each; 0: no such
     * pattern */
    int64_t period, begin, end;
    int64_t inside_begin, inside_end; /* outputs that are not extrapolated */
    /* offsets in the state or the workspace, in bytes: int32_t or int64_t, float or double */
    size_t first, weight;
    int64_t step_tap, step_out;
} resize_axis;

typedef struct resize_plan {
    rynd_dtype dtype;
    bool picks;        /* nearest: elements are copied */
    bool wide;         /* weights and sums are double */
    bool bytes;        /* uint8 whose sums are exact in float */
    bool plain;        /* leads have one tap of weight 1 */
    bool transposed;   /* a gradient */
    bool extrapolates; /* outputs may be outside: the extrapolation value, 0 of a gradient */
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
    int64_t most_taps; /* an output of the forward map has */
    size_t fills;      /* tasks that fill tables of the workspace; 0: no such table */
} resize_plan;

/* The memory that tables are in. */
typedef struct resize_tables {
    const char *memory[2]; /* state, workspace */
    bool wide;             /* weights are double */
} resize_tables;

/* The entries of positions; not of a far axis. */
static inline const int32_t *resize_firsts(const resize_tables *tables, const resize_axis *t)
{
    return (const int32_t *)(const void *)(tables->memory[t->late] + t->first);
}

/* The position of output `o`. */
static inline int64_t resize_first(const resize_tables *tables, const resize_axis *t, int64_t o)
{
    const int32_t *near = resize_firsts(tables, t);
    return t->far ? ((const int64_t *)(const void *)near)[o - t->base] : near[o - t->base];
}

static inline const void *resize_weights(const resize_tables *tables, const resize_axis *t)
{
    return tables->memory[t->late] + t->weight;
}

static inline double resize_weight(const resize_tables *tables, const resize_axis *t, int64_t tap,
                                   int64_t o)
{
    const int64_t at = tap * t->step_tap + (o - t->base) * t->step_out;
    return t->kept        ? 1
           : tables->wide ? ((const double *)resize_weights(tables, t))[at]
                          : (double)((const float *)resize_weights(tables, t))[at];
}

/* Outputs whose taps a task puts into a table of the workspace. */
enum { RESIZE_FILLED = 1 << 14 };

/* Describes an axis of the resize; for a gradient, of its forward resize. */
static inline ry_resize_axis resize_axis_of(const ry_problem *problem, int dim)
{
    ry_resize_axis axis;
    ry_resize_axis_make(problem, dim, &axis);
    return axis;
}

/* The inputs that a forward resize reads, and how many outputs read one at most: a bound. */
typedef struct resize_readers_bound {
    int64_t begin, end, most;
} resize_readers_bound;

resize_readers_bound ry_resize_readers_bound(const ry_resize_axis *axis);

/* What transposing an axis needs: its readers, and a row of weights. */
typedef struct resize_transposing {
    ry_resize_readers *readers;
    double *row;
} resize_transposing;

static inline resize_transposing resize_transposing_in(void *room, const ry_resize_axis *axis)
{
    ry_resize_readers *readers = room;
    return (resize_transposing){readers, (double *)(void *)(readers + axis->in)};
}

/* Fills the table of the transposed map: output i is made of the forward outputs that read it.
 * `room` is as large as resize_transposing needs. */
void ry_resize_fill_transposed(resize_plan *s, const ry_resize_axis *axis, void *room,
                               resize_axis *t);

/* Fills a table of the state; `found` has room for a window's weights. */
void ry_resize_fill_axis(resize_plan *s, const ry_resize_axis *axis, resize_axis *t, double *found);

/* Finds the outputs whose weights repeat, if the axis is enlarged by a whole number. */
void ry_resize_find_period(const resize_plan *s, resize_axis *t);

/* Task `task` of plan->fills: a part of a table in the workspace. */
void ry_resize_fill(const ry_problem *problem, const resize_plan *plan, size_t task,
                    void *workspace, void *scratch);

#endif
