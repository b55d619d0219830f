/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions, forward, transposed and quantised, as products whose second matrix is gathered (igemm.cl). */
#include "base/integer.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_ends.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_qconv.h"
#include "kernels/gpu/gpu_texts.h"
#include "kernels/gpu/gpu_tile.h"
#include "kernels/gpu/gpu_window.h"

static ry_gpu_window window_of(const ry_query *query)
{
    return ry_gpu_window_of_lanes(query->problem, ry_gpu_operand_lanes(ry_gpu_operands_of(query)));
}

/* Chunks of so many bytes are copied: of neighbouring channels, at steps of whole chunks. */
enum { CHUNK = 16, MOST_TAPS = 32, ROW = 128 /* bytes of a row for wide units */ };

/* Does the kernel multiply x as it is kept: floats, which are rounded when they are read from local
 * memory, pairs of 16 bits, or quads of bytes? */
static bool copies_type(const ry_problem *problem, ry_gpu_operands operands)
{
    return operands == RY_GPU_QUAD_UNITS ||
           (ry_gpu_operands_are_units(operands) &&
            ((ry_dtype)problem->in[0].dtype == RY_f32 || ry_gpu_operands_are_halves(problem)));
}

/* Are x's positions, of one tap, beside each other in chunks? */
static bool has_chunks(const ry_problem *problem, const ry_gpu_window *w)
{
    const ry_tensor *x = &problem->in[0];
    const int64_t lanes = CHUNK / (int64_t)ry_dtype_size((ry_dtype)x->dtype);
    int64_t plane = 1;
    bool can = w->window == 1 && w->phases == 1 && w->x_group % lanes == 0 &&
               x->stride[0] % lanes == 0 && x->stride[1] % lanes == 0;
    for (int i = RY_GPU_AXES - 1; i >= 0; i--) {
        const ry_gpu_axis *axis = &w->axis[i];
        can = can && axis->out == axis->in && axis->stride == 1 && !axis->masked &&
              (axis->in == 1 || axis->x_step == plane);
        plane *= axis->in;
    }
    return can && plane % lanes == 0;
}

/* The same of tiles whose terms are rows, of positions beside each other: floats, or chunks of one tap. */
static bool can_copy_across(const ry_problem *problem, ry_gpu_operands operands,
                            const ry_gpu_window *w)
{
    const int64_t terms = CHUNK * (int64_t)(sizeof(float) / ry_gpu_operand_size(operands));
    return ry_gpu_operand_lanes(operands) == 1 && w->window <= MOST_TAPS &&
           ((w->window == 1 && w->phases == 1) || w->channels % terms == 0) &&
           ((ry_dtype)problem->in[0].dtype == RY_f32 || has_chunks(problem, w));
}

/* Bytes that x has for a term if its tiles can be copied; else 0. */
static int copied_bytes(const ry_problem *problem, ry_gpu_operands operands, const ry_gpu_window *w)
{
    const ry_tensor *x = &problem->in[0];
    const size_t size = ry_dtype_size((ry_dtype)x->dtype),
                 terms = CHUNK * sizeof(float) / ry_gpu_operand_size(operands);
    const int64_t lanes = CHUNK / (int64_t)size, channels = x->dim[1] / w->groups;
    if (!copies_type(problem, operands)) {
        return 0;
    }
    if (!w->x_along_channels) {
        return can_copy_across(problem, operands, w) ? (int)size : 0;
    }
    bool can = x->stride[1] == 1 && w->window <= MOST_TAPS &&
               channels % (w->phases > 1 ? (int64_t)terms : lanes) == 0;
    for (int i = 0; i < x->rank; i++) {
        can = can && (i == 1 || x->dim[i] == 1 || x->stride[i] % lanes == 0);
    }
    return can ? (int)((int64_t)size * w->lanes) : 0;
}

/* Steps between a phase's taps pass over packed weights in whole tiles. */
static bool is_wide(ry_gpu_operands operands, const ry_gpu_window *w)
{
    const int64_t terms = ROW / (int64_t)ry_gpu_operand_size(operands);
    return w->x_along_channels && ry_gpu_operands_are_units(operands) &&
           ry_gpu_operand_products(operands) == 1 && (w->phases == 1 || w->channels % terms == 0);
}

