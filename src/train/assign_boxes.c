/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns candidates to boxes, by tensors [N, boxes, A]. */
#include "train/assign_boxes.h"

#include <stdio.h>

/* TOPK candidates of a box. */
enum { TOPK = 10 };

typedef struct assigning {
    ry_emitter *e;
    const ry_candidates *c;
    ry_dtype dtype;
    ry_value_id label, box[4]; /* [N, boxes, 1] */
    ry_value_id onehot;        /* [N, boxes, classes] */
    ry_value_id iou, metric;   /* [N, boxes, A] */
    ry_value_id taken;         /* 1 where the candidate belongs to the box */
} assigning;

int64_t ry_candidates_background(const ry_candidates *c)
{
    return c->head->background == RY_HEAD_LAST ? c->classes - 1 : c->head->background;
}

/* Numbers along an axis: the places, or the class numbers of the scores, without the background. */
static ry_value_id numbers(const assigning *a, int axis, int64_t count, int64_t without)
{
    ry_shape shape = {.rank = 3, .dim = {1, 1, 1}};
    shape.dim[axis] = count;
    const ry_value_id v = a->e->status == RYND_OK
                              ? ry_graph_add_constant(a->e->graph, NULL, a->dtype, &shape, NULL)
                              : RY_NO_VALUE;
    if (v == RY_NO_VALUE) {
        ry_emit_fail(a->e, RYND_ERROR_OUT_OF_MEMORY, "out of memory");
        return v;
    }
    void *data = ry_graph_constant_data(a->e->graph, v);
    for (int64_t i = 0; i < count; i++) {
        const int64_t number = i == without ? -1 : i - (without >= 0 && i > without);
        ry_set_f64(a->dtype, data, i, (double)number);
    }
    return v;
}

static ry_value_id column(const assigning *a, ry_value_id target, int64_t place)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_slice);
    attrs.slice.axes = (ry_ints){1, {2}};
    attrs.slice.starts = (ry_ints){1, {place}};
    attrs.slice.ends = (ry_ints){1, {place + 1}};
    attrs.slice.steps = (ry_ints){1, {1}};
    return ry_emit(a->e, RY_OP_slice, &attrs, 1, &target);
}

/* Probabilities of classes, [N, classes, A]. */
static ry_value_id probabilities(const assigning *a)
{
    const ry_head *head = a->c->head;
    ry_attrs softmax = ry_attrs_default(RY_OP_softmax);
    softmax.softmax.axis = 1;
    return head->softmax   ? ry_emit(a->e, RY_OP_softmax, &softmax, 1, &a->c->scores)
           : head->sigmoid ? ry_emit_expr(a->e, "sigmoid(x0)", 1, &a->c->scores)
                           : a->c->scores;
}

/* "pow(max(x0, 0), p)", without the power if it is 1. */
static void put_power(char text[48], const char *x, double power, const char *name)
{
    if (power == 0 || power == 1) {
        snprintf(text, 48, "max(%s, 0)", x);
    } else {
        snprintf(text, 48, "pow(max(%s, 0), %s)", x, name);
    }
}

/* The candidates' scores for each box's class, [N, boxes, A]: as ry_decode computes them. */
static ry_value_id scores(const assigning *a)
{
    const ry_head *head = a->c->head;
    const bool object = a->c->object != RY_NO_VALUE;
    const ry_expr_parameter powers[] = {{"p", head->class_power}, {"q", head->power}};
    ry_value_id in[2] = {a->onehot, probabilities(a)};
    char text[112], parts[2][48];
    put_power(parts[0], "x0", head->class_power, "p");
    put_power(parts[1], head->sigmoid ? "sigmoid(x1)" : "x1", head->power, "q");
    snprintf(text, sizeof text, "%s%s%s", parts[0], object ? " * " : "", object ? parts[1] : "");
    in[0] = ry_emit(a->e, RY_OP_matmul, NULL, 2, in);
    in[1] = a->c->object;
    return ry_emit_expr_with(a->e, text, powers, 2, object ? 2 : 1, in);
}

static void measure(assigning *a)
{
    const ry_value_id *s = a->c->side;
    const ry_value_id both[] = {s[0], s[1], s[2], s[3], a->box[0], a->box[1], a->box[2], a->box[3]};
    a->iou = ry_emit_expr(
        a->e,
        "c = max(min(x2, x6) - max(x0, x4), 0) * max(min(x3, x7) - max(x1, x5), 0); "
        "u = max(x2 - x0, 0) * max(x3 - x1, 0) + (x6 - x4) * (x7 - x5) - c; y0 = c / max(u, 1e-9)",
        8, both);
    ry_value_id in[] = {scores(a), a->iou,  a->box[0], a->box[1], a->box[2],
                        a->box[3], a->c->x, a->c->y,   a->c->size};
    const bool placed = a->c->x != RY_NO_VALUE;
    a->metric = ry_emit_expr(
        a->e,
        placed ? "m = sqrt(x0) * x1 * x1 * x1 * x1 * x1 * x1; w = max((x4 - x2) / 2, x8); "
                 "h = max((x5 - x3) / 2, x8); i = (abs(x6 - (x2 + x4) / 2) < w) & "
                 "(abs(x7 - (x3 + x5) / 2) < h); y0 = select(i, m, 0)"
               : "sqrt(x0) * x1 * x1 * x1 * x1 * x1 * x1",
        placed ? 9 : 2, in);
}

