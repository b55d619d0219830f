/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the tables of a resize: positions and weights of each output's taps. */
#include "kernels/cpu/sample/resize_tables.h"

#include "base/integer.h"
#include "base/room.h"

#include <math.h>

/* A table that is being filled. */
typedef struct filling {
    const resize_axis *t;
    void *first, *weight;
    bool wide;
} filling;

static filling filling_in(const resize_plan *s, const resize_axis *t, void *memory)
{
    return (filling){t, RY_AT(void, memory, t->first), RY_AT(void, memory, t->weight), s->wide};
}

/* Sets the position of output `o`: so that all taps can be read, it is moved back from the end.
 * Returns it. */
static int64_t set_first(const filling *f, int64_t o, int64_t from)
{
    const resize_axis *t = f->t;
    const int64_t first = ry_min(from, t->in - t->taps);
    if (t->far) {
        ((int64_t *)f->first)[o - t->base] = first;
    } else {
        ((int32_t *)f->first)[o - t->base] = (int32_t)first;
    }
    return first;
}

static int64_t get_first(const filling *f, int64_t o)
{
    const int64_t at = o - f->t->base;
    return f->t->far ? ((const int64_t *)f->first)[at] : ((const int32_t *)f->first)[at];
}

static void set_weight(const filling *f, int64_t tap, int64_t o, double w)
{
    const int64_t at = tap * f->t->step_tap + (o - f->t->base) * f->t->step_out;
    if (f->wide) {
        ((double *)f->weight)[at] = w;
    } else {
        ((float *)f->weight)[at] = (float)w;
    }
}

/* Fills the table of the transposed map: output i is made of the forward outputs that read it. */
void ry_resize_fill_transposed(resize_plan *s, const ry_resize_axis *axis, void *room,
                               resize_axis *t)
{
    const resize_transposing from = resize_transposing_in(room, axis);
    const filling f = filling_in(s, t, s);
    ry_resize_find_readers(axis, from.readers, from.row);
    t->plain = t->taps == 1;
    for (int64_t i = t->base; i < t->base + t->entries; i++) {
        const ry_resize_readers *r = &from.readers[i];
        set_first(&f, i, r->first);
        t->plain = t->plain && r->count == 1;
        for (int64_t j = 0; j < t->taps; j++) {
            set_weight(&f, j, i, 0);
        }
    }
    for (int64_t o = 0; o < axis->out; o++) {
        int64_t i = 0;
        const int64_t count = ry_resize_taps(axis, o, &i, from.row);
        for (int64_t j = 0; j < count; j++) {
            set_weight(&f, o - get_first(&f, i + j), i + j, from.row[j]);
            t->plain = t->plain && from.row[j] == 1;
        }
    }
}

/* Fills the entry of output o; returns how many taps it has. A window that would pass the end of
 * the input moves back, and its weights forward: all `taps` elements can then be read. */
static int64_t fill_entry(const filling *f, const ry_resize_axis *axis, int64_t o, double *found)
{
    const resize_axis *t = f->t;
    int64_t from = 0, count = ry_resize_taps(axis, o, &from, found);
    const int64_t back = from - set_first(f, o, from);
    for (int64_t j = 0; j < t->taps; j++) {
        set_weight(f, j, o, j >= back && j - back < count ? found[j - back] : 0);
    }
    return count;
}

/* Fills a table of the state. */
void ry_resize_fill_axis(resize_plan *s, const ry_resize_axis *axis, resize_axis *t, double *found)
{
    const filling f = filling_in(s, t, s);
    t->plain = t->taps == 1;
    t->repeat = t->out % t->in == 0 ? t->out / t->in : 0;
    t->inside_begin = t->out;
    t->inside_end = 0;
    for (int64_t o = 0; o < t->out; o++) {
        const int64_t count = fill_entry(&f, axis, o, found);
        t->inside_begin = count > 0 && o < t->inside_begin ? o : t->inside_begin;
        t->inside_end = count > 0 ? o + 1 : t->inside_end;
        t->plain = t->plain && (count == 0 || found[0] == 1);
        t->repeat =
            t->plain && get_first(&f, o) == (t->repeat ? o / t->repeat : -1) ? t->repeat : 0;
    }
    t->inside_begin = t->inside_begin < t->inside_end ? t->inside_begin : t->inside_end;
}

/* Where the windows of outputs move along: all but those outside. */
typedef struct moving {
    const ry_resize_axis *axis;
    int64_t begin, end;
    double *found;
} moving;

static moving moving_of(const ry_resize_axis *axis, double *found)
{
    moving m = {axis, 0, 0, found};
    ry_resize_inside(axis, &m.begin, &m.end);
    return m;
}

/* Does a window lie wholly before input `i`, in the direction that windows move in? */
static bool lies_before(const moving *m, int64_t o, int64_t i, bool rising)
{
    int64_t first = 0;
    const int64_t count = ry_resize_taps(m->axis, o, &first, m->found);
    return rising ? first + count <= i : first > i;
}

