/* SPDX-License-Identifier: Apache-2.0 */
/* Writes finished sums to y: rows with any runs of columns, in any float type. */
#include "kernels/cpu/conv/finish.h"

#include "kernels/cpu/common/simd.h"

static void add_run(float *row, const igemm_run *run, const char *residual, ry_dtype dtype)
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

static void store_near(const float *from, void *y, int64_t n, ry_dtype dtype)
{
    for (int64_t i = 0; i < n; i += RY_W) {
        if (n - i >= RY_W && (dtype == RY_f32 || dtype == RY_i32)) {
            ry_vf_store((float *)y + i, ry_vf_load(from + i));
            continue;
        }
        const ry_vm m = ry_vm_first(n - i);
        if (dtype == RY_f16) {
            ry_vf_store_f16_m((uint16_t *)y + i, m, ry_vf_load_m(from + i, m));
        } else if (dtype == RY_bf16) {
            ry_vf_store_bf16_m((uint16_t *)y + i, m, ry_vf_load_m(from + i, m));
        } else {
            ry_vf_store_m((float *)y + i, m, ry_vf_load_m(from + i, m));
        }
    }
}

static void store_run(const float *row, const igemm_run *run, char *y, ry_dtype dtype)
{
    const int64_t size = (int64_t)ry_dtype_size(dtype), step = run->y_step;
    const float *from = row + run->column;
    char *to = y + run->y * size;
    if (step == 1) {
        store_near(from, to, run->length, dtype);
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

void RY_ISA_SYMBOL(igemm_finish_rows)(const igemm_finish *f)
{
    for (int64_t i = 0; i < f->rows; i++) {
        float *row = f->block + i * f->block_step;
        for (int64_t r = 0; f->residual && r < f->runs; r++) {
            add_run(row, &f->run[r], (const char *)f->residual + i * f->r_row * (int64_t)ry_dtype_size(f->r_dtype), f->r_dtype);
        }
        if (f->dtype != RY_i32) {
            RY_ISA_SYMBOL(ry_activate)(f->activation, row, f->columns);
        }
        for (int64_t r = 0; r < f->runs; r++) {
            store_run(row, &f->run[r], (char *)f->y + i * f->y_row * (int64_t)ry_dtype_size(f->dtype), f->dtype);
        }
    }
}

void RY_ISA_SYMBOL(igemm_turn)(const float *from, int64_t from_step, int64_t rows, int64_t columns, float *to, int64_t to_step)
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
