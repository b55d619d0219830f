/* SPDX-License-Identifier: Apache-2.0 */
/* Writes finished sums to y: rows with any runs of columns, in any float type. */
#include "kernels/cpu/parts/epilogue.h"

#include "kernels/cpu/simd/lanes.h"

static void add_run(float *row, const epilogue_run *run, const char *residual, ry_dtype dtype)
{
    const int64_t size = (int64_t)ry_dtype_size(dtype);
    const char *from = residual + run->r * size;
    float *to = row + run->column;
    int64_t i = 0;
    if (run->r_step == 1) {
        for (; i < run->length; i += RY_W) {
            const ry_vm m = ry_vm_first(run->length - i);
            const ry_vf r = dtype == RY_f32   ? ry_vf_load_m((const float *)from + i, m)
                            : dtype == RY_f16 ? ry_vf_load_f16_m((const uint16_t *)from + i, m)
                                              : ry_vf_load_bf16_m((const uint16_t *)from + i, m);
            ry_vf_store_m(to + i, m, ry_vf_add(ry_vf_load_m(to + i, m), r));
        }
        return;
    }
    for (; i < run->length; i++) {
        if (dtype == RY_f32) {
            to[i] += ((const float *)from)[i * run->r_step];
        } else {
            const uint16_t bits = ((const uint16_t *)from)[i * run->r_step];
            to[i] += dtype == RY_f16 ? ry_f16_to_f32(bits) : ry_bf16_to_f32(bits);
        }
    }
}

static void store_contiguous(const float *from, void *y, int64_t n, ry_dtype dtype)
{
    const int64_t size = (int64_t)ry_dtype_size(dtype);
    for (int64_t i = 0; i < n; i += RY_W) {
        if (n - i >= RY_W && (dtype == RY_f32 || dtype == RY_i32)) {
            ry_vf_store((float *)y + i, ry_vf_load(from + i));
            continue;
        }
        const ry_vm m = ry_vm_first(n - i);
        ry_store_masked(dtype, (char *)y + i * size, m, ry_vf_load_m(from + i, m));
    }
}

static void store_run(const float *row, const epilogue_run *run, char *y, ry_dtype dtype)
{
    const int64_t size = (int64_t)ry_dtype_size(dtype), step = run->y_step;
    const float *from = row + run->column;
    char *to = y + run->y * size;
    if (step == 1) {
        store_contiguous(from, to, run->length, dtype);
        return;
    }
    for (int64_t i = 0; i < run->length; i++) {
        if (dtype == RY_f16) {
            ((uint16_t *)to)[i * step] = ry_f32_to_f16(from[i]);
        } else if (dtype == RY_bf16) {
            ((uint16_t *)to)[i * step] = ry_f32_to_bf16(from[i]);
        } else {
            memcpy(to + i * step * 4, from + i, 4);
        }
    }
}

/* Interleaves three rows: the first two in a vector, then the third. */
static void interleave_three(const float *from, int64_t step, int64_t count, float *to)
{
    ry_vi pair[3], third[3];
#pragma GCC unroll 3
    for (int v = 0; v < 3; v++) {
        int32_t a[RY_W], b[RY_W];
#pragma GCC unroll 16
        for (int lane = 0; lane < RY_W; lane++) {
            const int position = (v * RY_W + lane) / 3, row = (v * RY_W + lane) % 3;
            a[lane] = row < 2 ? row * RY_W + position : 0;
            b[lane] = row < 2 ? lane : RY_W + position;
        }
        pair[v] = ry_vi_load(a);
        third[v] = ry_vi_load(b);
    }
    const ry_vm all = ry_vm_first(RY_W);
    for (int64_t i = 0; i < count; i += RY_W) {
        const ry_vf x = ry_vf_load(from + i), y = ry_vf_load(from + step + i),
                    z = ry_vf_load(from + 2 * step + i);
        for (int v = 0; v < 3; v++) {
            ry_vf_store(to + 3 * i + v * RY_W,
                        ry_vf_permute2(ry_vf_permute2(x, y, pair[v], all), z, third[v], all));
        }
    }
}

void RY_ISA_SYMBOL(interleave)(const float *from, int64_t step, int64_t parts, int64_t count,
                               float *to)
{
    if (parts == 2) {
        for (int64_t i = 0; i < count; i += RY_W) {
            ry_vf low, high;
            ry_vf_interleave(ry_vf_load(from + i), ry_vf_load(from + step + i), &low, &high);
            ry_vf_store(to + 2 * i, low);
            ry_vf_store(to + 2 * i + RY_W, high);
        }
        return;
    }
    if (parts == 3) {
        interleave_three(from, step, count, to);
        return;
    }
    if (parts == 4) {
        for (int64_t i = 0; i < count; i += RY_W) {
            ry_vf even[2], odd[2], out[4];
            ry_vf_interleave(ry_vf_load(from + i), ry_vf_load(from + 2 * step + i), &even[0],
                             &even[1]);
            ry_vf_interleave(ry_vf_load(from + step + i), ry_vf_load(from + 3 * step + i), &odd[0],
                             &odd[1]);
            ry_vf_interleave(even[0], odd[0], &out[0], &out[1]);
            ry_vf_interleave(even[1], odd[1], &out[2], &out[3]);
            for (int j = 0; j < 4; j++) {
                ry_vf_store(to + 4 * i + j * RY_W, out[j]);
            }
        }
        return;
    }
    for (int64_t j = 0; j < parts; j++) {
        for (int64_t i = 0; i < count; i++) {
            memcpy(to + parts * i + j, from + j * step + i, sizeof *to);
        }
    }
}

