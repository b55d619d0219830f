/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by tiles (igemm.cl), and of few rows or columns (gemv.cl). */
#include "base/integer.h"
#include "kernels/gpu/gpu_choose.h"
#include "kernels/gpu/gpu_costs.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_ends.h"
#include "kernels/gpu/gpu_group.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_matrix.h"
#include "kernels/gpu/gpu_texts.h"
#include "kernels/gpu/gpu_tile.h"

enum { ITEMS = 256, MOST_FEW = 8, LEAST_LANES = 8, MOST_LANES = 64 };

static bool along(const ry_gpu_dim *a, const ry_gpu_dim *b, int operand)
{
    return a->count > 1 && a->step[operand] != 0 &&
           (b->step[operand] == 0 || a->step[operand] < b->step[operand]);
}

/* Copied chunks, in bytes. */
enum { CHUNK = 16 };

/* Can the matrix be copied in chunks of elements that are beside each other along one dim? `other`: rows or columns. */
static bool is_copied(const ry_gpu_matrix *m, const ry_gpu_dim *other, int operand, int64_t lanes)
{
    const int64_t term = m->term.step[operand], step = other->step[operand];
    bool can = (term == 1 && step % lanes == 0) || (step == 1 && term % lanes == 0);
    for (int i = 0; i < m->batch_rank; i++) {
        can = can && m->batch[i].step[operand] % lanes == 0;
    }
    return can;
}

/* Bytes of an element of both matrices if their tiles can be copied; else 0. */
static int copied_bytes(const ry_problem *problem, ry_gpu_operands operands, const ry_gpu_matrix *m)
{
    const ry_dtype a = (ry_dtype)problem->in[0].dtype, b = (ry_dtype)problem->in[1].dtype;
    const int size = (int)ry_dtype_size(a);
    const int64_t lanes = CHUNK / size;
    return ry_gpu_operands_are_units(operands) && a == b &&
                   (a == RY_f32 || ry_gpu_operands_are_halves(problem)) &&
                   is_copied(m, &m->row, RY_GPU_A, lanes) &&
                   is_copied(m, &m->column, RY_GPU_B, lanes)
               ? size
               : 0;
}

static ry_gpu_product product_of(const ry_query *query, const ry_gpu_matrix *m)
{
    const int copied = copied_bytes(query->problem, ry_gpu_operands_of(query), m);
    return (ry_gpu_product){.batches = m->batches,
                            .rows = m->row.count,
                            .columns = m->column.count,
                            .terms = m->term.count,
                            .terms_along = along(&m->term, &m->column, RY_GPU_B),
                            .operands = ry_gpu_operands_of(query),
                            .copied = copied,
                            .copied_w = copied,
                            .w_across = m->term.step[RY_GPU_A] != 1,
                            .x_across = m->term.step[RY_GPU_B] != 1,
                            .copied_text = ry_gpu_text_copied_matrix,
                            .rows_along = along(&m->row, &m->column, RY_GPU_Y)};
}

static void tile_values(const ry_query *query, int knob, ry_knob_values *values)
{
    const ry_gpu_matrix m = ry_gpu_matrix_of(query->problem);
    const ry_gpu_product product = product_of(query, &m);
    ry_gpu_tile_values(query, &product, knob, values);
}

static rynd_status tile_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_gpu_matrix m = ry_gpu_matrix_of(query->problem);
    const ry_gpu_product product = product_of(query, &m);
    return ry_gpu_tile_prepare(query, &product, prepared, error);
}

/* Do fours of an operand's terms, or else of its sides, lie beside each other at multiples of four? */
static bool has_fours(const ry_gpu_matrix *m, const ry_gpu_dim *side, int operand)
{
    const bool terms = along(&m->term, side, operand);
    const ry_gpu_dim *inner = terms ? &m->term : side, *outer = terms ? side : &m->term;
    bool has = inner->step[operand] == 1 && inner->count % 4 == 0 && outer->step[operand] % 4 == 0;
    for (int i = 0; i < m->batch_rank; i++) {
        has = has && m->batch[i].step[operand] % 4 == 0;
    }
    return has;
}

