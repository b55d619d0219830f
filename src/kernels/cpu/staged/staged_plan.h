/* SPDX-License-Identifier: Apache-2.0 */
/* How a convolution of few channels is computed, forward or transposed: a task copies the rows of x
 * that it reads to scratch once, with zeros around x, so that every tap is a distance from the
 * output's position, without edges, and a tile of sums in registers goes over taps and channels.
 * Plain data, kept in a kernel's state.
 *
 * The tile makes the forms:
 *
 *   RUNS      vectors are along pixels, whatever the layout, and every loaded vector of x serves
 *             all output channels of an oc block. A task stages a k block of channels at a time: of
 *             each channel one plane for each residue of the position modulo the stride. All planes
 *             have one pitch, so that position f = (image * image_rows + row) * pitch + column
 *             reads, for each tap, one element of a plane, offset[tap] behind f: the sums are long
 *             runs without edges, of one image or of several small ones. What is between rows is
 *             summed, too, and dropped. The sums are in scratch until the last k block, and go to
 *             any y.
 *   ROWS      the same planes, all channels at once; the sums of a row's pixels go from the
 *             registers to y, which are pixels next to each other.
 *   PLACE     rows' tiles, from x where it is stored: what they read of the padding is left out by
 *             masks, which only the first and the last vector of a row have.
 *   CHANNELS  vectors are along output channels, and every weight serves some pixels of a row. A
 *             staged row is [position][channel], and a row of the window reads one run of it. Where
 *             y's pixels are next to each other, rows of y are transposed on their way.
 *
 * RUNS of wide images whose channels are next to each other take parts of rows, where all channels
 * of whole ones would not fit the caches. With a depth their rows are of one slice of the output:
 * they go through the slices of x that the window reaches, one after the other, without those that
 * are not there.
 *
 *     staged, in planes: [channel of the k block][plane][image][row][pitch]     sums:
 *         [phase][output channel][position]
 *     weights: [group][phase][slice of the window][oc block][channel][tap][output channel of the oc
 *         block]; CHANNELS: [oc block][tap][channel][full vectors] */
#ifndef RY_KERNELS_CPU_STAGED_STAGED_PLAN_H
#define RY_KERNELS_CPU_STAGED_STAGED_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/costs.h"
#include "kernels/cpu/parts/conv_geometry.h"
#include "kernels/kernel.h"
#include "problem/limits.h"

enum {
    STAGED_MAX_STRIDE = RY_LIMIT_STAGED_STRIDE,
    STAGED_MAX_PHASES = RY_LIMIT_STAGED_PHASES,
    STAGED_MAX_DEPTHS = RY_LIMIT_STAGED_DEPTHS,
    STAGED_MAX_PIXELS = 13,
    STAGED_MAX_PLACE_TAPS = 64
};

typedef enum staged_form {
    STAGED_RUNS,
    STAGED_ROWS,
    STAGED_CHANNELS,
    STAGED_PLACE,
    STAGED_FORMS
} staged_form;

/* Do tiles of pixels end in y? */
static inline bool staged_ends_in_rows(staged_form form)
{
    return form == STAGED_ROWS || form == STAGED_PLACE;
}

/* The tile makes the forms; the others cut the rows, and say how many channels are staged at a
 * time. */
enum {
    STAGED_TILE,
    STAGED_COLUMNS,
    STAGED_IMAGES,
    STAGED_TASK_ROWS,
    STAGED_GROUPS,
    STAGED_K_BLOCK,
    STAGED_KNOBS
};
extern const ry_knob ry_staged_knobs[STAGED_KNOBS];

/* The taps of a phase that read one slice: `count` neighbours in the phase's list, from `first`. */
typedef struct staged_slice {
    int32_t first, count;
} staged_slice;

typedef struct staged_phase {
    ry_conv_phase at;
    int64_t packed; /* offset of its weights in a group's, in floats */
    staged_slice slice[STAGED_MAX_DEPTHS];
} staged_phase;

