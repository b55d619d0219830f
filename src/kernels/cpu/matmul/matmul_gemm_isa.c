/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: matrix products by the micro-kernel of tile.h.
 *
 * A task computes a block of y: it goes through k in chunks, packs the chunk of b into slivers [k][columns] (a panel that stays in the
 * second-level cache), and reads a where it lies when one of its steps is 1, else from a packed copy of its rows. */
#include "base/whole.h"
#include "kernels/cpu/matmul/matmul_finish.h"
#include "kernels/cpu/matmul/matmul_gemm.h"
#include "kernels/cpu/matmul/matmul_pack.h"

#include "kernels/cpu/conv/activation.h"

enum { CHUNK_MOST = 384, COLUMNS_MOST = 128, ROWS_MOST = 4096, TASK_OVERHEAD = 2000, THREADS_EXPECTED = 4 };

typedef enum a_form { A_ALONG_K, A_ALONG_M, A_PACKED } a_form;

typedef struct gemm_plan {
    matmul_shape shape;
    a_form a;
    bool direct, column_bias, integer, pairs;
    int64_t chunk, rows, columns, row_blocks, column_blocks;
    size_t panel, a_rows, block, bias, scratch;
} gemm_plan;

static double cost_of(const gemm_plan *plan, int64_t row_blocks, int64_t column_blocks)
{
    const matmul_shape *s = &plan->shape;
    const matmul_operand *b = &s->of[MATMUL_B];
    const int64_t rows = ry_parts(s->m, row_blocks), columns = ry_parts(s->n, column_blocks);
    const double vectors = (double)ry_parts(columns, RY_W), pack = b->column == 1 ? 2.0 : b->row == 1 ? 5.0 : 2.0 * RY_W;
    const double tasks = (double)s->batches * (double)row_blocks * (double)column_blocks;
    const double a = plan->a == A_PACKED ? (double)rows * 0.5 : 0.0;
    const double task = (double)s->k * (vectors * ((double)rows + pack) + a) + TASK_OVERHEAD;
    return tasks * task + (THREADS_EXPECTED - 1) * task;
}

static int64_t next_parts(int64_t parts)
{
    return parts < 4 ? parts + 1 : (parts & (parts - 1)) == 0 ? parts * 3 / 2 : parts * 4 / 3;
}

static void choose_blocks(gemm_plan *plan)
{
    const matmul_shape *s = &plan->shape;
    double best = -1;
    for (int64_t i = 1; i <= ry_parts(s->m, RY_TILE_ROWS); i = next_parts(i)) {
        const int64_t rows = ry_parts(s->m, i);
        if (rows > ROWS_MOST) {
            continue;
        }
        for (int64_t j = 1; j <= ry_parts(s->n, RY_TILE_COLUMNS); j = next_parts(j)) {
            const int64_t columns = ry_least(s->n, ry_parts(ry_parts(s->n, j), RY_TILE_COLUMNS) * RY_TILE_COLUMNS);
            if (columns > COLUMNS_MOST && columns > RY_TILE_COLUMNS) {
                continue;
            }
            const double cost = cost_of(plan, ry_parts(s->m, rows), ry_parts(s->n, columns));
            if (best < 0 || cost < best) {
                best = cost;
                plan->rows = rows;
                plan->columns = columns;
            }
        }
    }
    if (best < 0) {
        plan->rows = ry_least(s->m, ROWS_MOST);
        plan->columns = ry_least(s->n, COLUMNS_MOST);
    }
    plan->row_blocks = ry_parts(s->m, plan->rows);
    plan->column_blocks = ry_parts(s->n, plan->columns);
}