static ry_gpu_product product_of(const ry_query *query)
{
    const ry_gpu_window w = window_of(query);
    return (ry_gpu_product){
        .batches = w.groups * w.phases,
        .rows = w.rows,
        .columns = w.columns,
        .terms = ry_max(w.terms, 1),
        .window = w.window > 1,
        .terms_along = w.x_along_channels,
        .operands = ry_gpu_operands_of(query),
        .channels = w.window <= MOST_TAPS ? w.channels : 0,
        .phases = w.phases > 1,
        .copied = copied_bytes(query->problem, ry_gpu_operands_of(query), &w),
        .x_across = !w.x_along_channels,
        .copied_text = ry_gpu_text_copied_window,
        .wide_text = is_wide(ry_gpu_operands_of(query), &w) ? ry_gpu_text_wide_window : NULL,
        .rows_along = w.y_along_channels};
}

static void values(const ry_query *query, int knob, ry_knob_values *values)
{
    const ry_gpu_product product = product_of(query);
    ry_gpu_tile_values(query, &product, knob, values);
}

/* Do fours of a convolution's channels lie at multiples of four elements? */
static bool has_fours(const ry_problem *problem, const ry_gpu_window *w)
{
    const ry_tensor *x = &problem->in[0];
    bool has = w->lanes == 1 && w->x_along_channels && x->stride[1] == 1 && w->channels % 4 == 0 &&
               ry_gpu_is_float(x);
    for (int i = 0; i < x->rank; i++) {
        has = has && (i == 1 || x->stride[i] % 4 == 0);
    }
    return has;
}

/* Rows of packed weights: all terms, in whole tiles. */
static int64_t packed_terms(const ry_gpu_window *w, const ry_gpu_product *product,
                            const ry_prepared *prepared)
{
    const int64_t channels =
        product->channels ? ry_gpu_tile_channels(product, prepared) : w->channels;
    return ry_gpu_tile_whole_terms(product, prepared, channels * w->window);
}

/* Behind quads of weights lies a chunk of what is outside x, then come the starts of sums. */
enum { OUTSIDE_QUADS = CHUNK / 4 };

/* Packed elements of weights alone. */
static int64_t weights_of(const ry_gpu_window *w, const ry_gpu_product *product,
                          const ry_prepared *prepared)
{
    return w->groups * packed_terms(w, product, prepared) * ry_gpu_tile_pitch(product, prepared);
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_gpu_product product = product_of(query);
    const ry_gpu_window w = window_of(query);
    RY_TRY(ry_gpu_tile_prepare(query, &product, prepared, error));
    const int64_t packed =
        weights_of(&w, &product, prepared) +
        (product.operands >= RY_GPU_QUADS ? OUTSIDE_QUADS + w.groups * w.rows : 0);
    ry_gpu_tile_pack(query, &product, packed, prepared);
    return RYND_OK;
}

static void define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    const ry_gpu_product product = product_of(query);
    const ry_gpu_window w = window_of(query);
    ry_gpu_define(text, "CONVOLUTION", 1);
    ry_gpu_window_define(query->problem, &w, text);
    ry_gpu_define(text, "BATCHES", w.groups);
    ry_gpu_define(text, "X_FLOATS", (ry_dtype)query->problem->in[0].dtype == RY_f32);
    ry_gpu_tile_define(&product, prepared, text);
    if (query->problem->op == RY_OP_qconv) {
        ry_gpu_qconv_define(query->problem, &w, text);
        ry_gpu_define(text, "OUTSIDE_QUADS", OUTSIDE_QUADS);
        ry_gpu_define(text, "STARTS", weights_of(&w, &product, prepared) + OUTSIDE_QUADS);
    } else {
        ry_gpu_operands_define_load(query, "X", 0, text);
        ry_gpu_operands_define_load(query, "W", 1, text);
    }
    ry_gpu_define(text, "PACK_ITEMS", prepared->pack_group);
    const int64_t terms = packed_terms(&w, &product, prepared);
    ry_gpu_tile_define_packed(&product, prepared, terms, w.x_along_channels, text);
    ry_gpu_define(text, "W_ALONG_K", 0);
    ry_gpu_define(text, "X_ALONG_K", w.x_along_channels);
    ry_gpu_define(text, "Y_ALONG_M", w.y_along_channels);
    ry_gpu_define(text, "FOURS_X", has_fours(query->problem, &w));
    ry_gpu_define(text, "TAPS_FIRST",
                  !w.x_along_channels && !ry_gpu_tile_is_stepped(&product, prepared));
    ry_gpu_define(text, "X_CHUNKS", w.x_along_channels || has_chunks(query->problem, &w));
    ry_gpu_define(text, "IMAGES_FIRST", 0);
    ry_gpu_define(text, "SUMS_OF_W", 0);
    ry_gpu_define(text, "PACKED_BLOCKS", terms / ry_gpu_tile_terms(&product, prepared));
    const ry_gpu_tile tile = ry_gpu_tile_fitted(&product, prepared);
    if (query->problem->op == RY_OP_qconv) {
        ry_text_add(text, "#define RUN 1\n#define RUN_ALONG_M 0\n");
    } else {
        ry_gpu_ends_define_window(query->problem, &w, &product, &tile, false, text);
    }
    ry_gpu_tile_add_text(&product, prepared, text);
}

