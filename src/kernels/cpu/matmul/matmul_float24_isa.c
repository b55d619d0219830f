/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: products of up to four rows with a large constant matrix, at the speed at which it comes
 * from memory: its packed copy is in the order in which it is read, on huge pages, as floats of 24
 * bits: three quarters of the bytes, and of the time.
 *
 * A column of b has a scale, a power of two; each weight is wrong by at most 2^-19 of itself. A
 * column for which 5 bits of exponent are too few, or that holds what is not finite, has the scale
 * NaN. Sums that are not finite are taken again from b itself. */
#include "kernels/cpu/matmul/float24.h"
#include "kernels/cpu/parts/cpu_kernel.h"

#include "base/float_bits.h"
#include "base/integer.h"
#include "base/room.h"
#include "kernels/cpu/matmul/matmul_epilogue.h"
#include "kernels/cpu/matmul/matmul_float24_plan.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK = FLOAT24_BLOCK,
    GROUP = RY_W == 16 ? 4 : 2, /* float24_group */
    ROWS = FLOAT24_ROWS,
    PREFETCHED = 16384,   /* prefetch distance in bytes */
    PREFETCHED_ROWS = 32, /* rows of b, if a vector of each is read */
};

/* The scale of the column of `count` weights: what makes of its largest one that of exponent
 * FLOAT24_LARGEST. NaN where that is no float, where a weight is not finite, is subnormal, or too
 * small beside the largest. */
static float column_scale(const float *from, int64_t step, int64_t count)
{
    uint32_t largest = 0, min = UINT32_MAX; /* not zero */
    for (int64_t k = 0; k < count; k++) {
        const uint32_t size = ry_f32_bits(from[k * step]) & INT32_MAX;
        largest = size > largest ? size : largest;
        min = size - 1 < min ? size - 1 : min; /* zero is beyond all others */
    }
    if (largest == 0) {
        return 1;
    }
    const int top = (int)(largest >> 23), bottom = (int)((min + 1) >> 23);
    return top < 255 && top - FLOAT24_LARGEST < 128 && bottom > 0 && bottom > top - FLOAT24_LARGEST
               ? ldexpf(1.0f, top - FLOAT24_LARGEST)
               : NAN;
}

/* High parts, then low parts. */
static void pack_block(const float *from, int64_t step, int64_t count, float scale, char *to)
{
    int16_t *high = (int16_t *)(void *)to;
    uint8_t *low = (uint8_t *)to + BLOCK * sizeof *high;
    if (isnan(scale)) {
        return;
    }
    const int shift = ilogbf(scale) * (1 << (23 - FLOAT24_DROPPED)); /* shift of the exponent */
    for (int64_t k = 0; k < count; k++) {
        const uint32_t bits = ry_f32_bits(from[k * step]), size = bits & INT32_MAX;
        /* half of what is dropped rounds, away from zero; the carry goes into the exponent, as it
         * shall */
        const uint32_t kept =
            ((size + (1u << (FLOAT24_DROPPED - 1))) >> FLOAT24_DROPPED) - (uint32_t)shift;
        const uint32_t word = size ? (bits >> 31) << 23 | kept : 0;
        low[k] = (uint8_t)(word & 0xff);
        high[k] = (int16_t)(uint16_t)(word >> 8);
    }
}

static void pack_column(const float24_plan *plan, const float *from, float *scale, char *to,
                        int64_t to_step)
{
    const int64_t depth = plan->shape.k, step = plan->shape.of[MATMUL_B].row;
    *scale = column_scale(from, step, depth);
    for (int64_t k = 0; k < depth; k += BLOCK, from += BLOCK * step, to += to_step) {
        memset(to, 0, FLOAT24_BLOCK_BYTES);
        pack_block(from, step, ry_min(BLOCK, depth - k), *scale, to);
    }
}

/* The columns of one task. */
static void pack(const ry_cpu_launch *launch, size_t task)
{
    const float24_plan *plan = launch->state;
    const matmul_shape *s = &plan->shape;
    char *packed = launch->packed_out;
    float *scales = RY_AT(float, packed, plan->scales);
    const int64_t first = (int64_t)task * float24_columns(plan),
                  end = ry_min(first + float24_columns(plan), s->n);
    for (int64_t group = first; group < end; group += GROUP) {
        const int64_t width = ry_min(GROUP, end - group);
        for (int64_t j = 0; j < width; j++) {
            pack_column(
                plan, (const float *)launch->in[MATMUL_B] + (group + j) * s->of[MATMUL_B].column,
                scales + group + j, packed + (group * plan->blocks + j) * FLOAT24_BLOCK_BYTES,
                width * FLOAT24_BLOCK_BYTES);
        }
    }
}

