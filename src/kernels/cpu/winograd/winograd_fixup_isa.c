/* SPDX-License-Identifier: Apache-2.0 */
/* Recomputes outputs that Winograd's form cannot give, and overwrites its results. */
#include "kernels/cpu/winograd/winograd_fixup.h"

#include "kernels/cpu/parts/activation.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/winograd/winograd.h"
#include "kernels/cpu/winograd/winograd_contrast.h"

#include <math.h>

/* An output is at most so many times the largest product of its tile: 2^13 with eight points on
 * both axes. */
#define LARGEST_SUM 0x1p14f

/* Are all products of a tile finite, and so small that the sums of their transform are? */
static bool is_finite(const winograd_plan *plan, const float *m, int64_t columns)
{
    ry_vf zero = ry_vf_zero();
    for (int64_t p = 0; p < plan->points; p++) {
        for (int64_t k = 0; k < columns; k += RY_W) {
            const ry_vf sums =
                ry_vf_mul(ry_vf_set(LARGEST_SUM), ry_vf_load(m + p * plan->m_point + k));
            zero = ry_vf_fma(ry_vf_zero(), sums, zero);
        }
    }
    return ry_vf_sum(zero) == 0;
}

/* finite: all products of the block are. */
static bool find_direct(const winograd_plan *plan, const winograd_oc_block *oc_block, bool finite)
{
    uint64_t any = 0;
    for (int64_t i = 0; i < oc_block->count; i++) {
        winograd_outputs *outputs = oc_block->outputs + i * plan->phases;
        const bool holds =
            finite || is_finite(plan, oc_block->m + i * plan->m_row, oc_block->columns);
        outputs->zero &= holds ? ~outputs->infinite : 0;
        outputs->uneven &= ~outputs->nan;
        outputs->terms = !holds || (outputs->uneven & ~outputs->zero) != 0;
        outputs->direct =
            holds ? outputs->infinite | outputs->uneven : outputs->inside & ~outputs->nan;
        any |= outputs->direct;
    }
    return any != 0;
}

/* Places of the outputs to fix up in one tile. */
typedef struct position {
    /* offsets in y and in the residual, at the oc block's first channel */
    int64_t y[WINOGRAD_MAX_OUTPUTS * WINOGRAD_MAX_OUTPUTS],
        r[WINOGRAD_MAX_OUTPUTS * WINOGRAD_MAX_OUTPUTS];
    int at[WINOGRAD_MAX_OUTPUTS * WINOGRAD_MAX_OUTPUTS]; /* the output's number in the tile */
    int count;
} position;

static void find_positions(const winograd_plan *plan, const winograd_oc_block *oc_block,
                           const winograd_run *run, int64_t index, uint64_t outputs, position *to)
{
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const winograd_tile *row = winograd_tiles(plan, 0) + run->row,
                        *tile = winograd_tiles(plan, 1) + run->column + index;
    to->count = 0;
    for (int o = 0; o < h->outputs * w->outputs; o++) {
        if (!(outputs >> o & 1)) {
            continue;
        }
        const int64_t i = row->origin + o / w->outputs * h->dilation,
                      j = tile->origin + o % w->outputs * w->dilation;
        const int64_t at[RY_SPACE] = {run->depth,
                                      i * h->output_stride + oc_block->phase[0] - h->output_offset,
                                      j * w->output_stride + oc_block->phase[1] - w->output_offset};
        int64_t y = run->image * plan->geometry.y_batch, r = run->image * plan->geometry.r_batch;
        for (int a = 0; a < RY_SPACE; a++) {
            y += at[a] * plan->steps.y_step[a];
            r += at[a] * plan->steps.r_step[a];
        }
        to->at[to->count] = o;
        to->y[to->count] = y;
        to->r[to->count++] = r;
    }
}

/* Bias, residual and activation; a NaN stays one. */
static void finish(const winograd_plan *plan, const winograd_oc_block *oc_block,
                   const winograd_epilogue *end, int64_t r, bool nan, float *sums)
{
    for (int64_t k = 0; nan && k < oc_block->channels; k++) {
        sums[k] = NAN;
    }
    if (nan) {
        return;
    }
    for (int64_t k = 0; k < oc_block->channels; k++) {
        const int64_t column = oc_block->channel + k;
        const bool added = end->residual && winograd_adjacent_columns(plan, column, 1) == 1;
        sums[k] += end->bias[k] + (added ? end->residual[r + winograd_column_r(plan, column)] : 0);
    }
    RY_ISA_SYMBOL(activate)(end->activation, sums, oc_block->channels);
}