static void tile_define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    const ry_gpu_matrix m = ry_gpu_matrix_of(query->problem);
    const ry_gpu_product product = product_of(query, &m);
    ry_gpu_matrix_define(query->problem, &m, text);
    ry_gpu_tile_define(&product, prepared, text);
    ry_gpu_define(text, "CONVOLUTION", 0);
    ry_gpu_define(text, "PACKED_A", 0);
    ry_text_add(text, "#define TYPE_A TYPE_0\n#define MATRIX_A IN(TYPE_0, 0)\n"
                      "#define TYPE_B TYPE_1\n#define MATRIX_B IN(TYPE_1, 1)\n"
                      "#define ARGUMENT_A in0\n#define ARGUMENT_B in1\n");
    ry_gpu_operands_define_load(query, "A", 0, text);
    ry_gpu_operands_define_load(query, "B", 1, text);
    ry_gpu_define(text, "BATCHES", m.batches);
    ry_gpu_define(text, "ROWS", m.row.count);
    ry_gpu_define(text, "N", m.column.count);
    ry_gpu_define(text, "TERMS", m.term.count);
    ry_gpu_define(text, "A_ROW", m.row.step[RY_GPU_A]);
    ry_gpu_define(text, "A_TERM", m.term.step[RY_GPU_A]);
    ry_gpu_define(text, "B_COLUMN", m.column.step[RY_GPU_B]);
    ry_gpu_define(text, "B_TERM", m.term.step[RY_GPU_B]);
    ry_gpu_define(text, "NEXT_A", product.w_across ? m.term.step[RY_GPU_A] : m.row.step[RY_GPU_A]);
    ry_gpu_define(text, "NEXT_B",
                  product.x_across ? m.term.step[RY_GPU_B] : m.column.step[RY_GPU_B]);
    ry_gpu_define(text, "FOURS_W", has_fours(&m, &m.row, RY_GPU_A));
    ry_gpu_define(text, "FOURS_X", has_fours(&m, &m.column, RY_GPU_B));
    ry_gpu_define(text, "W_ALONG_K", along(&m.term, &m.row, RY_GPU_A));
    ry_gpu_define(text, "X_ALONG_K", along(&m.term, &m.column, RY_GPU_B));
    ry_gpu_define(text, "PANEL",
                  along(&m.term, &m.column, RY_GPU_B) ? RY_GPU_ALONG : RY_GPU_ACROSS);
    ry_gpu_define(text, "Y_ALONG_M", along(&m.row, &m.column, RY_GPU_Y));
    ry_text_add(text, "#define PHASES 1\n#define RESIDUES_0 1\n#define RESIDUES_1 1\n"
                      "#define RESIDUES_2 1\n");
    const ry_gpu_tile tile = ry_gpu_tile_fitted(&product, prepared);
    ry_gpu_ends_define_matrix(query->problem, &m, &product, &tile, text);
    ry_gpu_tile_add_text(&product, prepared, text);
}

static const char *const tile_entries[] = {"run", "join"};
static const ry_gpu_kernel igemm = {ry_gpu_text_join, tile_entries, 2, tile_define};

static bool takes_halves(const ry_problem *problem)
{
    return ry_gpu_matrix_takes(problem) && ry_gpu_operands_are_halves(problem);
}

static bool takes_others(const ry_problem *problem)
{
    return ry_gpu_matrix_takes(problem) && !ry_gpu_operands_are_halves(problem);
}

static bool takes_three(const ry_problem *problem)
{
    if (!takes_others(problem)) {
        return false;
    }
    const ry_gpu_matrix m = ry_gpu_matrix_of(problem);
    return copied_bytes(problem, RY_GPU_THREE_TF32, &m) > 0;
}

#define TILE_ROW(symbol, class, takes, units, runs)                                            \
    RY_GPU_KERNEL(symbol, matmul, class, .knobs = ry_gpu_tile_knobs,                           \
                  .knob_count = RY_GPU_TILE_KNOBS, .applicable = takes, .values = tile_values, \
                  .runs_on = runs, .prepare = tile_prepare, .matrix_units = units, .gpu = &igemm)

TILE_ROW(matmul_f32_igemm_gpu, strict, ry_gpu_matrix_takes, false, ry_gpu_tile_runs_floats);
TILE_ROW(matmul_half_units_gpu, near32, takes_halves, true, ry_gpu_tile_runs_units);
TILE_ROW(matmul_f32_units_gpu, near32, takes_three, true, ry_gpu_tile_runs_three);
TILE_ROW(matmul_tf32_units_gpu, tf32, takes_others, true, ry_gpu_tile_runs_units);
TILE_ROW(matmul_bf16_units_gpu, bf16, takes_others, true, ry_gpu_tile_runs_units);

enum { KNOB_LANES, KNOBS };
static const ry_knob knobs[KNOBS] = {{"lanes", NULL, true, false}};

static bool gemv_applicable(const ry_problem *problem)
{
    if (!ry_gpu_matrix_takes(problem)) {
        return false;
    }
    const ry_gpu_matrix m = ry_gpu_matrix_of(problem);
    return ry_min(m.row.count, m.column.count) <= MOST_FEW;
}

