/* SPDX-License-Identifier: Apache-2.0 */
/* y = A^T M A of blocks of tiles, with bias, residual and activation. */
#include "base/integer.h"
#include "kernels/cpu/parts/activation.h"
#include "kernels/cpu/parts/winograd_transform.h"
#include "kernels/cpu/winograd/winograd.h"

/* Transforms along the height: from M to [output row][column]. */
typedef void (*up_function)(const float *m, int64_t m_point, int64_t columns, float *to);

RY_INLINE void up(const int points, const int outputs, const float *m, int64_t m_point,
                  int64_t columns, float *to)
{
    for (int64_t j = 0; j < columns; j++) {
        ry_vf d[WINOGRAD_MAX_POINTS], y[WINOGRAD_MAX_POINTS];
#pragma GCC unroll 8
        for (int i = 0; i < points; i++) {
            d[i] = ry_vf_load(m + (i * columns + j) * m_point);
        }
        winograd_output(points, outputs, d, y);
#pragma GCC unroll 8
        for (int i = 0; i < outputs; i++) {
            ry_vf_store(to + (i * columns + j) * RY_W, y[i]);
        }
    }
}

/* Where a tile's outputs go: y itself, or a strip. */
typedef struct target {
    float *y;
    const float *bias, *residual; /* residual: NULL: none */
    int64_t row_step, column_step, r_row_step, r_column_step;
    winograd_range rows, columns; /* that are written */
    float low, high;
    int64_t lanes;
} target;

/* What is written of each row: all outputs, in full vectors, with bias only; the same with residual
 * and bounds; a range of outputs and lanes. */
typedef enum extent { OF_STRIP, OF_FULL, OF_RANGE, EXTENTS } extent;

/* The sums of outputs of row i of a tile, whose products of the height are d. Adds 0 times outputs
 * to `zero`, which stays 0 while the products are finite: every product of a row reaches its first
 * output or, if it is of infinity, the last. */
RY_INLINE ry_vf finish_row(const extent what, const int points, const int outputs,
                           const ry_vf d[WINOGRAD_MAX_POINTS], const target *t, int64_t i,
                           ry_vf zero)
{
    const ry_vf bias = ry_vf_load(t->bias), low = ry_vf_set(t->low), high = ry_vf_set(t->high);
    const ry_vm lanes = ry_vm_first(t->lanes);
    ry_vf y[WINOGRAD_MAX_POINTS];
    winograd_output(points, outputs, d, y);
    zero = ry_vf_fma(ry_vf_zero(), y[0], zero);
    zero = outputs > 1 ? ry_vf_fma(ry_vf_zero(), y[outputs - 1], zero) : zero;
#pragma GCC unroll 8
    for (int j = 0; j < outputs; j++) {
        y[j] = ry_vf_add(y[j], bias);
    }
    if (what != OF_STRIP && t->residual) {
        const float *residual = t->residual + i * t->r_row_step;
#pragma GCC unroll 8
        for (int j = 0; j < outputs; j++) {
            if (what == OF_FULL) {
                y[j] = ry_vf_add(y[j], ry_vf_load(residual + j * t->r_column_step));
            } else if (j >= t->columns.first && j < t->columns.end) {
                y[j] = ry_vf_add(y[j], ry_vf_load_m(residual + j * t->r_column_step, lanes));
            }
        }
    }
    float *row = t->y + i * t->row_step;
#pragma GCC unroll 8
    for (int j = 0; j < outputs; j++) {
        if (what == OF_STRIP) {
            ry_vf_store(row + j * t->column_step, y[j]);
        } else if (what == OF_FULL) {
            ry_vf_store(row + j * t->column_step, ry_vf_min(high, ry_vf_max(low, y[j])));
        } else if (j >= t->columns.first && j < t->columns.end) {
            ry_vf_store_m(row + j * t->column_step, lanes, ry_vf_min(high, ry_vf_max(low, y[j])));
        }
    }
    return zero;
}

