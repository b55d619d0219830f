/* SPDX-License-Identifier: Apache-2.0 */
/* Weight gradients by tiles: the implicit GEMM of the convolution that they are (igemm.cl). */
#include "kernels/gpu/gpu_wgrad.h"

#include "base/integer.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_ends.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_texts.h"
#include "kernels/gpu/gpu_tile.h"

static void swap(ry_tensor *tensor)
{
    const int64_t dim = tensor->dim[0], stride = tensor->stride[0];
    tensor->dim[0] = tensor->dim[1];
    tensor->stride[0] = tensor->stride[1];
    tensor->dim[1] = dim;
    tensor->stride[1] = stride;
}

bool ry_gpu_wgrad_fill(const ry_problem *problem, ry_gpu_wgrad *e)
{
    if (problem->op != RY_OP_conv || problem->attrs.conv.dir != RY_direction_bwd_weights ||
        !ry_problem_has_input(problem, 0) || !ry_problem_has_input(problem, 1) ||
        !ry_problem_has_output(problem, 0)) {
        return false;
    }
    *e = (ry_gpu_wgrad){{problem->in[0], problem->in[1]}, {problem->out[0]}, *problem};
    e->problem.in = e->in;
    e->problem.out = e->out;
    e->problem.inputs = 2;
    e->problem.outputs = 1;
    e->problem.attrs.conv.dir = RY_direction_fwd;
    e->problem.attrs.conv.stride = problem->attrs.conv.dilation;
    e->problem.attrs.conv.dilation = problem->attrs.conv.stride;
    for (int i = 0; i < 2; i++) {
        swap(&e->in[i]);
    }
    swap(&e->out[0]);
    e->in[0].dim[0] = e->out[0].dim[0];
    e->in[0].dim[1] *= problem->attrs.conv.groups;
    return true;
}

bool ry_gpu_wgrad_takes(const ry_problem *problem)
{
    ry_gpu_wgrad e;
    return ry_gpu_wgrad_fill(problem, &e) && ry_gpu_window_takes(&e.problem) &&
           (!ry_problem_has_output(problem, 1) || ry_gpu_is_float(&problem->out[1]));
}

ry_gpu_window ry_gpu_wgrad_window(const ry_problem *problem, const ry_gpu_wgrad *exchanged)
{
    ry_gpu_window w = ry_gpu_window_of(&exchanged->problem);
    w.x_group = problem->out[0].dim[1] * problem->in[0].stride[1];
    return w;
}

bool ry_gpu_wgrad_along_channels(const ry_problem *problem)
{
    return ry_gpu_is_along_channels(&problem->in[0]);
}

void ry_gpu_wgrad_define_bias(const ry_problem *problem, ry_text *text)
{
    const bool bias = ry_problem_has_output(problem, 1);
    ry_gpu_define(text, "SUMS_OF_W", bias);
    if (bias) {
        ry_gpu_define_outputs(text, problem);
        ry_text_add(text, "#define TYPE_SUMS TYPE_Y_1\n#define STORE_SUMS STORE_1\n");
        ry_gpu_define(text, "SUMS_STEP", problem->out[1].stride[0]);
    }
}

/* Copied chunks, in bytes. */
enum { CHUNK = 16 };

/* Bytes of x's elements if tiles of neighbouring channels can be copied (copied_wgrad.cl); else 0. */
static int copied_bytes(const ry_problem *problem, ry_gpu_operands operands, const ry_gpu_window *w)
{
    const ry_tensor *x = &problem->in[0];
    const size_t size = ry_dtype_size((ry_dtype)x->dtype);
    const int64_t lanes = CHUNK / (int64_t)size;
    bool can = ry_gpu_operands_are_units(operands) &&
               ((ry_dtype)x->dtype == RY_f32 || ry_gpu_operands_are_halves(problem)) &&
               ry_gpu_wgrad_along_channels(problem) && x->stride[1] == 1 && w->phases == 1 &&
               w->axis[0].in == 1 && w->axis[0].taps == 1 && w->axis[0].out == 1 &&
               w->images % lanes == 0;
    for (int i = 0; i < x->rank; i++) {
        can = can && (i == 1 || x->stride[i] % lanes == 0);
    }
    return can ? (int)size : 0;
}

/* Work-items that have a core of their own gather terms one behind the other; others do where
 * positions of x are beside each other, and else neighbouring channels. */
static ry_gpu_product product_of(const ry_query *query, bool panel)
{
    ry_gpu_wgrad e;
    ry_gpu_wgrad_fill(query->problem, &e);
    const ry_gpu_window w = ry_gpu_wgrad_window(query->problem, &e);
    return (ry_gpu_product){.batches = w.groups,
                            .rows = w.rows,
                            .columns = w.columns,
                            .terms = w.terms,
                            .window = true,
                            .terms_along = panel || !ry_gpu_wgrad_along_channels(query->problem),
                            .operands = ry_gpu_operands_of(query),
                            .copied = copied_bytes(query->problem, ry_gpu_operands_of(query), &w),
                            .x_across = true,
                            .copied_text = ry_gpu_text_copied_wgrad};
}

