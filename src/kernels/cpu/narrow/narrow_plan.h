/* SPDX-License-Identifier: Apache-2.0 */
/* How a convolution to few output channels is computed, forward or transposed: vectors lie along pixels, whatever the layout, and every loaded
 * vector of x serves all output channels. Plain data, kept in a kernel's state.
 *
 * A task takes rows of the output grid, of one image or of several small ones; of wide images whose channels lie next to each other it takes parts of rows,
 * where all channels of whole ones would not fit the caches. It stages the rows of x that they read, a chunk of channels at a
 * time: of each channel one plane for each residue of the position modulo the stride, with zeros around x. All planes have one pitch, so that
 * position f = (image * image_rows + row) * pitch + column reads, for each tap, one element of a plane, offset[tap] behind f: the sums are
 * long runs without edges. What lies between rows is summed, too, and dropped.
 *
 * With a depth, a task's rows are of one slice of the output. It goes through the slices of x that the window reaches, one after the other,
 * and leaves out those that are not there.
 *
 *     staged: [channel of the chunk][plane][image][row][pitch]     sums: [phase][output channel][position]
 *     weights: [group][phase][slice of the window][unit][channel][tap][output channel of the unit] */
#ifndef RY_KERNELS_CPU_NARROW_NARROW_PLAN_H
#define RY_KERNELS_CPU_NARROW_NARROW_PLAN_H

#include "kernels/cpu/conv/conv_geometry.h"
#include "kernels/kernel.h"

/* Output channels of a unit at most, where the registers hold products' tiles of so many rows. */
#define NARROW_ROWS_OF(tile_rows) ((tile_rows) == 14 ? 8 : 6)

enum { NARROW_STRIDE_MOST = 4, NARROW_PHASES_MOST = 16, NARROW_OUT_MOST = 64, NARROW_TRANSPOSED_OUT_MOST = 16, NARROW_DEPTHS_MOST = 16 };

/* Taps of a phase that read one slice: neighbours in its list, `first` from its first one. */
typedef struct narrow_slice {
    int32_t first, count;
} narrow_slice;

typedef struct narrow_phase {
    ry_conv_phase at;
    int64_t packed; /* where its weights start in a group's, in floats */
    narrow_slice slice[NARROW_DEPTHS_MOST];
} narrow_phase;

typedef struct narrow_plan {
    ry_conv_geometry geometry;
    int64_t grid[2];                                      /* rows and columns of the largest phase */
    int64_t slices;                                       /* of its grid */
    int64_t depths, depth[NARROW_DEPTHS_MOST];            /* slices that windows reach, from where the output's slice reads */
    int64_t before[2];                                    /* zeros above and left of x */
    int64_t reach[2];                                     /* rows and columns of a plane beyond those of a task's outputs */
    int64_t pitch, image_rows;                            /* of a plane: positions of a row, rows of an image */
    int64_t columns, column_blocks;                       /* of the grid: of a task; of a row */
    int64_t planes, plane;                                /* of a channel; floats of one */
    int64_t slot[NARROW_STRIDE_MOST][NARROW_STRIDE_MOST]; /* of the plane of each residue; -1: no tap reads it */
    int64_t rows, row_blocks, images, image_blocks;       /* of a task */
    int64_t chunk;                                        /* channels */
    int64_t units;                                        /* of output channels */
    int64_t woven;                                        /* phases that write to a row of y in turn; 1: none */
    bool beside;          /* y's (and the residual's) pixels are its channels, few of them, and nothing else */
    int64_t positions;    /* floats of one output channel's sums */
    int64_t packed_group; /* floats */
    int64_t tasks;
    double cycles;                                              /* in vector multiply-adds, on one core */
    size_t staged, lines, sums, bias, runs, woven_row, scratch; /* of a worker, in bytes from its start */
    size_t taps, size;                                          /* ry_conv_tap[geometry.taps], behind the offsets; bytes of the whole */
    narrow_phase phase[NARROW_PHASES_MOST];
    int32_t offset[]; /* of each tap in a staged channel */
} narrow_plan;

bool narrow_is_possible(const ry_problem *problem);

/* They cut rows, and say how many channels are staged at a time. */
enum { NARROW_COLUMNS, NARROW_IMAGES, NARROW_TASK_ROWS, NARROW_CHUNK, NARROW_KNOBS };
extern const ry_knob narrow_knobs[NARROW_KNOBS];

/* Bytes of the plan; then the plan that the query's form asks for; false: there is none. */
size_t narrow_plan_size(const ry_problem *problem);
bool narrow_plan_make(const ry_query *query, narrow_plan *plan);

void narrow_values(const ry_query *query, int knob, ry_knob_values *values);
rynd_status narrow_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void narrow_initialise(const ry_query *query, void *state);

/* Of x, that the window of the output's slice `slice` reaches as number `depth`; -1: it is in the padding. */
static inline int64_t narrow_slice_of_x(const narrow_plan *plan, int64_t slice, int64_t depth)
{
    const int64_t at = slice * plan->geometry.stride[0] + plan->depth[depth];
    return at >= 0 && at < plan->geometry.in[0] ? at : -1;
}

/* First output channel of a unit; units are as even as they can be. */
static inline int64_t narrow_unit_first(const narrow_plan *plan, int64_t unit)
{
    const int64_t each = plan->geometry.channels_out / plan->units, extra = plan->geometry.channels_out % plan->units;
    return unit * each + (unit < extra ? unit : extra);
}

#endif
