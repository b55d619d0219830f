/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions, forward and transposed, as products whose second matrix is gathered (igemm.cl). */
#include "base/integer.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_texts.h"
#include "kernels/gpu/gpu_tile.h"
#include "kernels/gpu/gpu_window.h"

enum { PACK_ITEMS = 128 };

static ry_gpu_product product_of(const ry_problem *problem)
{
    const ry_gpu_window w = ry_gpu_window_of(problem);
    return (ry_gpu_product){.batches = w.groups * w.phases,
                            .rows = w.rows,
                            .columns = w.columns,
                            .terms = ry_max(w.terms, 1),
                            .window = w.window > 1};
}

/* Of a group and a term. */
static int64_t pitch_of(const ry_problem *problem, const ry_prepared *prepared)
{
    return ry_round_up(ry_gpu_window_of(problem).rows, ry_gpu_tile_of(prepared).m);
}

/* Rows beside each other in packed weights: as igemm.cl multiplies them. */
static int64_t panel_of(const ry_problem *problem, const ry_prepared *prepared)
{
    const ry_gpu_tile tile = ry_gpu_tile_of(prepared);
    return !ry_gpu_tile_is_panel(&tile)                 ? pitch_of(problem, prepared)
           : ry_gpu_window_of(problem).x_along_channels ? RY_GPU_ALONG
                                                        : RY_GPU_ACROSS;
}

static void values(const ry_query *query, int knob, ry_knob_values *values)
{
    const ry_gpu_product product = product_of(query->problem);
    ry_gpu_tile_values(query, &product, knob, values);
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_gpu_product product = product_of(query->problem);
    const ry_gpu_window w = ry_gpu_window_of(query->problem);
    RY_TRY(ry_gpu_tile_prepare(query, &product, prepared, error));
    const int64_t packed = w.groups * w.channels * w.window * pitch_of(query->problem, prepared);
    prepared->packed = (size_t)packed * sizeof(float);
    prepared->pack_tasks = (size_t)ry_ceil_div(packed, PACK_ITEMS);
    prepared->pack_group = PACK_ITEMS;
    return RYND_OK;
}

static void define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    const ry_gpu_product product = product_of(query->problem);
    const ry_gpu_window w = ry_gpu_window_of(query->problem);
    ry_gpu_define(text, "CONVOLUTION", 1);
    ry_gpu_window_define(query->problem, text);
    ry_gpu_define(text, "X_FLOATS", (ry_dtype)query->problem->in[0].dtype == RY_f32);
    ry_gpu_tile_define(&product, prepared, text);
    ry_gpu_define(text, "PACK_ITEMS", PACK_ITEMS);
    ry_gpu_define(text, "PACKED_PITCH", pitch_of(query->problem, prepared));
    ry_gpu_define(text, "PANEL", panel_of(query->problem, prepared));
    ry_gpu_define(text, "W_ALONG_K", 0);
    ry_gpu_define(text, "X_ALONG_K", w.x_along_channels);
    ry_gpu_define(text, "Y_ALONG_M", w.y_along_channels);
    ry_gpu_define(text, "TAPS_FIRST", !w.x_along_channels);
}

static const char *const entries[] = {"pack", "run", "join"};

static const ry_gpu_kernel igemm = {ry_gpu_text_igemm, entries, 3, define};

#define ROW(symbol, operator)                                                         \
    RY_GPU_KERNEL(symbol, operator, strict, .knobs = ry_gpu_tile_knobs,               \
                  .knob_count = RY_GPU_TILE_KNOBS, .applicable = ry_gpu_window_takes, \
                  .values = values, .prepare = prepare, .gpu = &igemm, .packed_inputs = 1u << 1)

ROW(conv_fwd_f32_igemm_gpu, conv);
ROW(convt_fwd_f32_igemm_gpu, convt);
