/* SPDX-License-Identifier: Apache-2.0 */
/* The way of an oc block's finished sums from scratch to y. */
#include "base/integer.h"
#include "kernels/cpu/igemm/igemm_task.h"
#include "kernels/cpu/parts/grid_walk.h"

/* The pixels from grid position q of image n on. */
static epilogue_run run_at(const igemm_task *t, int64_t n, const int64_t q[RY_SPACE],
                           int64_t column, int64_t length)
{
    const ry_conv_geometry *g = &t->plan->geometry;
    const igemm_phase *p = t->phase;
    const int64_t interleave = t->plan->interleave, last = RY_SPACE - 1;
    epilogue_run run = {.column = column * interleave,
                        .length = ry_min(length, p->where.inside[last] - q[last]),
                        .y = p->where.at.y_offset + n * g->y_batch,
                        .y_step = p->where.at.y_step[last],
                        .r = p->where.at.r_offset + n * g->r_batch,
                        .r_step = p->where.at.r_step[last]};
    for (int i = 0; i < RY_SPACE; i++) {
        run.y += q[i] * p->where.at.y_step[i];
        run.r += q[i] * p->where.at.r_step[i];
        if (q[i] >= p->where.inside[i]) {
            run.length = 0;
        }
    }
    if (interleave > 1 && run.length > 0) {
        /* y's pixels are next to each other */
        run.length = ry_min(length * interleave, g->out[last] - q[last] * run.y_step);
        run.r_step /= run.y_step;
        run.y_step = 1;
    }
    return run;
}

/* Does a run follow another where both are in y and in the residual? */
static bool goes_on(const igemm_task *t, const epilogue_run *run, const epilogue_run *next)
{
    const bool has_residual = ry_problem_has_input(t->launch->problem, 3);
    return t->plan->interleave == 1 && !t->phase->where.by_rows &&
           run->column + run->length == next->column &&
           run->y + run->length * run->y_step == next->y &&
           (!has_residual || run->r + run->length * run->r_step == next->r);
}

void RY_ISA_SYMBOL(igemm_find_runs)(igemm_task *t)
{
    const int64_t *grid = t->phase->where.at.grid;
    ry_grid_walk at =
        ry_grid_walk_at(&t->phase->where.at, t->image, t->first, t->phase->where.alternating);
    t->runs = 0;
    for (int64_t column = 0; column < t->count;) {
        const int64_t length = ry_min(grid[2] - at.q[2], t->count - column);
        const epilogue_run run = run_at(t, at.n, at.q, column, length);
        if (run.length > 0 && t->runs > 0 && goes_on(t, &t->run[t->runs - 1], &run)) {
            t->run[t->runs - 1].length += run.length;
        } else if (run.length > 0) {
            t->run[t->runs++] = run;
        }
        column += length;
        ry_grid_walk_on(&at, grid, length);
    }
}

/* Pixels are the rows of the block: each is one run of channels. */
static void finish_pixels(const igemm_task *t, const epilogue *f, int64_t channels, int64_t y_size,
                          int64_t r_size)
{
    epilogue_run run = {0, channels, 0, 1, 0, t->plan->geometry.r_channel};
    for (int64_t r = 0; r < t->runs; r++) {
        const epilogue_run pixels = t->run[r];
        epilogue part = *f;
        part.rows = pixels.length;
        part.columns = channels;
        part.block = f->block + pixels.column * f->block_step;
        part.run = &run;
        part.runs = 1;
        part.y = (char *)f->y + pixels.y * y_size;
        part.y_row = pixels.y_step;
        part.residual = f->residual ? (const char *)f->residual + pixels.r * r_size : NULL;
        part.r_row = pixels.r_step;
        RY_ISA_SYMBOL(epilogue_rows)(&part);
    }
}

/* Pixels are the rows of the block, and are next to each other in y. */
static void epilogue_transposed(const igemm_task *t, int64_t first, int64_t channels)
{
    const ry_conv_geometry *g = &t->plan->geometry;
    const igemm_phase *p = t->phase;
    const int64_t channel = t->group * g->channels_out + first;
    transposed_epilogue transposed = {.pixels = t->count,
                                      .channels = channels,
                                      .block = t->block + (first - t->block_channel),
                                      .block_step = t->block_step,
                                      .y = (float *)t->launch->out[0] + p->where.at.y_offset +
                                           t->image * g->y_batch + t->first +
                                           channel * g->y_channel,
                                      .y_row = g->y_channel,
                                      .r_row = g->r_channel,
                                      .low = t->low,
                                      .high = t->high};
    if (ry_problem_has_input(t->launch->problem, 3)) {
        transposed.residual = (const float *)t->launch->in[3] + p->where.at.r_offset +
                              t->image * g->r_batch + t->first + channel * g->r_channel;
    }
    RY_ISA_SYMBOL(epilogue_transposed)(&transposed);
}

void RY_ISA_SYMBOL(igemm_epilogue_oc_block)(const igemm_task *t, int64_t oc_block)
{
    if (t->phase->where.transposed) {
        epilogue_transposed(t, igemm_oc_block_first(t->plan, oc_block),
                            igemm_oc_block_count(t->plan, oc_block));
        return;
    }
    const igemm_plan *plan = t->plan;
    const ry_problem *problem = t->launch->problem;
    const ry_conv_geometry *g = &plan->geometry;
    const bool has_residual = ry_problem_has_input(problem, 3);
    const int64_t first = igemm_oc_block_first(plan, oc_block),
                  channels = igemm_oc_block_count(plan, oc_block);
    const int64_t channel = t->group * g->channels_out + first, row = first - t->block_channel;
    const int64_t y_size = (int64_t)ry_dtype_size(ry_type_of(&problem->out[0]));
    const int64_t r_size = has_residual ? (int64_t)ry_dtype_size(ry_type_of(&problem->in[3])) : 0;
    epilogue f = {
        .rows = channels,
        .columns = t->count,
        .block = t->block + row * (plan->mode == IGEMM_PIXELS ? t->block_step : 1),
        .block_step = t->block_step,
        .interleave = plan->interleave,
        .interleaved_row = t->interleaved_row,
        .run = t->run,
        .runs = t->runs,
        .y = (char *)t->launch->out[0] + channel * g->y_channel * y_size,
        .y_row = g->y_channel,
        .dtype = ry_type_of(&problem->out[0]),
        .residual =
            has_residual ? (const char *)t->launch->in[3] + channel * g->r_channel * r_size : NULL,
        .r_row = g->r_channel,
        .r_dtype = has_residual ? ry_type_of(&problem->in[3]) : RY_NONE,
        .activation = t->bounds ? (ry_activation_of){.kind = RY_activation_none} : t->activation};
    if (plan->mode != IGEMM_PIXELS && g->y_channel == 1) {
        finish_pixels(t, &f, channels, y_size, r_size);
        return;
    }
    f.interleaved_step = plan->interleave > 1 ? (t + 1)->block - t->block : 0;
    if (plan->mode != IGEMM_PIXELS) {
        f.block = t->transposed;
        f.block_step = (t->count + RY_W - 1) / RY_W * RY_W;
        f.interleaved_step = f.block_step * channels;
        for (int64_t i = 0; i < plan->interleave; i++) {
            RY_ISA_SYMBOL(transpose_block)
            (t[i].block + row, t->block_step, t->count, channels, f.block + i * f.interleaved_step,
             f.block_step);
        }
    }
    RY_ISA_SYMBOL(epilogue_rows)(&f);
}
