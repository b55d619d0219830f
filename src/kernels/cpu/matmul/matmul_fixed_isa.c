/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: products of few rows with a large constant matrix, which comes from memory as numbers of 24 bits: three quarters of the bytes, and of the time.
 *
 * A column of b is cut into blocks of 64 weights. A block has a scale, a power of two, and 64 multiples of it, which are wrong by half of it: 2^-24 of
 * the block's largest weight at most, about what rounding the products costs. Sums that are not finite are taken again from b itself. */
#include "kernels/cpu/matmul/matmul_fixed.h"

#include "base/whole.h"
#include "kernels/cpu/matmul/matmul_finish.h"
#include "kernels/cpu/matmul/matmul_pack.h"

#include <math.h>

enum {
    BLOCK = 64,              /* weights of a scale */
    BLOCK_BYTES = 3 * BLOCK, /* high parts, then low parts */
    ROWS_MOST = 4,
    GROUP = RY_W == 16 ? 4 : 2, /* columns that are multiplied side by side; their blocks lie in turns, so that memory is read in order */
    AHEAD = 4096,               /* bytes that are fetched ahead */
    TASK_BYTES = 128 * 1024,
    TASKS_ENOUGH = 64,
    LIMIT = (1 << 23) - 1,
};

/* Bytes of b: less of it stays in caches, where reading it costs less than taking it apart. */
static const int64_t bytes_least = 2 * 1024 * 1024;

typedef struct fixed_plan {
    matmul_shape shape;
    bool a_copied;
    int64_t blocks; /* of a column */
    int64_t a_step;
    int64_t columns, column_blocks; /* of a task; such tasks */
    size_t a, block, scratch;       /* scratch of a worker */
    size_t scales, packed;          /* packed: blocks, then scales in the same order */
} fixed_plan;

static bool make_plan(const ry_problem *problem, fixed_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    matmul_shape *s = &plan->shape;
    if (!matmul_shape_of(problem, s) || s->swapped || s->batches != 1 || s->m > ROWS_MOST || s->of[MATMUL_A].dtype != RY_f32 ||
        s->of[MATMUL_B].dtype != RY_f32 || s->n * s->k * (int64_t)sizeof(float) < bytes_least) {
        return false;
    }
    const matmul_operand *a = &s->of[MATMUL_A];
    plan->blocks = ry_parts(s->k, BLOCK);
    plan->a_copied = a->column != 1 || s->k % BLOCK != 0;
    plan->a_step = plan->a_copied ? plan->blocks * BLOCK : a->row;
    const int64_t bytes = plan->blocks * BLOCK_BYTES;
    const int64_t share = ry_parts(ry_parts(s->n, TASKS_ENOUGH), GROUP) * GROUP,
                  enough = ry_parts(ry_parts(TASK_BYTES, bytes), GROUP) * GROUP;
    plan->columns = ry_least(share > enough ? share : enough, ry_parts(s->n, GROUP) * GROUP);
    plan->column_blocks = ry_parts(s->n, plan->columns);
    size_t at = 0;
    plan->a = at, at += plan->a_copied ? ry_aligned((size_t)(s->m * plan->a_step) * sizeof(float)) : 0;
    plan->block = at, at += ry_aligned((size_t)(s->m * plan->columns) * sizeof(float));
    plan->scratch = at;
    plan->scales = ry_aligned((size_t)(s->n * plan->blocks) * BLOCK_BYTES);
    plan->packed = plan->scales + ry_aligned((size_t)(s->n * plan->blocks) * sizeof(float));
    return true;
}

/* The scale of a block whose largest magnitude is `largest`: LIMIT + 1 of it are more. NaN where that is not finite. */
static float scale_of(float largest)
{
    if (!isfinite(largest)) {
        return NAN;
    }
    int exponent = 0;
    (void)frexpf(largest, &exponent);
    return ldexpf(1.0f, exponent - 23 > -149 ? exponent - 23 : -149);
}