/* Transforms along the width: from [row][column] to the target. */
typedef ry_vf (*across_function)(const float *from, const target *to, ry_vf zero);

RY_INLINE ry_vf across(const extent what, const int points, const int outputs, const float *from,
                       const target *to, ry_vf zero)
{
    const target t = *to;
    for (int64_t i = t.rows.first; i < t.rows.end; i++) {
        ry_vf d[WINOGRAD_MAX_POINTS];
#pragma GCC unroll 8
        for (int j = 0; j < points; j++) {
            d[j] = ry_vf_load(from + (i * points + j) * RY_W);
        }
        zero = finish_row(what, points, outputs, d, &t, i, zero);
    }
    return zero;
}

/* Both axes of a full tile of four points and two outputs each, in registers. */
RY_INLINE ry_vf four(const extent what, const float *m, int64_t m_point, const target *to,
                     ry_vf zero)
{
    const target t = *to;
    ry_vf rows[2][WINOGRAD_MAX_POINTS];
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        ry_vf d[WINOGRAD_MAX_POINTS], y[WINOGRAD_MAX_POINTS];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            d[i] = ry_vf_load(m + (i * 4 + j) * m_point);
        }
        winograd_output(4, 2, d, y);
        rows[0][j] = y[0];
        rows[1][j] = y[1];
    }
    zero = finish_row(what, 4, 2, rows[0], &t, 0, zero);
    return finish_row(what, 4, 2, rows[1], &t, 1, zero);
}

static ry_vf four_of_strip(const float *m, int64_t m_point, const target *to, ry_vf zero)
{
    return four(OF_STRIP, m, m_point, to, zero);
}

static ry_vf four_of_full(const float *m, int64_t m_point, const target *to, ry_vf zero)
{
    return four(OF_FULL, m, m_point, to, zero);
}

#define OF_EXTENT(what, points, outputs)                                                   \
    static ry_vf across_##what##_##points##_##outputs(const float *from, const target *to, \
                                                      ry_vf zero)                          \
    {                                                                                      \
        return across(what, points, outputs, from, to, zero);                              \
    }

#define OF_POINTS(points, outputs)                                                        \
    static void up_##points##_##outputs(const float *m, int64_t m_point, int64_t columns, \
                                        float *to)                                        \
    {                                                                                     \
        up(points, outputs, m, m_point, columns, to);                                     \
    }                                                                                     \
    OF_EXTENT(OF_STRIP, points, outputs)                                                  \
    OF_EXTENT(OF_FULL, points, outputs)                                                   \
    OF_EXTENT(OF_RANGE, points, outputs)

#define ALL_POINTS(of)                                                                        \
    of(1, 1) of(4, 2) of(4, 3) of(6, 2) of(6, 3) of(6, 4) of(6, 5) of(8, 2) of(8, 3) of(8, 4) \
        of(8, 5) of(8, 6)

ALL_POINTS(OF_POINTS)

