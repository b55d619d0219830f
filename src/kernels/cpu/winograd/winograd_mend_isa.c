/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs that Winograd's form cannot give, written over those that it gave. */
#include "kernels/cpu/winograd/winograd_mend.h"

#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/conv/activation.h"
#include "kernels/cpu/winograd/winograd.h"

#include <math.h>

/* Are all products of a tile finite? */
static bool is_finite(const winograd_plan *plan, const float *m, int64_t columns)
{
    ry_vf zero = ry_vf_zero();
    for (int64_t p = 0; p < plan->points; p++) {
        for (int64_t k = 0; k < columns; k += RY_W) {
            zero = ry_vf_fma(ry_vf_zero(), ry_vf_load(m + p * plan->m_point + k), zero);
        }
    }
    return ry_vf_sum(zero) == 0;
}

/* finite: all products of the block are. */
static bool find_direct(const winograd_plan *plan, const winograd_unit *unit, bool finite)
{
    uint64_t any = 0;
    for (int64_t i = 0; i < unit->count; i++) {
        winograd_outputs *outputs = unit->outputs + i * plan->phases;
        const bool holds = finite || is_finite(plan, unit->m + i * plan->m_row, unit->columns);
        outputs->terms = !holds;
        outputs->direct = holds ? outputs->infinite : outputs->inside & ~outputs->nan;
        any |= outputs->direct;
    }
    return any != 0;
}

/* One tile of a run: where its outputs go. */
typedef struct place {
    int64_t y[WINOGRAD_OUTPUTS_MOST * WINOGRAD_OUTPUTS_MOST],
        r[WINOGRAD_OUTPUTS_MOST * WINOGRAD_OUTPUTS_MOST];  /* of each output in y and in the residual, of the unit's first channel */
    int at[WINOGRAD_OUTPUTS_MOST * WINOGRAD_OUTPUTS_MOST]; /* its number */
    int count;
} place;

static void find_places(const winograd_plan *plan, const winograd_unit *unit, const winograd_run *run, int64_t index, uint64_t outputs,
                        place *to)
{
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const winograd_tile *row = winograd_tiles(plan, 0) + run->row, *tile = winograd_tiles(plan, 1) + run->column + index;
    to->count = 0;
    for (int o = 0; o < h->outputs * w->outputs; o++) {
        if (!(outputs >> o & 1)) {
            continue;
        }
        const int64_t i = row->origin + o / w->outputs * h->dilation, j = tile->origin + o % w->outputs * w->dilation;
        const int64_t at[RY_SPACE] = {run->depth, i * h->spread + unit->phase[0] - h->lead, j * w->spread + unit->phase[1] - w->lead};
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
static void finish(const winograd_plan *plan, const winograd_unit *unit, const winograd_epilogue *end, int64_t r, bool nan, float *sums)
{
    for (int64_t k = 0; nan && k < unit->channels; k++) {
        sums[k] = NAN;
    }
    if (nan) {
        return;
    }
    for (int64_t k = 0; k < unit->channels; k++) {
        const int64_t column = unit->channel + k;
        const bool added = end->residual && winograd_columns_beside(plan, column, 1) == 1;
        sums[k] += end->bias[k] + (added ? end->residual[r + winograd_column_r(plan, column)] : 0);
    }
    RY_ISA_SYMBOL(ry_activate)(end->activation, sums, unit->channels);
}

static void write_tile(const winograd_plan *plan, const winograd_unit *unit, const winograd_run *run, int64_t index,
                       const winograd_outputs *outputs, const winograd_epilogue *end, float *m)
{
    place to;
    find_places(plan, unit, run, index, outputs->direct | outputs->nan, &to);
    for (int i = 0; i < to.count; i++) {
        finish(plan, unit, end, to.r[i], outputs->nan >> to.at[i] & 1, m + to.at[i] * plan->m_point);
    }
    /* what lies next to each other in y is written one after the other */
    for (int i = 0; plan->y_near && !plan->fold.channels && i < to.count; i++) {
        memcpy(end->y + to.y[i] + unit->channel, m + to.at[i] * plan->m_point, (size_t)unit->channels * sizeof *m);
    }
    for (int64_t k = 0; (!plan->y_near || plan->fold.channels) && k < unit->channels; k++) {
        const int64_t column = unit->channel + k;
        for (int i = 0; i < to.count && winograd_columns_beside(plan, column, 1) == 1; i++) {
            end->y[to.y[i] + winograd_column_y(plan, column)] = m[to.at[i] * plan->m_point + k];
        }
    }
}

static int64_t mend_unit(const winograd_plan *plan, const winograd_unit *unit, bool finite, const winograd_epilogue *end, float *stage)
{
    const int64_t steps = find_direct(plan, unit, finite) ? RY_ISA_SYMBOL(winograd_sum_directly)(plan, unit, stage) : 0;
    winograd_run run;
    for (int64_t done = 0; done < unit->count; done += run.count) {
        run = winograd_find_run(plan, unit->first + done, unit->count - done, 1, INT64_MAX);
        for (int64_t i = done; i < done + run.count; i++) {
            const winograd_outputs *outputs = unit->outputs + i * plan->phases;
            if (outputs->direct | outputs->nan) {
                write_tile(plan, unit, &run, i - done, outputs, end, unit->m + i * plan->m_row);
            }
        }
    }
    return steps;
}

int64_t RY_ISA_SYMBOL(winograd_mend)(const winograd_plan *plan, const float *x, const float *w, float *m, const winograd_block *block,
                                     const winograd_epilogue *end, float *stage, winograd_outputs *outputs)
{
    const ry_conv_geometry *g = &plan->geometry;
    int64_t steps = 0;
    RY_ISA_SYMBOL(winograd_find_outputs)(plan, x, block->first, block->count, stage, outputs);
    for (int64_t i = 0; i < block->units * plan->phases; i++) {
        const int64_t phase = i % plan->phases, wide = plan->axis[1].spread, at = i / plan->phases, k = at * plan->tile_columns;
        const int64_t channel = (block->unit + at) * plan->tile_columns, left = g->channels_out - channel;
        const winograd_unit unit = {.first = block->first,
                                    .count = block->count,
                                    .phase = {phase / wide, phase % wide},
                                    .channel = channel,
                                    .columns = winograd_unit_columns(plan, block->unit + at),
                                    .channels = left < plan->tile_columns ? left : plan->tile_columns,
                                    .x = x,
                                    .w = w,
                                    .m = m + phase * plan->m_phase + k,
                                    .outputs = outputs + phase};
        winograd_epilogue of = *end;
        of.bias += phase * end->bias_phase + k;
        steps += mend_unit(plan, &unit, block->finite, &of, stage);
    }
    return steps;
}