typedef struct product {
    const float *a;
    int64_t a_row;
    const char *blocks;
    const float *scales; /* scale of each column */
    int64_t depth;       /* blocks of a column */
    float *block;
    int64_t block_step;
} product;

RY_INLINE void multiply(const product *p, const int rows, const int columns)
{
    ry_vf sum[ROWS][GROUP], scale[GROUP];
#pragma GCC unroll 4
    for (int j = 0; j < columns; j++) {
        scale[j] = ry_vf_set(p->scales[j]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int j = 0; j < columns; j++) {
            sum[i][j] = ry_vf_zero();
        }
    }
    const char *from = p->blocks;
    const float *a = p->a;
    for (int64_t block = 0; block < p->depth;
         block++, from += columns * FLOAT24_BLOCK_BYTES, a += BLOCK) {
        for (int line = 0; line < columns * FLOAT24_BLOCK_BYTES; line += RY_ALIGNMENT) {
            __builtin_prefetch((const void *)((uintptr_t)from + (uintptr_t)(PREFETCHED + line)), 0,
                               2);
        }
        for (int k = 0; k < BLOCK; k += RY_W) {
            ry_vf b[GROUP];
#pragma GCC unroll 4
            for (int j = 0; j < columns; j++) {
                const char *own = from + j * FLOAT24_BLOCK_BYTES;
                b[j] = ry_vf_mul(ry_vf_load_float24((const int16_t *)(const void *)own + k,
                                                    (const uint8_t *)own + 2 * BLOCK + k),
                                 scale[j]);
            }
#pragma GCC unroll 4
            for (int i = 0; i < rows; i++) {
                const ry_vf x = ry_vf_load(a + i * p->a_row + k);
#pragma GCC unroll 4
                for (int j = 0; j < columns; j++) {
                    sum[i][j] = ry_vf_fma(x, b[j], sum[i][j]);
                }
            }
        }
    }
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int j = 0; j < columns; j++) {
            p->block[i * p->block_step + j] = ry_vf_sum(sum[i][j]);
        }
    }
}

RY_INLINE void multiply_rows(const product *p, int64_t rows, const int columns)
{
    switch (rows) {
    case 1: multiply(p, 1, columns); break;
    case 2: multiply(p, 2, columns); break;
    case 3: multiply(p, 3, columns); break;
    default: multiply(p, 4, columns); break;
    }
}

static void multiply_group(const product *p, int64_t rows, int64_t columns)
{
    switch (columns) {
    case 1: multiply_rows(p, rows, 1); break;
    case 2: multiply_rows(p, rows, 2); break;
    case 3: multiply_rows(p, rows, GROUP > 3 ? 3 : GROUP); break;
    default: multiply_rows(p, rows, GROUP); break;
    }
}

/* The sums of row a with `count` columns of b, from b itself. */
static void sum_exactly(const matmul_shape *s, const float *a, const float *b, int64_t count,
                        float *sums)
{
    const matmul_operand *of = &s->of[MATMUL_B];
    if (of->column == 1) {
        const ry_vm m = ry_vm_first(count);
        ry_vf sum = ry_vf_zero();
        for (int64_t k = 0; k < s->k; k++) {
            const float *row = b + k * of->row,
                        *ahead = row + ry_min(PREFETCHED_ROWS, s->k - 1 - k) * of->row;
            __builtin_prefetch(ahead, 0, 3);
            __builtin_prefetch(ahead + count - 1, 0, 3); /* the next line, or the same */
            sum = ry_vf_fma(ry_vf_set(a[k]), ry_vf_load_m(row, m), sum);
        }
        ry_vf_store(sums, sum);
        return;
    }
    for (int64_t j = 0; j < count; j++, b += of->column) {
        ry_vf sum = ry_vf_zero();
        int64_t k = 0;
        for (; of->row == 1 && k + RY_W <= s->k; k += RY_W) {
            sum = ry_vf_fma(ry_vf_load(a + k), ry_vf_load(b + k), sum);
        }
        sums[j] = ry_vf_sum(sum);
        for (; k < s->k; k++) {
            sums[j] += a[k] * b[k * of->row];
        }
    }
}

static bool all_finite(const float *x, int64_t count)
{
    bool all = true;
    for (int64_t i = 0; i < count; i++) {
        all &= isfinite(x[i]);
    }
    return all;
}

/* What the magnitudes of a row's finite numbers add up to at most; infinite where all are finite. A
 * bound that is NaN is none (simd.h). */
