/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernel of every matrix product: one tile of C += A B with all sums in registers.
 *
 *     C[rows][columns] = ends( start + sum over k < depth of A[row][k] * B[k][column] )
 *
 * A is broadcast element by element, B is read a vector at a time. `a_along_k` says how A is
 * stored: false: A[row][k] = a[k * a_step + row] (packed panels, and pixels that are along a row of
 * a gathered panel); true: A[row][k] = a[row * a_step + k] (rows that are along k). B[k][column] =
 * b[k * b_step + column]; all RY_TILE_COLUMNS of them (RY_W where the tile has one vector) are
 * read, whatever `columns` is. The order of the sum is k = 0, 1, ...: a long sum may be cut into
 * calls that go on from C (RY_TILE_FROM_C), with the same bits. */
#ifndef RY_KERNELS_CPU_PARTS_TILE_H
#define RY_KERNELS_CPU_PARTS_TILE_H

#include "kernels/cpu/parts/tile_lines.h"
#include "kernels/cpu/simd/isa.h"
#include "kernels/cpu/simd/simd.h"

/* Small tiles read so many operands for a product that the first reading of each B would hold them
 * up: the tiles before fetch it. */
#define RY_TILE_FETCHES (RY_TILE_ROWS * RY_W <= 64)

/* Rows of the largest tile of any kind: AMX's has as many. */
enum { RY_TILE_MOST_ROWS = 16 };
_Static_assert(RY_TILE_ROWS <= RY_TILE_MOST_ROWS, "tiles of registers have fewer rows");

/* Steps of k between two jumps. Small tiles have so little to do in one that another program on the
 * core's second thread would hold them up (docs/notes/2026-11-22-implicit-gemm.md). */
enum { RY_TILE_STEPS = RY_TILE_FETCHES ? 4 : 1 };

/* Steps in which a line comes from memory. The distance is a constant, so that it takes none of the
 * registers that hold addresses of rows. */
enum { RY_TILE_PREFETCH = 64 };

typedef enum ry_tile_start {
    RY_TILE_FROM_ZERO,
    RY_TILE_FROM_ROW_BIAS,    /* bias[row] */
    RY_TILE_FROM_COLUMN_BIAS, /* bias[column]; a full tile's are read */
    RY_TILE_FROM_C
} ry_tile_start;

/* Where the finished sums of a tile of bytes go, its columns next to each other. */
typedef struct ry_tile_end {
    const void *how; /* the text's own */
    uint8_t *y;
    int64_t y_step;          /* from row to row */
    const uint8_t *residual; /* NULL: none */
    int64_t residual_step;
    const float *scale; /* one a column */
} ry_tile_end;

typedef struct ry_tile {
    int64_t depth;
    const void *a, *b;
    int64_t a_step, b_step;
    void *c;
    int64_t c_step;  /* from row to row */
    int64_t columns; /* that are written */
    const void *bias;
    /* NULL: none; added to the sum; of C's shape, residual_step from row to row */
    const float *residual;
    int64_t residual_step;
    union {
        struct {
            float low, high; /* the sum is bounded by these (f32 only) */
        };
        const ry_tile_end *end; /* NULL: sums are stored to C (bytes only) */
    };
    ry_tile_start start;
    bool b_exact; /* only `columns` of B are read (not a_along_k) */
    /* NULL, or what will be read or written next, ended by a count of 0: fetched towards the core,
     * a line a step, as long as there are steps. */
    const ry_tile_lines *lines;
    /* 0, or how far behind each row of B is what the next tile reads of it: that is fetched towards
     * the core while this one runs. */
    int64_t b_prefetch_distance;
    /* B comes from far, and what follows it is read next: it is fetched RY_TILE_PREFETCH steps
     * ahead (a_along_k only) */
    bool b_streams;
    /* C and the residual are expected outside the first-level cache, and fetched while the products
     * run: those that are stored `c_prefetch_distance` floats further, but for a residual of other
     * steps, whose own lines are. */
    bool ahead;
    int32_t c_prefetch_distance;
} ry_tile;
_Static_assert(sizeof(ry_tile) <= 128,
               "copies of larger structs are loops that take as long as a small tile");

typedef void (*ry_tile_function)(const ry_tile *tile);

/* [a_along_k][vectors - 1][rows - 1] */
typedef ry_tile_function ry_tile_set[2][RY_TILE_VECTORS][RY_TILE_MOST_ROWS];

typedef struct ry_tile_table {
    ry_tile_set f32, i32;
} ry_tile_table;

extern const ry_tile_table RY_ISA_SYMBOL(tiles);

struct igemm_task;

/* Tiles whose operands are not the elements that were gathered. A step of k is then two elements,
 * and an element of a or b a pair of them. */
typedef struct ry_tile_pairs {
    const ry_tile_set *tiles;
    /* Floats become pairs, in place; what follows an odd end counts as 0. A micro-panel is
     * [depth][columns], columns being full vectors; behind a row RY_W floats are overwritten. */
    void (*micropanel)(float *micropanel, int64_t depth, int64_t columns);
    void (*row)(float *row, int64_t depth); /* NULL: gathered elements are operands */
    /* NULL, or how tiles end whose sums are finished: y, residual and scales of channel 0 */
    const ry_tile_end *end;
    /* else, NULL or stores an oc block's finished sums in the place of the epilogue (igemm_task.h)
     */
    void (*store)(const void *how, const struct igemm_task *task, int64_t oc_block);
    const void *how;
} ry_tile_pairs;

#endif
