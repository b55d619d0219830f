/* SPDX-License-Identifier: Apache-2.0 */
/* The text of the micro-kernel (tile.h), included once for each element type: ELEMENT, VECTOR and
 * the words V_*, by default f32. If a and b have another type than the sums, define OPERAND,
 * O_VECTOR, O_SET, O_LOAD and O_LOAD_M. With TILE_ENDS, TILE_NAME(end) takes the sums of tiles with
 * an end. With TILE_ALONG_K, there are only functions of rows along k. Define V_FMA_HALF, a product of the first half of the lanes, if it takes less time than
 * V_FMA. */
#ifndef ELEMENT
#define ELEMENT   float
#define VECTOR    ry_vf
#define V_SET     ry_vf_set
#define V_LOAD    ry_vf_load
#define V_LOAD_M  ry_vf_load_m
#define V_STORE   ry_vf_store
#define V_STORE_M ry_vf_store_m
#define V_MAX     ry_vf_max
#define V_MIN     ry_vf_min
#endif
#ifndef OPERAND
#define OPERAND  ELEMENT
#define O_VECTOR VECTOR
#define O_SET    V_SET
#define O_LOAD   V_LOAD
#define O_LOAD_M V_LOAD_M
#endif
#ifdef V_FMA_HALF
#define TILE_HALF(tile, vectors) ((tile)->columns <= (vectors)*RY_W - RY_W / 2)
#else
#define TILE_HALF(tile, vectors) false
#define V_FMA_HALF               V_FMA
#endif

#ifndef TILE_ROWS_LIST
#if RY_TILE_ROWS == 14
#define TILE_ROWS_LIST(of) \
    of(1) of(2) of(3) of(4) of(5) of(6) of(7) of(8) of(9) of(10) of(11) of(12) of(13) of(14)
#elif RY_TILE_ROWS == 12
#define TILE_ROWS_LIST(of) \
    of(1) of(2) of(3) of(4) of(5) of(6) of(7) of(8) of(9) of(10) of(11) of(12)
#else
#define TILE_ROWS_LIST(of) of(1) of(2) of(3) of(4) of(5) of(6)
#endif
#endif

/* One step of k. */
RY_INLINE void TILE_NAME(step)(const OPERAND *a, const OPERAND *b, int64_t a_step, const int rows,
                               const int vectors, const bool a_along_k, const bool half,
                               const bool exact, const ry_vm last,
                               VECTOR sum[RY_TILE_ROWS][RY_TILE_VECTORS])
{
    O_VECTOR bv[RY_TILE_VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        bv[v] = exact && v == vectors - 1 ? O_LOAD_M(b + v * RY_W, last) : O_LOAD(b + v * RY_W);
    }
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        const O_VECTOR x = O_SET(a_along_k ? a[i * a_step] : a[i]);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            sum[i][v] = half && v == vectors - 1 ? V_FMA_HALF(x, bv[v], sum[i][v])
                                                 : V_FMA(x, bv[v], sum[i][v]);
        }
    }
}

/* Everything that is known at compile time comes in as a constant, so that the loops over rows and
 * vectors vanish and `sum` is registers. */
RY_INLINE void TILE_NAME(text)(const ry_tile *tile, const int rows, const int vectors,
                               const bool a_along_k, const bool half, const bool exact)
{
    VECTOR sum[RY_TILE_ROWS][RY_TILE_VECTORS];
    ELEMENT *c = tile->c;
    const ELEMENT *bias = tile->bias;
    const int64_t full = (int64_t)vectors * RY_W;
    const ry_vm last = ry_vm_first(tile->columns - (full - RY_W));
    const bool ragged = tile->columns < full;

#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            sum[i][v] = V_SET(0);
        }
    }
    if (tile->start == RY_TILE_FROM_ROW_BIAS) {
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                sum[i][v] = V_SET(bias[i]);
            }
        }
    } else if (tile->start == RY_TILE_FROM_COLUMN_BIAS) {
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                sum[i][v] = V_LOAD(bias + v * RY_W);
            }
        }
    } else if (tile->start == RY_TILE_FROM_C) {
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                const ELEMENT *from = c + i * tile->c_step + v * RY_W;
                sum[i][v] = v == vectors - 1 && ragged ? V_LOAD_M(from, last) : V_LOAD(from);
            }
        }
    }

    const OPERAND *a = tile->a, *b = tile->b;
    int64_t k = tile->depth;
    if (tile->ahead) {
        /* a few lines a step: all at once would hold up the loads of the operands */
        const ELEMENT *to = c + tile->c_prefetch_distance;
        const int64_t r_step = tile->residual_step;
        const float *r =
            tile->residual
                ? tile->residual + (r_step == tile->c_step ? tile->c_prefetch_distance : 0)
                : NULL;
        for (int i = 0; i < rows && k > 0; i++, k--) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                __builtin_prefetch(to + v * RY_W, 1, 3);
                if (r) {
                    __builtin_prefetch(r + v * RY_W, 0, 3);
                }
            }
            to += tile->c_step;
            r = r ? r + r_step : r;
            TILE_NAME(step)(a, b, tile->a_step, rows, vectors, a_along_k, half, exact, last, sum);
            a += a_along_k ? 1 : tile->a_step;
            b += tile->b_step;
        }
    }
    const int64_t a_step = tile->a_step, b_step = tile->b_step;
    for (const ry_tile_lines *next = tile->lines; next && next->count > 0 && k > 0; next++) {
        const char *line = next->at;
#pragma GCC unroll RY_TILE_STEPS
        for (int64_t left = next->count < k ? next->count : k; left > 0; left--, k--) {
            __builtin_prefetch(line, 0, 2);
            line += 64;
            TILE_NAME(step)(a, b, a_step, rows, vectors, a_along_k, half, exact, last, sum);
            a += a_along_k ? 1 : a_step;
            b += b_step;
        }
    }
    if (a_along_k && tile->b_streams) {
#pragma GCC unroll RY_TILE_STEPS
        for (; k > 0; k--) {
#pragma GCC unroll 4
            for (int i = 0; i < vectors * RY_W; i += 64 / (int)sizeof *b) {
                __builtin_prefetch(b + RY_TILE_PREFETCH * vectors * RY_W + i, 0, 3);
            }
            TILE_NAME(step)(a, b, a_step, rows, vectors, a_along_k, half, exact, last, sum);
            a += 1;
            b += b_step;
        }
    }
    if (!a_along_k && tile->b_prefetch_distance) {
        const int64_t b_prefetch_distance = tile->b_prefetch_distance;
#pragma GCC unroll RY_TILE_STEPS
        for (; k > 0; k--) {
#pragma GCC unroll 4
            for (int i = 0; i < vectors * RY_W; i += 64 / (int)sizeof *b) {
                __builtin_prefetch(b + b_prefetch_distance + i, 0, 2);
            }
            TILE_NAME(step)(a, b, a_step, rows, vectors, a_along_k, half, exact, last, sum);
            a += a_step;
            b += b_step;
        }
    }
