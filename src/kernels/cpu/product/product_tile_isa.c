/* SPDX-License-Identifier: Apache-2.0 */
/* One text of the micro-kernel for all types (product_tile.h), in the compiler's vectors. Products
 * and sums of floats are rounded together where the machine can (CMakeLists.txt). */
#include "kernels/cpu/product/product_tile.h"

#if RY_TILE_ROWS == 14
#define EACH_ROWS(of, type, vectors)                                                               \
    of(type, vectors, 1) of(type, vectors, 2) of(type, vectors, 3) of(type, vectors, 4)            \
        of(type, vectors, 5) of(type, vectors, 6) of(type, vectors, 7) of(type, vectors, 8)        \
            of(type, vectors, 9) of(type, vectors, 10) of(type, vectors, 11) of(type, vectors, 12) \
                of(type, vectors, 13) of(type, vectors, 14)
#elif RY_TILE_ROWS == 12
#define EACH_ROWS(of, type, vectors)                                                        \
    of(type, vectors, 1) of(type, vectors, 2) of(type, vectors, 3) of(type, vectors, 4)     \
        of(type, vectors, 5) of(type, vectors, 6) of(type, vectors, 7) of(type, vectors, 8) \
            of(type, vectors, 9) of(type, vectors, 10) of(type, vectors, 11) of(type, vectors, 12)
#else
#define EACH_ROWS(of, type, vectors)                                                    \
    of(type, vectors, 1) of(type, vectors, 2) of(type, vectors, 3) of(type, vectors, 4) \
        of(type, vectors, 5) of(type, vectors, 6)
#endif

#define LANES(type) ((int64_t)(RY_VECTOR_BYTES / sizeof(element_##type)))

#define TILE(type, vectors, rows)                                          \
    static void tile_##type##_##vectors##x##rows(const product_tile *tile) \
    {                                                                      \
        text_##type(tile, rows, vectors);                                  \
    }

#define TEXT(type, element)                                                                 \
    typedef element element_##type;                                                         \
    typedef element_##type vector_##type __attribute__((vector_size(RY_VECTOR_BYTES)));     \
    RY_INLINE void text_##type(const product_tile *tile, const int rows, const int vectors) \
    {                                                                                       \
        vector_##type sum[RY_TILE_ROWS][RY_TILE_VECTORS], bv[RY_TILE_VECTORS];              \
        const element_##type *a = tile->a, *b = tile->b;                                    \
        element_##type *c = tile->c;                                                        \
        const int64_t a_step = tile->a_step, b_step = tile->b_step, c_step = tile->c_step;  \
        _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++)                             \
        {                                                                                   \
            _Pragma("GCC unroll 4") for (int v = 0; v < vectors; v++)                       \
            {                                                                               \
                sum[i][v] = (vector_##type){0};                                             \
                if (!tile->first) {                                                         \
                    memcpy(&sum[i][v], c + i * c_step + v * LANES(type), RY_VECTOR_BYTES);  \
                }                                                                           \
            }                                                                               \
        }                                                                                   \
        for (int64_t k = tile->depth; k > 0; k--) {                                         \
            _Pragma("GCC unroll 4") for (int v = 0; v < vectors; v++)                       \
            {                                                                               \
                memcpy(&bv[v], b + v * LANES(type), RY_VECTOR_BYTES);                       \
            }                                                                               \
            _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++)                         \
            {                                                                               \
                _Pragma("GCC unroll 4") for (int v = 0; v < vectors; v++)                   \
                {                                                                           \
                    sum[i][v] = sum[i][v] + a[i] * bv[v];                                   \
                }                                                                           \
            }                                                                               \
            a += a_step;                                                                    \
            b += b_step;                                                                    \
        }                                                                                   \
        _Pragma("GCC unroll 16") for (int i = 0; i < rows; i++)                             \
        {                                                                                   \
            _Pragma("GCC unroll 4") for (int v = 0; v < vectors; v++)                       \
            {                                                                               \
                memcpy(c + i * c_step + v * LANES(type), &sum[i][v], RY_VECTOR_BYTES);      \
            }                                                                               \
        }                                                                                   \
    }                                                                                       \
    EACH_ROWS(TILE, type, 1)                                                                \
    EACH_ROWS(TILE, type, 2)

TEXT(f32, float)
TEXT(f64, double)
TEXT(u32, uint32_t)
TEXT(u64, uint64_t)

#define NAME(type, vectors, rows) tile_##type##_##vectors##x##rows,
#define TYPE(type)                [PRODUCT_##type] = {{EACH_ROWS(NAME, type, 1)}, {EACH_ROWS(NAME, type, 2)}},

const product_multiply
    RY_ISA_SYMBOL(product_tiles)[PRODUCT_TYPES][RY_TILE_VECTORS][RY_TILE_ROWS] = {
        TYPE(f32) TYPE(f64) TYPE(u32) TYPE(u64)};
