/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: the weight gradient of 3x3 windows in Winograd's form (wgrad_winograd_plan.h). */
#include "base/integer.h"
#include "base/room.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/parts/pack_rows.h"
#include "kernels/cpu/parts/tile.h"
#include "kernels/cpu/wgrad/wgrad_store.h"
#include "kernels/cpu/wgrad/wgrad_winograd.h"

#include <string.h>

typedef struct winograd_task {
    const wgrad_winograd_plan *plan;
    const float *x, *dy; /* the task's first channels */
    int64_t part, group, channel, channels, filter, filters;
    float *v, *u, *m, *stage, *sums;
    float *x_squares, *dy_squares; /* wgrad_winograd_plan.h */
    /* bias gradient of all blocks, of one block; NULL: another task computes it */
    float *bias, *recent;
    int64_t pitch; /* floats from row to row of the sums */
} winograd_task;

/* Tiles of one row of an image. */
typedef struct tile_run {
    int64_t image, row, first, end;
} tile_run;

/* Positions [begin, end) of a line are in the image, from `at` on, of `size` that a tile meets. */
static ry_window_range inside(int64_t at, int64_t size, int64_t extent)
{
    return (ry_window_range){ry_clamp(-at, 0, size), ry_clamp(extent - at, 0, size)};
}

/* The tiles of an image's row: where the first is along each axis, how far apart they are. */
typedef struct strip {
    const float *image;
    const wgrad_operand *operand;
    int64_t size, line, column, extent[2]; /* size of a tile; line and column of the first tile;
                                              extent of the image */
    int64_t channels, room;                /* in full vectors */
    bool staged;
} strip;

/* Lines of the strip's tiles with their channels next to each other; *first: the column of the
 * image that they begin with. */
static wgrad_square stage(const strip *s, int64_t tiles, float *to, int64_t *first)
{
    const wgrad_operand *o = s->operand;
    wgrad_square square = {.rows = inside(s->line, s->size, s->extent[0])};
    if (!s->staged) {
        square.at = s->image + s->line * o->step[1];
        square.line = o->step[1];
        square.step = o->step[2];
        *first = 0;
        return square;
    }
    const int64_t begin = ry_clamp(s->column, 0, s->extent[1]),
                  end = ry_clamp(s->column + (tiles - 1) * WGRAD_OUT + s->size, 0, s->extent[1]);
    square.at = to;
    square.line = (end - begin) * s->room;
    square.step = s->room;
    *first = begin;
    for (int64_t i = square.rows.begin; i < square.rows.end && end > begin; i++) {
        RY_ISA_SYMBOL(pack_micropanel)
        (RY_f32, s->image + (s->line + i) * o->step[1] + begin * o->step[2], o->step[2], o->channel,
         end - begin, s->channels, s->room, to + i * square.line);
    }
    return square;
}

/* Moves to the tile whose first column is `column` of the image. */
static wgrad_square tile_at(const wgrad_square *line, const strip *s, int64_t first, int64_t column)
{
    wgrad_square square = *line;
    square.at += (column - first) * line->step;
    square.columns = inside(column, s->size, s->extent[1]);
    return square;
}

static void transform_x(const winograd_task *t, const tile_run *run, float *v)
{
    const wgrad_winograd_plan *plan = t->plan;
    const wgrad_shape *shape = &plan->shape;
    const int64_t room = wgrad_v_row(plan);
    const strip s = {.image = t->x + run->image * shape->x.image,
                     .operand = &shape->x,
                     .size = WGRAD_IN,
                     .line = run->row * WGRAD_OUT - shape->axis[1].pad,
                     .column = run->first * WGRAD_OUT - shape->axis[2].pad,
                     .extent = {shape->axis[1].in, shape->axis[2].in},
                     .channels = t->channels,
                     .room = room,
                     .staged = plan->x_staged};
    int64_t first;
    const wgrad_square line = stage(&s, run->end - run->first, t->stage, &first);
    for (int64_t i = 0; i < run->end - run->first; i++) {
        const wgrad_square square = tile_at(&line, &s, first, s.column + i * WGRAD_OUT);
        RY_ISA_SYMBOL(wgrad_winograd_input)
        (&square, t->channels, v + i * room, plan->v_point, t->x_squares);
    }
}

static void transform_dy(const winograd_task *t, const tile_run *run, float *u)
{
    const wgrad_winograd_plan *plan = t->plan;
    const wgrad_shape *shape = &plan->shape;
    const strip s = {.image = t->dy + run->image * shape->dy.image,
                     .operand = &shape->dy,
                     .size = WGRAD_OUT,
                     .line = run->row * WGRAD_OUT,
                     .column = run->first * WGRAD_OUT,
                     .extent = {shape->axis[1].out, shape->axis[2].out},
                     .channels = t->filters,
                     .room = plan->k_block,
                     .staged = plan->dy_staged};
    int64_t first;
    const wgrad_square line = stage(&s, run->end - run->first, t->stage, &first);
    for (int64_t i = 0; i < run->end - run->first; i++) {
        const wgrad_square square = tile_at(&line, &s, first, s.column + i * WGRAD_OUT);
        RY_ISA_SYMBOL(wgrad_winograd_gradient)
        (&square, t->filters, u + i * plan->k_block, plan->u_point, t->dy_squares, t->recent);
    }
}

