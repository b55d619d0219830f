/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts blocks of tiles into runs along a row. */
#include "kernels/cpu/winograd/winograd_run.h"

winograd_run ry_winograd_find_run(const winograd_plan *plan, int64_t first, int64_t max,
                                  int64_t read_span, int64_t span)
{
    const int64_t columns = plan->axis[1].tiles, rows = plan->axis[0].tiles;
    const winograd_tile *tile = winograd_tiles(plan, 1);
    winograd_run run = {.column = first % columns, .row = first / columns % rows};
    const int64_t volume = first / columns / rows;
    run.depth = volume % plan->geometry.out[0];
    run.image = volume / plan->geometry.out[0];
    const int64_t left = columns - run.column, start = tile[run.column].origin,
                  interleave = plan->axis[1].interleave;
    const int64_t step = plan->axis[1].outputs * plan->axis[1].dilation;
    run.count = interleave;
    /* where a phase of a dilated axis ends, the next origin is another one */
    for (int64_t from_memory = step;
         run.count + interleave <= left && run.count + interleave <= max &&
         tile[run.column + run.count].origin == start + from_memory &&
         from_memory + read_span <= span;
         from_memory += step) {
        run.count += interleave;
    }
    return run;
}

void ry_winograd_place_run(const winograd_plan *plan, const winograd_run *run, int64_t *y,
                           int64_t *r)
{
    const ry_conv_geometry *g = &plan->geometry;
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const int64_t q[RY_SPACE] = {
        run->depth, winograd_tiles(plan, 0)[run->row].origin * h->output_stride - h->output_offset,
        winograd_tiles(plan, 1)[run->column].origin * w->output_stride - w->output_offset};
    *y = run->image * g->y_batch;
    *r = run->image * g->r_batch;
    for (int i = 0; i < RY_SPACE; i++) {
        *y += q[i] * plan->steps.y_step[i];
        *r += q[i] * plan->steps.r_step[i];
    }
}
