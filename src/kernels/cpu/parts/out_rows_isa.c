/* SPDX-License-Identifier: Apache-2.0 */
/* The start and the end of rows of sums (out_rows.h). */
#include "kernels/cpu/parts/out_rows.h"

#include "base/integer.h"

#include <string.h>

void RY_ISA_SYMBOL(out_rows_read_bias)(const out_rows *rows, const ry_conv_phase *phase,
                                       int64_t index)
{
    const ry_problem *problem = rows->launch->problem;
    const int64_t channels = rows->geometry->channels_out;
    float *to = rows->bias + index * channels;
    const ry_tensor *bias = &problem->in[2];
    const bool has = ry_problem_has_input(problem, 2),
               near = has && ry_type_of(bias) == RY_f32 && bias->stride[0] == 1;
    const int64_t first = phase->bias_offset + rows->group * channels * (has ? bias->stride[0] : 0);
    if (near) {
        memcpy(to, (const float *)rows->launch->in[2] + first, (size_t)channels * sizeof *to);
        return;
    }
    for (int64_t i = 0; i < channels; i++) {
        to[i] = has ? (float)ry_get_f64(ry_type_of(bias), rows->launch->in[2],
                                        first + i * bias->stride[0])
                    : 0;
    }
}

/* The rows of a phase (interleaved: of those that share rows of y with it) in y; returns their
 * number. */
static int64_t find_runs(const out_rows *rows, const ry_conv_phase *p)
{
    const ry_conv_geometry *g = rows->geometry;
    int64_t runs = 0;
    for (int64_t n = 0; n < rows->images; n++) {
        for (int64_t i = 0;
             rows->slice < p->grid[0] && i < rows->rows && rows->row + i < p->grid[1]; i++) {
            epilogue_run run = {
                .column = (n * rows->image_rows + i) * rows->pitch * rows->interleave,
                .length = ry_min(rows->length, p->grid[2] - rows->column),
                .y = p->y_offset + (rows->image + n) * g->y_batch + rows->slice * p->y_step[0] +
                     (rows->row + i) * p->y_step[1] + rows->column * p->y_step[2],
                .y_step = p->y_step[2],
                .r = p->r_offset + (rows->image + n) * g->r_batch + rows->slice * p->r_step[0] +
                     (rows->row + i) * p->r_step[1] + rows->column * p->r_step[2],
                .r_step = p->r_step[2]};
            if (rows->interleave > 1) {
                run.length = g->out[2];
                run.r_step /= run.y_step;
                run.y_step = 1;
            }
            rows->run[runs++] = run;
        }
    }
    return runs;
}

/* The channels of each position become neighbours in one row. */
static void put_adjacent(const out_rows *rows, epilogue *f)
{
    f->interleave = f->rows;
    f->interleaved_step = f->block_step;
    f->rows = 1;
    for (int64_t i = 0; i < f->runs; i++) {
        epilogue_run *run = &rows->run[i];
        run->column *= f->interleave;
        run->length *= f->interleave;
        run->y_step = run->r_step = 1;
    }
}

void RY_ISA_SYMBOL(out_rows_epilogue)(const out_rows *rows, const ry_conv_phase *phase,
                                      int64_t index)
{
    const ry_conv_geometry *g = rows->geometry;
    const ry_problem *problem = rows->launch->problem;
    const bool has_residual = ry_problem_has_input(problem, 3);
    const int64_t channel = rows->group * g->channels_out;
    const int64_t y_size = (int64_t)ry_dtype_size(ry_type_of(&problem->out[0]));
    const int64_t r_size = has_residual ? (int64_t)ry_dtype_size(ry_type_of(&problem->in[3])) : 0;
    epilogue f = {.rows = g->channels_out,
                  .columns = rows->columns,
                  .block = rows->sums + index * g->channels_out * rows->positions,
                  .block_step = rows->positions,
                  .interleave = rows->interleave,
                  .interleaved_step = g->channels_out * rows->positions,
                  .interleaved_row = rows->interleaved_row,
                  .run = rows->run,
                  .runs = find_runs(rows, phase),
                  .y = (char *)rows->launch->out[0] + channel * g->y_channel * y_size,
                  .y_row = g->y_channel,
                  .dtype = ry_type_of(&problem->out[0]),
                  .residual = has_residual ? (const char *)rows->launch->in[3] +
                                                 channel * g->r_channel * r_size
                                           : NULL,
                  .r_row = g->r_channel,
                  .r_dtype = has_residual ? ry_type_of(&problem->in[3]) : RY_NONE,
                  .activation = ry_conv_activation(problem)};
    if (rows->adjacent) {
        put_adjacent(rows, &f);
    }
    RY_ISA_SYMBOL(epilogue_rows)(&f);
}