static bool make_plan(const ry_problem *problem, bool pairs, gemm_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    plan->pairs = pairs;
    matmul_shape *s = &plan->shape;
    if (!matmul_shape_of(problem, s)) {
        return false;
    }
    const matmul_operand *a = &s->of[MATMUL_A], *c = &s->of[MATMUL_C], *r = &s->of[MATMUL_RESIDUAL], *y = &s->of[MATMUL_Y];
    plan->integer = y->dtype == RY_i32;
    const bool as_it_lies = !pairs && (a->dtype == RY_f32 || a->dtype == RY_i32);
    plan->a = as_it_lies && a->column == 1 ? A_ALONG_K : as_it_lies && a->row == 1 ? A_ALONG_M : A_PACKED;
    plan->column_bias = c->dtype == RY_f32 && c->row == 0;
    plan->direct = (y->dtype == RY_f32 || y->dtype == RY_i32) && (y->column == 1 || s->n == 1) && s->alpha == 1.0f &&
                   (c->dtype == RY_NONE || plan->column_bias) &&
                   (r->dtype == RY_NONE || (r->dtype == RY_f32 && (r->column == 1 || s->n == 1)));
    plan->chunk = ry_parts(s->k, ry_parts(s->k, CHUNK_MOST));
    choose_blocks(plan);
    const int64_t whole = ry_parts(plan->columns, RY_W) * RY_W;
    size_t at = 0;
    plan->panel = at, at += ry_aligned((size_t)(plan->chunk * whole) * 4);
    plan->a_rows = at,
    at += plan->a == A_PACKED ? ry_aligned((size_t)(ry_least(plan->rows, 8 * RY_TILE_ROWS) * (plan->chunk + RY_W)) * 4) : 0;
    plan->block = at, at += plan->direct ? 0 : ry_aligned((size_t)(plan->rows * whole) * 4);
    plan->bias = at, at += plan->column_bias ? ry_aligned((size_t)(whole + RY_TILE_COLUMNS) * 4) : 0;
    plan->scratch = at;
    return true;
}

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
static void run_tile(const gemm_task *t, ry_tile *tile, int64_t row, int64_t rows, int64_t column, bool along_k, bool last)
{
    const gemm_plan *plan = t->plan;
    const matmul_shape *s = &plan->shape;
    const matmul_operand *y = &s->of[MATMUL_Y], *r = &s->of[MATMUL_RESIDUAL];
    const int64_t vectors = ry_parts(tile->columns, RY_W);
    if (plan->direct) {
        tile->c_step = y->row;
        tile->c = (float *)t->launch->out[0] + matmul_batch_offset(s, MATMUL_Y, t->batch) + (t->row + row) * y->row + t->column + column;
        if (last && r->dtype != RY_NONE) {
            tile->residual_step = r->row;
            tile->residual = (const float *)t->launch->in[MATMUL_RESIDUAL] + matmul_batch_offset(s, MATMUL_RESIDUAL, t->batch) +
                             (t->row + row) * r->row + t->column + column;
        }
        if (last && t->bounds) {
            tile->low = t->low;
            tile->high = t->high;
        }
    } else {
        tile->c_step = ry_parts(t->columns, RY_W) * RY_W;
        tile->c = t->block + row * tile->c_step + column;
    }
    const ry_tile_table *table = &RY_ISA_SYMBOL(ry_tiles);
    const ry_tile_set *tiles = t->pairs ? t->pairs->tiles : plan->integer ? &table->i32 : &table->f32;
    (*tiles)[along_k][vectors - 1][rows - 1](tile);
    if (plan->direct && last && !t->bounds) {
        RY_ISA_SYMBOL(ry_activate_rows)(t->activation, tile->c, tile->c_step, rows, tile->columns);
    }
}

/* Rows [row, row + rows) of the task against the panel. a: that of the first of them, at the chunk's start. */
static void multiply(const gemm_task *t, const float *a, int64_t a_row, int64_t a_step, bool along_k, int64_t row, int64_t rows, int64_t k,
                     int64_t depth)
{
    const bool first = k == 0, last = k + depth == t->plan->shape.k;
    const int64_t parts = ry_parts(rows, RY_TILE_ROWS), each = rows / parts, extra = rows % parts;
    for (int64_t i = 0, done = 0; i < parts; i++) {
        const int64_t here = each + (i < extra);
        for (int64_t j = 0; j < t->columns; j += RY_TILE_COLUMNS) {
            ry_tile tile = {.depth = t->pairs ? (depth + 1) / 2 : depth, .low = -__builtin_inff(), .high = __builtin_inff()};
            tile.columns = ry_least(RY_TILE_COLUMNS, t->columns - j);
            tile.start = !first ? RY_TILE_FROM_C : t->plan->direct && t->plan->column_bias ? RY_TILE_FROM_COLUMN_BIAS : RY_TILE_FROM_ZERO;
            tile.bias = t->bias + j;
            tile.a = a + done * a_row;
            tile.a_step = a_step;
            tile.b = t->panel + j * depth;
            tile.b_step = ry_parts(tile.columns, RY_W) * RY_W;
            run_tile(t, &tile, row + done, here, j, along_k, last);
        }
        done += here;
    }
}