static void write_tile(const winograd_plan *plan, const winograd_oc_block *oc_block,
                       const winograd_run *run, int64_t index, const winograd_outputs *outputs,
                       const winograd_epilogue *end, float *m)
{
    position to;
    find_positions(plan, oc_block, run, index, outputs->direct | outputs->nan, &to);
    for (int i = 0; i < to.count; i++) {
        finish(plan, oc_block, end, to.r[i], outputs->nan >> to.at[i] & 1,
               m + to.at[i] * plan->m_point);
    }
    /* what is next to each other in y is written one after the other */
    for (int i = 0; plan->y_channels_last && !plan->fold.channels && i < to.count; i++) {
        memcpy(end->y + to.y[i] + oc_block->channel, m + to.at[i] * plan->m_point,
               (size_t)oc_block->channels * sizeof *m);
    }
    for (int64_t k = 0; (!plan->y_channels_last || plan->fold.channels) && k < oc_block->channels;
         k++) {
        const int64_t column = oc_block->channel + k;
        for (int i = 0; i < to.count && winograd_adjacent_columns(plan, column, 1) == 1; i++) {
            end->y[to.y[i] + winograd_column_y(plan, column)] = m[to.at[i] * plan->m_point + k];
        }
    }
}

static int64_t fixup_oc_block(const winograd_plan *plan, const winograd_oc_block *oc_block,
                              bool finite, const winograd_epilogue *end, float *stage)
{
    const int64_t steps = find_direct(plan, oc_block, finite)
                              ? RY_ISA_SYMBOL(winograd_sum_directly)(plan, oc_block, stage)
                              : 0;
    winograd_run run;
    for (int64_t done = 0; done < oc_block->count; done += run.count) {
        run = ry_winograd_find_run(plan, oc_block->first + done, oc_block->count - done, 1,
                                   INT64_MAX);
        for (int64_t i = done; i < done + run.count; i++) {
            const winograd_outputs *outputs = oc_block->outputs + i * plan->phases;
            if (outputs->direct | outputs->nan) {
                write_tile(plan, oc_block, &run, i - done, outputs, end,
                           oc_block->m + i * plan->m_row);
            }
        }
    }
    return steps;
}

/* What is known of the block's outputs from x alone. */
static void find_outputs(const winograd_plan *plan, const float *x, const winograd_block *block,
                         float *stage, winograd_outputs *outputs)
{
    if (block->finite && block->x_finite) {
        memset(outputs, 0, (size_t)(block->count * plan->phases) * sizeof *outputs);
    } else {
        RY_ISA_SYMBOL(winograd_find_outputs)(plan, x, block->first, block->count, stage, outputs);
    }
    for (int64_t i = 0; i < block->count; i++) {
        if (block->uneven[i]) {
            RY_ISA_SYMBOL(winograd_find_uneven)
            (plan, x, block->first + i, outputs + i * plan->phases);
        }
    }
}

int64_t RY_ISA_SYMBOL(winograd_fixup)(const winograd_plan *plan, const float *x, const float *w,
                                      float *m, const winograd_block *block,
                                      const winograd_epilogue *end, float *stage,
                                      winograd_outputs *outputs)
{
    const ry_conv_geometry *g = &plan->geometry;
    int64_t steps = 0;
    find_outputs(plan, x, block, stage, outputs);
    for (int64_t i = 0; i < block->oc_blocks * plan->phases; i++) {
        const int64_t phase = i % plan->phases, wide = plan->axis[1].output_stride,
                      at = i / plan->phases, k = at * plan->tile_columns;
        const int64_t channel = (block->oc_block + at) * plan->tile_columns,
                      left = g->channels_out - channel;
        const winograd_oc_block oc_block = {
            .first = block->first,
            .count = block->count,
            .phase = {phase / wide, phase % wide},
            .channel = channel,
            .columns = winograd_oc_block_columns(plan, block->oc_block + at),
            .channels = left < plan->tile_columns ? left : plan->tile_columns,
            .x = x,
            .w = w,
            .m = m + phase * plan->m_phase + k,
            .outputs = outputs + phase};
        winograd_epilogue of = *end;
        of.bias += phase * end->bias_phase + k;
        steps += fixup_oc_block(plan, &oc_block, block->finite, &of, stage);
    }
    return steps;
}