static float pack_block(const float *from, int64_t step, int64_t count, char *to)
{
    float largest = 0;
    for (int64_t i = 0; i < count; i++) {
        const float size = fabsf(from[i * step]);
        largest = size > largest || isnan(size) ? size : largest;
        if (isnan(largest)) {
            break;
        }
    }
    const float scale = scale_of(largest);
    const double inverse = isnan(scale) ? 0 : 1 / (double)scale;
    int16_t *high = (int16_t *)(void *)to;
    uint8_t *low = (uint8_t *)to + BLOCK * sizeof *high;
    for (int64_t i = 0; i < BLOCK; i++) {
        const double exact = i < count && inverse > 0 ? from[i * step] * inverse : 0;
        const int32_t rounded = (int32_t)(exact < 0 ? exact - 0.5 : exact + 0.5);
        const int32_t kept = rounded > LIMIT ? LIMIT : rounded < -LIMIT ? -LIMIT : rounded;
        low[i] = (uint8_t)(kept & 0xff);
        high[i] = (int16_t)((kept - (kept & 0xff)) / 256);
    }
    return scale;
}

/* The columns of one task. */
static void pack(const ry_cpu_launch *launch, size_t task)
{
    const fixed_plan *plan = launch->state;
    const matmul_shape *s = &plan->shape;
    const matmul_operand *b = &s->of[MATMUL_B];
    char *packed = launch->packed_out;
    float *scales = (float *)(void *)(packed + plan->scales);
    const int64_t first = (int64_t)task * plan->columns, end = ry_least(first + plan->columns, s->n);
    for (int64_t group = first; group < end; group += GROUP) {
        const int64_t width = ry_least(GROUP, end - group);
        for (int64_t i = 0; i < plan->blocks * width; i++) {
            const int64_t k = i / width * BLOCK, at = group * plan->blocks + i;
            const float *from = (const float *)launch->in[MATMUL_B] + k * b->row + (group + i % width) * b->column;
            scales[at] = pack_block(from, b->row, ry_least(BLOCK, s->k - k), packed + at * BLOCK_BYTES);
        }
    }
}

typedef struct product {
    const float *a;
    int64_t a_row;
    const char *blocks;
    const float *scales;
    int64_t depth; /* blocks of a column */
    float *block;
    int64_t block_step;
} product;

