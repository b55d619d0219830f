/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the boxes of a picture with its objects, as pycocotools' COCOeval.evaluateImg. */
#include "tasks/evaluation.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Areas in square pixels; both ends belong to a range. */
static const double areas[RY_EVAL_AREAS][2] = {
    {0, 1e10}, {0, 32 * 32}, {32 * 32, 96 * 96}, {96 * 96, 1e10}};

/* A box or an object in its picture. */
typedef struct place {
    double left, top, width, height, area;
    float score;
    int64_t label;
    size_t index;
    bool crowd;
} place;

/* Boxes and objects of one class in one picture, best box first. */
typedef struct group {
    const place *boxes, *objects;
    size_t box_count, object_count;
    double *overlaps; /* [box][object] */
    size_t *order;    /* object order: in each area the counted objects come first */
    bool *ignored, *taken;
} group;

/* By class, then best score, then index. Objects have no score. */
static int compare(const void *a, const void *b)
{
    const place *x = a, *y = b;
    return x->label != y->label   ? (x->label < y->label ? -1 : 1)
           : x->score != y->score ? (x->score > y->score ? -1 : 1)
                                  : (x->index > y->index) - (x->index < y->index);
}

static bool is_outside(double area, const double range[2])
{
    return area < range[0] || area > range[1];
}

static double overlap_of(const place *box, const place *object)
{
    const double width = fmin(box->width + box->left, object->width + object->left) -
                         fmax(box->left, object->left),
                 height = fmin(box->height + box->top, object->height + object->top) -
                          fmax(box->top, object->top);
    if (width <= 0 || height <= 0) {
        return 0;
    }
    const double common = width * height, area = box->width * box->height,
                 object_area = object->width * object->height;
    return common / (object->crowd ? area : area + object_area - common);
}

/* Objects that count in an area stand before the ignored ones. Returns how many count. */
static size_t order_objects(group *g, const double range[2])
{
    size_t placed = 0, counted = 0;
    for (int ignored = 0; ignored < 2; ignored++) {
        for (size_t i = 0; i < g->object_count; i++) {
            const place *object = &g->objects[i];
            if ((object->crowd || is_outside(object->area, range)) == (ignored == 1)) {
                g->ignored[placed] = ignored == 1;
                g->order[placed++] = i;
            }
        }
        counted = ignored ? counted : placed;
    }
    return counted;
}

/* The free object that a box overlaps most, of those that count before others; its place in the
 * order, or object_count. */
static size_t find_object(const group *g, size_t box, double least)
{
    size_t best = g->object_count;
    for (size_t k = 0; k < g->object_count; k++) {
        const place *object = &g->objects[g->order[k]];
        const double overlap = g->overlaps[box * g->object_count + g->order[k]];
        if (best < g->object_count && !g->ignored[best] && g->ignored[k]) {
            break;
        }
        if ((!g->taken[k] || object->crowd) && overlap >= least) {
            least = overlap;
            best = k;
        }
    }
    return best;
}

/* Gives objects to the boxes of a group at one area and one overlap. */
static void match(group *g, int area, int step, ry_eval_box *results)
{
    /* numpy's linspace(0.5, 0.95, 10) */
    const double overlap =
        step == RY_EVAL_OVERLAPS - 1 ? 0.95 : step * ((0.95 - 0.5) / (RY_EVAL_OVERLAPS - 1)) + 0.5;
    const uint16_t bit = (uint16_t)(1u << step);
    for (size_t i = 0; i < g->object_count; i++) {
        g->taken[i] = false;
    }
    for (size_t i = 0; i < g->box_count; i++) {
        const size_t k = find_object(g, i, fmin(overlap, 1 - 1e-10));
        const bool right = k < g->object_count;
        if (right) {
            g->taken[k] = true;
            results[i].right[area] |= bit;
        }
        if (right ? g->ignored[k] : is_outside(g->boxes[i].area, areas[area])) {
            results[i].ignored[area] |= bit;
        }
    }
}

/* `results` has a row for each box of the group. */
static void compare_group(rynd_evaluation *e, group *g, int64_t label, ry_eval_box *results)
{
    for (size_t i = 0; i < g->box_count; i++) {
        results[i] = (ry_eval_box){.score = g->boxes[i].score,
                                   .label = (int32_t)label,
                                   .order = (uint32_t)(e->box_count + i),
                                   .rank = (uint16_t)i};
        for (size_t k = 0; k < g->object_count; k++) {
            g->overlaps[i * g->object_count + k] = overlap_of(&g->boxes[i], &g->objects[k]);
        }
    }
    for (int area = 0; area < RY_EVAL_AREAS; area++) {
        e->objects[label][area] += (int64_t)order_objects(g, areas[area]);
        for (int step = 0; step < RY_EVAL_OVERLAPS; step++) {
            match(g, area, step, results);
        }
    }
    e->box_count += g->box_count;
}