static void run_chunk(const gemm_task *t, int64_t k, int64_t depth)
{
    const gemm_plan *plan = t->plan;
    const matmul_shape *s = &plan->shape;
    const matmul_operand *a = &s->of[MATMUL_A], *b = &s->of[MATMUL_B];
    const int64_t b_at = matmul_batch_offset(s, MATMUL_B, t->batch) + k * b->row + t->column * b->column;
    for (int64_t j = 0; j < t->columns; j += RY_TILE_COLUMNS) {
        const int64_t count = ry_least(RY_TILE_COLUMNS, t->columns - j);
        RY_ISA_SYMBOL(matmul_pack_sliver)
        (b->dtype, (const char *)matmul_input(s, t->launch, MATMUL_B) + (b_at + j * b->column) * (int64_t)ry_dtype_size(b->dtype), b->row,
         b->column, depth, count, ry_parts(count, RY_W) * RY_W, t->panel + j * depth);
        if (t->pairs) {
            t->pairs->sliver(t->panel + j * depth, depth, ry_parts(count, RY_W) * RY_W);
        }
    }
    const int64_t a_at = matmul_batch_offset(s, MATMUL_A, t->batch) + t->row * a->row + k * a->column;
    const char *data = (const char *)matmul_input(s, t->launch, MATMUL_A) + a_at * (int64_t)ry_dtype_size(a->dtype);
    if (plan->a == A_ALONG_K) {
        multiply(t, (const float *)(const void *)data, a->row, a->row, true, 0, t->rows, k, depth);
    } else if (plan->a == A_ALONG_M) {
        multiply(t, (const float *)(const void *)data, 1, a->column, false, 0, t->rows, k, depth);
    } else {
        const int64_t step = plan->chunk + RY_W;
        for (int64_t i = 0; i < t->rows; i += 8 * RY_TILE_ROWS) {
            const int64_t rows = ry_least(8 * RY_TILE_ROWS, t->rows - i);
            RY_ISA_SYMBOL(matmul_pack_rows)
            (a->dtype, data + i * a->row * (int64_t)ry_dtype_size(a->dtype), a->row, a->column, rows, depth, t->a_rows, step);
            for (int64_t row = 0; t->pairs && row < rows; row++) {
                t->pairs->row(t->a_rows + row * step, depth);
            }
            multiply(t, t->a_rows, step, step, true, i, rows, k, depth);
        }
    }
}

void RY_ISA_SYMBOL(matmul_gemm_run)(const ry_cpu_launch *launch, const ry_tile_pairs *pairs, size_t index, unsigned worker)
{
    const gemm_plan *plan = launch->state;
    const matmul_shape *s = &plan->shape;
    char *scratch = launch->scratch + worker * launch->prepared->scratch;
    const int64_t i = (int64_t)index, column_block = i % plan->column_blocks, row_block = i / plan->column_blocks % plan->row_blocks;
    gemm_task t = {.plan = plan,
                   .launch = launch,
                   .pairs = pairs,
                   .batch = i / plan->column_blocks / plan->row_blocks,
                   .row = row_block * plan->rows,
                   .column = column_block * plan->columns,
                   .panel = (float *)(void *)(scratch + plan->panel),
                   .a_rows = (float *)(void *)(scratch + plan->a_rows),
                   .block = (float *)(void *)(scratch + plan->block),
                   .bias = (float *)(void *)(scratch + plan->bias),
                   .activation = ry_conv_activation(launch->problem)};
    t.rows = ry_least(plan->rows, s->m - t.row);
    t.columns = ry_least(plan->columns, s->n - t.column);
    t.bounds = ry_activation_bounds(t.activation, &t.low, &t.high);
    if (plan->direct && plan->column_bias) {
        const matmul_operand *c = &s->of[MATMUL_C];
        const float *from = (const float *)launch->in[MATMUL_C] + matmul_batch_offset(s, MATMUL_C, t.batch) + t.column * c->column;
        memset(t.bias, 0, (size_t)(ry_parts(t.columns, RY_W) * RY_W + RY_TILE_COLUMNS) * sizeof *t.bias);
        for (int64_t j = 0; j < t.columns; j++) {
            t.bias[j] = s->beta * from[j * c->column];
        }
    }
    for (int64_t k = 0; k < s->k; k += plan->chunk) {
        run_chunk(&t, k, ry_least(plan->chunk, s->k - k));
    }
    if (!plan->direct) {
        RY_ISA_SYMBOL(matmul_finish)
        (s, launch, t.batch, t.row, t.rows, t.column, t.columns, t.block, ry_parts(t.columns, RY_W) * RY_W, s->alpha);
    }
}