RY_INLINE void multiply(const product *p, const int rows, const int columns)
{
    ry_vf sum[ROWS_MOST][GROUP];
#pragma GCC unroll 4
    for (int i = 0; i < rows; i++) {
#pragma GCC unroll 4
        for (int j = 0; j < columns; j++) {
            sum[i][j] = ry_vf_zero();
        }
    }
    const char *from = p->blocks;
    const float *scales = p->scales, *a = p->a;
    for (int64_t block = 0; block < p->depth; block++, from += columns * BLOCK_BYTES, scales += columns, a += BLOCK) {
#pragma GCC unroll 12
        for (int line = 0; line < columns * BLOCK_BYTES / RY_ALIGNMENT; line++) {
            __builtin_prefetch((const void *)((uintptr_t)from + (uintptr_t)(AHEAD + line * RY_ALIGNMENT)));
        }
        for (int k = 0; k < BLOCK; k += RY_W) {
            ry_vf b[GROUP];
#pragma GCC unroll 4
            for (int j = 0; j < columns; j++) {
                const char *own = from + j * BLOCK_BYTES;
                b[j] = ry_vf_mul(ry_vf_load_i24((const int16_t *)(const void *)own + k, (const uint8_t *)own + 2 * BLOCK + k),
                                 ry_vf_set(scales[j]));
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

/* Sums that are not finite, from b itself. */
static void repair(const fixed_plan *plan, const product *p, const float *b, int64_t columns)
{
    const matmul_shape *s = &plan->shape;
    for (int64_t i = 0; i < s->m; i++) {
        for (int64_t j = 0; j < columns; j++) {
            float *to = p->block + i * p->block_step + j;
            if (isfinite(*to)) {
                continue;
            }
            float sum = 0;
            for (int64_t k = 0; k < s->k; k++) {
                sum += p->a[i * p->a_row + k] * b[k * s->of[MATMUL_B].row + j * s->of[MATMUL_B].column];
            }
            *to = sum;
        }
    }
}

/* Rows of a with zeros up to whole blocks. */
static void copy_a(const fixed_plan *plan, const float *from, float *to)
{
    const matmul_operand *a = &plan->shape.of[MATMUL_A];
    for (int64_t i = 0; i < plan->shape.m; i++) {
        for (int64_t k = 0; k < plan->a_step; k++) {
            to[i * plan->a_step + k] = k < plan->shape.k ? from[i * a->row + k * a->column] : 0.0f;
        }
    }
}

static void run(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    (void)phase;
    const fixed_plan *plan = launch->state;
    const matmul_shape *s = &plan->shape;
    char *scratch = launch->scratch + worker * launch->prepared->scratch;
    float *copy = (float *)(void *)(scratch + plan->a), *block = (float *)(void *)(scratch + plan->block);
    const char *packed = launch->packed;
    if (plan->a_copied) {
        copy_a(plan, launch->in[MATMUL_A], copy);
    }
    const int64_t first = (int64_t)task * plan->columns, columns = ry_least(plan->columns, s->n - first);
    for (int64_t j = 0; j < columns; j += GROUP) {
        const int64_t at = (first + j) * plan->blocks;
        const product p = {.a = plan->a_copied ? copy : launch->in[MATMUL_A],
                           .a_row = plan->a_step,
                           .blocks = packed + at * BLOCK_BYTES,
                           .scales = (const float *)(const void *)(packed + plan->scales) + at,
                           .depth = plan->blocks,
                           .block = block + j,
                           .block_step = plan->columns};
        const int64_t width = ry_least(GROUP, columns - j);
        multiply_group(&p, s->m, width);
        repair(plan, &p, (const float *)launch->in[MATMUL_B] + (first + j) * s->of[MATMUL_B].column, width);
    }
    RY_ISA_SYMBOL(matmul_finish)(s, launch, 0, 0, s->m, first, columns, block, plan->columns, s->alpha);
}

static bool applicable(const ry_problem *problem)
{
    fixed_plan plan;
    return (ry_dtype)problem->out[0].dtype == RY_f32 &&
           (!ry_problem_has_input(problem, 2) || ry_dtype_is_float((ry_dtype)problem->in[2].dtype)) &&
           (!ry_problem_has_input(problem, 3) || (ry_dtype)problem->in[3].dtype == RY_f32) && make_plan(problem, &plan);
}

static rynd_status prepare(const ry_problem *problem, ry_prepared *prepared, ry_error *error)
{
    fixed_plan plan;
    if (!make_plan(problem, &plan)) {
        return ry_fail(error, RYND_ERROR_SHAPE, "matmul: not a product of few rows with a large matrix");
    }
    *prepared = (ry_prepared){.phases = 1,
                              .tasks = {(size_t)plan.column_blocks},
                              .state = ry_aligned(sizeof plan),
                              .packed = plan.packed,
                              .pack_tasks = (size_t)plan.column_blocks,
                              .scratch = plan.scratch,
                              .work = (double)(plan.shape.n * plan.shape.k * (RY_I24_WORK + 2 * (plan.shape.m - 1))),
                              .knob_count = 1,
                              .knobs = {{"columns", plan.columns}}};
    return RYND_OK;
}

static void initialise(const ry_problem *problem, const ry_prepared *prepared, void *state)
{
    (void)prepared;
    make_plan(problem, state);
}

static ry_counts counts(const ry_problem *problem, const ry_prepared *prepared)
{
    const double whole = (double)ry_tensor_bytes(&problem->in[MATMUL_B]);
    return (ry_counts){ry_problem_flop(problem), ry_problem_bytes(problem) - whole + (double)prepared->packed};
}

const ry_kernel RY_ISA_SYMBOL(matmul_f32_fixed) = {.name = "matmul_f32_fixed_" RY_ISA_TEXT,
                                                   .op = RY_OP_matmul,
                                                   .device = "cpu",
                                                   .isa = RY_ISA_ID,
                                                   .accuracy = RY_ACCURACY_near32,
                                                   .rank = 107 + 10 * (int)RY_ISA_ID,
                                                   .applicable = applicable,
                                                   .prepare = prepare,
                                                   .initialise = initialise,
                                                   .pack = pack,
                                                   .run = run,
                                                   .counts = counts,
                                                   .constant_inputs = 1u << MATMUL_B,
                                                   .kept_inputs = 1u << MATMUL_B};