static bool make_room(rynd_evaluation *e, size_t more)
{
    while (e->box_count + more > e->box_room) {
        ry_eval_box *grown =
            ry_arena_grow(&e->arena, e->boxes, e->box_room, &e->box_room, sizeof *e->boxes);
        if (!grown) {
            return false;
        }
        e->boxes = grown;
    }
    return true;
}

static size_t run_of(const place *from, const place *end, int64_t label)
{
    size_t count = 0;
    while (from + count < end && from[count].label == label) {
        count++;
    }
    return count;
}

/* Walks through the classes of a picture; both lists are sorted. */
static void compare_all(rynd_evaluation *e, const place *boxes, size_t count, const place *objects,
                        size_t object_count, group *g)
{
    const place *box = boxes, *object = objects, *const last_box = boxes + count,
                *const last_object = objects + object_count;
    while (box < last_box || object < last_object) {
        const int64_t label =
            object == last_object || (box < last_box && box->label < object->label) ? box->label
                                                                                    : object->label;
        const size_t many = run_of(box, last_box, label);
        g->boxes = box;
        g->objects = object;
        g->box_count = many < RY_EVAL_BOXES ? many : RY_EVAL_BOXES;
        g->object_count = run_of(object, last_object, label);
        compare_group(e, g, label, e->boxes + e->box_count);
        box += many;
        object += g->object_count;
    }
}

static rynd_status check_label(const rynd_evaluation *e, const char *name, size_t index,
                               int64_t label, ry_error *error)
{
    return label >= 0 && label < e->classes
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_ARGUMENT,
                         "%s[%zu]: class %" PRId64 " is outside the %" PRId64 " classes", name,
                         index, label, e->classes);
}

static rynd_status take_places(const rynd_evaluation *e, const rynd_box *found, size_t count,
                               const rynd_object *objects, size_t object_count, place *places,
                               ry_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const rynd_box *b = &found[i];
        RY_TRY(check_label(e, "found", i, b->label, error));
        place *p = &places[i];
        *p = (place){.left = (double)b->left,
                     .top = (double)b->top,
                     .width = (double)b->right - (double)b->left,
                     .height = (double)b->bottom - (double)b->top,
                     .score = b->score,
                     .label = b->label,
                     .index = i};
        p->area = p->width * p->height;
    }
    for (size_t i = 0; i < object_count; i++) {
        const rynd_object *o = &objects[i];
        RY_TRY(check_label(e, "objects", i, o->label, error));
        places[count + i] = (place){.left = o->left,
                                    .top = o->top,
                                    .width = o->width,
                                    .height = o->height,
                                    .area = o->area < 0 ? o->width * o->height : o->area,
                                    .label = o->label,
                                    .index = i,
                                    .crowd = o->crowd != 0};
    }
    return RYND_OK;
}

static rynd_status add(rynd_evaluation *e, const rynd_box *found, size_t count,
                       const rynd_object *objects, size_t object_count, ry_arena *arena,
                       ry_error *error)
{
    const size_t most = count < RY_EVAL_BOXES ? count : RY_EVAL_BOXES;
    size_t cells;
    if (!ry_mul_size(most, object_count, &cells)) {
        return ry_fail_memory(error);
    }
    place *places = RY_TAKE(arena, place, count + object_count);
    group g = {.overlaps = RY_TAKE(arena, double, cells),
               .order = RY_TAKE(arena, size_t, object_count),
               .ignored = RY_TAKE(arena, bool, object_count),
               .taken = RY_TAKE(arena, bool, object_count)};
    if (!places || !g.overlaps || !g.order || !g.ignored || !g.taken || !make_room(e, count)) {
        return ry_fail_memory(error);
    }
    RY_TRY(take_places(e, found, count, objects, object_count, places, error));
    if (count > 1) {
        qsort(places, count, sizeof *places, compare);
    }
    if (object_count > 1) {
        qsort(places + count, object_count, sizeof *places, compare);
    }
    compare_all(e, places, count, places + count, object_count, &g);
    e->pictures++;
    return RYND_OK;
}

rynd_status ry_eval_add_boxes(rynd_evaluation *e, const rynd_box *found, size_t count,
                              const rynd_object *objects, size_t object_count, ry_error *error)
{
    ry_arena arena;
    ry_arena_init(&arena, &e->allocator);
    const rynd_status status = add(e, found, count, objects, object_count, &arena, error);
    ry_arena_free(&arena);
    return status;
}
