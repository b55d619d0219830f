/* SPDX-License-Identifier: Apache-2.0 */
/* The two innermost loops of the strided copy: between strided_copy.c and the loops of each element
 * size. */
#ifndef RY_KERNELS_MOVE_STRIDED_PLANES_H
#define RY_KERNELS_MOVE_STRIDED_PLANES_H

#include <stddef.h>
#include <stdint.h>

/* Element (i, j), i < n1, j < n0, goes from src + i*s1 + j*s0 to dst + i*d1 + j*d0 (bytes). */
typedef struct ry_plane {
    char *dst;
    const char *src;
    int64_t n1, d1, s1;
    int64_t n0, d0, s0;
} ry_plane;

enum { RY_PLANE_BLOCK = 16 }; /* bytes of a row of the blocks that are transposed */

/* The loop that a plane takes. */
typedef enum ry_plane_loop {
    RY_PLANE_ROWS,        /* rows that are together on both sides */
    RY_PLANE_FILL,        /* rows of one value */
    RY_PLANE_REVERSED,    /* rows from their end */
    RY_PLANE_INTERLEAVED, /* two to four rows become one */
    RY_PLANE_STEPPED,     /* every second, third or fourth element */
    RY_PLANE_TRANSPOSED,
    RY_PLANE_ANY
} ry_plane_loop;

ry_plane_loop ry_plane_loop_of(const ry_plane *plane, size_t size);

void ry_plane_copy(const ry_plane *plane, size_t size); /* size: 1, 2, 4, 8 or 16 */

#endif
