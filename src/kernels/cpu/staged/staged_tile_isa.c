/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernels of staged_tile.h for every number of rows and vectors. */
#include "kernels/cpu/staged/staged_tile.h"

#include "kernels/cpu/parts/tile.h"

#if RY_GRAIN < RY_W
#define STAGED_FMA_HALF  ry_vf_fma_half
#define STAGED_LOAD_HALF ry_vf_load_half
#else
#define STAGED_FMA_HALF  ry_vf_fma
#define STAGED_LOAD_HALF ry_vf_load
#endif

/* Everything that is known at compile time comes in as a constant, so that the loops over rows and
 * vectors vanish and `sum` is registers. */
RY_INLINE void staged_micro_kernel(const staged_tile *tile, const bool channels, const bool masks,
                                   const bool half, const int rows, const int vectors)
{
    ry_vf sum[RY_TILE_ROWS][STAGED_MAX_VECTORS], b[STAGED_MAX_VECTORS];
    const float *row = tile->staged, *weights = tile->weights;
    const int32_t *offset = tile->offset;
    const int64_t outer = tile->outer, inner = tile->inner, c_step = tile->c_step;
    int64_t start_step = c_step;
    /* addresses of sums that go on are not those of the end, made before all else */
    __asm__("" : "+r"(start_step));
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            sum[i][v] = channels     ? ry_vf_load(tile->bias + v * RY_W)
                        : tile->bias ? ry_vf_set(tile->bias[i])
                                     : ry_vf_load(tile->c + i * start_step + v * RY_W);
        }
    }
    for (int64_t n = 0; n < outer; n++, row += tile->staged_step, weights += tile->weights_step) {
        const float *staged = row, *w = weights;
#pragma GCC unroll RY_TILE_STEPS
        for (int64_t k = 0; k < inner; k++) {
            const float *vector = channels ? w : staged + offset[k];
            /* the lines of y, a row of the tile with each of the first steps; with narrower vectors
             * the machine fetches early enough */
            if (channels && RY_W >= 16 && n == 0 && k < rows) {
#pragma GCC unroll 4
                for (int v = 0; v < vectors; v++) {
                    __builtin_prefetch(tile->c + k * c_step + v * RY_W, 1);
                }
            }
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                const bool begins = v == 0, ends = v == vectors - 1;
                const int edges = (begins ? STAGED_FIRST_EDGE : 0) + (ends ? STAGED_LAST_EDGE : 0);
                if (masks && (begins || ends) && (tile->edges[k] & edges)) {
                    b[v] = ry_vf_load_m(vector + v * RY_W, begins ? tile->first[k] : tile->last[k]);
                } else {
                    b[v] = half && ends ? STAGED_LOAD_HALF(vector + v * RY_W)
                                        : ry_vf_load(vector + v * RY_W);
                }
            }
#pragma GCC unroll 16
            for (int i = 0; i < rows; i++) {
                const ry_vf a = ry_vf_set(channels ? staged[i * tile->pixel_step] : w[i]);
#pragma GCC unroll 4
                for (int v = 0; v < vectors; v++) {
                    sum[i][v] = half && v == vectors - 1 ? STAGED_FMA_HALF(a, b[v], sum[i][v])
                                                         : ry_vf_fma(a, b[v], sum[i][v]);
                }
            }
            w += channels ? vectors * RY_W : rows;
            staged += channels ? 1 : 0;
        }
    }
    float *const c = tile->c;
    const ry_vf low = ry_vf_set(tile->low), high = ry_vf_set(tile->high);
    const ry_vm last = ry_vm_first(tile->columns - (vectors - 1) * RY_W);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            const ry_vf y = ry_vf_min(high, ry_vf_max(low, sum[i][v]));
            float *to = c + i * c_step + v * RY_W;
            if (v == vectors - 1) {
                ry_vf_store_m(to, last, y);
            } else {
                ry_vf_store(to, y);
            }
        }
    }
}