static void packing(const ry_prepared *prepared, ry_text *key)
{
    const ry_query query = {prepared->kernel, prepared->problem, NULL, &prepared->form};
    const ry_gpu_product product = product_of(&query);
    const ry_gpu_window w = window_of(&query);
    ry_gpu_tile_packing(&product, prepared, &w, key);
}

static const char *const entries[] = {"pack", "run", "join"};

static const ry_gpu_kernel igemm = {ry_gpu_text_join, entries, 3, define};

static bool takes_halves(const ry_problem *problem)
{
    return ry_gpu_window_takes(problem) && ry_gpu_operands_are_halves(problem);
}

static bool takes_others(const ry_problem *problem)
{
    return ry_gpu_window_takes(problem) && !ry_gpu_operands_are_halves(problem);
}

static bool takes_three(const ry_problem *problem)
{
    if (!takes_others(problem)) {
        return false;
    }
    const ry_gpu_window w = ry_gpu_window_of(problem);
    return copied_bytes(problem, RY_GPU_THREE_TF32, &w) > 0;
}

static bool takes_bytes(const ry_problem *problem)
{
    return problem->op == RY_OP_qconv && ry_gpu_window_takes(problem);
}

#define ROW(symbol, operator, class, takes, units, ...)                                   \
    RY_GPU_KERNEL(symbol, operator, class, .knobs = ry_gpu_tile_knobs,                    \
                  .knob_count = RY_GPU_TILE_KNOBS, .applicable = takes, .values = values, \
                  .prepare = prepare, .matrix_units = units, .gpu = &igemm,               \
                  .packed_inputs = 1u << 1, .packing = packing, __VA_ARGS__)

ROW(conv_fwd_f32_igemm_gpu, conv, strict, ry_gpu_window_takes, false,
    .runs_on = ry_gpu_tile_runs_floats);
ROW(conv_fwd_half_units_gpu, conv, near32, takes_halves, true, .runs_on = ry_gpu_tile_runs_units);
ROW(conv_fwd_f32_units_gpu, conv, near32, takes_three, true, .runs_on = ry_gpu_tile_runs_three);
ROW(conv_fwd_tf32_units_gpu, conv, tf32, takes_others, true, .runs_on = ry_gpu_tile_runs_units);
ROW(conv_fwd_bf16_units_gpu, conv, bf16, takes_others, true, .runs_on = ry_gpu_tile_runs_units);
ROW(convt_fwd_f32_igemm_gpu, convt, strict, ry_gpu_window_takes, false,
    .runs_on = ry_gpu_tile_runs_floats);
ROW(convt_fwd_half_units_gpu, convt, near32, takes_halves, true, .runs_on = ry_gpu_tile_runs_units);
ROW(convt_fwd_f32_units_gpu, convt, near32, takes_three, true, .runs_on = ry_gpu_tile_runs_three);
ROW(convt_fwd_tf32_units_gpu, convt, tf32, takes_others, true, .runs_on = ry_gpu_tile_runs_units);
ROW(convt_fwd_bf16_units_gpu, convt, bf16, takes_others, true, .runs_on = ry_gpu_tile_runs_units);
ROW(qconv_igemm_gpu, qconv, strict, takes_bytes, false, .runs_on = ry_gpu_tile_runs_quads,
    .simd.lane = RY_LANE_SIGNED_QUAD);
ROW(qconv_panels_gpu, qconv, strict, takes_bytes, false, .runs_on = ry_gpu_tile_runs_bytes);
ROW(qconv_units_gpu, qconv, strict, takes_bytes, true, .runs_on = ry_gpu_tile_runs_units);