/* Items of a group, each with a sum of every row or column that is few. */
static int64_t gemv_items(const ry_machine *machine, const ry_gpu_matrix *m)
{
    const int64_t few = ry_min(m->row.count, m->column.count);
    return ry_gpu_group_most(machine, ITEMS, (size_t)few * sizeof(float));
}

static void gemv_list(const ry_query *query, const void *user, int knob, ry_knob_values *values)
{
    const int64_t items = gemv_items(query->target->machine, user);
    (void)knob;
    for (int64_t lanes = ry_min(LEAST_LANES, items); lanes <= ry_min(MOST_LANES, items);
         lanes *= 2) {
        ry_knob_values_add(values, lanes);
    }
}

static void gemv_values(const ry_query *query, int knob, ry_knob_values *values)
{
    const ry_gpu_matrix m = ry_gpu_matrix_of(query->problem);
    gemv_list(query, &m, knob, values);
}

static bool gemv_fill(const ry_query *query, const void *user, ry_prepared *prepared)
{
    const ry_gpu_matrix *m = user;
    const ry_machine *machine = query->target->machine;
    const ry_gpu_costs *cost = ry_gpu_costs_of(machine);
    const int64_t few = ry_min(m->row.count, m->column.count),
                  many = ry_max(m->row.count, m->column.count), items = gemv_items(machine, m),
                  lanes = prepared->form.value[KNOB_LANES],
                  tasks = m->batches * ry_ceil_div(many, items / lanes);
    const double sums = (double)items * (double)ry_ceil_div(m->term.count, lanes);
    prepared->phases = 1;
    prepared->group[0] = (unsigned)items;
    prepared->tasks[0] = (size_t)tasks;
    prepared->work[0] =
        (ry_work){(double)tasks * (sums * (cost->gemv_many + (double)few * (2 + cost->gemv_few)) +
                                   cost->gemv_output * (double)few * (double)items),
                  0};
    return tasks < INT32_MAX;
}

static rynd_status gemv_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    static const ry_form_axis axes[] = {{.knob = KNOB_LANES}};
    static const ry_gpu_search search = {axes, 1, gemv_list, gemv_fill};
    const ry_gpu_matrix m = ry_gpu_matrix_of(query->problem);
    return ry_gpu_choose(&search, query, &m, prepared, error);
}

/* Defines operand `input` as one side of the product. */
static void define_side(ry_text *text, const char *side, int input, const ry_gpu_dim *dim,
                        const ry_gpu_dim *term)
{
    ry_text_add(text,
                "#define %s %lld\n#define %s_AT(batch) AT_%d(batch)\n"
                "#define LOAD_%s(base, at, k) LOAD_%d(IN(TYPE_%d, %d), "
                "(base) + (INDEX)(at) * %lld + (INDEX)(k) * %lld)\n",
                side, (long long)dim->count, side, input, side, input, input, input,
                (long long)dim->step[input], (long long)term->step[input]);
}

static void gemv_define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    const ry_gpu_matrix m = ry_gpu_matrix_of(query->problem);
    const bool few_rows = m.row.count <= m.column.count;
    const ry_gpu_dim *few = few_rows ? &m.row : &m.column, *many = few_rows ? &m.column : &m.row;
    const int large = few_rows ? RY_GPU_B : RY_GPU_A;
    ry_gpu_matrix_define(query->problem, &m, text);
    define_side(text, "FEW", few_rows ? RY_GPU_A : RY_GPU_B, few, &m.term);
    define_side(text, "MANY", large, many, &m.term);
    ry_text_add(text, "#define FINISH_FEW(batch, few, many, sum) FINISH_PRODUCT(batch, %s, sum)\n",
                few_rows ? "few, many" : "many, few");
    ry_gpu_define(text, "TERMS", m.term.count);
    ry_gpu_define(text, "ITEMS", prepared->group[0]);
    ry_gpu_define(text, "LANES", prepared->form.value[KNOB_LANES]);
    ry_gpu_define(text, "ALONG_K", along(&m.term, many, large));
}

static const char *const gemv_entries[] = {"run"};
static const ry_gpu_kernel gemv = {ry_gpu_text_gemv, gemv_entries, 1, gemv_define};

RY_GPU_KERNEL(matmul_f32_gemv_gpu, matmul, strict, .knobs = knobs, .knob_count = KNOBS,
              .applicable = gemv_applicable, .values = gemv_values, .prepare = gemv_prepare,
              .gpu = &gemv);
