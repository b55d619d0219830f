/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: separable convolution with channels side by side in memory (separable_plan.h). */
#include "base/integer.h"
#include "base/room.h"
#include "kernels/cpu/depthwise/depthwise_nhwc.h"
#include "kernels/cpu/parts/activation.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/parts/pack_rows.h"
#include "kernels/cpu/parts/tile.h"
#include "kernels/cpu/separable/separable_plan.h"

#include <string.h>

static float element(const ry_cpu_launch *launch, int input, int64_t offset)
{
    return ((const float *)launch->in[input])[offset];
}

/* The depthwise half of a launch, whose y is `block`. */
typedef struct half {
    separable_depthwise depthwise;
    void *out[1];
    ry_cpu_launch launch;
} half;

static void find_half(const separable_plan *plan, const ry_cpu_launch *launch, float *block,
                      half *h)
{
    ry_separable_depthwise_of(launch->problem, plan->m_step, &h->depthwise);
    h->out[0] = block;
    h->launch = *launch;
    h->launch.problem = &h->depthwise.problem;
    h->launch.state = &plan->depthwise;
    h->launch.out = h->out;
}

static void pack_oc_block(const separable_plan *plan, const ry_cpu_launch *launch, int64_t oc_block,
                          float *packed)
{
    const ry_tensor *w = &launch->problem->in[3];
    const int64_t first = oc_block * plan->tile_columns,
                  count = separable_oc_block_count(plan, oc_block);
    RY_ISA_SYMBOL(pack_micropanel)
    (RY_f32, (const float *)launch->in[3] + first * w->stride[0], w->stride[1], w->stride[0],
     plan->channels, count, separable_oc_block_width(plan, oc_block),
     packed + plan->pointwise + first * plan->channels);
    float *bias = packed + plan->bias + first;
    for (int64_t i = 0; i < plan->tile_columns; i++) {
        bias[i] = i < count && ry_problem_has_input(launch->problem, 4)
                      ? element(launch, 4, (first + i) * launch->problem->in[4].stride[0])
                      : 0.0f;
    }
}

static void pack(const ry_cpu_launch *launch, size_t task)
{
    const separable_plan *plan = launch->state;
    const int64_t oc_block = (int64_t)task - plan->depthwise.depth - 1;
    if (oc_block < 0) {
        half h;
        find_half(plan, launch, NULL, &h);
        RY_ISA_SYMBOL(depthwise_nhwc_pack)(&h.launch, task);
    } else {
        pack_oc_block(plan, launch, oc_block, launch->packed_out);
    }
}

/* An activation as bounds, and whether that is all of it. */
typedef struct end {
    ry_activation_of activation;
    bool bounds;
    float low, high;
} end;

static end end_of(ry_activation kind, double alpha, double beta)
{
    end e = {.activation = {kind, (float)alpha, (float)beta},
             .low = -__builtin_inff(),
             .high = __builtin_inff()};
    e.bounds = ry_activation_bounds(e.activation, &e.low, &e.high);
    if (!e.bounds) {
        e.low = -__builtin_inff();
        e.high = __builtin_inff();
    }
    return e;
}

/* An oc block of weights stays near while the block's pixels pass, in tiles of as even a height as
 * can be. */
static void pointwise(const separable_plan *plan, const ry_cpu_launch *launch, const float *block,
                      int64_t oc_block, int64_t pixels, float *y, const float *residual)
{
    const ry_separable_conv_attrs *a = &launch->problem->attrs.separable_conv;
    const end e = end_of(a->activation, a->act_alpha, a->act_beta);
    const int64_t first = oc_block * plan->tile_columns,
                  columns = separable_oc_block_count(plan, oc_block),
                  width = separable_oc_block_width(plan, oc_block);
    const int64_t parts = (pixels + plan->tile_rows - 1) / plan->tile_rows, each = pixels / parts,
                  extra = pixels % parts;
    const float *packed = launch->packed;
    for (int64_t i = 0, at = 0; i < parts; i++) {
        const int64_t rows = each + (i < extra);
        const ry_tile tile = {.depth = plan->channels,
                              .a = block + at * plan->m_step,
                              .b = packed + plan->pointwise + first * plan->channels,
                              .a_step = plan->m_step,
                              .b_step = width,
                              .c = y + at * plan->y_pixel + first,
                              .c_step = plan->y_pixel,
                              .columns = columns,
                              .bias = packed + plan->bias + first,
                              .residual = residual ? residual + at * plan->r_pixel + first : NULL,
                              .residual_step = plan->r_pixel,
                              .low = e.low,
                              .high = e.high,
                              .start = RY_TILE_FROM_COLUMN_BIAS};
        RY_ISA_SYMBOL(tiles).f32[true][width / RY_W - 1][rows - 1](&tile);
        if (!e.bounds) {
            RY_ISA_SYMBOL(activate_rows)(e.activation, tile.c, plan->y_pixel, rows, columns);
        }
        at += rows;
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const separable_plan *plan = launch->state;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->tasks, task, range);
    const int64_t image = range[0].first, first = range[1].first, behind = first + range[1].count,
                  row = plan->columns_out * plan->m_step;
    char *scratch = launch->scratch;
    float *block = RY_AT(float, scratch, plan->block),
          *y = (float *)launch->out[0] + image * plan->y_batch;
    const float *residual = ry_problem_has_input(launch->problem, 5)
                                ? (const float *)launch->in[5] + image * plan->r_batch
                                : NULL;
    half h;
    find_half(plan, launch, block, &h);
    for (int64_t at = first; at < behind; at += plan->rows) {
        const int64_t rows = ry_min(plan->rows, behind - at), pixel = at * plan->columns_out;
        /* the strip's first row is the block's */
        h.out[0] = (void *)((uintptr_t)block - (uintptr_t)(at * row) * sizeof(float));
        RY_ISA_SYMBOL(depthwise_nhwc_lines)(&h.launch, image, at, at + rows, scratch);
        for (int64_t oc_block = 0; oc_block < plan->oc_blocks; oc_block++) {
            pointwise(plan, launch, block, oc_block, rows * plan->columns_out,
                      y + pixel * plan->y_pixel,
                      residual ? residual + pixel * plan->r_pixel : NULL);
        }
    }
}

RY_CPU_KERNEL(separable_conv_f32, separable_conv, strict, .simd = RY_SIMD,
              .applicable = RY_ISA_JOIN(ry_separable_takes_, RY_W), .knobs = ry_separable_knobs,
              .knob_count = SEPARABLE_KNOBS, .values = ry_separable_values,
              .prepare = ry_separable_prepare, .initialise = ry_separable_initialise, .pack = pack,
              .run = run, .packed_inputs = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4,
              .packing = ry_separable_packing);
