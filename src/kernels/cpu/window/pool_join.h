/* SPDX-License-Identifier: Apache-2.0 */
/* The maximum or the sum of two numbers, vectors, rows: inlined with `maximum` as a constant. */
#ifndef RY_KERNELS_CPU_WINDOW_POOL_JOIN_H
#define RY_KERNELS_CPU_WINDOW_POOL_JOIN_H

#include "kernels/cpu/simd/lanes.h"

enum { POOL_TOGETHER = 4 }; /* vectors */

/* NaN wins over every number. */
RY_INLINE float larger(float a, float b)
{
    float m = a > b ? a : b; /* b where b is NaN */
    return a != a ? a : m;
}

/* Each of the two is the second operand where one is NaN: bits of both make a NaN. Equal numbers
 * stay what they are. */
RY_INLINE ry_vf larger_vector(ry_vf a, ry_vf b)
{
    return ry_vf_or(ry_vf_max(a, b), ry_vf_max(b, a));
}

RY_INLINE float join(float a, float b, bool maximum)
{
    return maximum ? larger(a, b) : a + b;
}

RY_INLINE ry_vf join_vector(ry_vf a, ry_vf b, bool maximum)
{
    return maximum ? larger_vector(a, b) : ry_vf_add(a, b);
}

/* Bytes of an f32, f16 or bf16. */
RY_INLINE int64_t float_bytes(const ry_dtype dtype)
{
    return dtype == RY_f32 ? 4 : 2;
}

/* Rows that are joined: offset[k] elements of the type from one place on; count above 0. */
typedef struct pool_window_rows {
    ry_dtype dtype; /* f32, f16 or bf16 */
    const int64_t *offset;
    int64_t count;
} pool_window_rows;

/* `vectors` vectors of join_rows from x and y on; alone, of the lanes of a mask. */
RY_INLINE void join_vectors(float *y, const pool_window_rows rows, const char *x, const int vectors,
                            const bool masked, ry_vm m, const bool maximum)
{
    const int64_t size = float_bytes(rows.dtype);
    ry_vf all[POOL_TOGETHER];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        const char *from = x + (rows.offset[0] + v * RY_W) * size;
        all[v] = masked ? ry_load_masked(rows.dtype, from, m) : ry_load_full(rows.dtype, from);
    }
    for (int64_t k = 1; k < rows.count; k++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            const char *from = x + (rows.offset[k] + v * RY_W) * size;
            const ry_vf next =
                masked ? ry_load_masked(rows.dtype, from, m) : ry_load_full(rows.dtype, from);
            all[v] = join_vector(all[v], next, maximum);
        }
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        if (masked) {
            ry_vf_store_m(y, m, all[v]);
        } else {
            ry_vf_store(y + v * RY_W, all[v]);
        }
    }
}

RY_INLINE void join_so_many_rows(float *y, const pool_window_rows rows, const char *plane,
                                 int64_t n, const bool maximum)
{
    const ry_vm full = ry_vm_first(RY_W);
    const int64_t size = float_bytes(rows.dtype);
    int64_t i = 0;
    for (; i + POOL_TOGETHER * RY_W <= n; i += POOL_TOGETHER * RY_W) {
        join_vectors(y + i, rows, plane + i * size, POOL_TOGETHER, false, full, maximum);
    }
    for (; i + RY_W <= n; i += RY_W) {
        join_vectors(y + i, rows, plane + i * size, 1, false, full, maximum);
    }
    if (i < n) {
        join_vectors(y + i, rows, plane + i * size, 1, true, ry_vm_first(n - i), maximum);
    }
}

/* y[i] = the rows' x[i] together, rows being offsets from plane on. */
RY_INLINE void join_rows(float *y, const pool_window_rows rows, const char *plane, int64_t n,
                         const bool maximum)
{
    const pool_window_rows two = {rows.dtype, rows.offset, 2}, three = {rows.dtype, rows.offset, 3};
    switch (rows.count) {
    case 2: join_so_many_rows(y, two, plane, n, maximum); break;
    case 3: join_so_many_rows(y, three, plane, n, maximum); break;
    default: join_so_many_rows(y, rows, plane, n, maximum); break;
    }
}

#endif
