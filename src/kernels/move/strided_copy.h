/* SPDX-License-Identifier: Apache-2.0 */
/* The strided-copy engine: copies an N-dimensional box of elements between two affine layouts.
 * Transposing, slicing, tiling, joining and padding are one or a few boxes each.
 *
 *   ry_box box = {.size = 4, .piece = 65536};
 *   ry_box_add(&box, n, dst_stride, src_stride);   one call a dimension, outermost first or in any
 *                                                  order; strides in elements, 0 and below allowed
 *   ry_box_prepare(&box);                          merges, orders and tiles the dims
 *   ry_box_copy(&box, dst, src);                   everything, or
 *   ry_box_copy_piece(&box, dst, src, i);          one of box.pieces disjoint parts of about
 *                                                  box.piece bytes each
 *
 * dst and src point to the box's first element. A source stride of 0 repeats an element (a box
 * whose source strides are all 0 fills); destination strides must map the box one to one. Memory
 * may have any alignment. A box is plain data, without pointers. */
#ifndef RY_KERNELS_MOVE_STRIDED_COPY_H
#define RY_KERNELS_MOVE_STRIDED_COPY_H

#include "machine/machine.h"

#include <stddef.h>
#include <stdint.h>

#define RY_BOX_RANK 32 /* tile makes two dims of each */

typedef struct ry_box {
    int rank;
    int64_t piece; /* bytes of a piece, set before preparing; 0: the box is one piece */
    size_t size;   /* bytes of an element: 1, 2, 4, 8, or 16 after preparing */
    int64_t dim[RY_BOX_RANK];
    int64_t dst[RY_BOX_RANK]; /* strides in bytes */
    int64_t src[RY_BOX_RANK];
    int64_t tile[RY_BOX_RANK]; /* extent of a piece */
    size_t pieces;             /* 0 when the box is empty */
    int keep_size;             /* set before preparing: elements are not joined to wider ones */
} ry_box;

/* A product of strides, which wraps: where it overflows, the dim has one element or the box none,
 * and nobody follows the stride. */
static inline int64_t ry_box_times(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

void ry_box_add(ry_box *box, int64_t dim, int64_t dst_stride, int64_t src_stride);
void ry_box_prepare(ry_box *box);
/* Operations at a core's peak that copying the box takes (kernels/common/work.h), and the bytes
 * that it reads and writes. */
double ry_box_work(const ry_box *box, const ry_machine *machine);
double ry_box_moved(const ry_box *box);

/* The bytes of a prepared box that are contiguous on both sides; 0: they are not, or none. */
int64_t ry_box_contiguous(const ry_box *box);
void ry_box_copy(const ry_box *box, void *dst, const void *src);
void ry_box_copy_piece(const ry_box *box, void *dst, const void *src, size_t piece);
/* Where a piece begins (bytes from the box's first elements) and how far it reaches along each dim.
 */
void ry_box_locate(const ry_box *box, size_t piece, int64_t *dst_offset, int64_t *src_offset,
                   int64_t *dim);

#endif