/* The first output whose window does not lie before input i. */
static int64_t reaching(const moving *m, int64_t i, bool rising)
{
    int64_t low = m->begin, high = m->end;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (lies_before(m, middle, i, rising)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Fills entries [begin, end) of the transposed map's table, and no others: the outputs whose
 * windows reach those inputs are found by bisection. */
static void fill_readers(const filling *f, const ry_resize_axis *axis, int64_t begin, int64_t end,
                         double *found)
{
    const moving m = moving_of(axis, found);
    const bool rising =
        axis->coordinates != RY_resize_coordinates_tf_crop_and_resize || axis->end >= axis->start;
    for (int64_t i = begin; i < end; i++) {
        set_first(f, i, f->t->in);
        for (int64_t j = 0; j < f->t->taps; j++) {
            set_weight(f, j, i, 0);
        }
    }
    for (int64_t o = reaching(&m, rising ? begin : end - 1, rising); o < m.end; o++) {
        int64_t first = 0;
        const int64_t count = ry_resize_taps(axis, o, &first, found),
                      last = ry_min(first + count, end);
        if (rising ? first >= end : first + count <= begin) {
            break;
        }
        for (int64_t i = ry_max(first, begin); i < last; i++) {
            const int64_t known = get_first(f, i);
            set_weight(f, o - (known <= o ? known : set_first(f, i, o)), i, found[i - first]);
        }
    }
}

/* Along the slope of positions, each output reads its window; beyond the ends, all may read the
 * edge. Positions of float32 are a few roundings away. */
resize_readers_bound ry_resize_readers_bound(const ry_resize_axis *axis)
{
    const double in = (double)axis->in, out = (double)axis->out,
                 reach = (double)ry_resize_max_taps(axis) + 2 + (axis->rounded ? in * 0x1p-21 : 0);
    if (axis->coordinates != RY_resize_coordinates_tf_crop_and_resize) {
        const double each = fabs(axis->scale * in - out) <= 1 ? (out / in + 2) * reach : out;
        return (resize_readers_bound){0, axis->in, (int64_t)fmin(ceil(each), out)};
    }
    int64_t begin, end;
    ry_resize_inside(axis, &begin, &end);
    end = ry_max(end, begin + 1);
    const double first = ry_resize_coordinate(axis, begin),
                 last = ry_resize_coordinate(axis, end - 1), count = (double)(end - begin),
                 low = floor(fmin(first, last) - reach), high = ceil(fmax(first, last) + reach);
    const double each = count * reach / fmax(fabs(last - first), 1e-3) + 1;
    const int64_t lowest = (int64_t)fmin(fmax(low, 0), in - 1),
                  highest = (int64_t)fmin(fmax(high, 0), in - 1);
    return (resize_readers_bound){lowest, highest + 1, (int64_t)fmin(ceil(each), count)};
}

void ry_resize_fill(const ry_problem *problem, const resize_plan *plan, size_t task,
                    void *workspace, void *scratch)
{
    int64_t part = (int64_t)task;
    for (int a = 0; a <= plan->leads; a++) {
        const resize_axis *t = a < plan->leads ? &plan->lead[a] : &plan->width;
        const int64_t parts = t->late ? ry_ceil_div(t->entries, RESIZE_FILLED) : 0;
        if (part >= 0 && part < parts) {
            const ry_resize_axis axis = resize_axis_of(problem, t->dim);
            const filling f = filling_in(plan, t, workspace);
            const int64_t begin = t->base + part * RESIZE_FILLED,
                          end = ry_min(begin + RESIZE_FILLED, t->base + t->entries);
            if (plan->transposed) {
                fill_readers(&f, &axis, begin, end, scratch);
            }
            for (int64_t o = begin; o < end && !plan->transposed; o++) {
                fill_entry(&f, &axis, o, scratch);
            }
        }
        part -= parts;
    }
}

/* Enlarging by a whole number makes a pattern that repeats, apart from the edges: from one middle
 * period it is followed both ways. */
void ry_resize_find_period(const resize_plan *s, resize_axis *t)
{
    const resize_tables tables = {{(const char *)s, NULL}, s->wide};
    const int64_t p = t->out % t->in == 0 ? t->out / t->in : 0, middle = p ? t->in / 2 * p : 0;
    t->period = p > 1 && p <= RESIZE_PERIOD && t->in >= 4 && !t->plain && !t->late ? p : 0;
    if (t->period == 0) {
        return;
    }
    t->begin = t->end = middle;
    for (int way = -1; way <= 1; way += 2) {
        for (int64_t o = way < 0 ? middle - 1 : middle; o >= 0 && o < t->out; o += way) {
            int64_t like = middle + (o % p), further = o / p - middle / p;
            bool same = resize_first(&tables, t, o) == resize_first(&tables, t, like) + further;
            for (int64_t j = 0; same && j < t->taps; j++) {
                same = resize_weight(&tables, t, j, o) == resize_weight(&tables, t, j, like);
            }
            if (!same) {
                break;
            }
            *(way < 0 ? &t->begin : &t->end) = way < 0 ? o : o + 1;
        }
    }
    t->begin = (t->begin + p - 1) / p * p;
    t->end = t->end / p * p;
    t->period = t->begin < t->end ? p : 0;
}
