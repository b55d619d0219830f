/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: matrix products by the micro-kernel of tile.h (matmul_gemm_plan.h). */
#include "kernels/cpu/matmul/matmul_gemm.h"

#include "base/integer.h"
#include "base/room.h"
#include "kernels/cpu/matmul/matmul_epilogue.h"
#include "kernels/cpu/parts/activation.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/parts/pack_rows.h"

#include <string.h>

typedef struct gemm_task {
    const gemm_plan *plan;
    const ry_cpu_launch *launch;
    const ry_tile_pairs *pairs; /* NULL: products are of the elements themselves */
    int64_t batch, row, rows, column, columns;
    float *panel, *a_rows, *block, *bias;
    ry_activation_of activation;
    float low, high;
    bool bounds;
} gemm_task;

/* One tile of the task: rows and columns from its block's first. */
static void run_tile(const gemm_task *t, ry_tile *tile, int64_t row, int64_t rows, int64_t column,
                     bool along_k, bool last)
{
    const gemm_plan *plan = t->plan;
    const matmul_shape *s = &plan->shape;
    const matmul_operand *y = &s->of[MATMUL_Y], *r = &s->of[MATMUL_RESIDUAL];
    const int64_t vectors = ry_ceil_div(tile->columns, RY_W);
    if (plan->direct) {
        tile->c_step = y->row;
        tile->c = (float *)t->launch->out[0] + ry_matmul_batch_offset(s, MATMUL_Y, t->batch) +
                  (t->row + row) * y->row + t->column + column;
        if (last && r->dtype != RY_NONE) {
            tile->residual_step = r->row;
            tile->residual = (const float *)t->launch->in[plan->residual] +
                             ry_matmul_batch_offset(s, MATMUL_RESIDUAL, t->batch) +
                             (t->row + row) * r->row + t->column + column;
        }
        if (last && t->bounds) {
            tile->low = t->low;
            tile->high = t->high;
        }
    } else {
        tile->c_step = ry_ceil_div(t->columns, RY_W) * RY_W;
        tile->c = t->block + row * tile->c_step + column;
    }
    const ry_tile_table *table = &RY_ISA_SYMBOL(tiles);
    const ry_tile_set *tiles = t->pairs        ? t->pairs->tiles
                               : plan->integer ? &table->i32
                                               : &table->f32;
    (*tiles)[along_k][vectors - 1][rows - 1](tile);
    if (plan->direct && last && !t->bounds) {
        RY_ISA_SYMBOL(activate_rows)(t->activation, tile->c, tile->c_step, rows, tile->columns);
    }
}

/* Rows [row, row + rows) of the task against the panel. a: that of the first of them, at the k
 * block's start. */
static void multiply(const gemm_task *t, const float *a, int64_t a_row, int64_t a_step,
                     bool along_k, int64_t row, int64_t rows, int64_t k, int64_t depth)
{
    const bool first = k == 0, last = k + depth == t->plan->shape.k;
    const int64_t parts = ry_ceil_div(rows, RY_TILE_ROWS), each = rows / parts,
                  extra = rows % parts;
    for (int64_t i = 0, done = 0; i < parts; i++) {
        const int64_t here = each + (i < extra);
        for (int64_t j = 0; j < t->columns; j += RY_TILE_COLUMNS) {
            ry_tile tile = {.depth = t->pairs ? (depth + 1) / 2 : depth,
                            .low = -__builtin_inff(),
                            .high = __builtin_inff()};
            tile.columns = ry_min(RY_TILE_COLUMNS, t->columns - j);
            tile.start = !first                                    ? RY_TILE_FROM_C
                         : t->plan->direct && t->plan->column_bias ? RY_TILE_FROM_COLUMN_BIAS
                                                                   : RY_TILE_FROM_ZERO;
            tile.bias = t->bias + j;
            tile.a = a + done * a_row;
            tile.a_step = a_step;
            tile.b = t->panel + j * depth;
            tile.b_step = ry_ceil_div(tile.columns, RY_W) * RY_W;
            run_tile(t, &tile, row + done, here, j, along_k, last);
        }
        done += here;
    }
}

