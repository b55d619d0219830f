/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: products of few rows with a large matrix, at the speed at which it comes from memory. b
 * is read once, where it is stored: by dot products where it is along k (fully connected layers),
 * by sums of its scaled rows where it is along n. Or, where it is constant and bfloat16 is accurate
 * enough, from a rounded copy [n][k] of half the bytes. */
#include "kernels/cpu/matmul/matmul_gemv_plan.h"

#include "base/integer.h"
#include "base/room.h"
#include "kernels/cpu/matmul/matmul_epilogue.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/parts/pack_rows.h"
#include "kernels/cpu/simd/simd.h"

enum {
    DOT_A = GEMV_DOT_A,
    DOT_B = RY_W == 16 ? 4 : 2, /* gemv_dot_b */
    MAX_SUM_ROWS = MAX_GEMV_SUM_ROWS,
    SUM_VECTORS = GEMV_SUM_VECTORS,
    /* rows of b that are fetched ahead: the hardware does not foresee steps of whole rows */
    PREFETCHED = 12,
};

RY_INLINE ry_vf load(const ry_dtype dtype, const char *p, int64_t i)
{
    return dtype == RY_f32   ? ry_vf_load((const float *)(const void *)p + i)
           : dtype == RY_f16 ? ry_vf_load_f16((const uint16_t *)(const void *)p + i)
                             : ry_vf_load_bf16((const uint16_t *)(const void *)p + i);
}

RY_INLINE ry_vf load_m(const ry_dtype dtype, const char *p, int64_t i, ry_vm m)
{
    return dtype == RY_f32   ? ry_vf_load_m((const float *)(const void *)p + i, m)
           : dtype == RY_f16 ? ry_vf_load_f16_m((const uint16_t *)(const void *)p + i, m)
                             : ry_vf_load_bf16_m((const uint16_t *)(const void *)p + i, m);
}

typedef struct product {
    const float *a;
    int64_t a_row;
    const char *b;
    int64_t b_step; /* elements: from column to column (dot), from row to row (sum) */
    int64_t depth;
    float *block;
    int64_t block_step;
    bool first; /* the block holds nothing yet */
} product;

RY_INLINE void dot_block(const ry_dtype dtype, const product *p, const int rows, const int columns)
{
    const int64_t size = dtype == RY_f32 ? 4 : 2;
    ry_vf sum[DOT_A][DOT_B];
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int j = 0; j < columns; j++) {
            sum[i][j] = ry_vf_zero();
        }
    }
    int64_t k = 0;
    for (; k + RY_W <= p->depth; k += RY_W) {
        ry_vf b[DOT_B];
#pragma GCC unroll 4
        for (int j = 0; j < columns; j++) {
            b[j] = load(dtype, p->b + j * p->b_step * size, k);
        }
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            const ry_vf a = ry_vf_load(p->a + i * p->a_row + k);
#pragma GCC unroll 4
            for (int j = 0; j < columns; j++) {
                sum[i][j] = ry_vf_fma(a, b[j], sum[i][j]);
            }
        }
    }
    if (k < p->depth) {
        const ry_vm m = ry_vm_first(p->depth - k);
#pragma GCC unroll 4
        for (int i = 0; i < rows; i++) {
            const ry_vf a = ry_vf_load_m(p->a + i * p->a_row + k, m);
#pragma GCC unroll 4
            for (int j = 0; j < columns; j++) {
                sum[i][j] =
                    ry_vf_fma(a, load_m(dtype, p->b + j * p->b_step * size, k, m), sum[i][j]);
            }
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int j = 0; j < columns; j++) {
            float *to = p->block + i * p->block_step + j;
            *to = ry_vf_sum(sum[i][j]) + (p->first ? 0.0f : *to);
        }
    }
}

