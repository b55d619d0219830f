/* SPDX-License-Identifier: Apache-2.0 */
/* Prices of igemm.cl's tiles on GPUs: instructions, local memory, registers, waits. */
#ifndef RY_KERNELS_GPU_GPU_TILE_USE_H
#define RY_KERNELS_GPU_GPU_TILE_USE_H

#include "kernels/gpu/gpu_operands.h"
#include "machine/machine.h"

enum { RY_GPU_WIDE = 2, RY_GPU_SUBGROUP = 16 /* work-items of a sub-group */ };

typedef struct ry_gpu_tile {
    int m, n, k;        /* k: where matrix units multiply, in words of four bytes */
    int item_m, item_n; /* what a work-item sums */
    int units;          /* 0: items multiply; 1: matrix units; RY_GPU_WIDE: those of 128 items */
    int stages;         /* tiles in local memory, copied while others are multiplied; 0: none */
    int slices; /* parts of a group's items that share the terms of a step: each sums the tile */
    bool subgroups; /* do items hand operands to each other, without local memory? */
} ry_gpu_tile;

/* Products of `batches` pairs of matrices: rows by terms, terms by columns. */
typedef struct ry_gpu_product {
    int64_t batches, rows, columns, terms;
    bool window;      /* is the second matrix gathered from a convolution's window? */
    bool terms_along; /* are the second matrix's terms beside each other? */
    ry_gpu_operands operands;
    int64_t channels; /* a tap has so many, all before the next one, of at most 32; else 0 */
    bool phases;      /* are there phases of taps? */
    int copied; /* bytes of the second matrix's elements if tiles of it can be copied, else 0 */
    int copied_w; /* the same of the first matrix; 0: it is packed, as the tiles lie in local memory */
    bool w_across, x_across; /* copied tiles: are rows or columns beside each other, not terms? */
    const char *copied_text; /* what is copied: a text between copied.cl and pipeline.cl */
    const char
        *wide_text;  /* the same for wide units: a text between wide.cl and wide_loop.cl; or NULL */
    bool wide_alone; /* do only wide units multiply? */
    bool rows_along; /* are y's rows beside each other? */
} ry_gpu_product;

/* Operations, at the machine's peak, of a multiply-add: of the busiest of the multipliers, the
 * instructions' issue and local memory. `terms`: of a tile's step. */
double ry_gpu_tile_operations(const ry_gpu_product *product, const ry_gpu_tile *tile, int terms,
                              const ry_machine *machine);

/* 32-bit registers of a work-item, estimated before the program is built. */
unsigned ry_gpu_tile_registers(const ry_gpu_product *product, const ry_gpu_tile *tile);

/* Seconds that a group waits to join so many partial sums of each of its own. */
double ry_gpu_tile_joined(const ry_machine *machine, double parts);

/* Seconds that its items wait for residuals. */
double ry_gpu_tile_ended(const ry_gpu_tile *tile, const ry_machine *machine);

/* A group's needs and waits: `steps` steps of `terms` terms, `groups` groups, `local` bytes. */
ry_gpu_use ry_gpu_tile_use(const ry_gpu_product *product, const ry_gpu_tile *tile,
                           const ry_machine *machine, double terms, double steps, double groups);

#endif
