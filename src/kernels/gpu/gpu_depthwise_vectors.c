/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and prices of depthwise_vectors.cl. */
#include "kernels/gpu/gpu_depthwise_vectors.h"

#include "base/integer.h"
#include "kernels/gpu/gpu_costs.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_texts.h"

/* Channels of a vector; sums that add_window holds in registers: positions, or columns of lanes. */
enum { LANES = 16, SUMS_AT_ONCE = 32, COLUMNS_AT_ONCE = 4 };
/* Channels of a group that share a copy of x. */
enum { MOST_SHARE = 8 };
/* An item's rows and columns; bytes of its local memory, a core's second cache; taps of a window whose
 * loops are unrolled. */
enum {
    MOST_ROWS = 64,
    MOST_COLUMNS = 256,
    MOST_LANE_COLUMNS = 56,
    ROOM = 128 << 10,
    UNROLLED = 64
};

/* An item's floats in local memory, as depthwise_vectors.cl names them, and its copies. */
typedef struct vectors {
    int64_t lanes, share, rows, columns, taps;
    int64_t x_tile, sums;          /* sums: those of each channel in `share` */
    int64_t copied, copied_singly; /* elements of a slice, in vectors and one by one */
} vectors;

static bool are_floats(const ry_problem *problem)
{
    return (ry_dtype)problem->in[0].dtype == RY_f32 && (ry_dtype)problem->out[0].dtype == RY_f32 &&
           (!ry_problem_has_input(problem, 3) || (ry_dtype)problem->in[3].dtype == RY_f32);
}

/* Are y's elements, and the residual's, beside each other along the dim that items' vectors are of? */
static bool has_vectors(const ry_problem *problem, const ry_gpu_window *w)
{
    const ry_tensor *y = &problem->out[0], *residual = &problem->in[3];
    const int dim = w->y_along_channels ? 1 : y->rank - 1;
    return y->stride[dim] == 1 && (!ry_problem_has_input(problem, 3) || residual->stride[dim] == 1);
}

/* The largest of about equal parts, of at most `most` each. */
static int64_t parts_of(int64_t all, int64_t most)
{
    return ry_ceil_div(all, ry_ceil_div(all, most));
}

static int64_t field_of(const ry_gpu_axis *axis)
{
    return (axis->taps - 1) * axis->step;
}

/* Planes of the residues of an axis. */
static int64_t planes_of(const ry_gpu_axis *axis)
{
    return ry_min(axis->stride, field_of(axis) + 1);
}

static vectors rows_of_positions(const ry_gpu_window *w, int64_t rows)
{
    const ry_gpu_axis *down = &w->axis[1], *along = &w->axis[2];
    const int64_t columns = parts_of(along->out, MOST_COLUMNS),
                  over = field_of(along) / along->stride, pitch = columns + over,
                  planes = planes_of(down) * planes_of(along),
                  sums = ry_round_up(rows * pitch, SUMS_AT_ONCE),
                  below = field_of(down) / down->stride;
    const int64_t copied = planes * (rows + below) * pitch;
    const bool whole = along->stride <= 2 && along->x_step == 1;
    return (vectors){.lanes = 1,
                     .share = parts_of(w->rows, MOST_SHARE),
                     .rows = rows,
                     .columns = columns,
                     .taps = down->taps * along->taps,
                     .x_tile = planes * (sums + below * pitch + over + LANES),
                     .sums = sums,
                     .copied = whole ? copied : 0,
                     .copied_singly = whole ? 0 : copied};
}

static vectors rows_of_channels(const ry_gpu_window *w, int64_t rows)
{
    const ry_gpu_axis *down = &w->axis[1], *along = &w->axis[2];
    const int64_t columns = parts_of(along->out, MOST_LANE_COLUMNS),
                  whole = ry_round_up(columns, COLUMNS_AT_ONCE),
                  x_tile = ((rows - 1) * down->stride + field_of(down) + 1) *
                           ((whole - 1) * along->stride + field_of(along) + 1) *
                           (w->groups == 1 ? 1 : LANES);
    const bool whole_lanes = w->groups > 1 && w->rows == 1 && w->x_group == 1;
    return (vectors){.lanes = LANES,
                     .share = 1,
                     .rows = rows,
                     .columns = columns,
                     .taps = down->taps * along->taps,
                     .x_tile = x_tile,
                     .sums = rows * whole * LANES,
                     .copied = whole_lanes ? x_tile : 0,
                     .copied_singly = whole_lanes ? 0 : x_tile};
}

