/* SPDX-License-Identifier: Apache-2.0 */
/* Packing of matrix blocks: rows as they are stored, columns by transposing squares of a vector's
 * width. */
#include "kernels/cpu/parts/pack_rows.h"

#include "base/integer.h"
#include "kernels/cpu/simd/lanes.h"

/* Rows that are fetched ahead, by lines of so many floats, where they are stored so far apart that
 * the hardware does not foresee their steps. */
enum { PREFETCHED_ROWS = 16, LINE = 16, ROW_APART = 512 };

static inline const char *at(ry_dtype dtype, const void *from, int64_t i)
{
    return (const char *)from + i * (dtype == RY_f16 || dtype == RY_bf16 ? 2 : 4);
}

RY_INLINE ry_vf load_some(ry_dtype dtype, const void *p, int64_t n)
{
    if (dtype == RY_f16 || dtype == RY_bf16) {
        const ry_vm m = ry_vm_first(n);
        return dtype == RY_f16 ? (n >= RY_W ? ry_vf_load_f16(p) : ry_vf_load_f16_m(p, m))
                               : (n >= RY_W ? ry_vf_load_bf16(p) : ry_vf_load_bf16_m(p, m));
    }
    return n >= RY_W ? ry_vf_load(p) : ry_vf_load_m(p, ry_vm_first(n));
}

/* Columns are along memory: squares of RY_W rows of `from` by RY_W of k. */
static void pack_transposed(ry_dtype dtype, const void *from, int64_t column, int64_t depth,
                            int64_t count, int64_t width, float *to)
{
    for (int64_t j = 0; j < width; j += RY_W) {
        for (int64_t k = 0; k < depth; k += RY_W) {
            ry_vf v[RY_W];
#pragma GCC unroll 16
            for (int i = 0; i < RY_W; i++) {
                v[i] = j + i < count
                           ? load_some(dtype, at(dtype, from, (j + i) * column + k), depth - k)
                           : ry_vf_zero();
            }
            ry_vf_transpose(v);
#pragma GCC unroll 16
            for (int i = 0; i < RY_W; i++) {
                if (k + i < depth && width - j >= RY_W) {
                    ry_vf_store(to + (k + i) * width + j, v[i]);
                } else if (k + i < depth) {
                    ry_vf_store_m(to + (k + i) * width + j, ry_vm_first(width - j), v[i]);
                }
            }
        }
    }
}

/* Rows as they are stored; zeros up to a full vector where it `pads`, else nothing behind the last
 * column. */
RY_INLINE void pack_along(ry_dtype dtype, const bool pads, const void *from, int64_t row,
                          int64_t depth, int64_t count, int64_t width, float *to)
{
    const int64_t full = count / RY_W * RY_W;
    const ry_vm last = ry_vm_first(count - full);
    for (int64_t k = 0; k < depth; k++, to += width) {
        const char *line = at(dtype, from, k * row);
        for (int64_t j = 0; row >= ROW_APART && j < count; j += LINE) {
            __builtin_prefetch(at(dtype, from, ry_min(k + PREFETCHED_ROWS, depth - 1) * row + j));
        }
        for (int64_t j = 0; j < full; j += RY_W) {
            ry_vf_store(to + j, load_some(dtype, at(dtype, line, j), RY_W));
        }
        if (full < count && pads) {
            ry_vf_store(to + full, load_some(dtype, at(dtype, line, full), count - full));
        } else if (full < count) {
            ry_vf_store_m(to + full, last, load_some(dtype, at(dtype, line, full), count - full));
        }
    }
}

void RY_ISA_SYMBOL(pack_micropanel)(ry_dtype dtype, const void *from, int64_t row, int64_t column,
                                    int64_t depth, int64_t count, int64_t width, float *to)
{
    if (width % RY_W == 0 && (column == 1 || count == 1)) {
        if (dtype == RY_f16 || dtype == RY_bf16) {
            pack_along(dtype, true, from, row, depth, count, width, to);
        } else {
            pack_along(RY_f32, true, from, row, depth, count, width, to);
        }
    } else if (column == 1 && row != 1) {
        pack_along(dtype, false, from, row, depth, count, width, to);
    } else if (row == 1) {
        pack_transposed(dtype, from, column, depth, count, width, to);
    } else {
        for (int64_t k = 0; k < depth; k++) {
            for (int64_t j = 0; j < width; j++) {
                to[k * width + j] =
                    j < count ? ry_load_one(dtype, at(dtype, from, k * row + j * column)) : 0.0f;
            }
        }
    }
}

void RY_ISA_SYMBOL(pack_rows)(ry_dtype dtype, const void *from, int64_t row, int64_t column,
                              int64_t rows, int64_t depth, float *to, int64_t to_row)
{
    for (int64_t i = 0; i < rows; i++, to += to_row) {
        if (column == 1) {
            for (int64_t k = 0; k < depth; k += RY_W) {
                ry_vf_store(to + k, load_some(dtype, at(dtype, from, i * row + k), depth - k));
            }
            continue;
        }
        for (int64_t k = 0; k < depth; k++) {
            to[k] = ry_load_one(dtype, at(dtype, from, i * row + k * column));
        }
    }
}

void RY_ISA_SYMBOL(scale_row)(float *row, int64_t n, float by)
{
    for (int64_t i = 0; i < n; i++) {
        row[i] *= by;
    }
}
