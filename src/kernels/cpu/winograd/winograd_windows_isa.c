/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the outputs whose windows hold a NaN or an infinity. */
#include "base/integer.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/winograd/winograd_fixup.h"

#include <math.h>

enum { MAX_INPUTS = 2 * WINOGRAD_MAX_POINTS }; /* inputs of a tile along an axis */

/* Positions of x that a run reads: sums[row][position] of squares over channels and depth taps,
 * which are NaN where one of them is, and else infinite where one is. All are scaled, so that the
 * squares of finite numbers are finite. */
typedef struct field {
    const winograd_plan *plan;
    winograd_run run;
    int64_t left, span;
    float *sums;
} field;

static ry_vf add_square(ry_vf x, ry_vf sum)
{
    const ry_vf small = ry_vf_mul(x, ry_vf_set(0x1p-100f));
    return ry_vf_fma(small, small, sum);
}

/* The field's positions of a row of x, those inside. */
static void add_row(const field *f, const float *row, float *sums)
{
    const ry_conv_geometry *g = &f->plan->geometry;
    const int64_t first = ry_max(-f->left, 0), end = ry_min(g->in[2] - f->left, f->span);
    if (g->x_channel == 1) {
        for (int64_t p = first; p < end; p++) {
            const float *x = row + (f->left + p) * g->x_step[2];
            ry_vf sum = ry_vf_zero();
            for (int64_t k = 0; k < g->channels_in; k += RY_W) {
                sum = add_square(ry_vf_load_m(x + k, ry_vm_first(g->channels_in - k)), sum);
            }
            sums[p] += ry_vf_sum(sum);
        }
        return;
    }
    for (int64_t p = first; p < end; p += RY_W) {
        const ry_vm lanes = ry_vm_first(end - p);
        const float *x = row + f->left + p;
        ry_vf sum = ry_vf_load_m(sums + p, lanes);
        for (int64_t k = 0; k < g->channels_in; k++) {
            sum = add_square(ry_vf_load_m(x + k * g->x_channel, lanes), sum);
        }
        ry_vf_store_m(sums + p, lanes, sum);
    }
}

/* x: of the image. */
static void fill_field(const field *f, const float *x)
{
    const ry_conv_geometry *g = &f->plan->geometry;
    const winograd_axis *h = &f->plan->axis[0];
    const int64_t rows = h->points * h->classes,
                  top = winograd_tiles(f->plan, 0)[f->run.row].origin * h->stride - h->pad;
    memset(f->sums, 0, (size_t)(rows * f->span) * sizeof *f->sums);
    for (int64_t t = 0; t < g->kernel[0]; t++) {
        const int64_t depth = f->run.depth * g->stride[0] + t * g->dilation[0] - g->before[0];
        for (int64_t i = 0; depth >= 0 && depth < g->in[0] && i < rows; i++) {
            const int64_t row = top + winograd_position(h, i);
            if (row >= 0 && row < g->in[1]) {
                add_row(f, x + depth * g->x_step[0] + row * g->x_step[1], f->sums + i * f->span);
            }
        }
    }
}

/* One tile's inputs: sums over the windows' rows, of the outputs of row i. `column`: of the tile's
 * first input in the field. */
static void sum_rows(const field *f, winograd_range read_span, int64_t i, int64_t column,
                     float sums[MAX_INPUTS])
{
    const winograd_axis *h = &f->plan->axis[0], *w = &f->plan->axis[1];
    for (int64_t v = 0; v < w->points * w->classes; v++) {
        const float *from = f->sums + (i * h->classes + read_span.first) * f->span + column +
                            winograd_position(w, v);
        sums[v] = 0;
        for (int64_t u = read_span.first; u < read_span.end; u++, from += f->span) {
            sums[v] += *from;
        }
    }
}

static winograd_outputs look_at(const field *f, int64_t index, int64_t phase)
{
    const winograd_axis *h = &f->plan->axis[0], *w = &f->plan->axis[1];
    const winograd_tile *row = winograd_tiles(f->plan, 0) + f->run.row,
                        *tile = winograd_tiles(f->plan, 1) + f->run.column;
    const int64_t p[2] = {phase / w->output_stride, phase % w->output_stride},
                  column = (tile[index].origin - tile[0].origin) * w->stride;
    const winograd_range read_span[2] = {winograd_tap_range(h, p[0]), winograd_tap_range(w, p[1])};
    const winograd_range down = ry_winograd_inside(f->plan, 0, row, p[0]),
                         along = ry_winograd_inside(f->plan, 1, tile + index, p[1]);
    winograd_outputs outputs = {0};
    for (int64_t i = down.first; i < down.end; i++) {
        float sums[MAX_INPUTS];
        sum_rows(f, read_span[0], i, column, sums);
        for (int64_t j = along.first; j < along.end; j++) {
            const uint64_t bit = UINT64_C(1) << (i * w->outputs + j);
            float sum = 0;
            for (int64_t v = read_span[1].first; v < read_span[1].end; v++) {
                sum += sums[j * w->classes + v];
            }
            outputs.inside |= bit;
            outputs.nan |= isnan(sum) ? bit : 0;
            outputs.infinite |= isinf(sum) ? bit : 0;
        }
    }
    return outputs;
}

void RY_ISA_SYMBOL(winograd_find_outputs)(const winograd_plan *plan, const float *x, int64_t first,
                                          int64_t count, float *stage, winograd_outputs *outputs)
{
    const winograd_axis *w = &plan->axis[1];
    const int64_t read_span = (w->points - 1) * w->step + w->classes;
    field f = {.plan = plan, .sums = stage};
    for (int64_t done = 0; done < count; done += f.run.count) {
        f.run = ry_winograd_find_run(plan, first + done, count - done,
                                     ry_ceil_div(read_span, w->stride) + w->interleave - 1,
                                     plan->run_span / w->stride);
        const winograd_tile *tile = winograd_tiles(plan, 1) + f.run.column;
        f.left = tile[0].origin * w->stride - w->pad;
        f.span = (tile[f.run.count - 1].origin - tile[0].origin) * w->stride + read_span;
        fill_field(&f, x + f.run.image * plan->geometry.x_batch);
        for (int64_t i = 0; i < f.run.count * plan->phases; i++) {
            outputs[done * plan->phases + i] = look_at(&f, i / plan->phases, i % plan->phases);
        }
    }
}