typedef struct staged_plan {
    ry_conv_geometry geometry;
    staged_form form;
    int64_t grid[2]; /* rows and columns of the largest phase */
    int64_t slices;  /* slices of the grid */
    /* slices that windows reach, from where the output's slice reads */
    int64_t depths, depth[STAGED_MAX_DEPTHS];
    int64_t before[2]; /* zeros above and left of x */
    int64_t span[2];   /* rows and columns of x that a window spans */
    int64_t field[2];  /* halo of a plane beyond a task's outputs */
    /* positions of a plane's row, rows of an image; CHANNELS: floats of a row */
    int64_t pitch, image_rows;
    int64_t columns, column_blocks; /* grid columns of a task; blocks of a row */
    int64_t planes, plane;          /* planes of a channel; floats of a plane */
    /* slot of each residue's plane; -1: no tap reads it */
    int64_t slot[STAGED_MAX_STRIDE][STAGED_MAX_STRIDE];
    int64_t rows, images, groups;           /* extents of a task */
    ry_task_cut cut;                        /* images, groups, slices, rows, columns */
    int64_t k_block;                        /* channels */
    int64_t width, oc_blocks, max_oc_block; /* lanes of a vector; blocks of output channels */
    ry_cost_column costs;
    int64_t interleave; /* phases that write to a row of y in turn; 1: none */
    /* y's (and the residual's) pixels are its channels, few of them, and nothing else */
    bool adjacent;
    bool transposed;      /* CHANNELS: y's pixels are next to each other */
    bool fetches;         /* rows of x ahead */
    int64_t positions;    /* floats of one output channel's sums */
    int64_t packed_group; /* floats */
    int64_t tasks;
    ry_work work; /* in vector multiply-adds */
    /* byte offsets in a worker's scratch */
    size_t staged, lines, sums, transposed_sums, bias, runs, interleaved_row, scratch;
    size_t taps, size; /* ry_conv_tap[geometry.taps], behind the offsets; bytes of the whole */
    staged_phase phase[STAGED_MAX_PHASES];
    int32_t offset[]; /* offset of each tap in a staged channel; PLACE: in x */
} staged_plan;

bool ry_staged_is_possible(const ry_problem *problem);
/* `width`: of a vector, which PLACE asks for. */
bool ry_staged_has(const ry_problem *problem, staged_form form, int64_t width);

/* Bytes of the plan; then the plan that the query's form asks for; false: there is none. */
size_t ry_staged_plan_size(const ry_problem *problem);
bool ry_staged_plan_make(const ry_query *query, staged_plan *plan);

/* Adds the forms that the problem has. */
void ry_staged_list_forms(const ry_query *query, ry_knob_values *values);

void ry_staged_values(const ry_query *query, int knob, ry_knob_values *values);
rynd_status ry_staged_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_staged_initialise(const ry_query *query, void *state);
void ry_staged_packing(const ry_prepared *prepared, ry_text *key);

static inline const ry_conv_tap *staged_taps(const staged_plan *plan)
{
    return (const ry_conv_tap *)(const void *)((const char *)plan + plan->taps);
}

/* The slice of x under window slice `depth` of output slice `slice`; -1: padding. */
static inline int64_t staged_slice_of_x(const staged_plan *plan, int64_t slice, int64_t depth)
{
    const int64_t at = slice * plan->geometry.stride[0] + plan->depth[depth];
    return at >= 0 && at < plan->geometry.in[0] ? at : -1;
}

/* Rows [*first, *end) of the window that are in x for row `row` of a grid with one phase: the
 * others, of the padding, are left out. */
static inline void staged_rows_inside(const staged_plan *plan, int64_t row, int64_t *first,
                                      int64_t *end)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_tap *tap = staged_taps(plan);
    *first = 0;
    while (*first < g->kernel[1] && row < tap[*first * g->kernel[2]].first[1]) {
        ++*first;
    }
    *end = g->kernel[1];
    while (*end > *first && row >= tap[(*end - 1) * g->kernel[2]].end[1]) {
        --*end;
    }
}

/* First output channel of an oc block; those along pixels are as even as they can be. */
static inline int64_t staged_oc_block_first(const staged_plan *plan, int64_t oc_block)
{
    const int64_t channels = plan->geometry.channels_out, each = channels / plan->oc_blocks,
                  extra = channels % plan->oc_blocks;
    const int64_t full = oc_block * plan->max_oc_block;
    return plan->form == STAGED_CHANNELS ? (full < channels ? full : channels)
                                         : oc_block * each + (oc_block < extra ? oc_block : extra);
}

/* Output channels of an oc block as they are packed. */
static inline int64_t staged_oc_block_packed(const staged_plan *plan, int64_t oc_block)
{
    const int64_t count =
        staged_oc_block_first(plan, oc_block + 1) - staged_oc_block_first(plan, oc_block);
    return plan->form == STAGED_CHANNELS ? (count + plan->width - 1) / plan->width * plan->width
                                         : count;
}

/* Vectors of a tile along pixels at most, where it has so many rows and the registers hold
 * products' tiles of `tile_rows`. */
static inline int64_t max_staged_vectors(int64_t tile_rows, int64_t rows)
{
    return tile_rows == 14 ? (rows <= 6   ? 4
                              : rows <= 8 ? 3
                                          : 2)
                           : (rows <= 2   ? 4
                              : rows == 3 ? 3
                                          : 2);
}

#endif
