/* SPDX-License-Identifier: Apache-2.0 */
/* Interpolation at any positions: each result is a weighted sum (or the largest product) of a few
 * pixels. An operator fills the taps of each axis for a block of positions; points_run joins the
 * axes' taps once, and reads all channels by them. */
#ifndef RY_KERNELS_CPU_SAMPLE_POINTS_PLAN_H
#define RY_KERNELS_CPU_SAMPLE_POINTS_PLAN_H

#include "base/room.h"
#include "kernels/common/task_cut.h"
#include "kernels/kernel.h"
#include "machine/machine.h"

enum {
    /* positions of a block, and positions times taps of a pass, at most: each block reads all planes
     * of an image, and its table stays in a second-level cache */
    RY_POINTS_BLOCK = 4096,
    RY_POINTS_ENTRIES = 16384,
    RY_POINTS_PASS = 64,    /* taps of a pass at most */
    RY_POINTS_CHANNELS = 64 /* channels that are read together by several passes */
};

/* Sizes, and the tables in a task's scratch: plain data. */
typedef struct ry_points_plan {
    rynd_dtype dtype; /* image and result */
    int rank;
    int64_t size[RY_MAX_RANK];                   /* image, by axis */
    int64_t pixels, channels, images, positions; /* positions: in one result */
    bool last;                                   /* channels last */
    int64_t axis_taps;                           /* an axis at most */
    int64_t axis_length; /* entries of an axis's table for each tap; 0: one a position */
    int64_t block, pass; /* positions of a block, taps of a pass at most */
    int64_t taps;        /* a position at most */
    ry_task_cut cut;     /* images, positions, and channels if an operator cuts them */
    bool picks;          /* one tap a position, which is copied */
    bool largest;        /* the largest product, not the sum; a tap outside gives 0 */
    bool wide;           /* weights and sums are double */
    bool far;            /* numbers of pixels are int64_t, not int32_t */
    size_t index, axis_weight, pixel, weight, carry, scratch; /* bytes into the scratch; its size */
} ry_points_plan;

/* Taps of one axis: index[tap * axis_length + i] (-1: outside, counts as zero) and weights. */
typedef struct ry_points_axis {
    int64_t taps;
    void *index;
    bool far; /* is it of int64_t? */
    double *weight;
    const int32_t *position; /* i for each position; NULL: i is the position */
} ry_points_axis;

/* Where a block's pixels and results are, in elements apart. */
typedef struct ry_points_memory {
    const void *x;
    void *y;
    int64_t channels, x_channel, x_pixel, y_channel, y_position;
} ry_points_memory;

/* Number `at` of a table of pixels. */
static inline int64_t ry_points_number(const void *table, bool far, int64_t at)
{
    return far ? ((const int64_t *)table)[at] : ((const int32_t *)table)[at];
}

static inline void ry_points_set(void *table, bool far, int64_t at, int64_t number)
{
    if (far) {
        ((int64_t *)table)[at] = number;
    } else {
        ((int32_t *)table)[at] = (int32_t)number;
    }
}

/* The same of a number that was computed as a double: vectors convert it at once. */
static inline void ry_points_set_double(void *table, bool far, int64_t at, double number)
{
    if (far) {
        ((int64_t *)table)[at] = (int64_t)number;
    } else {
        ((int32_t *)table)[at] = (int32_t)number;
    }
}

static inline size_t ry_points_number_size(const ry_points_plan *plan)
{
    return plan->far ? sizeof(int64_t) : sizeof(int32_t);
}

/* Are both images dense, of one type and in one layout, and not empty? */
bool ry_points_takes(const ry_tensor *x, const ry_tensor *y);
/* Fills what the tensors tell. */
void ry_points_describe(const ry_tensor *x, const ry_tensor *y, ry_points_plan *plan);
/* Fills the rest, for at most `taps` taps of a position and the axes' fields as they are. An
 * operator may add tables of its own from plan->scratch on. */
void ry_points_lay_out(const ry_machine *machine, int64_t taps, ry_points_plan *plan);
/* One phase, a task a block. Every position is read `times` over, and its taps found `located`
 * times. */
void ry_points_prepare(const ry_query *query, const ry_points_plan *plan, double times,
                       double located, ry_prepared *prepared);

static inline ry_points_axis ry_points_axis_of(const ry_points_plan *plan, void *scratch, int axis)
{
    const int64_t first = axis * plan->axis_taps * plan->axis_length;
    return (ry_points_axis){.taps = plan->axis_taps,
                            .index = (char *)scratch + plan->index +
                                     (size_t)first * ry_points_number_size(plan),
                            .far = plan->far,
                            .weight = RY_AT(double, scratch, plan->axis_weight) + first};
}

/* A run of positions along the last dim. */
typedef struct ry_points_line {
    int64_t index[RY_MAX_RANK]; /* first position */
    int64_t to, count;          /* first position in the block; length */
} ry_points_line;

/* Moves to the next run of positions first .. end - 1 of a result of these dims; begin with a line
 * of zeros. */
static inline bool ry_points_next(const ry_points_plan *plan, const int64_t *dim, int64_t first,
                                  int64_t end, ry_points_line *line)
{
    const int64_t at = first + line->to + line->count;
    line->to += line->count;
    int64_t rest = at;
    for (int a = plan->rank - 1; a >= 0; a--) {
        line->index[a] = rest % dim[a];
        rest /= dim[a];
    }
    const int64_t left = dim[plan->rank - 1] - line->index[plan->rank - 1];
    line->count = left < end - at ? left : end - at;
    return at < end;
}

/* Element `at` of an image's pixels, or results, for every channel. */
static inline ry_points_memory ry_points_memory_of(const ry_points_plan *plan, const void *x,
                                                   int64_t image, void *y, int64_t result,
                                                   int64_t position)
{
    const int64_t size = (int64_t)ry_dtype_size((ry_dtype)plan->dtype), n = plan->channels;
    return (ry_points_memory){
        .x = (const char *)x + image * plan->pixels * n * size,
        .y = (char *)y + (result * plan->positions * n + position * (plan->last ? n : 1)) * size,
        .channels = n,
        .x_channel = plan->last ? 1 : plan->pixels,
        .x_pixel = plan->last ? n : 1,
        .y_channel = plan->last ? 1 : plan->positions,
        .y_position = plan->last ? n : 1};
}

#endif
