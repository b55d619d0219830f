/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by wide tiles (wide.cl): as a convolution of one tap, whose weights are b and whose positions
 * are a's rows. b is packed, a copied: its terms are beside each other. So rows of the product are
 * columns of y. */
#include "base/integer.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_ends.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_matrix.h"
#include "kernels/gpu/gpu_texts.h"
#include "kernels/gpu/gpu_tile.h"
#include "kernels/packing.h"

#include <string.h>

enum { CHUNK = 16 }; /* copied bytes */

/* The product with rows and columns exchanged. */
static ry_gpu_matrix exchanged(const ry_problem *problem)
{
    ry_gpu_matrix m = ry_gpu_matrix_of(problem);
    const ry_gpu_dim row = m.row;
    m.row = m.column;
    m.column = row;
    return m;
}

/* Bytes of a's elements if a can be copied; else 0. */
static int copied_bytes(const ry_problem *problem, const ry_gpu_matrix *m)
{
    const int size = (int)ry_dtype_size((ry_dtype)problem->in[0].dtype);
    const int64_t lanes = CHUNK / size;
    bool can = m->term.step[RY_GPU_A] == 1 && m->column.step[RY_GPU_A] % lanes == 0;
    for (int i = 0; i < m->batch_rank; i++) {
        can = can && m->batch[i].step[RY_GPU_A] % lanes == 0;
    }
    return can ? size : 0;
}

/* Times that b is packed: for each batch, or once for all. */
static int64_t packed_batches(const ry_gpu_matrix *m)
{
    bool one = true;
    for (int i = 0; i < m->batch_rank; i++) {
        one = one && m->batch[i].step[RY_GPU_B] == 0;
    }
    return one ? 1 : m->batches;
}

/* Are the product's rows, y's columns, beside each other? */
static bool are_rows_along(const ry_gpu_matrix *m)
{
    return m->row.step[RY_GPU_Y] == 1 && (m->column.count == 1 || m->column.step[RY_GPU_Y] > 1);
}

static ry_gpu_product product_of(const ry_query *query, const ry_gpu_matrix *m)
{
    return (ry_gpu_product){.batches = m->batches,
                            .rows = m->row.count,
                            .columns = m->column.count,
                            .terms = m->term.count,
                            .terms_along = true,
                            .operands = ry_gpu_operands_of(query),
                            .copied = copied_bytes(query->problem, m),
                            .wide_text = ry_gpu_text_wide_matrix,
                            .wide_alone = true,
                            .rows_along = are_rows_along(m)};
}

static void values(const ry_query *query, int knob, ry_knob_values *values)
{
    const ry_gpu_matrix m = exchanged(query->problem);
    const ry_gpu_product product = product_of(query, &m);
    ry_gpu_tile_values(query, &product, knob, values);
}

static int64_t packed_terms(const ry_gpu_product *product, const ry_prepared *prepared)
{
    return ry_round_up(product->terms, ry_gpu_tile_terms(product, prepared));
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_gpu_matrix m = exchanged(query->problem);
    const ry_gpu_product product = product_of(query, &m);
    RY_TRY(ry_gpu_tile_prepare(query, &product, prepared, error));
    ry_gpu_tile_pack(query, &product,
                     packed_batches(&m) * packed_terms(&product, prepared) *
                         ry_gpu_tile_pitch(&product, prepared),
                     prepared);
    return RYND_OK;
}

static void define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    const ry_gpu_matrix m = exchanged(query->problem);
    const ry_gpu_product product = product_of(query, &m);
    const int64_t terms = packed_terms(&product, prepared);
    ry_gpu_matrix_define(query->problem, &m, text);
    ry_gpu_tile_define(&product, prepared, text);
    ry_gpu_operands_define_load(query, "X", 0, text);
    ry_gpu_operands_define_load(query, "W", 1, text);
    ry_gpu_tile_define_packed(&product, prepared, terms, true, text);
    const struct {
        const char *name;
        int64_t number;
    } numbers[] = {{"CONVOLUTION", 0},
                   {"BATCHES", m.batches},
                   {"PACKED_BATCHES", packed_batches(&m)},
                   {"PACKED_BLOCKS", terms / ry_gpu_tile_terms(&product, prepared)},
                   {"PACK_ITEMS", prepared->pack_group},
                   {"ROWS", m.row.count},
                   {"N", m.column.count},
                   {"TERMS", m.term.count},
                   {"W_ROW", m.row.step[RY_GPU_B]},
                   {"W_TERM", m.term.step[RY_GPU_B]},
                   {"X_COLUMN", m.column.step[RY_GPU_A]},
                   {"X_FLOATS", (ry_dtype)query->problem->in[0].dtype == RY_f32},
                   {"X_ALONG_K", 1},
                   {"TAPS_FIRST", 0},
                   {"Y_ALONG_M", product.rows_along},
                   {"PHASES", 1},
                   {"RESIDUES_0", 1},
                   {"RESIDUES_1", 1},
                   {"RESIDUES_2", 1}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        ry_gpu_define(text, numbers[i].name, numbers[i].number);
    }
    const ry_gpu_tile tile = ry_gpu_tile_of(prepared);
    ry_gpu_ends_define_matrix(query->problem, &m, &product, &tile, text);
    ry_gpu_tile_add_text(&product, prepared, text);
}

/* Plans with equal numbers share a packed b. */
static void packing(const ry_prepared *prepared, ry_text *key)
{
    const ry_query query = {prepared->kernel, prepared->problem, NULL, &prepared->form};
    const ry_gpu_matrix m = exchanged(prepared->problem);
    const ry_gpu_product product = product_of(&query, &m);
    RY_PACKING_NUMBERS(key, prepared->form.value[RY_GPU_KNOB_TILE], product.copied,
                       product.operands, packed_batches(&m), product.rows, product.terms,
                       m.row.step[RY_GPU_B], m.term.step[RY_GPU_B]);
}

static const char *const entries[] = {"pack", "run", "join"};
static const ry_gpu_kernel wide = {ry_gpu_text_join, entries, 3, define};

static bool takes(const ry_problem *problem)
{
    if (!ry_gpu_matrix_takes(problem)) {
        return false;
    }
    const ry_gpu_matrix m = exchanged(problem);
    return copied_bytes(problem, &m) > 0;
}

static bool takes_halves(const ry_problem *problem)
{
    return takes(problem) && ry_gpu_operands_are_halves(problem);
}

/* Floats are taken to registers, as the left matrix. */
static bool takes_floats(const ry_problem *problem)
{
    if (!takes(problem) || (ry_dtype)problem->in[0].dtype != RY_f32) {
        return false;
    }
    const ry_gpu_matrix m = exchanged(problem);
    return are_rows_along(&m);
}

static bool runs_on(const ry_problem *problem, const ry_machine *machine)
{
    (void)problem;
    return strcmp(machine->architecture, "sm_90a") == 0;
}

#define ROW(symbol, class, takes)                                                             \
    RY_GPU_KERNEL(symbol, matmul, class, .knobs = ry_gpu_tile_knobs,                          \
                  .knob_count = RY_GPU_TILE_KNOBS, .applicable = takes, .values = values,     \
                  .runs_on = runs_on, .prepare = prepare, .matrix_units = true, .gpu = &wide, \
                  .packed_inputs = 1u << 1, .packing = packing)

ROW(matmul_half_wide_gpu, near32, takes_halves);
ROW(matmul_tf32_wide_gpu, tf32, takes_floats);
ROW(matmul_bf16_wide_gpu, bf16, takes_floats);
