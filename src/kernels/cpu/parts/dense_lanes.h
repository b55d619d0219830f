/* SPDX-License-Identifier: Apache-2.0 */
/* A dense tensor seen as [outer][length][inner] in the order of memory, `length` being some of its
 * dims: how kernels that work along an axis treat NCHW and NHWC by one text. */
#ifndef RY_KERNELS_CPU_PARTS_DENSE_LANES_H
#define RY_KERNELS_CPU_PARTS_DENSE_LANES_H

#include "kernels/common/task_cut.h"
#include "kernels/kernel.h"
#include "machine/machine.h"

typedef struct ry_lanes {
    int64_t outer, length, inner;
} ry_lanes;

/* Dims [begin, end) of `tensor` as the lane: false when the tensor has gaps, or when the lane's
 * dims are not together and in order in memory. Empty tensors have no lanes. */
bool ry_lanes_make(const ry_tensor *tensor, int begin, int end, ry_lanes *lanes);

/* The two tensors have one shape and are in memory in the same order; dims of size 1 do not matter.
 */
bool ry_lanes_alike(const ry_tensor *a, const ry_tensor *b);

/* Lanes that are along an inner dim are taken as blocks of columns; others one by one. */
typedef struct ry_lane_blocks {
    ry_lanes lanes;
    int64_t columns; /* most columns that a block has */
    int64_t blocks;  /* blocks of columns per outer position; 0: by rows */
    ry_cut_axis units;
} ry_lane_blocks;

/* Columns of a block: what is kept of each stays in L1, and a line of the block fills cache lines.
 */
enum { RY_LANE_COLUMNS = 256 };

/* Cuts s->lanes into blocks of `columns` at most; then one phase of that many tasks whose state it
 * is. */
void ry_lane_blocks_cut(const ry_machine *machine, int64_t columns, ry_lane_blocks *s);
void ry_lane_blocks_prepare(const ry_lane_blocks *s, ry_prepared *prepared);

/* Where a unit is stored: element `at`, `columns` lanes wide (1: a row). */
typedef struct ry_lane_unit {
    int64_t outer, column, at, columns;
} ry_lane_unit;

static inline ry_lane_unit ry_lane_blocks_unit(const ry_lane_blocks *s, int64_t unit)
{
    const int64_t inner = s->lanes.inner, outer = s->blocks ? unit / s->blocks : unit;
    const int64_t column = s->blocks ? unit % s->blocks * s->columns : 0, left = inner - column;
    return (ry_lane_unit){outer, column, outer * s->lanes.length * inner + column,
                          left < s->columns ? left : s->columns};
}

/* Cuts `count` units of `bytes` each into tasks: the one axis of a cut. */
ry_cut_axis ry_lanes_cut(const ry_machine *machine, int64_t count, int64_t bytes);

#endif
