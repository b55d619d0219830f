/* SPDX-License-Identifier: Apache-2.0 */
/* y = A^T M A of blocks of tiles, with bias, residual and activation. */
#include "base/whole.h"
#include "kernels/cpu/conv/activation.h"
#include "kernels/cpu/winograd/winograd.h"
#include "kernels/cpu/winograd/winograd_transform.h"

/* Transforms along the height: from M to [output row][column]. Adds 0 times products to `zero`, which stays 0 while they are finite: an input
 * reaches the products of 0, of infinity, or of every other point, a weight those of every other point. */
typedef ry_vf (*up_function)(const float *m, int64_t m_point, int64_t columns, ry_vf zero, float *to);

RY_INLINE ry_vf up(const int points, const int outputs, const float *m, int64_t m_point, int64_t columns, ry_vf zero, float *to)
{
    for (int64_t j = 0; j < columns; j++) {
        ry_vf d[WINOGRAD_POINTS_MOST], y[WINOGRAD_POINTS_MOST];
#pragma GCC unroll 8
        for (int i = 0; i < points; i++) {
            d[i] = ry_vf_load(m + (i * columns + j) * m_point);
        }
        zero = ry_vf_fma(ry_vf_zero(), d[0], zero);
        if (points > 1) {
            zero = ry_vf_fma(ry_vf_zero(), d[1], ry_vf_fma(ry_vf_zero(), d[points - 1], zero));
        }
        winograd_output(points, outputs, d, y);
#pragma GCC unroll 8
        for (int i = 0; i < outputs; i++) {
            ry_vf_store(to + (i * columns + j) * RY_W, y[i]);
        }
    }
    return zero;
}

/* Where a tile's outputs go: y itself, or a strip. */
typedef struct target {
    float *y;
    const float *residual; /* NULL: none */
    int64_t row_step, column_step, r_row_step, r_column_step;
    winograd_range rows, columns; /* that are written */
    ry_vf bias, low, high;
    ry_vm lanes;
} target;

/* Transforms along the width: from [row][column] to the target. */
typedef void (*across_function)(const float *from, const target *to);

RY_INLINE void across(const int points, const int outputs, const float *from, const target *to)
{
    for (int64_t i = to->rows.first; i < to->rows.end; i++) {
        ry_vf d[WINOGRAD_POINTS_MOST], y[WINOGRAD_POINTS_MOST];
#pragma GCC unroll 8
        for (int j = 0; j < points; j++) {
            d[j] = ry_vf_load(from + (i * points + j) * RY_W);
        }
        winograd_output(points, outputs, d, y);
        float *row = to->y + i * to->row_step;
        const float *residual = to->residual ? to->residual + i * to->r_row_step : NULL;
#pragma GCC unroll 8
        for (int j = 0; j < outputs; j++) {
            if (j >= to->columns.first && j < to->columns.end) {
                ry_vf sum = ry_vf_add(y[j], to->bias);
                if (residual) {
                    sum = ry_vf_add(sum, ry_vf_load_m(residual + j * to->r_column_step, to->lanes));
                }
                ry_vf_store_m(row + j * to->column_step, to->lanes, ry_vf_min(to->high, ry_vf_max(to->low, sum)));
            }
        }
    }
}

#define OF_POINTS(points, outputs)                                                                                \
    static ry_vf up_##points##_##outputs(const float *m, int64_t m_point, int64_t columns, ry_vf zero, float *to) \
    {                                                                                                             \
        return up(points, outputs, m, m_point, columns, zero, to);                                                \
    }                                                                                                             \
    static void across_##points##_##outputs(const float *from, const target *to)                                  \
    {                                                                                                             \
        across(points, outputs, from, to);                                                                        \
    }

OF_POINTS(1, 1)
OF_POINTS(4, 2)
OF_POINTS(4, 3)
OF_POINTS(6, 2)
OF_POINTS(6, 3)
OF_POINTS(6, 4)
OF_POINTS(6, 5)
OF_POINTS(8, 2)
OF_POINTS(8, 3)
OF_POINTS(8, 4)
OF_POINTS(8, 5)
OF_POINTS(8, 6)

/* [points][outputs] */
static const up_function up_table[WINOGRAD_POINTS_MOST + 1][WINOGRAD_POINTS_MOST] = {
    [1] = {[1] = up_1_1},
    [4] = {[2] = up_4_2, [3] = up_4_3},
    [6] = {[2] = up_6_2, [3] = up_6_3, [4] = up_6_4, [5] = up_6_5},
    [8] = {[2] = up_8_2, [3] = up_8_3, [4] = up_8_4, [5] = up_8_5, [6] = up_8_6}};
static const across_function across_table[WINOGRAD_POINTS_MOST + 1][WINOGRAD_POINTS_MOST] = {
    [1] = {[1] = across_1_1},
    [4] = {[2] = across_4_2, [3] = across_4_3},
    [6] = {[2] = across_6_2, [3] = across_6_3, [4] = across_6_4, [5] = across_6_5},
    [8] = {[2] = across_8_2, [3] = across_8_3, [4] = across_8_4, [5] = across_8_5, [6] = across_8_6}};