static void run_k_block(const gemm_task *t, int64_t k, int64_t depth)
{
    const gemm_plan *plan = t->plan;
    const matmul_shape *s = &plan->shape;
    const matmul_operand *a = &s->of[MATMUL_A], *b = &s->of[MATMUL_B];
    const int64_t b_at =
        ry_matmul_batch_offset(s, MATMUL_B, t->batch) + k * b->row + t->column * b->column;
    for (int64_t j = 0; j < t->columns; j += RY_TILE_COLUMNS) {
        const int64_t count = ry_min(RY_TILE_COLUMNS, t->columns - j);
        RY_ISA_SYMBOL(pack_micropanel)
        (b->dtype,
         (const char *)ry_matmul_input(s, t->launch, MATMUL_B) +
             (b_at + j * b->column) * (int64_t)ry_dtype_size(b->dtype),
         b->row, b->column, depth, count, ry_ceil_div(count, RY_W) * RY_W, t->panel + j * depth);
        if (t->pairs) {
            t->pairs->micropanel(t->panel + j * depth, depth, ry_ceil_div(count, RY_W) * RY_W);
        }
    }
    const int64_t a_at =
        ry_matmul_batch_offset(s, MATMUL_A, t->batch) + t->row * a->row + k * a->column;
    const char *data = (const char *)ry_matmul_input(s, t->launch, MATMUL_A) +
                       a_at * (int64_t)ry_dtype_size(a->dtype);
    if (plan->a == GEMM_A_ALONG_K) {
        multiply(t, (const float *)(const void *)data, a->row, a->row, true, 0, t->rows, k, depth);
    } else if (plan->a == GEMM_A_ALONG_M) {
        multiply(t, (const float *)(const void *)data, 1, a->column, false, 0, t->rows, k, depth);
    } else {
        const int64_t step = plan->a_step;
        for (int64_t i = 0; i < t->rows; i += plan->a_block) {
            const int64_t rows = ry_min(plan->a_block, t->rows - i);
            RY_ISA_SYMBOL(pack_rows)
            (a->dtype, data + i * a->row * (int64_t)ry_dtype_size(a->dtype), a->row, a->column,
             rows, depth, t->a_rows, step);
            for (int64_t row = 0; t->pairs && row < rows; row++) {
                t->pairs->row(t->a_rows + row * step, depth);
            }
            multiply(t, t->a_rows, step, step, true, i, rows, k, depth);
        }
    }
}

void RY_ISA_SYMBOL(matmul_gemm_run)(const ry_cpu_launch *launch, const ry_tile_pairs *pairs,
                                    size_t index)
{
    const gemm_plan *plan = launch->state;
    const matmul_shape *s = &plan->shape;
    char *scratch = launch->scratch;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->tasks, index, range);
    gemm_task t = {.plan = plan,
                   .launch = launch,
                   .pairs = pairs,
                   .batch = range[0].first,
                   .row = range[1].first,
                   .rows = range[1].count,
                   .column = range[2].first,
                   .columns = range[2].count,
                   .panel = RY_AT(float, scratch, plan->panel),
                   .a_rows = RY_AT(float, scratch, plan->a_rows),
                   .block = RY_AT(float, scratch, plan->block),
                   .bias = RY_AT(float, scratch, plan->bias),
                   .activation = ry_conv_activation(launch->problem)};
    t.bounds = ry_activation_bounds(t.activation, &t.low, &t.high);
    if (plan->direct && plan->column_bias) {
        const matmul_operand *c = &s->of[MATMUL_C];
        const float *from = (const float *)launch->in[MATMUL_C] +
                            ry_matmul_batch_offset(s, MATMUL_C, t.batch) + t.column * c->column;
        memset(t.bias, 0,
               (size_t)(ry_ceil_div(t.columns, RY_W) * RY_W + RY_TILE_COLUMNS) * sizeof *t.bias);
        for (int64_t j = 0; j < t.columns; j++) {
            t.bias[j] = s->beta * from[j * c->column];
        }
    }
    for (int64_t k = 0; k < s->k; k += plan->k_block) {
        run_k_block(&t, k, ry_min(plan->k_block, s->k - k));
    }
    if (!plan->direct) {
        RY_ISA_SYMBOL(matmul_epilogue)
        (s, launch, t.batch, t.row, t.rows, t.column, t.columns, t.block,
         ry_ceil_div(t.columns, RY_W) * RY_W, s->alpha);
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    RY_ISA_SYMBOL(matmul_gemm_run)(launch, NULL, task);
}

RY_CPU_KERNEL(matmul_f32_gemm, matmul, strict, .simd = RY_SIMD, .applicable = ry_gemm_takes,
              .knobs = ry_gemm_knobs, .knob_count = GEMM_KNOBS, .values = ry_gemm_values,
              .prepare = ry_gemm_prepare, .initialise = ry_gemm_initialise, .run = run);