static bool is_float(const ry_problem *problem, int i, bool wide)
{
    if (!ry_problem_has_input(problem, i)) {
        return i >= 2;
    }
    const ry_dtype dtype = (ry_dtype)problem->in[i].dtype;
    return dtype == RY_f32 || dtype == RY_f16 || dtype == RY_bf16 || (wide && ry_dtype_is_float(dtype));
}

bool RY_ISA_SYMBOL(matmul_gemm_takes_floats)(const ry_problem *problem)
{
    matmul_shape shape;
    const ry_dtype y = (ry_dtype)problem->out[0].dtype;
    return is_float(problem, 0, false) && is_float(problem, 1, false) && is_float(problem, 2, true) && is_float(problem, 3, false) &&
           (y == RY_f32 || y == RY_f16 || y == RY_bf16) && matmul_shape_of(problem, &shape);
}

static bool applicable(const ry_problem *problem)
{
    matmul_shape shape;
    const ry_matmul_attrs *attrs = &problem->attrs.matmul;
    const bool integers = problem->out[0].dtype == RYND_DTYPE_I32 && problem->in[0].dtype == RYND_DTYPE_I32 &&
                          problem->in[1].dtype == RYND_DTYPE_I32 && !ry_problem_has_input(problem, 2) &&
                          !ry_problem_has_input(problem, 3) && attrs->alpha == 1 && attrs->activation == RY_activation_none;
    return integers ? matmul_shape_of(problem, &shape) : RY_ISA_SYMBOL(matmul_gemm_takes_floats)(problem);
}

static const ry_knob knobs[] = {{"rows", NULL, false}, {"columns", NULL, false}, {"chunk", NULL, false}};

rynd_status RY_ISA_SYMBOL(matmul_gemm_prepare)(const ry_problem *problem, bool pairs, ry_prepared *prepared, ry_error *error)
{
    gemm_plan plan;
    if (!make_plan(problem, pairs, &plan)) {
        return ry_fail(error, RYND_ERROR_SHAPE, "matmul: nothing to compute");
    }
    *prepared = (ry_prepared){.phases = 1,
                              .tasks = {(size_t)(plan.shape.batches * plan.row_blocks * plan.column_blocks)},
                              .state_size = ry_aligned(sizeof plan),
                              .scratch = plan.scratch,
                              .form = {{plan.rows, plan.columns, plan.chunk}}};
    return RYND_OK;
}

void RY_ISA_SYMBOL(matmul_gemm_initialise)(const ry_problem *problem, bool pairs, void *state)
{
    make_plan(problem, pairs, state);
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    return RY_ISA_SYMBOL(matmul_gemm_prepare)(problem, false, prepared, error);
}

static void initialise(const ry_query *query, const ry_prepared *prepared, void *state)
{
    const ry_problem *problem = query->problem;
    (void)prepared;
    make_plan(problem, false, state);
}

static void run(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    (void)phase;
    RY_ISA_SYMBOL(matmul_gemm_run)(launch, NULL, task, worker);
}

const ry_kernel RY_ISA_SYMBOL(matmul_f32_gemm) = {.name = "matmul_f32_gemm_" RY_ISA_TEXT,
                                                  .family = "matmul_f32_gemm",
                                                  .op = RY_OP_matmul,
                                                  .device = RY_DEVICE_cpu,
                                                  .isa = RY_ISA_ID,
                                                  .accuracy = RY_ACCURACY_strict,
                                                  .simd = RY_SIMD,
                                                  .applicable = applicable,
                                                  .knobs = knobs,
                                                  .knob_count = 3,
                                                  .prepare = prepare,
                                                  .initialise = initialise,
                                                  .run = run};