typedef struct context {
    const winograd_plan *plan;
    const winograd_epilogue *end;
    winograd_run run;
    int64_t y, r;     /* of the run's first output */
    int64_t phase[2]; /* of the height, of the width */
    float *stage;
    ry_vf zero; /* while every product is finite */
} context;

static target start_target(const context *c, int64_t channel, int64_t lanes)
{
    return (target){.rows = winograd_inside(c->plan, 0, winograd_tiles(c->plan, 0) + c->run.row, c->phase[0]),
                    .bias = ry_vf_load(c->end->bias + channel),
                    .low = ry_vf_set(c->end->low),
                    .high = ry_vf_set(c->end->high),
                    .lanes = ry_vm_first(lanes)};
}

static void transform_tile(context *c, const float *m, const target *to)
{
    const winograd_plan *plan = c->plan;
    float points[WINOGRAD_POINTS_MOST * WINOGRAD_POINTS_MOST * RY_W];
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    c->zero = up_table[h->points][h->outputs](m, plan->m_point, w->points, c->zero, points);
    across_table[w->points][w->outputs](points, to);
}

/* Asks for the lines of a tile's outputs: their steps are too wide for the machine to guess. */
static void fetch_outputs(const target *to)
{
    for (int64_t i = to->rows.first; i < to->rows.end; i++) {
        for (int64_t j = to->columns.first; j < to->columns.end; j++) {
            __builtin_prefetch(to->y + i * to->row_step + j * to->column_step, 1);
        }
    }
}

/* Positions of y from output to output of a phase. */
static int64_t stride_of(const winograd_plan *plan, int axis)
{
    return plan->axis[axis].dilation * plan->axis[axis].spread;
}

/* Channels lie next to each other in y: the outputs of one phase, whose products m are. */
static void write_channels(context *c, const float *m, int64_t channels)
{
    const winograd_plan *plan = c->plan;
    const int64_t *y_step = plan->steps.y_step, *r_step = plan->steps.r_step;
    const winograd_tile *tile = winograd_tiles(plan, 1) + c->run.column;
    const int64_t down = stride_of(plan, 0), along = stride_of(plan, 1);
    for (int64_t i = 0; i < c->run.count; i++) {
        const int64_t position = (tile[i].origin - tile[0].origin) * plan->axis[1].spread + c->phase[1];
        float *y = c->end->y + c->y + c->phase[0] * y_step[1] + position * y_step[2];
        target to = {.y = y};
        for (int64_t k = 0; k < channels; k += RY_W) {
            to = start_target(c, k, channels - k);
            to.y = y + k;
            to.residual = c->end->residual ? c->end->residual + c->r + c->phase[0] * r_step[1] + position * r_step[2] + k : NULL;
            to.row_step = down * y_step[1];
            to.column_step = along * y_step[2];
            to.r_row_step = down * r_step[1];
            to.r_column_step = along * r_step[2];
            to.columns = winograd_inside(plan, 1, tile + i, c->phase[1]);
            fetch_outputs(&to);
            transform_tile(c, m + i * plan->m_row + k, &to);
        }
        for (int64_t row = to.rows.first; !c->end->bounds && row < to.rows.end; row++) {
            for (int64_t j = to.columns.first; j < to.columns.end; j++) {
                RY_ISA_SYMBOL(ry_activate)(c->end->activation, y + row * down * y_step[1] + j * along * y_step[2], channels);
            }
        }
    }
}

/* A row of one channel's outputs, which lie a step apart or want an activation that is not a bound. */
static void write_row(const context *c, float *row, int64_t positions, float *y, const float *residual)
{
    const int64_t step = c->plan->axis[1].dilation;
    for (int64_t i = 0; residual && i < positions; i++) {
        row[i] += residual[i * step];
    }
    if (c->end->bounds) {
        for (int64_t i = 0; i < positions; i++) {
            row[i] = row[i] < c->end->low ? c->end->low : row[i] > c->end->high ? c->end->high : row[i];
        }
    } else {
        RY_ISA_SYMBOL(ry_activate)(c->end->activation, row, positions);
    }
    for (int64_t i = 0; i < positions; i++) {
        y[i * step] = row[i];
    }
}

/* `positions` at most a vector of outputs of one row of the strip, `channels` of them. */
static void turn_outputs(const context *c, const float *strip, int64_t positions, int64_t channels, float *y, const float *residual)
{
    const ry_conv_geometry *g = &c->plan->geometry;
    const bool simple = c->end->bounds && c->plan->axis[1].dilation == 1;
    const ry_vf low = ry_vf_set(c->end->low), high = ry_vf_set(c->end->high);
    const ry_vm lanes = ry_vm_first(positions);
    ry_vf v[RY_W];
#pragma GCC unroll 16
    for (int i = 0; i < RY_W; i++) {
        v[i] = ry_vf_load(strip + i * RY_W);
    }
    ry_vf_transpose(v);
    for (int64_t k = 0; k < channels && k < RY_W; k++) {
        const float *from = residual ? residual + k * g->r_channel : NULL;
        if (simple) {
            const ry_vf sum = from ? ry_vf_add(v[k], ry_vf_load_m(from, lanes)) : v[k];
            ry_vf_store_m(y + k * g->y_channel, lanes, ry_vf_min(high, ry_vf_max(low, sum)));
        } else {
            float row[RY_W];
            ry_vf_store(row, v[k]);
            write_row(c, row, positions, y + k * g->y_channel, from);
        }
    }
}