/* The TOPK best of each box; then each candidate goes to the box that it overlaps most, the first
 * of equal ones. */
static void choose(assigning *a, int64_t boxes)
{
    const int64_t most = a->c->count < TOPK ? a->c->count : TOPK;
    ry_attrs topk = ry_attrs_default(RY_OP_topk), best = ry_attrs_default(RY_OP_arg_reduce);
    ry_value_id in[3] = {a->metric, ry_emit_i64s(a->e, 1, &most)}, found[2];
    topk.topk.axis = 2;
    ry_emit_outputs(a->e, RY_OP_topk, &topk, 2, in, 2, NULL, found);
    in[1] = ry_emit_reduce(a->e, "min(x0)", &(ry_ints){1, {2}}, true, 1, &found[0]);
    in[2] = a->iou;
    const ry_value_id overlap = ry_emit_expr(a->e, "select((x0 >= x1) & (x0 > 0), x2, -1)", 3, in);
    best.arg_reduce.axis = 1;
    const ry_value_id places[] = {overlap, ry_emit(a->e, RY_OP_arg_reduce, &best, 1, &overlap),
                                  numbers(a, 1, boxes, -1)};
    char text[96];
    snprintf(text, sizeof text, "cast((x0 > 0) & (cast(x1, %s) == x2), %s)",
             ry_dtype_name(a->dtype), ry_dtype_name(a->dtype));
    a->taken = ry_emit_expr(a->e, text, 3, places);
}

/* [N, boxes, A]: metric over the box's greatest one, times its greatest IoU. */
static ry_value_id weights(const assigning *a)
{
    const ry_ints along = {1, {2}};
    const ry_value_id metrics[] = {a->metric, a->taken}, overlaps[] = {a->iou, a->taken};
    const ry_value_id in[] = {a->metric, a->taken,
                              ry_emit_reduce(a->e, "max(x0 * x1)", &along, true, 2, metrics),
                              ry_emit_reduce(a->e, "max(x0 * x1)", &along, true, 2, overlaps)};
    return ry_emit_expr(a->e, "x0 * x1 / max(x2, 1e-30) * x3", 4, in);
}

/* [N, classes, A] of [N, boxes, A], by the boxes' classes. */
static ry_value_id by_class(const assigning *a, ry_value_id amounts, ry_value_id weight)
{
    const int64_t none = ry_candidates_background(a->c);
    ry_attrs product = ry_attrs_default(RY_OP_matmul);
    product.matmul.trans_a = true;
    const ry_value_id rows =
        ry_emit(a->e, RY_OP_matmul, &product, 2, (ry_value_id[]){a->onehot, amounts});
    if (none < 0) {
        return rows;
    }
    const ry_value_id in[] = {rows, numbers(a, 1, a->c->classes, none), weight};
    return ry_emit_expr(a->e, "select(x1 < 0, 1 - x2, x0)", 3, in);
}

void ry_emit_assignment(ry_emitter *e, const ry_candidates *c, ry_value_id target,
                        ry_assignment *to)
{
    const ry_ints boxes = {1, {1}};
    assigning a = {.e = e, .c = c, .dtype = ry_emit_dtype(e, c->scores)};
    a.label = column(&a, target, 0);
    for (int i = 0; i < 4; i++) {
        a.box[i] = column(&a, target, 1 + i);
    }
    char text[48];
    snprintf(text, sizeof text, "cast((x0 == x1) & (x0 >= 0), %s)", ry_dtype_name(a.dtype));
    const ry_value_id labels[] = {a.label, numbers(&a, 2, c->classes, ry_candidates_background(c))};
    a.onehot = ry_emit_expr(e, text, 2, labels);
    measure(&a);
    choose(&a, ry_emit_shape(e, target).dim[1]);
    const ry_value_id amounts = weights(&a);
    to->weight = ry_emit_reduce(e, "sum(x0)", &boxes, true, 1, &amounts);
    for (int i = 0; i < 4; i++) {
        const ry_value_id in[] = {a.taken, a.box[i]};
        to->side[i] = ry_emit_reduce(e, "sum(x0 * x1)", &boxes, true, 2, in);
    }
    to->scores = by_class(&a, c->object == RY_NO_VALUE ? amounts : a.taken, to->weight);
}
