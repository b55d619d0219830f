/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of x and y that the steps to come read and write, fetched one by one while the products of
 * a block run: transforms jump from row to row and from pixel to pixel, which memory's prefetchers
 * do not follow, and have too little arithmetic to hide memory behind. */
#ifndef RY_KERNELS_CPU_WINOGRAD_WINOGRAD_PREFETCH_H
#define RY_KERNELS_CPU_WINOGRAD_WINOGRAD_PREFETCH_H

#include "kernels/cpu/parts/tile_lines.h"
#include "kernels/cpu/winograd/winograd_run.h"

enum { WINOGRAD_PREFETCH_PIECES = 16 };

/* outer x inner stretches of `lines` lines. */
typedef struct winograd_piece {
    const char *at;
    int64_t outer, outer_step, inner, inner_step, lines; /* steps in bytes */
} winograd_piece;

typedef struct winograd_prefetch {
    int64_t count, lines; /* pieces; lines that are left */
    int64_t at_once;      /* lines between two tiles of products */
    int64_t piece, outer, inner, line;
    winograd_piece pieces[WINOGRAD_PREFETCH_PIECES];
} winograd_prefetch;

/* Adds what the tiles [first, first + count) read of x, from its group's first channel on. */
void ry_winograd_prefetch_input(const winograd_plan *plan, const float *x, int64_t first,
                                int64_t count, winograd_prefetch *prefetch);

/* Adds what they write of `channels` columns from `channel` on; y: of the group. */
void ry_winograd_prefetch_output(const winograd_plan *plan, const float *y, int64_t first,
                                 int64_t count, int64_t channel, int64_t channels,
                                 winograd_prefetch *prefetch);

/* Spreads them over the products of `oc_blocks` oc blocks and `tiles` tiles. */
void ry_winograd_prefetch_spread(const winograd_plan *plan, int64_t oc_blocks, int64_t tiles,
                                 winograd_prefetch *prefetch);

/* The next lines as stretches, at most `room` of them; returns how many stretches. */
int ry_winograd_prefetch_next(winograd_prefetch *prefetch, ry_tile_lines *lines, int room);

#endif
