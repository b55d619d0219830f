/* SPDX-License-Identifier: Apache-2.0 */
/* How a depthwise convolution with pixels side by side in memory ("nchw") is cut: vectors are along
 * a row's pixels.
 *
 * A task computes some rows of some output channels, a plane at a time, in strips of up to
 * STRIP_ROWS rows. A strip goes through its columns a vector at a time, reads x where it is, and
 * keeps the sums of all its rows in registers: a loaded vector serves every tap of its column. Rows
 * outside x are left out; vectors that reach over the left or right edge load with masks, which the
 * plan holds. With vertical dilation a strip takes every dilation-th row.
 *
 * With a horizontal stride of 2 loads come in pairs of vectors, parted into even and odd pixels:
 * taps s and s + 1. The first tap of an odd window is tap 2 of the pixel before: it is shifted in.
 *
 * Full strips of windows of 5x5 and 7x7 with unit stride have a variant that knows their size
 * (`windows`).
 *
 * The last vectors of rows that fill at most half of the lanes are summed for two strips of the
 * greatest height together (`two_strips`).
 *
 * Where sixteen registers hold no strip beside the weights, windows of 3x3 have a variant that goes
 * down all rows a vector of columns at a time (`rotates`). The last vector of a row ends with it.
 *
 * Planes of at most half a vector's width go two at a time (`two_planes`), one in each half; taps
 * are permutations of one load. Planes of one or two vectors' width and more than seven rows, or of
 * half of one and seven, without gaps, with windows of 3x3 and nothing but bounds behind them, have
 * a variant of their own (`seven_rows`), which writes full vectors over what the next row writes
 * again.
 *
 * A window with depth is a sum of flat ones, one pass over a slice of y for each slice of x: every
 * pass but the first adds to what y has. */
#ifndef RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_NCHW_PLAN_H
#define RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_NCHW_PLAN_H

#include "base/integer.h"
#include "kernels/common/task_cut.h"
#include "kernels/cpu/parts/conv_geometry.h"
#include "kernels/kernel.h"
#include "problem/limits.h"
#include "problem/window.h"

typedef enum depthwise_nchw_variant {
    NCHW_STRIP,      /* any */
    NCHW_WINDOW,     /* strips of windows of a known size */
    NCHW_TWO_PLANES, /* two planes at a time */
    NCHW_ROTATING,   /* down all rows */
    NCHW_SEVEN_ROWS, /* planes without gaps, seven rows in registers */
    NCHW_VARIANTS
} depthwise_nchw_variant;

/* variant and halves make the forms; the others cut them. */
enum { NCHW_VARIANT, NCHW_TWO_STRIPS, NCHW_ROWS, NCHW_CHANNELS, NCHW_KNOBS };
extern const ry_knob ry_depthwise_nchw_knobs[NCHW_KNOBS];

enum {
    STRIP_ROWS = 7, /* output rows of a strip */
    STRIP_TAPS = 7, /* rows of the window at once, at most */
    DEPTHWISE_HEIGHTS = 3,
    /* that roll together, at most: what they read and write stays in the first-level cache for
     * the next columns */
    ROTATING_ROWS = 28,
    ROTATING_LOADS = 4, /* most loads of a vector and row */
};

typedef struct depthwise_nchw_plan {
    ry_conv_geometry geometry;
    ry_conv_phase phase;
    int64_t multiplier;     /* output channels of an input channel */
    int64_t outputs;        /* channels of y */
    int64_t rows, channels; /* output rows and channels of a task */
    ry_task_cut cut;        /* images, channels, rows */
    int64_t passes;         /* slices of x that all slices of y read */
    depthwise_nchw_variant variant;
    /* seven_rows: also of pairs, if two_planes */
    bool two_planes, rotates, seven_rows, two_strips, windows;
    bool fetches;                 /* prefetch x and y, which come from outer caches or memory */
    int64_t vectors, left, right; /* vectors of a row; masked vectors at its left and right end */
    /* masks of a vector: one a tap; one a pair of taps, and one of the first, where the stride
     * is 2 */
    int64_t loads;
    double cycles; /* cycles of all tasks */
    size_t size;   /* bytes, masks included */
    /* [left, then right][load]: pixels inside x; rolls: of the first and of the last vector;
     * paired: [tap column] lanes that read x, then int32_t [tap column][lane] */
    uint32_t mask[];
} depthwise_nchw_plan;

/* paired: which pixel of a row of the first plane (or of the second, plus the vectors' width) each
 * lane reads. */
static inline const int32_t *depthwise_nchw_lanes(const depthwise_nchw_plan *plan)
{
    return (const int32_t *)(plan->mask + plan->loads);
}

/* Heights of a strip, highest first, and the one to take of those where `left` rows are left. */
extern const int ry_depthwise_nchw_heights[DEPTHWISE_HEIGHTS];
int ry_depthwise_nchw_form(int64_t left);

/* Rows of the window that go together where `left` are left. */
static inline int64_t depthwise_nchw_tap_rows(int64_t left)
{
    return left >= 7 ? 7 : left >= 5 ? 5 : left >= 3 ? 3 : left;
}

/* The j < count for which row first + j * (vertical dilation) is one of x. */
static inline ry_window_range depthwise_nchw_inside(const depthwise_nchw_plan *plan, int64_t first,
                                                    int64_t count)
{
    return ry_window_inside(plan->geometry.in[1], first, plan->geometry.dilation[1], count);
}

/* Bit j < 32: is row from + j one of `inside`? */
static inline uint32_t depthwise_nchw_rows(ry_window_range inside, int64_t from)
{
    const int64_t begin = ry_clamp(inside.begin - from, 0, 32),
                  end = ry_clamp(inside.end - from, begin, 32);
    return (uint32_t)((1ull << end) - (1ull << begin));
}

bool ry_depthwise_nchw_suits(const ry_problem *problem);

/* Taps of the depth that read inside x, for slice z of y. There is one at least. */
ry_window_range ry_depthwise_nchw_passes(const ry_conv_geometry *geometry, int64_t z);

/* Is there a plan of that variant, with or without halves? */
bool ry_depthwise_nchw_has(const ry_query *query, depthwise_nchw_variant variant);
bool ry_depthwise_nchw_has_two_strips(const ry_query *query);

/* The plan that the query's form asks for, without masks; false: there is none. Then the whole of
 * it, in plan->size bytes. */
bool ry_depthwise_nchw_plan_choose(const ry_query *query, depthwise_nchw_plan *plan);
void ry_depthwise_nchw_initialise(const ry_query *query, void *state);
void ry_depthwise_nchw_packing(const ry_prepared *prepared, ry_text *key);

void ry_depthwise_nchw_values(const ry_query *query, int knob, ry_knob_values *values);
rynd_status ry_depthwise_nchw_prepare(const ry_query *query, ry_prepared *prepared,
                                      ry_error *error);

#endif
