/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbouring cache lines that a tile of products fetches while it sums. */
#ifndef RY_KERNELS_CPU_PARTS_TILE_LINES_H
#define RY_KERNELS_CPU_PARTS_TILE_LINES_H

#include <stdint.h>

enum { RY_LINE_BYTES = 64, RY_LINE_FLOATS = RY_LINE_BYTES / 4 };

typedef struct ry_tile_lines {
    const char *at;
    int64_t count; /* number of cache lines */
} ry_tile_lines;

#endif