RY_INLINE void sum_block(const ry_dtype dtype, const product *p, const int rows, const int vectors)
{
    const int64_t size = dtype == RY_f32 ? 4 : 2;
    ry_vf sum[MAX_SUM_ROWS][SUM_VECTORS];
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            sum[i][v] = ry_vf_zero();
        }
    }
    const char *b = p->b;
    for (int64_t k = 0; k < p->depth; k++, b += p->b_step * size) {
        /* a fetch of an address outside the matrix does nothing */
        __builtin_prefetch(
            (const void *)((uintptr_t)b + (uintptr_t)(PREFETCHED * p->b_step * size)));
        __builtin_prefetch((const void *)((uintptr_t)b + (uintptr_t)(PREFETCHED * p->b_step * size +
                                                                     vectors * RY_W * size / 2)));
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            const ry_vf x = load(dtype, b, v * RY_W);
#pragma GCC unroll 4
            for (int i = 0; i < rows; i++) {
                sum[i][v] = ry_vf_fma(ry_vf_set(p->a[i * p->a_row + k]), x, sum[i][v]);
            }
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++) {
            ry_vf_store(p->block + i * p->block_step + v * RY_W, sum[i][v]);
        }
    }
}

/* The last columns of b, that are no full vector. */
RY_INLINE void sum_tail(const ry_dtype dtype, const product *p, int64_t rows, int64_t columns)
{
    const int64_t size = dtype == RY_f32 ? 4 : 2;
    const ry_vm m = ry_vm_first(columns);
    for (int64_t i = 0; i < rows; i++) {
        ry_vf sum = ry_vf_zero();
        for (int64_t k = 0; k < p->depth; k++) {
            sum = ry_vf_fma(ry_vf_set(p->a[i * p->a_row + k]),
                            load_m(dtype, p->b + k * p->b_step * size, 0, m), sum);
        }
        ry_vf_store_m(p->block + i * p->block_step, m, sum);
    }
}

RY_INLINE void dot_columns(const ry_dtype dtype, product p, int64_t rows, const int columns)
{
    for (int64_t i = 0; i < rows; i += DOT_A) {
        switch (rows - i) {
        case 1: dot_block(dtype, &p, 1, columns); break;
        case 2: dot_block(dtype, &p, 2, columns); break;
        case 3: dot_block(dtype, &p, 3, columns); break;
        default: dot_block(dtype, &p, 4, columns); break;
        }
        p.a += DOT_A * p.a_row;
        p.block += DOT_A * p.block_step;
    }
}

RY_INLINE void dot_all(const ry_dtype dtype, const product *full, int64_t rows, int64_t columns)
{
    const int64_t size = dtype == RY_f32 ? 4 : 2;
    product p = *full;
    int64_t j = 0;
    for (; j + DOT_B <= columns; j += DOT_B) {
        p.b = full->b + j * p.b_step * size;
        p.block = full->block + j;
        dot_columns(dtype, p, rows, DOT_B);
    }
    for (; j < columns; j++) {
        p.b = full->b + j * p.b_step * size;
        p.block = full->block + j;
        dot_columns(dtype, p, rows, 1);
    }
}

RY_INLINE void sum_all(const ry_dtype dtype, const product *full, int64_t rows, int64_t columns)
{
    const int64_t size = dtype == RY_f32 ? 4 : 2;
    product p = *full;
    int64_t j = 0;
    for (; j + SUM_VECTORS * RY_W <= columns; j += SUM_VECTORS * RY_W) {
        p.b = full->b + j * size;
        p.block = full->block + j;
        switch (rows) {
        case 1: sum_block(dtype, &p, 1, SUM_VECTORS); break;
        case 2: sum_block(dtype, &p, 2, SUM_VECTORS); break;
        case 3: sum_block(dtype, &p, 3, SUM_VECTORS); break;
        default: sum_block(dtype, &p, 4, SUM_VECTORS); break;
        }
    }
    for (; j < columns; j += RY_W) {
        p.b = full->b + j * size;
        p.block = full->block + j;
        sum_tail(dtype, &p, rows, columns - j);
    }
}

