/* SPDX-License-Identifier: Apache-2.0 */
/* Average precision and recall of boxes, as pycocotools' COCOeval.accumulate and summarize. */
#include "tasks/evaluation.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { RECALLS = 101 }; /* 0, 0.01 ... 1 */

/* A sum of numbers, some of which may be missing. */
typedef struct mean {
    double sum;
    int64_t count;
} mean;

static void add(mean *m, double value)
{
    m->sum += value;
    m->count++;
}

static double value_of(const mean *m)
{
    return m->count > 0 ? m->sum / (double)m->count : NAN;
}

/* Best score first; equal scores in the order of addition. */
static int by_score(const void *a, const void *b)
{
    const ry_eval_box *x = a, *y = b;
    return x->label != y->label   ? (x->label < y->label ? -1 : 1)
           : x->score != y->score ? (x->score > y->score ? -1 : 1)
                                  : (x->order > y->order) - (x->order < y->order);
}

/* All boxes of a class. */
typedef struct column {
    const ry_eval_box *boxes;
    size_t count;
    double *precision, *recall; /* room for as many numbers as boxes */
} column;

/* The curve over the boxes that count; returns its length. */
static size_t draw_curve(const column *c, int area, int step, size_t most, int64_t objects)
{
    size_t right = 0, wrong = 0, length = 0;
    for (size_t i = 0; i < c->count; i++) {
        const ry_eval_box *box = &c->boxes[i];
        if (box->rank >= most || (box->ignored[area] >> step & 1)) {
            continue;
        }
        if (box->right[area] >> step & 1) {
            right++;
        } else {
            wrong++;
        }
        c->recall[length] = (double)right / (double)objects;
        c->precision[length++] = (double)right / ((double)(right + wrong) + DBL_EPSILON);
    }
    return length;
}

/* The mean precision at 101 recalls: at each the best precision of this or a larger recall. */
static double average(const column *c, size_t length)
{
    double sum = 0;
    for (size_t i = length; i-- > 1;) {
        c->precision[i - 1] = fmax(c->precision[i - 1], c->precision[i]);
    }
    for (size_t r = 0, i = 0; r < RECALLS; r++) {
        const double recall = r + 1 == RECALLS ? 1 : (double)r * 0.01;
        while (i < length && c->recall[i] < recall) {
            i++;
        }
        sum += i < length ? c->precision[i] : 0;
    }
    return sum / RECALLS;
}

/* Sums over classes and overlaps. */
typedef struct sums {
    mean precision[RY_EVAL_AREAS], at50, at75;
    mean recall[RY_EVAL_AREAS], recall1, recall10;
} sums;

static void add_recall(const column *c, int step, size_t most, int64_t objects, mean *to)
{
    const size_t length = draw_curve(c, 0, step, most, objects);
    add(to, length ? c->recall[length - 1] : 0);
}

/* The precisions of a class in one area; returns their mean. */
static double add_area(const column *c, int area, int64_t objects, sums *all, double *at50)
{
    mean whole = {0};
    for (int step = 0; objects > 0 && step < RY_EVAL_OVERLAPS; step++) {
        const size_t length = draw_curve(c, area, step, RY_EVAL_BOXES, objects);
        const double recall = length ? c->recall[length - 1] : 0, precision = average(c, length);
        add(&all->precision[area], precision);
        add(&all->recall[area], recall);
        add(&whole, precision);
        *at50 = step == 0 ? precision : *at50;
        if (area == 0 && step % 5 == 0) {
            add(step ? &all->at75 : &all->at50, precision);
        }
    }
    return value_of(&whole);
}

static void add_class(rynd_evaluation *e, const column *c, int64_t label, sums *all)
{
    const int64_t *objects = e->objects[label];
    double other = NAN;
    e->ap50[label] = NAN;
    e->ap[label] = add_area(c, 0, objects[0], all, &e->ap50[label]);
    for (int area = 1; area < RY_EVAL_AREAS; area++) {
        add_area(c, area, objects[area], all, &other);
    }
    for (int step = 0; objects[0] > 0 && step < RY_EVAL_OVERLAPS; step++) {
        add_recall(c, step, 1, objects[0], &all->recall1);
        add_recall(c, step, 10, objects[0], &all->recall10);
    }
}

static void fill_figures(rynd_evaluation *e, const sums *all)
{
    const mean *const order[] = {&all->precision[0], &all->at50,         &all->at75,
                                 &all->precision[1], &all->precision[2], &all->precision[3],
                                 &all->recall1,      &all->recall10,     &all->recall[0],
                                 &all->recall[1],    &all->recall[2],    &all->recall[3]};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        e->figures[i] = value_of(order[i]);
    }
}

rynd_status ry_eval_settle_boxes(rynd_evaluation *e, ry_error *error)
{
    double *room = ry_allocate_array(&e->allocator, 2 * e->box_count + 1, sizeof *room);
    sums all = {0};
    if (!room) {
        return ry_fail_memory(error);
    }
    if (e->box_count > 1) {
        qsort(e->boxes, e->box_count, sizeof *e->boxes, by_score);
    }
    column c = {.boxes = e->boxes, .precision = room, .recall = room + e->box_count};
    size_t at = 0; /* the label's first box */
    for (int64_t label = 0; label < e->classes; label++) {
        for (c.count = 0; at < e->box_count && e->boxes[at].label == label; at++) {
            c.count++;
        }
        c.boxes = c.count ? e->boxes + at - c.count : NULL;
        add_class(e, &c, label, &all);
    }
    fill_figures(e, &all);
    ry_release(&e->allocator, room);
    return RYND_OK;
}
