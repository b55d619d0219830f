/* SPDX-License-Identifier: Apache-2.0 */
/* What resizes cost: elements along the width, sums of rows, and tables that a run fills. */
#include "kernels/cpu/sample/resize_cost.h"

#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"

#include <math.h>

static bool repeats(const resize_axis *t)
{
    return t->out % t->in == 0 && (t->taps == 1 || t->out / t->in <= RESIZE_PERIOD);
}

/* An output's row of the table. */
typedef struct table_row {
    int64_t first;
    double weight[RESIZE_PERIOD_TAPS];
} table_row;

static table_row row_of(const ry_resize_axis *axis, const resize_axis *t, bool wide, int64_t o)
{
    double found[RESIZE_PERIOD_TAPS];
    int64_t from = 0;
    const int64_t count = ry_resize_taps(axis, o, &from, found);
    table_row row = {.first = ry_max(ry_min(from, t->in - t->taps), 0)};
    for (int64_t j = 0; j < count; j++) {
        row.weight[from - row.first + j] = wide ? found[j] : (float)found[j];
    }
    return row;
}

/* Is output o like that of its phase in the middle, as many inputs further? */
static bool is_like(const table_row *o, const table_row *middle, int64_t further)
{
    bool same = o->first == middle->first + further;
    for (int j = 0; j < RESIZE_PERIOD_TAPS; j++) {
        same = same && o->weight[j] == middle->weight[j];
    }
    return same;
}

/* Outputs of an axis of RESIZE_PERIOD_TAPS taps that ry_resize_find_period will find. */
static int64_t repeating_outputs(const ry_resize_axis *axis, const resize_axis *t, bool wide)
{
    const int64_t period = t->out / t->in, middle = t->in / 2 * period;
    table_row like[RESIZE_PERIOD];
    int64_t begin = middle, end = middle;
    if (!repeats(t) || t->in < RESIZE_PERIOD_TAPS || period < 2 || t->late) {
        return 0;
    }
    for (int64_t i = 0; i < period; i++) {
        like[i] = row_of(axis, t, wide, middle + i);
    }
    for (bool same = true; same && end < t->out; end += same) {
        const table_row row = row_of(axis, t, wide, end);
        same = is_like(&row, &like[end % period], end / period - t->in / 2);
    }
    for (bool same = true; same && begin > 0; begin -= same) {
        const table_row row = row_of(axis, t, wide, begin - 1);
        same = is_like(&row, &like[(begin - 1) % period], (begin - 1) / period - t->in / 2);
    }
    return end / period * period - ry_round_up(begin, period);
}

/* Work per element along the width, of three taps or more: outputs of a repeating pattern are sums
 * in a register, others are added up in memory tap by tap. */
static double long_work(const ry_query *query, const resize_plan *s,
                        const struct ry_resize_costs *cost)
{
    const resize_axis *t = &s->width;
    double repeating = 0;
    if (t->taps == RESIZE_PERIOD_TAPS && !s->transposed && t->out <= RESIZE_TRIED) {
        const ry_resize_axis axis = resize_axis_of(query->problem, t->dim);
        repeating = (double)repeating_outputs(&axis, t, s->wide) / (double)t->out;
    }
    return repeating * cost->four + (1 - repeating) * (double)t->taps * cost->many;
}

/* Work per element along the width, if elements lie in rows. */
static double along_work(const ry_query *query, const resize_plan *s,
                         const struct ry_resize_costs *cost)
{
    const resize_axis *t = &s->width;
    return t->taps > 2    ? long_work(query, s, cost)
           : !repeats(t)  ? (t->taps == 1 ? cost->pick : cost->gather)
           : t->taps == 1 ? 0
                          : cost->two;
}

/* How many input rows are resized along the width for an output row. */
static double resized_rows(const resize_plan *s)
{
    if (!s->ring || s->leads == 0) {
        return (double)s->taps;
    }
    const resize_axis *near = &s->lead[s->leads - 1];
    const double each = (double)near->taps;
    return (double)s->taps / each * fmin(each, (double)near->in / (double)near->out);
}

/* Elements in rows: input rows are resized along the width once, but for windows that are too large
 * for the ring. */
static double rows_work(const ry_query *query, const resize_plan *s,
                        const struct ry_resize_costs *cost)
{
    const double rows = (double)s->rows.extent, pixels = rows * (double)s->width.out;
    const bool copied = s->taps == 1 && s->width.taps == 1;
    return rows * (copied ? cost->copied : cost->row) +
           pixels * (along_work(query, s, cost) * resized_rows(s) +
                     (s->taps > 1 ? cost->down * (double)s->taps : 0));
}

/* Rows of pixels: rows of a larger ring take time to be read. */
static double pixels_work(const ry_query *query, const resize_plan *s)
{
    const struct ry_resize_costs *cost = &ry_costs_asked(query)->resize;
    const ry_machine *machine = query->target->machine;
    const int width = query->kernel->simd.width;
    const double pixels = (double)s->rows.extent * (double)s->width.out,
                 row = 4.0 * (double)s->inner;
    const double taps =
        (double)((s->taps > 1 ? s->taps : 0) + (s->width.taps > 1 ? s->width.taps : 0));
    const double ring = s->taps > 1 ? (double)s->taps * row : 0;
    const bool near =
        ring * (double)s->width.out <= ry_costs_asked(query)->blocks.resize_ring *
                                           (double)ry_machine_core_bytes(machine, RYND_LEVEL_L2);
    const double products = taps * (double)ry_ceil_div(s->inner, width) * cost->product;
    const double rest = taps > 0 && s->inner % width != 0 ? 2 * cost->rest : 0;
    return pixels * (cost->pixel + products + rest + (near ? 0 : ry_stream_work(machine, ring)));
}

double ry_resize_filling_work(const ry_query *query, const resize_plan *s)
{
    double filled = 0;
    for (int a = 0; a <= s->leads; a++) {
        const resize_axis *t = a < s->leads ? &s->lead[a] : &s->width;
        filled += t->late ? (double)t->entries * (double)(1 + t->taps) : 0;
    }
    return filled * ry_costs_asked(query)->resize.filled;
}

static bool converts(const resize_plan *s)
{
    return !s->picks && s->dtype != RYND_DTYPE_F32 && s->dtype != RYND_DTYPE_F64;
}

double ry_resize_work(const ry_query *query, const resize_plan *s)
{
    const struct ry_resize_costs *cost = &ry_costs_asked(query)->resize;
    const double moved = ry_stream_work(query->target->machine, ry_problem_bytes(query->problem)),
                 summed = s->inner == 1 ? rows_work(query, s, cost) : pixels_work(query, s);
    return moved + summed * (s->wide && !s->picks ? 2 : 1) +
           (converts(s) ? (double)ry_tensor_count(&query->problem->out[0]) * cost->converted : 0);
}