/* V and U of the tiles [first, end). */
static void transform(const winograd_task *t, int64_t first, int64_t end)
{
    const wgrad_winograd_plan *plan = t->plan;
    for (int64_t tile = first, run_end; tile < end; tile = run_end) {
        const int64_t row = tile / plan->along;
        run_end = ry_min(end, (row + 1) * plan->along);
        const tile_run run = {.image = row / plan->down,
                              .row = row % plan->down,
                              .first = tile - row * plan->along,
                              .end = run_end - row * plan->along};
        transform_x(t, &run, t->v + (tile - first) * wgrad_v_row(plan));
        transform_dy(t, &run, t->u + (tile - first) * plan->k_block);
    }
}

/* M = or += V^T U of `count` tiles, at every point. */
static void multiply(const winograd_task *t, int64_t count, bool first)
{
    const wgrad_winograd_plan *plan = t->plan;
    const int64_t columns = ry_round_up(t->filters, RY_W),
                  pieces = ry_ceil_div(t->channels, RY_TILE_ROWS), each = t->channels / pieces,
                  extra = t->channels % pieces;
    ry_tile tile = {.depth = count,
                    .a_step = wgrad_v_row(plan),
                    .b_step = plan->k_block,
                    .c_step = columns,
                    .low = -__builtin_inff(),
                    .high = __builtin_inff(),
                    .start = first ? RY_TILE_FROM_ZERO : RY_TILE_FROM_C};
    for (int64_t point = 0; point < WGRAD_POINTS; point++) {
        const float *v = t->v + point * plan->v_point, *u = t->u + point * plan->u_point;
        float *m = t->m + point * plan->m_point;
        for (int64_t k = 0; k < columns; k += RY_TILE_VECTORS * RY_W) {
            tile.columns = ry_min(RY_TILE_VECTORS * RY_W, columns - k);
            tile.b = u + k;
            for (int64_t piece = 0, row = 0, rows; piece < pieces; piece++, row += rows) {
                rows = each + (piece < extra);
                tile.a = v + row;
                tile.c = m + row * columns + k;
                RY_ISA_SYMBOL(tiles).f32[false][tile.columns / RY_W - 1][rows - 1](&tile);
            }
        }
    }
}

static void add_to(float *to, const float *from, int64_t count)
{
    for (int64_t i = 0; i < count; i += RY_W) {
        ry_vf_store(to + i, ry_vf_add(ry_vf_load(to + i), ry_vf_load(from + i)));
    }
}

static winograd_task task_of(const ry_cpu_launch *launch, size_t index)
{
    const wgrad_winograd_plan *plan = launch->state;
    const wgrad_shape *s = &plan->shape;
    char *scratch = launch->scratch;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->tasks[0], index, range);
    winograd_task t = {.plan = plan,
                       .part = range[0].first,
                       .group = range[1].first,
                       .filter = range[2].first,
                       .filters = range[2].count,
                       .channel = range[3].first,
                       .channels = range[3].count,
                       .v = RY_AT(float, scratch, plan->v),
                       .u = RY_AT(float, scratch, plan->u),
                       .m = RY_AT(float, scratch, plan->m),
                       .stage = RY_AT(float, scratch, plan->stage),
                       .sums = RY_AT(float, scratch, plan->sums),
                       .x_squares = RY_AT(float, scratch, plan->squares),
                       .bias = RY_AT(float, scratch, plan->bias),
                       .pitch = plan->k_block};
    t.recent = t.bias + plan->k_block;
    t.dy_squares = t.x_squares + WGRAD_SQUARES * wgrad_v_row(plan);
    t.x = (const float *)launch->in[0] + (t.group * s->c + t.channel) * s->x.channel;
    t.dy = (const float *)launch->in[1] + (t.group * s->k + t.filter) * s->dy.channel;
    if (plan->parts > 1) {
        float *part = (float *)launch->workspace + t.part * plan->part_floats;
        t.sums = part + (t.group * s->c + t.channel) * WGRAD_WINDOW * plan->pitch + t.filter;
        t.bias = part + plan->bias_floats + t.group * plan->pitch + t.filter;
        t.pitch = plan->pitch;
        float *squares = part + plan->squares_floats + t.group * wgrad_group_squares(plan);
        if (t.filter == 0) {
            t.x_squares = squares + t.channel * WGRAD_SQUARES;
        }
        if (t.channel == 0) {
            t.dy_squares = squares + wgrad_x_squares(plan) + t.filter * WGRAD_SQUARES;
        }
    }
    if (!s->bias || t.channel > 0) {
        t.bias = t.recent = NULL;
    }
    return t;
}