/* [points][outputs] */
static const struct texts {
    up_function up;
    across_function across[EXTENTS];
} texts_table[WINOGRAD_MAX_POINTS + 1][WINOGRAD_MAX_POINTS] = {
#define TEXTS(points, outputs)                                  \
    [points][outputs] = {up_##points##_##outputs,               \
                         {across_OF_STRIP_##points##_##outputs, \
                          across_OF_FULL_##points##_##outputs,  \
                          across_OF_RANGE_##points##_##outputs}},
    ALL_POINTS(TEXTS)};

typedef struct context {
    const winograd_plan *plan;
    const winograd_epilogue *end;
    winograd_run run;
    int64_t y, r;     /* offsets of the run's first output */
    int64_t phase[2]; /* height, width */
    float *stage;
    up_function up;
    const across_function *across; /* [extent] */
    bool fours;                    /* tiles have four points and two outputs on each axis */
    ry_vf zero;                    /* while every product is finite */
} context;

static winograd_range find_rows(const context *c)
{
    return ry_winograd_inside(c->plan, 0, winograd_tiles(c->plan, 0) + c->run.row, c->phase[0]);
}

static void transform_tile(context *c, const float *m, extent what, const target *to)
{
    float points[WINOGRAD_MAX_POINTS * WINOGRAD_MAX_POINTS * RY_W];
    if (c->fours && what != OF_RANGE && to->rows.end - to->rows.first == 2) {
        c->zero =
            (what == OF_STRIP ? four_of_strip : four_of_full)(m, c->plan->m_point, to, c->zero);
        return;
    }
    c->up(m, c->plan->m_point, c->plan->axis[1].points, points);
    c->zero = c->across[what](points, to, c->zero);
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
    return plan->axis[axis].dilation * plan->axis[axis].output_stride;
}

/* An activation that is not a bound, of the task's columns of neighbouring outputs. */
static void activate(const context *c, float *y, int64_t step, int64_t outputs, int64_t channels)
{
    const winograd_plan *plan = c->plan;
    const int64_t room = plan->fold.channels ? plan->fold.room : channels;
    for (int64_t k = 0; k < channels;
         k += room - (plan->fold.channels ? (c->end->channel + k) % room : 0)) {
        const int64_t column = c->end->channel + k,
                      count = winograd_adjacent_columns(plan, column, channels - k);
        RY_ISA_SYMBOL(activate_rows)
        (c->end->activation, y + winograd_column_y(plan, column), step, outputs, count);
    }
}

/* Channels are next to each other in y: the outputs of one phase, whose products m are. */
static void write_channels(context *c, const float *m, int64_t channels)
{
    const winograd_plan *plan = c->plan;
    const int64_t *y_step = plan->steps.y_step, *r_step = plan->steps.r_step;
    const winograd_tile *tile = winograd_tiles(plan, 1) + c->run.column;
    const int64_t down = stride_of(plan, 0), along = stride_of(plan, 1);
    target to = {.rows = find_rows(c),
                 .row_step = down * y_step[1],
                 .column_step = along * y_step[2],
                 .r_row_step = down * r_step[1],
                 .r_column_step = along * r_step[2],
                 .low = c->end->low,
                 .high = c->end->high};
    for (int64_t i = 0; i < c->run.count; i++) {
        const int64_t position =
            (tile[i].origin - tile[0].origin) * plan->axis[1].output_stride + c->phase[1];
        float *y = c->end->y + c->y + c->phase[0] * y_step[1] + position * y_step[2];
        const float *residual =
            c->end->residual
                ? c->end->residual + c->r + c->phase[0] * r_step[1] + position * r_step[2]
                : NULL;
        to.columns = ry_winograd_inside(plan, 1, tile + i, c->phase[1]);
        const bool all = to.columns.first == 0 && to.columns.end == plan->axis[1].outputs;
        for (int64_t k = 0; k < channels; k += RY_W) {
            const int64_t column = c->end->channel + k;
            to.y = y + winograd_column_y(plan, column);
            to.bias =
                c->end->bias +
                (c->phase[0] * plan->axis[1].output_stride + c->phase[1]) * c->end->bias_phase + k;
            to.residual = residual ? residual + winograd_column_r(plan, column) : NULL;
            to.lanes = winograd_adjacent_columns(plan, column, channels - k);
            fetch_outputs(&to);
            transform_tile(c, m + i * plan->m_row + k, all && to.lanes >= RY_W ? OF_FULL : OF_RANGE,
                           &to);
        }
        for (int64_t row = to.rows.first; !c->end->bounds && row < to.rows.end; row++) {
            activate(c, y + row * to.row_step + to.columns.first * to.column_step, to.column_step,
                     to.columns.end - to.columns.first, channels);
        }
    }
}

/* A row of one channel's outputs, which want an activation that is not a bound. */
static void write_row(const context *c, float *row, int64_t positions, float *y,
                      const float *residual)
{
    for (int64_t i = 0; residual && i < positions; i++) {
        row[i] += residual[i];
    }
    RY_ISA_SYMBOL(activate)(c->end->activation, row, positions);
    memcpy(y, row, (size_t)positions * sizeof *y);
}

/* A vector of outputs of each of `channels` channels, with bounds; `lanes` of each are y's. All
 * come in as constants where they are whole. */
RY_INLINE void write_vectors(const context *c, const ry_vf v[RY_W], const int64_t channels,
                             const ry_vm lanes, const bool full, float *y, const float *residual)
{
    const ry_conv_geometry *g = &c->plan->geometry;
    const ry_vf low = ry_vf_set(c->end->low), high = ry_vf_set(c->end->high);
    const int64_t y_channel = g->y_channel, r_channel = g->r_channel;
#pragma GCC unroll 16
    for (int k = 0; k < RY_W; k++) {
        if (k < channels) {
            const float *from = residual + k * r_channel;
            const ry_vf sum =
                !residual ? v[k]
                          : ry_vf_add(v[k], full ? ry_vf_load(from) : ry_vf_load_m(from, lanes));
            const ry_vf bound = ry_vf_min(high, ry_vf_max(low, sum));
            if (full) {
                ry_vf_store(y + k * y_channel, bound);
            } else {
                ry_vf_store_m(y + k * y_channel, lanes, bound);
            }
        }
    }
}

/* `positions` at most a vector of outputs of one row of the strip, `channels` of them. */
static void transpose_outputs(const context *c, const float *strip, int64_t positions,
                              int64_t channels, float *y, const float *residual)
{
    const ry_conv_geometry *g = &c->plan->geometry;
    const bool bounds = c->end->bounds;
    ry_vf v[RY_W];
#pragma GCC unroll 16
    for (int i = 0; i < RY_W; i++) {
        v[i] = ry_vf_load(strip + i * RY_W);
    }
    ry_vf_transpose(v);
    if (bounds && positions == RY_W && channels >= RY_W) {
        if (residual) {
            write_vectors(c, v, RY_W, ry_vm_first(RY_W), true, y, residual);
        } else {
            write_vectors(c, v, RY_W, ry_vm_first(RY_W), true, y, NULL);
        }
    } else if (bounds && channels >= RY_W && !residual) {
        write_vectors(c, v, RY_W, ry_vm_first(positions), false, y, NULL);
    } else if (bounds) {
        write_vectors(c, v, channels, ry_vm_first(positions), false, y, residual);
    } else {
        float row[RY_W * RY_W];
#pragma GCC unroll 16
        for (int k = 0; k < RY_W; k++) {
            ry_vf_store(row + k * RY_W, v[k]);
        }
        for (int64_t k = 0; k < channels && k < RY_W; k++) {
            write_row(c, row + k * RY_W, positions, y + k * g->y_channel,
                      residual ? residual + k * g->r_channel : NULL);
        }
    }
}

/* Positions of the run's strip, in which the phases of the width take turns. */
static int64_t count_positions(const context *c)
{
    const winograd_axis *w = &c->plan->axis[1];
    return c->run.count / w->interleave * w->outputs * stride_of(c->plan, 1);
}

/* Those of them that y has. */
static winograd_range find_positions(const context *c)
{
    const winograd_axis *w = &c->plan->axis[1];
    const winograd_tile *tile = winograd_tiles(c->plan, 1) + c->run.column;
    const int64_t left =
        c->plan->geometry.out[2] + w->output_offset - tile->origin * w->output_stride;
    return (winograd_range){tile->origin == 0 ? w->output_offset : 0,
                            ry_min(count_positions(c), left)};
}

/* The run's outputs of one vector of channels and one phase of the height, rows `strip` floats
 * apart. Tiles at the end of a row are written as whole ones. */
static void fill_strip(context *c, const float *m, int64_t channel, winograd_range rows,
                       int64_t strip)
{
    const winograd_plan *plan = c->plan;
    const winograd_axis *w = &plan->axis[1];
    const winograd_tile *tile = winograd_tiles(plan, 1) + c->run.column;
    target to = {
        .rows = rows, .row_step = strip, .column_step = stride_of(plan, 1) * RY_W, .lanes = RY_W};
    for (int64_t i = 0; i < c->run.count; i++) {
        for (int64_t phase = 0; phase < w->output_stride; phase++) {
            to.y = c->stage + ((tile[i].origin - tile[0].origin) * w->output_stride + phase) * RY_W;
            const int64_t index = c->phase[0] * w->output_stride + phase;
            to.bias = c->end->bias + index * c->end->bias_phase + channel;
            transform_tile(c, m + i * plan->m_row + index * plan->m_phase + channel, OF_STRIP, &to);
        }
    }
}

/* Positions of a row are next to each other in y: the run's outputs of each vector of channels pass
 * through a strip. */
static void write_positions(context *c, const float *m, int64_t channels)
{
    const winograd_plan *plan = c->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t *y_step = plan->steps.y_step, *r_step = plan->steps.r_step;
    const int64_t down = stride_of(plan, 0);
    const winograd_range positions = find_positions(c);
    const int64_t strip = (positions.first + ry_round_up(count_positions(c), RY_W)) * RY_W;
    const winograd_range rows = find_rows(c);
    for (int64_t k = 0; k < channels; k += RY_W) {
        fill_strip(c, m, k, rows, strip);
        for (int64_t row = rows.first; row < rows.end; row++) {
            const int64_t position = c->phase[0] + row * down;
            float *y =
                c->end->y + c->y + position * y_step[1] + (c->end->channel + k) * g->y_channel;
            const float *residual = c->end->residual
                                        ? c->end->residual + c->r + position * r_step[1] +
                                              (c->end->channel + k) * g->r_channel
                                        : NULL;
            for (int64_t p = positions.first; p < positions.end; p += RY_W) {
                const int64_t left = positions.end - p;
                transpose_outputs(c, c->stage + row * strip + p * RY_W, left < RY_W ? left : RY_W,
                                  channels - k, y + p, residual ? residual + p : NULL);
            }
        }
    }
}

/* The outputs of one run in all phases. */
static void write_run(context *c, const float *m, int64_t channels)
{
    const winograd_plan *plan = c->plan;
    const int64_t wide = plan->axis[1].output_stride;
    for (c->phase[0] = 0; c->phase[0] < plan->axis[0].output_stride; c->phase[0]++) {
        if (!plan->y_channels_last) {
            write_positions(c, m, channels);
        }
        for (c->phase[1] = 0; plan->y_channels_last && c->phase[1] < wide; c->phase[1]++) {
            write_channels(c, m + (c->phase[0] * wide + c->phase[1]) * plan->m_phase, channels);
        }
    }
}

bool RY_ISA_SYMBOL(winograd_transform_output)(const winograd_plan *plan, const float *m,
                                              int64_t first, int64_t count, int64_t channels,
                                              const winograd_epilogue *end, float *stage)
{
    const winograd_axis *w = &plan->axis[1];
    const int64_t read_span = (w->outputs - 1) * w->dilation + w->interleave;
    const struct texts *h = &texts_table[plan->axis[0].points][plan->axis[0].outputs];
    context c = {.plan = plan,
                 .end = end,
                 .stage = stage,
                 .up = h->up,
                 .across = texts_table[w->points][w->outputs].across,
                 .fours = plan->points == 16 && plan->axis[0].outputs == 2 && w->outputs == 2,
                 .zero = ry_vf_zero()};
    for (int64_t done = 0; done < count; done += c.run.count) {
        c.run = ry_winograd_find_run(plan, first + done, count - done, read_span,
                                     plan->y_channels_last ? INT64_MAX
                                                           : plan->run_span / w->output_stride);
        ry_winograd_place_run(plan, &c.run, &c.y, &c.r);
        write_run(&c, m + done * plan->m_row, channels);
    }
    return ry_vf_sum(c.zero) == 0;
}
