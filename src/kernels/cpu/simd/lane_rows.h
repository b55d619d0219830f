/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of f32, f16 or bf16 next to each other, as vectors whose lanes are rows: transposed in
 * squares, on the way in and on the way back. */
#ifndef RY_KERNELS_CPU_SIMD_LANE_ROWS_H
#define RY_KERNELS_CPU_SIMD_LANE_ROWS_H

#include "base/integer.h"
#include "kernels/cpu/simd/lanes.h"

/* Rows of one type, as many as a vector has lanes at most. */
typedef struct ry_lane_rows {
    char *at;     /* element 0 of row 0 */
    int64_t step; /* bytes from row to row */
    int64_t rows;
    ry_dtype dtype;
} ry_lane_rows;

/* Where row i has its element e; lanes behind the last row are of that row. */
RY_INLINE char *ry_lane_row(const ry_lane_rows *r, const ry_dtype dtype, int64_t i, int64_t e)
{
    return r->at + (i < r->rows ? i : r->rows - 1) * r->step + e * (dtype == RY_f32 ? 4 : 2);
}

RY_INLINE void ry_lane_rows_read_of(const ry_dtype dtype, const ry_lane_rows *r, int64_t elements,
                                    float *to, int64_t step)
{
    for (int64_t e = 0; e < elements; e += RY_W) {
        const bool full = e + RY_W <= elements;
        const ry_vm some = ry_vm_first(ry_min(elements - e, RY_W));
        ry_vf v[RY_W];
#pragma GCC unroll 16
        for (int i = 0; i < RY_W; i++) {
            const char *from = ry_lane_row(r, dtype, i, e);
            v[i] = full ? ry_load_full(dtype, from) : ry_load_masked(dtype, from, some);
        }
        ry_vf_transpose(v);
#pragma GCC unroll 16
        for (int i = 0; i < RY_W; i++) {
            ry_vf_store(to + (e + i) * step, v[i]);
        }
    }
}

/* to[e * step + i] = element e of row i, for all e < elements and every lane i; vectors are written
 * until their number is a multiple of RY_W. */
RY_INLINE void ry_lane_rows_read(const ry_lane_rows *r, int64_t elements, float *to, int64_t step)
{
    switch (r->dtype) {
    case RY_f16: ry_lane_rows_read_of(RY_f16, r, elements, to, step); break;
    case RY_bf16: ry_lane_rows_read_of(RY_bf16, r, elements, to, step); break;
    default: ry_lane_rows_read_of(RY_f32, r, elements, to, step); break;
    }
}

/* A square of vectors `step` floats apart as rows: v[i] is of row i. */
RY_INLINE void ry_lane_rows_turn(const float *from, int64_t step, ry_vf v[RY_W])
{
#pragma GCC unroll 16
    for (int i = 0; i < RY_W; i++) {
        v[i] = ry_vf_load(from + i * step);
    }
    ry_vf_transpose(v);
}

/* Stores `count` elements of each row, from e on. */
RY_INLINE void ry_lane_rows_store(const ry_dtype dtype, const ry_lane_rows *r, int64_t e,
                                  int64_t count, const ry_vf v[RY_W])
{
#pragma GCC unroll 16
    for (int i = 0; i < RY_W; i++) {
        char *to = ry_lane_row(r, dtype, i, e);
        if (i >= r->rows) {
        } else if (dtype == RY_f32 && count == RY_W) {
            ry_vf_store((float *)(void *)to, v[i]);
        } else if (dtype == RY_f32) {
            ry_vf_store_first((float *)(void *)to, count, v[i]);
        } else {
            ry_store_masked(dtype, to, ry_vm_first(count), v[i]);
        }
    }
}

RY_INLINE void ry_lane_rows_write_of(const ry_dtype dtype, const ry_lane_rows *r, int64_t elements,
                                     const float *from, int64_t step)
{
    const int64_t full = elements & -RY_W;
    ry_vf v[RY_W];
    for (int64_t e = 0; e < full; e += RY_W) {
        ry_lane_rows_turn(from + e * step, step, v);
        ry_lane_rows_store(dtype, r, e, RY_W, v);
    }
    if (full < elements) {
        ry_lane_rows_turn(from + full * step, step, v);
        ry_lane_rows_store(dtype, r, full, elements - full, v);
    }
}

/* The way back of ry_lane_rows_read, which reads as many vectors. */
RY_INLINE void ry_lane_rows_write(const ry_lane_rows *r, int64_t elements, const float *from,
                                  int64_t step)
{
    switch (r->dtype) {
    case RY_f16: ry_lane_rows_write_of(RY_f16, r, elements, from, step); break;
    case RY_bf16: ry_lane_rows_write_of(RY_bf16, r, elements, from, step); break;
    default: ry_lane_rows_write_of(RY_f32, r, elements, from, step); break;
    }
}

#endif