/* A row of two blocks straight to y: columns alternate, and are next to each other in y. */
static void interleave_run(const float *even, const float *odd, float *y, int64_t n)
{
    int64_t i = 0;
    for (; i + 2 * RY_W <= n; i += 2 * RY_W) {
        ry_vf low, high;
        ry_vf_interleave(ry_vf_load(even + i / 2), ry_vf_load(odd + i / 2), &low, &high);
        ry_vf_store(y + i, low);
        ry_vf_store(y + i + RY_W, high);
    }
    if (i < n) {
        ry_vf low, high;
        const ry_vm some = ry_vm_first((n - i + 1) / 2);
        ry_vf_interleave(ry_vf_load_m(even + i / 2, some), ry_vf_load_m(odd + i / 2, some), &low,
                         &high);
        ry_vf_store_m(y + i, ry_vm_first(n - i), low);
        if (n - i > RY_W) {
            ry_vf_store_m(y + i + RY_W, ry_vm_first(n - i - RY_W), high);
        }
    }
}

static bool interleaves_to_y(const epilogue *f)
{
    return f->interleave == 2 && (f->dtype == RY_f32 || f->dtype == RY_i32) && !f->residual &&
           f->activation.kind == RY_activation_none;
}

void RY_ISA_SYMBOL(epilogue_rows)(const epilogue *f)
{
    const bool interleave = f->interleave > 1;
    for (int64_t i = 0; i < f->rows && interleaves_to_y(f); i++) {
        const float *even = f->block + i * f->block_step, *odd = even + f->interleaved_step;
        for (const epilogue_run *run = f->run; run < f->run + f->runs; run++) {
            interleave_run(even + run->column / 2, odd + run->column / 2,
                           (float *)f->y + run->y + i * f->y_row, run->length);
        }
    }
    for (int64_t i = 0; i < f->rows && !interleaves_to_y(f); i++) {
        float *row = interleave ? f->interleaved_row : f->block + i * f->block_step;
        if (interleave) {
            RY_ISA_SYMBOL(interleave)
            (f->block + i * f->block_step, f->interleaved_step, f->interleave, f->columns, row);
        }
        for (int64_t r = 0; f->residual && r < f->runs; r++) {
            add_run(row, &f->run[r],
                    (const char *)f->residual + i * f->r_row * (int64_t)ry_dtype_size(f->r_dtype),
                    f->r_dtype);
        }
        if (f->dtype != RY_i32) {
            RY_ISA_SYMBOL(activate)
            (f->activation, row, interleave ? f->columns * f->interleave : f->columns);
        }
        for (int64_t r = 0; r < f->runs; r++) {
            store_run(row, &f->run[r],
                      (char *)f->y + i * f->y_row * (int64_t)ry_dtype_size(f->dtype), f->dtype);
        }
    }
}

void RY_ISA_SYMBOL(transpose_block)(const float *from, int64_t from_step, int64_t rows,
                                    int64_t columns, float *to, int64_t to_step)
{
    for (int64_t i = 0; i < rows; i += RY_W) {
        for (int64_t j = 0; j < columns; j += RY_W) {
            ry_vf v[RY_W];
#pragma GCC unroll 16
            for (int k = 0; k < RY_W; k++) {
                v[k] = ry_vf_load(from + (i + k < rows ? i + k : rows - 1) * from_step + j);
            }
            ry_vf_transpose(v);
#pragma GCC unroll 16
            for (int k = 0; k < RY_W; k++) {
                if (j + k < columns) {
                    ry_vf_store(to + (j + k) * to_step + i, v[k]);
                }
            }
        }
    }
}

/* A square of RY_W pixels and channels, from pixel i and channel j on; `full`: of all its pixels.
 */
RY_INLINE void transpose_square(const transposed_epilogue *t, int64_t i, int64_t j, const bool full)
{
    const int64_t pixels = t->pixels - i,
                  channels = t->channels - j < RY_W ? t->channels - j : RY_W;
    const ry_vm m = ry_vm_first(pixels);
    const ry_vf low = ry_vf_set(t->low), high = ry_vf_set(t->high);
    const float *from = t->block + i * t->block_step + j;
    float *to = t->y + j * t->y_row + i;
    const float *residual = t->residual ? t->residual + j * t->r_row + i : NULL;
    ry_vf v[RY_W];
#pragma GCC unroll 16
    for (int k = 0; k < RY_W; k++) {
        v[k] = ry_vf_load(from + (full || k < pixels ? k : pixels - 1) * t->block_step);
    }
    ry_vf_transpose(v);
#pragma GCC unroll 16
    for (int k = 0; k < RY_W; k++) {
        if (k < channels) {
            ry_vf sum = v[k];
            if (residual) {
                sum = ry_vf_add(sum, full ? ry_vf_load(residual + k * t->r_row)
                                          : ry_vf_load_m(residual + k * t->r_row, m));
            }
            sum = ry_vf_min(high, ry_vf_max(low, sum));
            if (full) {
                ry_vf_store(to + k * t->y_row, sum);
            } else {
                ry_vf_store_m(to + k * t->y_row, m, sum);
            }
        }
    }
}

void RY_ISA_SYMBOL(epilogue_transposed)(const transposed_epilogue *t)
{
    for (int64_t j = 0; j < t->channels; j += RY_W) {
        if (t->pixels < RY_W) {
            transpose_square(t, 0, j, false);
            continue;
        }
        for (int64_t i = 0; i < t->pixels; i += RY_W) {
            /* the last square begins early and is whole: it writes some pixels again */
            transpose_square(t, i + RY_W <= t->pixels ? i : t->pixels - RY_W, j, true);
        }
    }
}
