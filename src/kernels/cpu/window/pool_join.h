/* SPDX-License-Identifier: Apache-2.0 */
/* The maximum or the sum of two numbers, vectors, rows: inlined with `maximum` as a constant. */
#ifndef RY_KERNELS_CPU_WINDOW_POOL_JOIN_H
#define RY_KERNELS_CPU_WINDOW_POOL_JOIN_H

#include "kernels/cpu/simd/simd.h"

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

/* `vectors` vectors of join_rows from x and y on; alone, of the lanes of a mask. */
RY_INLINE void join_vectors(float *y, const float *x, const int64_t *offset, int64_t count,
                            const int vectors, const bool masked, ry_vm m, const bool maximum)
{
    ry_vf all[POOL_TOGETHER];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        all[v] = masked ? ry_vf_load_m(x + offset[0], m) : ry_vf_load(x + offset[0] + v * RY_W);
    }
    for (int64_t k = 1; k < count; k++) {
        const float *from = x + offset[k];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            all[v] = join_vector(
                all[v], masked ? ry_vf_load_m(from, m) : ry_vf_load(from + v * RY_W), maximum);
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

RY_INLINE void join_so_many_rows(float *y, const float *plane, const int64_t *offset, int64_t count,
                                 int64_t n, const bool maximum)
{
    const ry_vm full = ry_vm_first(RY_W);
    int64_t i = 0;
    for (; i + POOL_TOGETHER * RY_W <= n; i += POOL_TOGETHER * RY_W) {
        join_vectors(y + i, plane + i, offset, count, POOL_TOGETHER, false, full, maximum);
    }
    for (; i + RY_W <= n; i += RY_W) {
        join_vectors(y + i, plane + i, offset, count, 1, false, full, maximum);
    }
    if (i < n) {
        join_vectors(y + i, plane + i, offset, count, 1, true, ry_vm_first(n - i), maximum);
    }
}

/* y[i] = the `count` rows' x[i] together, rows being offset[k] from plane on, in elements; count
 * above 0. */
RY_INLINE void join_rows(float *y, const float *plane, const int64_t *offset, int64_t count,
                         int64_t n, const bool maximum)
{
    switch (count) {
    case 2: join_so_many_rows(y, plane, offset, 2, n, maximum); break;
    case 3: join_so_many_rows(y, plane, offset, 3, n, maximum); break;
    default: join_so_many_rows(y, plane, offset, count, n, maximum); break;
    }
}

#endif
