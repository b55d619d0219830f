/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: products of few rows with a large constant matrix, at the speed at which it comes from memory: its packed copy lies in the order in which it is
 * read, on huge pages. As floats for 5 to 32 rows, whose products take as long as reading it; for up to four rows in the class near32 as floats of 24 bits: three
 * quarters of the bytes, and of the time.
 *
 * With 24 bits a column of b has a scale, a power of two; each weight is wrong by at most 2^-19 of itself. A column for which 5 bits of exponent are too
 * few, or that holds what is not finite, has the scale NaN. Sums that are not finite are taken again from b itself. */
#include "kernels/cpu/matmul/float24.h"

#include "base/whole.h"
#include "kernels/cpu/matmul/matmul_finish.h"
#include "kernels/cpu/matmul/matmul_pack.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK = 64,                 /* weights of a column that lie together */
    GROUP = RY_W == 16 ? 4 : 2, /* columns that are multiplied side by side; their blocks lie in turns, so that memory is read in order */
    ROWS = 4,                   /* of a that are multiplied side by side */
    ROWS_MOST = 32,             /* in passes over a chunk of the group's blocks, which stays in the first-level cache */
    CHUNK = 16,                 /* blocks */
    AHEAD = 16384,              /* bytes that are fetched ahead where a single pass reads memory all the time */
    ROWS_AHEAD = 32,            /* of b, where a vector of each is read */
    TASK_BYTES = 128 * 1024,
    TASKS_ENOUGH = 64,
};

/* Bytes of b: less of it stays in caches, where reading it as it is costs less. */
static const int64_t bytes_least = 2 * 1024 * 1024;

typedef struct stream_plan {
    matmul_shape shape;
    bool small; /* 24 bits */
    bool a_copied;
    int64_t blocks, block_bytes; /* of a column, of a block */
    int64_t a_step;
    int64_t columns, column_blocks; /* of a task; such tasks */
    size_t a, block, scratch;       /* scratch of a worker */
    size_t scales, packed;          /* packed: blocks, then (small) a scale for each column */
} stream_plan;