#define PIXELS_TEXT(name, masks, half, rows, vectors)                 \
    static void name##_##rows##x##vectors(const staged_tile *tile)    \
    {                                                                 \
        staged_micro_kernel(tile, false, masks, half, rows, vectors); \
    }
#define PIXELS(rows, vectors) \
    PIXELS_TEXT(pixels, false, false, rows, vectors) PIXELS_TEXT(masked, true, false, rows, vectors)
#if RY_GRAIN < RY_W
#define HALVES(rows, vectors)                     \
    PIXELS_TEXT(half, false, true, rows, vectors) \
    PIXELS_TEXT(masked_half, true, true, rows, vectors)
#else
#define HALVES(rows, vectors)
#endif
#define CHANNELS(rows, vectors)                                       \
    static void channels_##rows##x##vectors(const staged_tile *tile)  \
    {                                                                 \
        staged_micro_kernel(tile, true, false, false, rows, vectors); \
    }
#define PIXELS_NAME(rows, vectors)      pixels_##rows##x##vectors,
#define MASKED_NAME(rows, vectors)      masked_##rows##x##vectors,
#define HALF_NAME(rows, vectors)        half_##rows##x##vectors,
#define MASKED_HALF_NAME(rows, vectors) masked_half_##rows##x##vectors,
#define CHANNELS_NAME(rows, vectors)    channels_##rows##x##vectors,

#define SIX(of, vectors) \
    of(1, vectors) of(2, vectors) of(3, vectors) of(4, vectors) of(5, vectors) of(6, vectors)
#if RY_TILE_ROWS == 14
#define EIGHT(of, vectors) SIX(of, vectors) of(7, vectors) of(8, vectors)
#define PIXELS_1(of)       ROWS(of, 1)
#define PIXELS_2(of)       ROWS(of, 2)
#define PIXELS_3(of)       EIGHT(of, 3)
#define PIXELS_4(of)       SIX(of, 4)
#define ROWS(of, vectors) \
    EIGHT(of, vectors)    \
    of(9, vectors) of(10, vectors) of(11, vectors) of(12, vectors) of(13, vectors)
#else
#define PIXELS_1(of) ROWS(of, 1)
#define PIXELS_2(of) ROWS(of, 2)
#define PIXELS_3(of) of(1, 3) of(2, 3) of(3, 3)
#define PIXELS_4(of) of(1, 4) of(2, 4)
#if RY_TILE_ROWS == 12
#define ROWS(of, vectors) \
    SIX(of, vectors)      \
    of(7, vectors) of(8, vectors) of(9, vectors) of(10, vectors) of(11, vectors) of(12, vectors)
#else
#define ROWS(of, vectors) SIX(of, vectors)
#endif
#endif

#define ALL(of) PIXELS_1(of) PIXELS_2(of) PIXELS_3(of) PIXELS_4(of)

ALL(PIXELS)
ALL(HALVES)
ROWS(CHANNELS, 1)
ROWS(CHANNELS, 2)

#define TABLE(name)                                           \
    {                                                         \
        {PIXELS_1(name)}, {PIXELS_2(name)}, {PIXELS_3(name)}, \
        {                                                     \
            PIXELS_4(name)                                    \
        }                                                     \
    }
const staged_tile_function
    RY_ISA_SYMBOL(staged_pixel_tiles)[2][STAGED_HALVES][STAGED_MAX_VECTORS][RY_TILE_ROWS] = {
#if RY_GRAIN < RY_W
        {TABLE(PIXELS_NAME), TABLE(HALF_NAME)}, {TABLE(MASKED_NAME), TABLE(MASKED_HALF_NAME)}
#else
        {TABLE(PIXELS_NAME)}, {TABLE(MASKED_NAME)}
#endif
};
const staged_tile_function RY_ISA_SYMBOL(staged_channel_tiles)[RY_TILE_VECTORS][RY_TILE_ROWS] = {
    {ROWS(CHANNELS_NAME, 1)}, {ROWS(CHANNELS_NAME, 2)}};