static float sum_finite(const float *row, int64_t count)
{
    ry_vf zero = ry_vf_zero(), max = ry_vf_zero();
    for (int64_t k = 0; k < count; k += RY_W) {
        const ry_vf x = ry_vf_load_m(row + k, ry_vm_first(count - k)),
                    finite = ry_vf_fma(ry_vf_zero(), x, x);
        zero = ry_vf_fma(ry_vf_zero(), x, zero);
        max = ry_vf_max(finite, max);
        max = ry_vf_max(ry_vf_mul(ry_vf_set(-1.0f), finite), max);
    }
    float lanes[RY_W], largest = 0;
    ry_vf_store(lanes, max);
    for (int i = 0; i < RY_W; i++) {
        largest = lanes[i] > largest ? lanes[i] : largest;
    }
    return ry_vf_sum(zero) == 0 ? INFINITY : (float)count * largest;
}

/* May sums of a row that are not finite differ from those with b itself? They are what the row's
 * infinities and NaNs make of them unless finite terms, `finite` times a column's largest weight
 * together, overflow. */
static bool are_open(const float *sums, const float *scales, int64_t count, float finite)
{
    const float beyond = ldexpf(1.0f, FLOAT24_LARGEST + 2 - 127);
    bool open = false;
    for (int64_t j = 0; j < count; j++) {
        open |= !isfinite(sums[j]) && !(finite * (scales[j] * beyond) < 0x1p127f);
    }
    return open;
}

/* Computes non-finite sums again from b, if rounding may have changed them. If b's rows are
 * contiguous, a vector of columns costs little more than one column. */
static void repair(const float24_plan *plan, const float *a, const float *b, const float *scales,
                   float *block, int64_t columns)
{
    const matmul_shape *s = &plan->shape;
    const int64_t step = s->of[MATMUL_B].column == 1 ? RY_W : 1;
    for (int64_t i = 0; i < s->m; i++, a += plan->a_step, block += float24_columns(plan)) {
        const float finite = all_finite(block, columns) ? 0 : sum_finite(a, s->k);
        for (int64_t j = 0; j < columns; j += step) {
            const int64_t count = ry_min(step, columns - j);
            if (!are_open(block + j, scales + j, count, finite)) {
                continue;
            }
            float sums[RY_W];
            sum_exactly(s, a, b + j * s->of[MATMUL_B].column, count, sums);
            for (int64_t l = 0; l < count; l++) {
                block[j + l] = isfinite(block[j + l]) ? block[j + l] : sums[l];
            }
        }
    }
}

/* Rows of a with zeros up to full blocks. */
static void copy_a(const float24_plan *plan, const float *from, float *to)
{
    const matmul_operand *a = &plan->shape.of[MATMUL_A];
    for (int64_t i = 0; i < plan->shape.m; i++) {
        for (int64_t k = 0; k < plan->a_step; k++) {
            to[i * plan->a_step + k] = k < plan->shape.k ? from[i * a->row + k * a->column] : 0.0f;
        }
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const float24_plan *plan = launch->state;
    const matmul_shape *s = &plan->shape;
    char *scratch = launch->scratch;
    float *copy = RY_AT(float, scratch, plan->a), *block = RY_AT(float, scratch, plan->block);
    const char *packed = launch->packed;
    if (plan->a_copied) {
        copy_a(plan, launch->in[MATMUL_A], copy);
    }
    const float *a = plan->a_copied ? copy : launch->in[MATMUL_A];
    const int64_t first = (int64_t)task * float24_columns(plan),
                  columns = ry_min(float24_columns(plan), s->n - first);
    for (int64_t j = 0; j < columns; j += GROUP) {
        const product p = {.a = a,
                           .a_row = plan->a_step,
                           .blocks = packed + (first + j) * plan->blocks * FLOAT24_BLOCK_BYTES,
                           .scales =
                               (const float *)(const void *)(packed + plan->scales) + first + j,
                           .depth = plan->blocks,
                           .block = block + j,
                           .block_step = float24_columns(plan)};
        multiply_group(&p, s->m, ry_min(GROUP, columns - j));
    }
    const float *scales = (const float *)(const void *)(packed + plan->scales) + first;
    repair(plan, a, (const float *)launch->in[MATMUL_B] + first * s->of[MATMUL_B].column, scales,
           block, columns);
    RY_ISA_SYMBOL(matmul_epilogue)
    (s, launch, 0, 0, s->m, first, columns, block, float24_columns(plan), s->alpha);
}

RY_CPU_KERNEL(matmul_f32_float24, matmul, near32, .simd = RY_SIMD, .applicable = ry_float24_takes,
              .knobs = ry_float24_knobs, .knob_count = FLOAT24_KNOBS, .values = ry_float24_values,
              .prepare = ry_float24_prepare, .initialise = ry_float24_initialise, .pack = pack,
              .run = run, .packed_inputs = 1u << MATMUL_B, .kept_inputs = 1u << MATMUL_B,
              .packing = ry_float24_packing);
