/* SPDX-License-Identifier: Apache-2.0 */
/* The product: two by two tiles of sums, four tiles of operands.
 *
 * The parts' products are ordered so that from one to the next only one operand changes: 8 loads
 * for 12 products of two parts, 14 for 24 of three, 4 for 4 of one. A core does a product in 16
 * cycles and a load in 8. Small products come first. */
#include "kernels/cpu/amx/split_conv.h"
#include "kernels/cpu/amx/split_tiles.h"

_Static_assert(RY_AMX_REGISTERS || (int)RY_ISA_ID == 0,
               "an instruction set beyond plain C has tiles from the compiler");

typedef struct operands {
    const split_plan *plan;
    const uint16_t *pixel, *weights;
    int64_t step; /* bytes from pixel to pixel */
} operands;

/* Tiles 0 to 3 are sums, 4 and 5 pixels, 6 and 7 weights. */
#define LOAD_PIXELS(part)                                                                        \
    do {                                                                                         \
        ry_amx_load(tiles, 4, a + part_step * (part), step);                                     \
        if (rows == 2) {                                                                         \
            ry_amx_load(tiles, 5,                                                                \
                        (const char *)(const void *)(a + part_step * (part)) + 16 * step, step); \
        }                                                                                        \
    } while (0)
#define LOAD_WEIGHTS(part)                                                                     \
    do {                                                                                       \
        ry_amx_load(tiles, 6, b + 2 * SPLIT_TILE * (part), RY_AMX_ROW_BYTES);                  \
        if (columns == 2) {                                                                    \
            ry_amx_load(tiles, 7, b + 2 * SPLIT_TILE * (part) + SPLIT_TILE, RY_AMX_ROW_BYTES); \
        }                                                                                      \
    } while (0)
#define MULTIPLY() SPLIT_MULTIPLY(tiles, rows, columns)

static inline __attribute__((always_inline)) void
multiply(const operands *o, int64_t parts, int rows, int columns, ry_amx *tiles, float *sums)
{
    const int64_t steps = o->plan->steps, part_step = steps * SPLIT_STEP, step = o->step,
                  taps = o->plan->geometry.taps;
    const int64_t *distance = split_distances(o->plan);
    const uint16_t *b = o->weights;
    SPLIT_ZERO_SUMS(tiles);
    for (int64_t t = 0; t < taps; t++) {
        const uint16_t *a = o->pixel + distance[t];
        for (int64_t s = 0; s < steps; s++, a += SPLIT_STEP, b += parts * 2 * SPLIT_TILE) {
            LOAD_PIXELS(parts - 1);
            LOAD_WEIGHTS(0);
            MULTIPLY();
            if (parts == 3) {
                LOAD_PIXELS(1);
                MULTIPLY();
                LOAD_WEIGHTS(1);
                MULTIPLY();
                LOAD_PIXELS(0);
                MULTIPLY();
                LOAD_WEIGHTS(2);
                MULTIPLY();
                LOAD_WEIGHTS(0);
                MULTIPLY();
            }
            if (parts == 2) {
                LOAD_PIXELS(0);
                MULTIPLY();
                LOAD_WEIGHTS(1);
                MULTIPLY();
            }
        }
    }
    const int64_t row = SPLIT_OC_BLOCK * (int64_t)sizeof *sums;
    ry_amx_store(tiles, 0, sums, row);
    if (columns == 2) {
        ry_amx_store(tiles, 1, sums + 16, row);
    }
    if (rows == 2) {
        ry_amx_store(tiles, 2, sums + 16 * SPLIT_OC_BLOCK, row);
    }
    if (rows == 2 && columns == 2) {
        ry_amx_store(tiles, 3, sums + 16 * SPLIT_OC_BLOCK + 16, row);
    }
}

typedef void (*multiply_function)(const operands *o, ry_amx *tiles, float *sums);

#define VARIANT(parts, rows, columns)                                                   \
    static void multiply_##parts##_##rows##_##columns(const operands *o, ry_amx *tiles, \
                                                      float *sums)                      \
    {                                                                                   \
        multiply(o, parts, rows, columns, tiles, sums);                                 \
    }
#define VARIANTS(parts) \
    VARIANT(parts, 1, 1) VARIANT(parts, 1, 2) VARIANT(parts, 2, 1) VARIANT(parts, 2, 2)
VARIANTS(1)
VARIANTS(2)
VARIANTS(3)

#define ROW(parts)                                         \
    {                                                      \
        {multiply_##parts##_1_1, multiply_##parts##_1_2},  \
        {                                                  \
            multiply_##parts##_2_1, multiply_##parts##_2_2 \
        }                                                  \
    }
static const multiply_function functions[SPLIT_MAX_PARTS][2][2] = {ROW(1), ROW(2), ROW(3)};

void RY_ISA_SYMBOL(split_multiply)(const split_plan *plan, const uint16_t *pixel, int64_t count,
                                   const uint16_t *weights, int64_t channels, ry_amx *tiles,
                                   float *sums)
{
    operands o = {plan, pixel, weights, plan->pitch * (int64_t)sizeof *pixel};
    for (int64_t i = 0; i < count; i += 32, o.pixel += 32 * plan->pitch) {
        functions[plan->parts - 1][count - i > 16][channels > 16](&o, tiles,
                                                                  sums + i * SPLIT_OC_BLOCK);
    }
}