static bool make_plan(const ry_problem *problem, bool small, stream_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    plan->small = small;
    matmul_shape *s = &plan->shape;
    if (!matmul_shape_of(problem, s) || s->swapped || s->batches != 1 || (s->m <= ROWS) != small || s->m > ROWS_MOST ||
        s->of[MATMUL_A].dtype != RY_f32 || s->of[MATMUL_B].dtype != RY_f32 || s->n * s->k * (int64_t)sizeof(float) < bytes_least) {
        return false;
    }
    const matmul_operand *a = &s->of[MATMUL_A];
    plan->blocks = ry_parts(s->k, BLOCK);
    plan->block_bytes = (small ? 3 : (int64_t)sizeof(float)) * BLOCK;
    plan->a_copied = a->column != 1 || s->k % BLOCK != 0;
    plan->a_step = plan->a_copied ? plan->blocks * BLOCK : a->row;
    const int64_t bytes = plan->blocks * plan->block_bytes;
    const int64_t share = ry_parts(ry_parts(s->n, TASKS_ENOUGH), GROUP) * GROUP,
                  enough = ry_parts(ry_parts(TASK_BYTES, bytes), GROUP) * GROUP;
    plan->columns = ry_least(share > enough ? share : enough, ry_parts(s->n, GROUP) * GROUP);
    plan->column_blocks = ry_parts(s->n, plan->columns);
    size_t at = 0;
    plan->a = at, at += plan->a_copied ? ry_aligned((size_t)(s->m * plan->a_step) * sizeof(float)) : 0;
    plan->block = at, at += ry_aligned((size_t)(s->m * plan->columns) * sizeof(float));
    plan->scratch = at;
    plan->scales = ry_aligned((size_t)(s->n * bytes));
    plan->packed = plan->scales + (small ? ry_aligned((size_t)s->n * sizeof(float)) : 0);
    return true;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The scale of the column of `count` weights: what makes of its largest one that of exponent FLOAT24_LARGEST. NaN where that is no float, where a weight is
 * not finite, is subnormal, or too small beside the largest. */
static float column_scale(const float *from, int64_t step, int64_t count)
{
    uint32_t largest = 0, least = UINT32_MAX; /* not zero */
    for (int64_t k = 0; k < count; k++) {
        const uint32_t size = bits_of(from[k * step]) & INT32_MAX;
        largest = size > largest ? size : largest;
        least = size - 1 < least ? size - 1 : least; /* zero is beyond all others */
    }
    if (largest == 0) {
        return 1;
    }
    const int top = (int)(largest >> 23), bottom = (int)((least + 1) >> 23);
    return top < 255 && top - FLOAT24_LARGEST < 128 && bottom > 0 && bottom > top - FLOAT24_LARGEST ? ldexpf(1.0f, top - FLOAT24_LARGEST)
                                                                                                    : NAN;
}

/* High parts, then low parts. */
static void pack_small(const float *from, int64_t step, int64_t count, float scale, char *to)
{
    int16_t *high = (int16_t *)(void *)to;
    uint8_t *low = (uint8_t *)to + BLOCK * sizeof *high;
    if (isnan(scale)) {
        return;
    }
    const int shift = ilogbf(scale) * (1 << (23 - FLOAT24_DROPPED)); /* of the exponent */
    for (int64_t k = 0; k < count; k++) {
        const uint32_t bits = bits_of(from[k * step]), size = bits & INT32_MAX;
        /* half of what is dropped rounds, away from zero; the carry goes into the exponent, as it shall */
        const uint32_t kept = ((size + (1u << (FLOAT24_DROPPED - 1))) >> FLOAT24_DROPPED) - (uint32_t)shift;
        const uint32_t word = size ? (bits >> 31) << 23 | kept : 0;
        low[k] = (uint8_t)(word & 0xff);
        high[k] = (int16_t)(uint16_t)(word >> 8);
    }
}

static void pack_column(const stream_plan *plan, const float *from, float *scale, char *to, int64_t to_step)
{
    const int64_t depth = plan->shape.k, step = plan->shape.of[MATMUL_B].row;
    if (plan->small) {
        *scale = column_scale(from, step, depth);
    }
    for (int64_t k = 0; k < depth; k += BLOCK, from += BLOCK * step, to += to_step) {
        const int64_t count = ry_least(BLOCK, depth - k);
        memset(to, 0, (size_t)plan->block_bytes);
        if (plan->small) {
            pack_small(from, step, count, *scale, to);
            continue;
        }
        float *block = (float *)(void *)to;
        for (int64_t i = 0; i < count; i++) {
            block[i] = from[i * step];
        }
    }
}

/* The columns of one task. */
static void pack(const ry_cpu_launch *launch, size_t task)
{
    const stream_plan *plan = launch->state;
    const matmul_shape *s = &plan->shape;
    char *packed = launch->packed_out;
    float *scales = (float *)(void *)(packed + plan->scales);
    const int64_t first = (int64_t)task * plan->columns, end = ry_least(first + plan->columns, s->n);
    for (int64_t group = first; group < end; group += GROUP) {
        const int64_t width = ry_least(GROUP, end - group);
        for (int64_t j = 0; j < width; j++) {
            pack_column(plan, (const float *)launch->in[MATMUL_B] + (group + j) * s->of[MATMUL_B].column, scales + group + j,
                        packed + (group * plan->blocks + j) * plan->block_bytes, width * plan->block_bytes);
        }
    }
}

typedef struct product {
    const float *a;
    int64_t a_row;
    const char *blocks;
    const float *scales; /* small: of each column */
    int64_t depth;       /* blocks of a column */
    float *block;
    int64_t block_step;
    bool first; /* the block holds nothing yet */
    /* Lines [line, line_end) of the blocks that lie `ahead` bytes further are fetched beside each block. */
    int64_t ahead;
    int line, line_end;
} product;

RY_INLINE void multiply(const product *p, const bool small, const int rows, const int columns)
{
    const int bytes = (small ? 3 : (int)sizeof(float)) * BLOCK;
    ry_vf sum[ROWS][GROUP], scale[GROUP];
#pragma GCC unroll 4
    for (int j = 0; small && j < columns; j++) {
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
    for (int64_t block = 0; block < p->depth; block++, from += columns * bytes, a += BLOCK) {
        for (int line = p->line; line < p->line_end; line++) {
            __builtin_prefetch((const void *)((uintptr_t)from + (uintptr_t)(p->ahead + line * RY_ALIGNMENT)), 0, 2);
        }
        for (int k = 0; k < BLOCK; k += RY_W) {
            ry_vf b[GROUP];
#pragma GCC unroll 4
            for (int j = 0; j < columns; j++) {
                const char *own = from + j * bytes;
                b[j] = small ? ry_vf_mul(ry_vf_load_float24((const int16_t *)(const void *)own + k, (const uint8_t *)own + 2 * BLOCK + k),
                                         scale[j])
                             : ry_vf_load((const float *)(const void *)own + k);
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
            float *to = p->block + i * p->block_step + j;
            *to = ry_vf_sum(sum[i][j]) + (p->first ? 0.0f : *to);
        }
    }
}

RY_INLINE void multiply_rows(const product *p, const bool small, int64_t rows, const int columns)
{
    switch (rows) {
    case 1: multiply(p, small, 1, columns); break;
    case 2: multiply(p, small, 2, columns); break;
    case 3: multiply(p, small, 3, columns); break;
    default: multiply(p, small, 4, columns); break;
    }
}

RY_INLINE void multiply_columns(const product *p, const bool small, int64_t rows, int64_t columns)
{
    switch (columns) {
    case 1: multiply_rows(p, small, rows, 1); break;
    case 2: multiply_rows(p, small, rows, 2); break;
    case 3: multiply_rows(p, small, rows, GROUP > 3 ? 3 : GROUP); break;
    default: multiply_rows(p, small, rows, GROUP); break;
    }
}

static void multiply_floats(const product *p, int64_t rows, int64_t columns)
{
    multiply_columns(p, false, rows, columns);
}

static void multiply_small(const product *p, int64_t rows, int64_t columns)
{
    multiply_columns(p, true, rows, columns);
}

/* All rows with one group of columns. While several passes read a chunk, each fetches its share of the next one: memory would rest meanwhile. */
static void multiply_group(const stream_plan *plan, const product *whole, int64_t columns)
{
    const int64_t rows = plan->shape.m, passes = ry_parts(rows, ROWS), bytes = columns * plan->block_bytes;
    const int64_t lines = ry_parts(bytes, RY_ALIGNMENT), share = ry_parts(lines, passes);
    product p = *whole;
    for (int64_t block = 0; block < plan->blocks; block += p.depth) {
        p.depth = passes > 1 ? ry_least(CHUNK, plan->blocks - block) : plan->blocks;
        p.ahead = passes > 1 ? p.depth * bytes : AHEAD;
        p.blocks = whole->blocks + block * bytes;
        p.first = block == 0;
        for (int64_t pass = 0; pass < passes; pass++) {
            p.a = whole->a + pass * ROWS * whole->a_row + block * BLOCK;
            p.block = whole->block + pass * ROWS * whole->block_step;
            p.line = (int)ry_least(pass * share, lines);
            p.line_end = (int)ry_least((pass + 1) * share, lines);
            (plan->small ? multiply_small : multiply_floats)(&p, rows - pass * ROWS, columns);
        }
    }
}

/* The sums of row a with `count` columns of b, from b itself. */
static void sum_exactly(const matmul_shape *s, const float *a, const float *b, int64_t count, float *sums)
{
    const matmul_operand *of = &s->of[MATMUL_B];
    if (of->column == 1) {
        const ry_vm m = ry_vm_first(count);
        ry_vf sum = ry_vf_zero();
        for (int64_t k = 0; k < s->k; k++) {
            const float *row = b + k * of->row, *ahead = row + ry_least(ROWS_AHEAD, s->k - 1 - k) * of->row;
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

/* What the magnitudes of a row's finite numbers add up to at most; infinite where all are finite. A bound that is NaN is none (simd.h). */
static float sum_finite(const float *row, int64_t count)
{
    ry_vf zero = ry_vf_zero(), most = ry_vf_zero();
    for (int64_t k = 0; k < count; k += RY_W) {
        const ry_vf x = ry_vf_load_m(row + k, ry_vm_first(count - k)), finite = ry_vf_fma(ry_vf_zero(), x, x);
        zero = ry_vf_fma(ry_vf_zero(), x, zero);
        most = ry_vf_max(finite, most);
        most = ry_vf_max(ry_vf_mul(ry_vf_set(-1.0f), finite), most);
    }
    float lanes[RY_W], largest = 0;
    ry_vf_store(lanes, most);
    for (int i = 0; i < RY_W; i++) {
        largest = lanes[i] > largest ? lanes[i] : largest;
    }
    return ry_vf_sum(zero) == 0 ? INFINITY : (float)count * largest;
}

/* May sums of a row that are not finite differ from those with b itself? They are what the row's infinities and NaNs make of them unless finite terms,
 * `finite` times a column's largest weight together, overflow. */
static bool are_open(const float *sums, const float *scales, int64_t count, float finite)
{
    const float beyond = ldexpf(1.0f, FLOAT24_LARGEST + 2 - 127);
    bool open = false;
    for (int64_t j = 0; j < count; j++) {
        open |= !isfinite(sums[j]) && !(finite * (scales[j] * beyond) < 0x1p127f);
    }
    return open;
}

/* Takes the sums that are not finite from b where that may change them: a vector of columns costs little more than one of them where b lies along n. */
static void repair(const stream_plan *plan, const float *a, const float *b, const float *scales, float *block, int64_t columns)
{
    const matmul_shape *s = &plan->shape;
    const int64_t step = s->of[MATMUL_B].column == 1 ? RY_W : 1;
    for (int64_t i = 0; i < s->m; i++, a += plan->a_step, block += plan->columns) {
        const float finite = all_finite(block, columns) ? 0 : sum_finite(a, s->k);
        for (int64_t j = 0; j < columns; j += step) {
            const int64_t count = ry_least(step, columns - j);
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

/* Rows of a with zeros up to whole blocks. */
static void copy_a(const stream_plan *plan, const float *from, float *to)
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
    const stream_plan *plan = launch->state;
    const matmul_shape *s = &plan->shape;
    char *scratch = launch->scratch + worker * launch->prepared->scratch;
    float *copy = (float *)(void *)(scratch + plan->a), *block = (float *)(void *)(scratch + plan->block);
    const char *packed = launch->packed;
    if (plan->a_copied) {
        copy_a(plan, launch->in[MATMUL_A], copy);
    }
    const float *a = plan->a_copied ? copy : launch->in[MATMUL_A];
    const int64_t first = (int64_t)task * plan->columns, columns = ry_least(plan->columns, s->n - first);
    for (int64_t j = 0; j < columns; j += GROUP) {
        const product p = {.a = a,
                           .a_row = plan->a_step,
                           .blocks = packed + (first + j) * plan->blocks * plan->block_bytes,
                           .scales = (const float *)(const void *)(packed + plan->scales) + first + j,
                           .block = block + j,
                           .block_step = plan->columns};
        multiply_group(plan, &p, ry_least(GROUP, columns - j));
    }
    if (plan->small) {
        const float *scales = (const float *)(const void *)(packed + plan->scales) + first;
        repair(plan, a, (const float *)launch->in[MATMUL_B] + first * s->of[MATMUL_B].column, scales, block, columns);
    }
    RY_ISA_SYMBOL(matmul_finish)(s, launch, 0, 0, s->m, first, columns, block, plan->columns, s->alpha);
}

static bool takes(const ry_problem *problem, bool small)
{
    stream_plan plan;
    return (ry_dtype)problem->out[0].dtype == RY_f32 &&
           (!ry_problem_has_input(problem, 2) || ry_dtype_is_float((ry_dtype)problem->in[2].dtype)) &&
           (!ry_problem_has_input(problem, 3) || (ry_dtype)problem->in[3].dtype == RY_f32) && make_plan(problem, small, &plan);
}

static bool applicable(const ry_problem *problem)
{
    return takes(problem, false);
}

static bool applicable_small(const ry_problem *problem)
{
    return takes(problem, true);
}

static const ry_knob knobs[] = {{"columns", NULL, false}};

static rynd_status prepare_either(const ry_problem *problem, bool small, ry_prepared *prepared, ry_error *error)
{
    stream_plan plan;
    if (!make_plan(problem, small, &plan)) {
        return ry_fail(error, RYND_ERROR_SHAPE, "matmul: not a product of few rows with a large matrix");
    }
    *prepared = (ry_prepared){.phases = 1,
                              .tasks = {(size_t)plan.column_blocks},
                              .state_size = ry_aligned(sizeof plan),
                              .packed = plan.packed,
                              .pack_tasks = (size_t)plan.column_blocks,
                              .scratch = plan.scratch,
                              .work = small ? (double)(plan.shape.n * plan.shape.k * (RY_FLOAT24_WORK + 2 * (plan.shape.m - 1))) : 0,
                              .counts = {ry_problem_flop(problem),
                                         ry_problem_bytes(problem) - (double)ry_tensor_bytes(&problem->in[MATMUL_B]) + (double)plan.packed},
                              .form = {{plan.columns}}};
    return RYND_OK;
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    return prepare_either(problem, false, prepared, error);
}

static rynd_status prepare_small(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    return prepare_either(problem, true, prepared, error);
}

static void initialise(const ry_query *query, const ry_prepared *prepared, void *state)
{
    const ry_problem *problem = query->problem;
    (void)prepared;
    make_plan(problem, false, state);
}

static void initialise_small(const ry_query *query, const ry_prepared *prepared, void *state)
{
    const ry_problem *problem = query->problem;
    (void)prepared;
    make_plan(problem, true, state);
}

const ry_kernel RY_ISA_SYMBOL(matmul_f32_stream) = {.name = "matmul_f32_stream_" RY_ISA_TEXT,
                                                    .family = "matmul_f32_stream",
                                                    .op = RY_OP_matmul,
                                                    .device = RY_DEVICE_cpu,
                                                    .isa = RY_ISA_ID,
                                                    .accuracy = RY_ACCURACY_strict,
                                                    .simd = RY_SIMD,
                                                    .applicable = applicable,
                                                    .knobs = knobs,
                                                    .knob_count = 1,
                                                    .prepare = prepare,
                                                    .initialise = initialise,
                                                    .pack = pack,
                                                    .run = run,
                                                    .packed_inputs = 1u << MATMUL_B};

const ry_kernel RY_ISA_SYMBOL(matmul_f32_float24) = {.name = "matmul_f32_float24_" RY_ISA_TEXT,
                                                     .family = "matmul_f32_float24",
                                                     .op = RY_OP_matmul,
                                                     .device = RY_DEVICE_cpu,
                                                     .isa = RY_ISA_ID,
                                                     .accuracy = RY_ACCURACY_near32,
                                                     .simd = RY_SIMD,
                                                     .applicable = applicable_small,
                                                     .knobs = knobs,
                                                     .knob_count = 1,
                                                     .prepare = prepare_small,
                                                     .initialise = initialise_small,
                                                     .pack = pack,
                                                     .run = run,
                                                     .packed_inputs = 1u << MATMUL_B,
                                                     .kept_inputs = 1u << MATMUL_B};