static vectors vectors_of(const ry_gpu_window *w, int64_t rows)
{
    return w->y_along_channels ? rows_of_channels(w, rows) : rows_of_positions(w, rows);
}

static size_t bytes_of(const vectors *v)
{
    return (size_t)(v->x_tile + v->taps * v->lanes + v->share * v->sums + LANES) * sizeof(float);
}

static bool fits(const ry_query *query, const ry_gpu_window *w, int64_t rows)
{
    const size_t local = query->target->machine->local_bytes;
    const vectors v = vectors_of(w, rows);
    return bytes_of(&v) <= (local ? (size_t)ry_min((int64_t)local, ROOM) : (size_t)ROOM);
}

bool ry_gpu_vectors_take(const ry_query *query, const ry_gpu_window *w)
{
    const ry_problem *problem = query->problem;
    return query->target->machine->step_items == 1 && problem->op == RY_OP_conv &&
           are_floats(problem) && has_vectors(problem, w) && fits(query, w, 1);
}

void ry_gpu_vectors_rows(const ry_query *query, const ry_gpu_window *w, ry_knob_values *values)
{
    const int64_t out = w->axis[1].out;
    for (int64_t rows = 1; rows <= MOST_ROWS && fits(query, w, ry_min(rows, out)); rows *= 2) {
        ry_knob_values_add(values, ry_min(rows, out));
        if (rows >= out) {
            return;
        }
    }
}

static int64_t items_of(const ry_gpu_window *w, const vectors *v)
{
    const int64_t parts = v->lanes > 1 ? ry_ceil_div(w->groups * w->rows, v->lanes)
                                       : w->groups * ry_ceil_div(w->rows, v->share);
    return w->images * parts * w->axis[0].out * ry_ceil_div(w->axis[1].out, v->rows) *
           ry_ceil_div(w->axis[2].out, v->columns);
}

bool ry_gpu_vectors_fill(const ry_query *query, const ry_gpu_window *w, int64_t rows,
                         ry_prepared *prepared)
{
    const ry_gpu_costs *cost = ry_gpu_costs_of(query->target->machine);
    const vectors v = vectors_of(w, rows);
    const double items = (double)items_of(w, &v), slices = (double)(w->channels * w->axis[0].taps),
                 slice = (double)v.copied * cost->vectors_copy +
                         (double)v.copied_singly * cost->vectors_single +
                         (double)(v.share * v.sums * v.taps) * cost->vectors_product,
                 outputs = (double)(v.rows * v.columns * v.lanes * v.share);
    prepared->tasks[0] = (size_t)items;
    prepared->group[0] = 1;
    prepared->use[0].local = bytes_of(&v);
    prepared->work[0] = (ry_work){
        items * (slices * slice + outputs * cost->vectors_output + cost->vectors_item), 0};
    return rows <= ry_max(w->axis[1].out, 1) && fits(query, w, rows);
}

/* Are the positions of an item's rows beside each other in a tensor? */
static bool is_compact(const ry_tensor *t, const vectors *v)
{
    const int64_t out = t->dim[t->rank - 1];
    return out > 1 && v->columns == out && (t->rank == 3 || t->stride[t->rank - 2] == out);
}

void ry_gpu_vectors_define(const ry_query *query, const ry_gpu_window *w,
                           const ry_prepared *prepared, ry_text *text)
{
    const vectors v = vectors_of(w, prepared->form.value[0]);
    const bool residual = ry_problem_has_input(query->problem, 3);
    ry_gpu_define(text, "OUTPUT_COLUMNS", v.columns);
    ry_gpu_define(text, "LANES", v.lanes);
    ry_gpu_define(text, "SHARE", v.share);
    ry_gpu_define(text, "COMPACT",
                  v.columns % LANES > 0 && is_compact(&query->problem->out[0], &v) &&
                      (!residual || is_compact(&query->problem->in[3], &v)));
    ry_gpu_define(text, "HAS_RESIDUAL", residual);
    ry_text_add(text, "#define UNROLL_TAPS %s\n", v.taps <= UNROLLED ? "UNROLL_SHORT" : "");
    ry_text_add(text, "%s", ry_gpu_text_depthwise_vectors);
}
