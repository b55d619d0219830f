/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering and scattering: slices that move between a dense tensor and places of a data tensor
 * which an index tensor names.
 *
 * All five operators are one loop over positions. A position has an offset in the data, the indices
 * and the dense tensor; there, `depth` index components choose the slice of the data:
 *
 *   gather           positions: dims before the axis, dims of the indices     slice: dims behind
 *                    the axis     depth 1
 *   gather_elements, scatter_elements     positions: dims of the indices      slice: one element
 *                                         depth 1
 *   gather_nd, scatter_nd      positions: dims of the indices but the last    slice: dims that
 *                              remain         depth: the last dim
 *
 * An index may count from the end: -n to n - 1 in a dim of n. Another is a fault of the launch. */
#ifndef RY_KERNELS_MOVE_INDEXED_MOVES_H
#define RY_KERNELS_MOVE_INDEXED_MOVES_H

#include "kernels/kernel.h"
#include "kernels/move/strided_copy.h"

typedef struct ry_indexed {
    bool scatter;
    ry_dtype dtype, index_dtype;
    ry_scatter_reduction reduction;
    int rank; /* rank of positions; strides in bytes, the indices' in elements */
    int64_t dim[RY_MAX_RANK], data[RY_MAX_RANK], index[RY_MAX_RANK], dense[RY_MAX_RANK];
    /* in the index tensor's row-major order: the stride of each dim of positions */
    int64_t order[RY_MAX_RANK];
    int depth, axis;          /* the components choose from the data dims axis, axis + 1, ... */
    int64_t component_stride; /* between the components of one index */
    /* extents and strides of the data dims indexed by the components */
    int64_t extent[RY_MAX_RANK], stride[RY_MAX_RANK];
    ry_box slice;  /* dst: the written side */
    int64_t bytes; /* bytes of a contiguous slice; 0: not contiguous */
    int64_t chunk; /* positions a task */
    int64_t chunks;
} ry_indexed;

/* Fails when an index would have nothing to choose from. */
rynd_status ry_indexed_describe(const ry_query *query, ry_indexed *x, ry_error *error);
int64_t ry_indexed_positions(const ry_indexed *x);
size_t ry_indexed_tasks(const ry_indexed *x);
void ry_indexed_run(const ry_indexed *x, const char *indices, char *data, char *dense, size_t task,
                    ry_fault *fault);

#endif