#pragma GCC unroll RY_TILE_STEPS
    for (; k > 0; k--) {
        TILE_NAME(step)(a, b, a_step, rows, vectors, a_along_k, half, exact, last, sum);
        a += a_along_k ? 1 : a_step;
        b += b_step;
    }

#ifdef TILE_ENDS
    if (tile->end) {
        TILE_NAME(end)(tile, rows, vectors, sum);
        return;
    }
#endif
#ifdef V_MAX
    if (tile->residual) {
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                const float *from = tile->residual + i * tile->residual_step + v * RY_W;
                sum[i][v] = ry_vf_add(sum[i][v], v == vectors - 1 && ragged ? V_LOAD_M(from, last)
                                                                            : V_LOAD(from));
            }
        }
    }
    if (tile->low != -__builtin_inff() || tile->high != __builtin_inff()) {
        const VECTOR low = V_SET(tile->low), high = V_SET(tile->high);
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                sum[i][v] = V_MIN(high, V_MAX(low, sum[i][v]));
            }
        }
    }
#endif
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            ELEMENT *to = c + i * tile->c_step + v * RY_W;
            if (v == vectors - 1 && ragged) {
                V_STORE_M(to, last, sum[i][v]);
            } else {
                V_STORE(to, sum[i][v]);
            }
        }
    }
}

RY_INLINE void TILE_NAME(variant)(const ry_tile *tile, const int rows, const int vectors,
                                  const bool a_along_k, const bool exact)
{
    if (TILE_HALF(tile, vectors)) {
        TILE_NAME(text)(tile, rows, vectors, a_along_k, true, exact);
    } else {
        TILE_NAME(text)(tile, rows, vectors, a_along_k, false, exact);
    }
}

#ifdef TILE_ALONG_K
#define TILE_OF_PANELS(vectors, rows)
#else
#define TILE_OF_PANELS(vectors, rows)                              \
    static void TILE_NAME(vectors##x##rows)(const ry_tile *tile)   \
    {                                                              \
        if (tile->b_exact) {                                       \
            TILE_NAME(variant)(tile, rows, vectors, false, true);  \
        } else {                                                   \
            TILE_NAME(variant)(tile, rows, vectors, false, false); \
        }                                                          \
    }
#endif

#define TILE_OF_VECTORS(vectors, rows)                              \
    TILE_OF_PANELS(vectors, rows)                                   \
    static void TILE_NAME(vectors##x##rows##k)(const ry_tile *tile) \
    {                                                               \
        TILE_NAME(variant)(tile, rows, vectors, true, false);       \
    }

#define TILE_OF(rows) TILE_OF_VECTORS(1, rows) TILE_OF_VECTORS(2, rows)

TILE_ROWS_LIST(TILE_OF)

#undef TILE_OF
#undef TILE_OF_VECTORS
#undef TILE_OF_PANELS
#undef TILE_HALF
#undef TILE_NAME
#undef ELEMENT
#undef VECTOR
#undef V_SET
#undef V_LOAD
#undef V_LOAD_M
#undef V_STORE
#undef V_STORE_M
#undef V_FMA
#undef V_FMA_HALF
#undef V_MAX
#undef TILE_ENDS
#undef TILE_ALONG_K
#undef V_MIN
#undef OPERAND
#undef O_VECTOR
#undef O_SET
#undef O_LOAD
#undef O_LOAD_M