#define TYPE(dtype)                                                          \
    static void dot_##dtype(const product *p, int64_t rows, int64_t columns) \
    {                                                                        \
        dot_all(RY_##dtype, p, rows, columns);                               \
    }                                                                        \
    static void sum_##dtype(const product *p, int64_t rows, int64_t columns) \
    {                                                                        \
        sum_all(RY_##dtype, p, rows, columns);                               \
    }
TYPE(f32)
TYPE(f16)
TYPE(bf16)

typedef void (*product_function)(const product *p, int64_t rows, int64_t columns);

static product_function function_of(ry_dtype dtype, bool dot)
{
    return dtype == RY_f32   ? (dot ? dot_f32 : sum_f32)
           : dtype == RY_f16 ? (dot ? dot_f16 : sum_f16)
                             : (dot ? dot_bf16 : sum_bf16);
}

static void run(const ry_cpu_launch *launch, size_t index)
{
    const gemv_plan *plan = launch->state;
    const matmul_shape *s = &plan->shape;
    const matmul_operand *a = &s->of[MATMUL_A], *b = &s->of[MATMUL_B];
    char *scratch = launch->scratch;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->tasks, index, range);
    const int64_t batch = range[0].first, column = range[1].first, columns = range[1].count;
    const char *from =
        (const char *)ry_matmul_input(s, launch, MATMUL_A) +
        ry_matmul_batch_offset(s, MATMUL_A, batch) * (int64_t)ry_dtype_size(a->dtype);
    product p = {.a = (const float *)(const void *)from,
                 .a_row = a->row,
                 .b_step = plan->dot ? b->column : b->row,
                 .block = RY_AT(float, scratch, plan->block),
                 .block_step = gemv_columns(plan)};
    if (plan->a_copied) {
        float *copy = RY_AT(float, scratch, plan->a);
        RY_ISA_SYMBOL(pack_rows)(a->dtype, from, a->row, a->column, s->m, s->k, copy, plan->a_step);
        p.a = copy;
        p.a_row = plan->a_step;
    }
    const int64_t size = (int64_t)ry_dtype_size(b->dtype);
    const char *full = plan->rounded ? launch->packed : ry_matmul_input(s, launch, MATMUL_B);
    const char *matrix =
        full + (ry_matmul_batch_offset(s, MATMUL_B, batch) + column * b->column) * size;
    const product_function multiply = function_of(b->dtype, plan->dot);
    const float *first = p.a;
    for (int64_t k = 0; k < s->k; k += plan->k_block) {
        p.a = first + k;
        p.b = matrix + k * b->row * size;
        p.depth = ry_min(plan->k_block, s->k - k);
        p.first = k == 0;
        multiply(&p, s->m, columns);
    }
    RY_ISA_SYMBOL(matmul_epilogue)
    (s, launch, batch, 0, s->m, column, columns, p.block, gemv_columns(plan), s->alpha);
}

/* The columns of one task of b, rounded. */
static void pack(const ry_cpu_launch *launch, size_t task)
{
    const gemv_plan *plan = launch->state;
    matmul_shape s;
    if (!ry_matmul_shape_of(launch->problem, &s)) {
        return;
    }
    const matmul_operand *b = &s.of[MATMUL_B];
    const float *from = launch->in[1];
    const int64_t first = (int64_t)task * gemv_columns(plan),
                  end = ry_min(first + gemv_columns(plan), s.n);
    for (int64_t j = first; j < end; j++) {
        uint16_t *to = (uint16_t *)launch->packed_out + j * s.k;
        for (int64_t k = 0; k < s.k; k++) {
            to[k] = ry_f32_to_bf16(from[k * b->row + j * b->column]);
        }
    }
}

RY_CPU_KERNEL(matmul_f32_gemv, matmul, strict, .simd = RY_SIMD, .applicable = ry_gemv_takes,
              .knobs = ry_gemv_knobs, .knob_count = GEMV_KNOBS, .values = ry_gemv_values,
              .prepare = ry_gemv_prepare, .initialise = ry_gemv_initialise, .run = run);

RY_CPU_KERNEL(matmul_bf16_gemv, matmul, bf16, .simd = RY_SIMD, .applicable = ry_gemv_takes_rounded,
              .knobs = ry_gemv_knobs, .knob_count = GEMV_KNOBS, .values = ry_gemv_values,
              .prepare = ry_gemv_prepare, .initialise = ry_gemv_initialise, .pack = pack,
              .run = run, .packed_inputs = 1u << MATMUL_B, .packing = ry_gemv_packing);