/* Positions of the run's strip, where the phases of the width are woven. */
static int64_t count_positions(const context *c)
{
    const winograd_axis *w = &c->plan->axis[1];
    return ((c->run.count - 1) * w->outputs + winograd_tiles(c->plan, 1)[c->run.column + c->run.count - 1].outputs) * w->spread;
}

/* Those of them that y has. */
static winograd_range find_positions(const context *c)
{
    const winograd_axis *w = &c->plan->axis[1];
    const winograd_tile *tile = winograd_tiles(c->plan, 1) + c->run.column;
    winograd_range range = {.end = count_positions(c)};
    if (w->spread > 1) {
        const int64_t left = c->plan->geometry.out[2] + w->lead - tile->origin * w->spread;
        range.first = tile->origin == 0 ? w->lead : 0;
        range.end = left < range.end ? left : range.end;
    }
    return range;
}

/* The run's outputs of one vector of channels and one phase of the height, rows `strip` floats apart; returns which rows are y's. */
static winograd_range fill_strip(context *c, const float *m, int64_t channel, int64_t strip)
{
    const winograd_plan *plan = c->plan;
    const winograd_axis *w = &plan->axis[1];
    target to = start_target(c, channel, RY_W);
    to.low = ry_vf_set(-__builtin_inff());
    to.high = ry_vf_set(__builtin_inff());
    to.row_step = strip;
    to.column_step = w->spread * RY_W;
    for (int64_t i = 0; i < c->run.count; i++) {
        to.columns.end = winograd_tiles(plan, 1)[c->run.column + i].outputs;
        for (int64_t phase = 0; phase < w->spread; phase++) {
            to.y = c->stage + (i * w->outputs * w->spread + phase) * RY_W;
            fetch_outputs(&to);
            transform_tile(c, m + i * plan->m_row + (c->phase[0] * w->spread + phase) * plan->m_phase + channel, &to);
        }
    }
    return to.rows;
}

/* Positions of a row lie next to each other in y: the run's outputs of each vector of channels pass through a strip. */
static void write_positions(context *c, const float *m, int64_t channels)
{
    const winograd_plan *plan = c->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t *y_step = plan->steps.y_step, *r_step = plan->steps.r_step;
    const int64_t down = stride_of(plan, 0), along = plan->axis[1].dilation;
    const winograd_range positions = find_positions(c);
    const int64_t strip = (positions.first + ry_whole(count_positions(c), RY_W)) * RY_W;
    for (int64_t k = 0; k < channels; k += RY_W) {
        const winograd_range rows = fill_strip(c, m, k, strip);
        for (int64_t row = rows.first; row < rows.end; row++) {
            const int64_t position = c->phase[0] + row * down;
            float *y = c->end->y + c->y + position * y_step[1] + k * g->y_channel;
            const float *residual = c->end->residual ? c->end->residual + c->r + position * r_step[1] + k * g->r_channel : NULL;
            for (int64_t p = positions.first; p < positions.end; p += RY_W) {
                const int64_t left = positions.end - p;
                turn_outputs(c, c->stage + row * strip + p * RY_W, left < RY_W ? left : RY_W, channels - k, y + p * along,
                             residual ? residual + p * along : NULL);
            }
        }
    }
}

/* The outputs of one run in all phases. */
static void write_run(context *c, const float *m, int64_t channels)
{
    const winograd_plan *plan = c->plan;
    const int64_t wide = plan->axis[1].spread;
    for (c->phase[0] = 0; c->phase[0] < plan->axis[0].spread; c->phase[0]++) {
        if (!plan->y_near) {
            write_positions(c, m, channels);
        }
        for (c->phase[1] = 0; plan->y_near && c->phase[1] < wide; c->phase[1]++) {
            write_channels(c, m + (c->phase[0] * wide + c->phase[1]) * plan->m_phase, channels);
        }
    }
}

bool RY_ISA_SYMBOL(winograd_transform_output)(const winograd_plan *plan, const float *m, int64_t first, int64_t count, int64_t channels,
                                              const winograd_epilogue *end, float *stage)
{
    const winograd_axis *w = &plan->axis[1];
    const int64_t reach = (w->outputs - 1) * w->dilation + 1;
    context c = {.plan = plan, .end = end, .stage = stage, .zero = ry_vf_zero()};
    for (int64_t done = 0; done < count; done += c.run.count) {
        c.run = winograd_find_run(plan, first + done, count - done, reach, plan->y_near ? INT64_MAX : plan->run_span / w->spread);
        winograd_place_run(plan, &c.run, &c.y, &c.r);
        write_run(&c, m + done * plan->m_row, channels);
    }
    return ry_vf_sum(c.zero) == 0;
}
