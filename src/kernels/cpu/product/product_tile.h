/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernel of products in any type: rows x vectors of sums that stay in registers. */
#ifndef RY_KERNELS_CPU_PRODUCT_PRODUCT_TILE_H
#define RY_KERNELS_CPU_PRODUCT_PRODUCT_TILE_H

#include "kernels/cpu/simd/isa.h"
#include "kernels/cpu/simd/simd.h"

enum { RY_VECTOR_BYTES = 4 * RY_W };

/* What is multiplied and added: floats, and integers that wrap. */
typedef enum product_type {
    PRODUCT_f32,
    PRODUCT_f64,
    PRODUCT_u32,
    PRODUCT_u64,
    PRODUCT_TYPES
} product_type;

/* c[rows][vectors] = a[depth][rows] times b[depth][vectors], added to c unless it is the first.
 * Steps are elements from row to row. */
typedef struct product_tile {
    const void *a, *b;
    void *c;
    int64_t a_step, b_step, c_step, depth;
    bool first;
} product_tile;

typedef void (*product_multiply)(const product_tile *tile);

extern const product_multiply
    RY_ISA_SYMBOL(product_tiles)[PRODUCT_TYPES][RY_TILE_VECTORS][RY_TILE_ROWS];

#endif