/* Computes the sums of a part, which no other task writes. A part has at least one tile. */
static void sum_part(const winograd_task *t)
{
    const wgrad_winograd_plan *plan = t->plan;
    const int64_t begin = t->part * plan->tiles / plan->parts,
                  end = (t->part + 1) * plan->tiles / plan->parts,
                  columns = ry_round_up(t->filters, RY_W);
    const size_t bias_bytes = (size_t)columns * sizeof(float);
    if (t->bias) {
        memset(t->bias, 0, bias_bytes);
    }
    memset(t->x_squares, 0,
           (size_t)(WGRAD_SQUARES * ry_round_up(t->channels, RY_W)) * sizeof(float));
    memset(t->dy_squares, 0, (size_t)(WGRAD_SQUARES * columns) * sizeof(float));
    for (int64_t tile = begin, block = 0; tile < end; tile += plan->block, block++) {
        const int64_t here = ry_min(plan->block, end - tile);
        if (t->recent) {
            memset(t->recent, 0, bias_bytes);
        }
        transform(t, tile, tile + here);
        if (t->recent) {
            add_to(t->bias, t->recent, columns);
        }
        multiply(t, here, block % WGRAD_SUM_BLOCKS == 0);
        if ((block + 1) % WGRAD_SUM_BLOCKS == 0 || tile + here == end) {
            RY_ISA_SYMBOL(wgrad_winograd_output)
            (t->m, plan->m_point, t->channels, columns, block < WGRAD_SUM_BLOCKS, t->sums,
             t->pitch);
        }
    }
}

static void store(const ry_cpu_launch *launch, const wgrad_piece *piece, float *sums,
                  const float *bias)
{
    const wgrad_winograd_plan *plan = launch->state;
    const wgrad_shape *s = &plan->shape;
    const int64_t c = piece->group * s->c + piece->row / WGRAD_WINDOW,
                  k = piece->group * s->k + piece->channel;
    RY_ISA_SYMBOL(wgrad_winograd_repair)
    (s, (const float *)launch->in[0] + c * s->x.channel,
     (const float *)launch->in[1] + k * s->dy.channel, piece->rows / WGRAD_WINDOW, piece->channels,
     sums, piece->pitch);
    RY_ISA_SYMBOL(wgrad_store)(s, piece, sums, launch->out[0]);
    if (bias) {
        RY_ISA_SYMBOL(wgrad_store_bias)(s, piece, bias, launch->out[1]);
    }
}

static void run_part(const ry_cpu_launch *launch, size_t index)
{
    const winograd_task t = task_of(launch, index);
    sum_part(&t);
    if (t.plan->parts == 1) {
        const wgrad_piece piece = {.group = t.group,
                                   .channel = t.filter,
                                   .channels = t.filters,
                                   .row = t.channel * WGRAD_WINDOW,
                                   .rows = t.channels * WGRAD_WINDOW,
                                   .pitch = t.pitch};
        RY_ISA_SYMBOL(wgrad_winograd_poison)
        (&(wgrad_squares){t.x_squares, 1, 0}, 0, t.channels, &(wgrad_squares){t.dy_squares, 1, 0},
         ry_round_up(t.filters, RY_W), t.sums, t.pitch);
        store(launch, &piece, t.sums, t.bias);
    }
}

static void finish(const ry_cpu_launch *launch, size_t index)
{
    const wgrad_winograd_plan *plan = launch->state;
    const wgrad_shape *s = &plan->shape;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->tasks[1], index, range);
    const int64_t group = range[0].first, c = range[1].first;
    const wgrad_piece piece = {.group = group,
                               .channel = 0,
                               .channels = s->k,
                               .row = c * WGRAD_WINDOW,
                               .rows = range[1].count * WGRAD_WINDOW,
                               .pitch = plan->pitch};
    float *sums = (float *)launch->workspace + (group * s->c + c) * WGRAD_WINDOW * plan->pitch;
    float *bias = s->bias && c == 0
                      ? (float *)launch->workspace + plan->bias_floats + group * plan->pitch
                      : NULL;
    RY_ISA_SYMBOL(wgrad_add_parts)
    (sums, piece.rows * plan->pitch, plan->parts, plan->part_floats);
    if (bias) {
        RY_ISA_SYMBOL(wgrad_add_parts)(bias, plan->pitch, plan->parts, plan->part_floats);
    }
    const float *squares =
        (const float *)launch->workspace + plan->squares_floats + group * wgrad_group_squares(plan);
    const wgrad_squares x = {squares, plan->parts, plan->part_floats},
                        dy = {squares + wgrad_x_squares(plan), plan->parts, plan->part_floats};
    RY_ISA_SYMBOL(wgrad_winograd_poison)
    (&x, c, range[1].count, &dy, plan->pitch, sums, plan->pitch);
    store(launch, &piece, sums, bias);
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    if (launch->phase == 0) {
        run_part(launch, task);
    } else {
        finish(launch, task);
    }
}

RY_CPU_KERNEL(conv_bwd_weights_f32_winograd, conv, near32, .simd = RY_SIMD,
              .applicable = ry_wgrad_winograd_takes, .knobs = ry_wgrad_winograd_knobs,
              .knob_count = WGRAD_WINOGRAD_KNOBS, .values = ry_wgrad_winograd_values,
              .prepare = ry_wgrad_winograd_prepare, .initialise = ry_wgrad_winograd_initialise,
              .run = run);
