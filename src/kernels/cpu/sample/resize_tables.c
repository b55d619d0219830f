/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the tables of a resize: positions and weights of each output's taps. */
#include "kernels/cpu/sample/resize_tables.h"

#include "base/integer.h"
#include "base/room.h"

/* A table that is being filled. */
typedef struct filling {
    const resize_axis *t;
    int32_t *first;
    void *weight;
    bool wide;
} filling;

static filling filling_in(const resize_plan *s, const resize_axis *t, void *memory)
{
    return (filling){t, RY_AT(int32_t, memory, t->first), RY_AT(void, memory, t->weight), s->wide};
}

static void set_weight(const filling *f, int64_t tap, int64_t o, double w)
{
    const int64_t at = tap * f->t->step_tap + o * f->t->step_out;
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
    int32_t *first = f.first;
    ry_resize_find_readers(axis, from.readers, from.row);
    t->plain = t->taps == 1;
    for (int64_t i = 0; i < t->out; i++) {
        const ry_resize_readers *r = &from.readers[i];
        first[i] = (int32_t)(r->first + t->taps > t->in ? t->in - t->taps : r->first);
        t->plain = t->plain && r->count == 1;
        for (int64_t j = 0; j < t->taps; j++) {
            set_weight(&f, j, i, 0);
        }
    }
    for (int64_t o = 0; o < axis->out; o++) {
        int64_t i = 0;
        const int64_t count = ry_resize_taps(axis, o, &i, from.row);
        for (int64_t j = 0; j < count; j++) {
            set_weight(&f, o - first[i + j], i + j, from.row[j]);
            t->plain = t->plain && from.row[j] == 1;
        }
    }
    t->inside_begin = 0;
    t->inside_end = t->out;
}

/* Fills the entry of output o; returns how many taps it has. A window that would pass the end of
 * the input moves back, and its weights forward: all `taps` elements can then be read. */
static int64_t fill_entry(const filling *f, const ry_resize_axis *axis, int64_t o, double *found)
{
    const resize_axis *t = f->t;
    int64_t from = 0, count = ry_resize_taps(axis, o, &from, found);
    const int64_t back = from + t->taps > t->in ? from + t->taps - t->in : 0;
    f->first[o] = (int32_t)(from - back);
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
        t->repeat = t->plain && f.first[o] == (t->repeat ? o / t->repeat : -1) ? t->repeat : 0;
    }
    t->inside_begin = t->inside_begin < t->inside_end ? t->inside_begin : t->inside_end;
}

void ry_resize_fill(const ry_problem *problem, const resize_plan *plan, size_t task,
                    void *workspace, void *scratch)
{
    int64_t part = (int64_t)task;
    for (int a = 0; a <= plan->leads; a++) {
        const resize_axis *t = a < plan->leads ? &plan->lead[a] : &plan->width;
        const int64_t parts = t->late ? ry_ceil_div(t->out, RESIZE_FILLED) : 0;
        if (part >= 0 && part < parts) {
            const ry_resize_axis axis = resize_axis_of(problem, t->dim);
            const filling f = filling_in(plan, t, workspace);
            const int64_t end = ry_min((part + 1) * RESIZE_FILLED, t->out);
            for (int64_t o = part * RESIZE_FILLED; o < end; o++) {
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
    const int32_t *first = resize_firsts(&tables, t);
    t->begin = t->end = middle;
    for (int way = -1; way <= 1; way += 2) {
        for (int64_t o = way < 0 ? middle - 1 : middle; o >= 0 && o < t->out; o += way) {
            int64_t like = middle + (o % p), further = o / p - middle / p;
            bool same = first[o] == first[like] + further;
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