static void values(const ry_query *query, int knob, ry_knob_values *values)
{
    const ry_gpu_product product = product_of(query, true);
    ry_gpu_tile_values(query, &product, knob, values);
}

/* Adds the bias' gradient: a group for each output channel, behind the tiles' groups. */
static void add_bias(const ry_problem *problem, const ry_gpu_window *w, ry_prepared *prepared)
{
    const int64_t rows = w->groups * w->rows;
    if (ry_problem_has_output(problem, 1)) {
        prepared->tasks[0] += (size_t)rows;
        prepared->work[0].all += (double)rows * (double)w->terms * 8;
    }
}

/* Packed terms of y's gradient: in whole tiles where those are copied. */
static int64_t packed_terms(const ry_gpu_window *w, const ry_gpu_product *product,
                            const ry_prepared *prepared)
{
    return ry_gpu_tile_whole_terms(product, prepared, w->terms);
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_gpu_product product = product_of(query, true);
    ry_gpu_wgrad e;
    ry_gpu_wgrad_fill(query->problem, &e);
    const ry_gpu_window w = ry_gpu_wgrad_window(query->problem, &e);
    RY_TRY(ry_gpu_tile_prepare(query, &product, prepared, error));
    const int64_t packed =
        w.groups * packed_terms(&w, &product, prepared) * ry_gpu_tile_pitch(&product, prepared);
    ry_gpu_tile_pack(query, &product, packed, prepared);
    add_bias(query->problem, &w, prepared);
    return RYND_OK;
}

static void define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    const ry_gpu_tile tile = ry_gpu_tile_of(prepared);
    const ry_gpu_product product = product_of(query, ry_gpu_tile_is_panel(&tile));
    ry_gpu_wgrad e;
    ry_gpu_wgrad_fill(query->problem, &e);
    const ry_gpu_window w = ry_gpu_wgrad_window(query->problem, &e);
    ry_gpu_define(text, "CONVOLUTION", 1);
    ry_gpu_window_define(&e.problem, &w, text);
    ry_gpu_wgrad_define_bias(query->problem, text);
    if (ry_problem_has_output(query->problem, 1)) {
        ry_text_add(text, "%s", ry_gpu_text_sum_row);
    }
    ry_gpu_define(text, "BATCHES", w.groups);
    ry_gpu_define(text, "X_FLOATS", (ry_dtype)query->problem->in[0].dtype == RY_f32);
    ry_gpu_tile_define(&product, prepared, text);
    ry_gpu_operands_define_load(query, "X", 0, text);
    ry_gpu_operands_define_load(query, "W", 1, text);
    ry_gpu_define(text, "PACK_ITEMS", prepared->pack_group);
    const int64_t terms = packed_terms(&w, &product, prepared);
    ry_gpu_tile_define_packed(&product, prepared, terms, product.terms_along, text);
    ry_gpu_define(text, "PACKED_BLOCKS", terms / ry_gpu_tile_terms(&product, prepared));
    ry_gpu_define(text, "W_ALONG_K", 0);
    ry_gpu_define(text, "X_ALONG_K", product.terms_along);
    ry_gpu_define(text, "Y_ALONG_M", 0);
    ry_gpu_define(text, "FOURS_X", 0);
    ry_gpu_define(text, "TAPS_FIRST", 1);
    ry_gpu_define(text, "IMAGES_FIRST", !product.terms_along);
    ry_gpu_ends_define_window(&e.problem, &w, &product, &tile, !product.terms_along, text);
    ry_gpu_tile_add_text(&product, prepared, text);
}

static const char *const entries[] = {"pack", "run", "join"};
static const ry_gpu_kernel igemm = {ry_gpu_text_join, entries, 3, define};

static bool takes_halves(const ry_problem *problem)
{
    return ry_gpu_wgrad_takes(problem) && ry_gpu_operands_are_halves(problem);
}

static bool takes_others(const ry_problem *problem)
{
    return ry_gpu_wgrad_takes(problem) && !ry_gpu_operands_are_halves(problem);
}

#define ROW(symbol, class, takes, units)                                                  \
    RY_GPU_KERNEL(symbol, conv, class, .knobs = ry_gpu_tile_knobs,                        \
                  .knob_count = RY_GPU_TILE_KNOBS, .applicable = takes, .values = values, \
                  .runs_on = units ? ry_gpu_tile_runs_units : ry_gpu_tile_runs_floats,    \
                  .prepare = prepare, .matrix_units = units, .gpu = &igemm,               \
                  .packed_inputs = 1u << 1)

ROW(conv_bwd_weights_f32_igemm_gpu, strict, ry_gpu_wgrad_takes, false);
ROW(conv_bwd_weights_half_units_gpu, near32, takes_halves, true);
ROW(conv_bwd_weights_tf32_units_gpu, tf32, takes_others, true);
ROW(conv_bwd_weights_bf16_units_gpu, bf16, takes_others, true);
