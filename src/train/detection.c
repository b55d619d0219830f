/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over candidates; wanted values come from the assignment. */
#include "train/detection.h"

static const ry_ints everything = {.count = 0};

/* Binary cross-entropy: of logits, and of probabilities, whose logarithms stay finite. */
static const char *binary_text(bool logits)
{
    return logits ? "sum(softplus(x0) - x0 * x1)"
                  : "sum(-x1 * log(max(x0, 1e-30)) - (1 - x1) * log(max(1 - x0, 1e-7)))";
}

static const char *weighted_text(bool logits)
{
    return logits ? "sum(x2 * (softplus(x0) - x0 * x1))"
                  : "sum(x2 * (-x1 * log(max(x0, 1e-30)) - (1 - x1) * log(max(1 - x0, 1e-7))))";
}

/* One class is right: cross-entropy. */
static ry_value_id exclusive_loss(ry_emitter *e, const ry_candidates *c, const ry_assignment *a)
{
    const bool weighted = c->object != RY_NO_VALUE;
    ry_attrs softmax = ry_attrs_default(RY_OP_softmax);
    softmax.softmax.axis = 1;
    softmax.softmax.kind = RY_softmax_kind_log_softmax;
    const ry_value_id in[] = {c->head->softmax
                                  ? ry_emit(e, RY_OP_softmax, &softmax, 1, &c->scores)
                                  : ry_emit_expr(e, "log(max(x0, 1e-30))", 1, &c->scores),
                              a->scores, a->weight};
    return ry_emit_reduce(e, weighted ? "sum(-x0 * x1 * x2)" : "sum(-x0 * x1)", &everything, false,
                          weighted ? 3 : 2, in);
}

static ry_value_id class_loss(ry_emitter *e, const ry_candidates *c, const ry_assignment *a)
{
    const ry_value_id in[] = {c->scores, a->scores, a->weight};
    if (c->head->softmax || ry_candidates_background(c) >= 0) {
        return exclusive_loss(e, c, a);
    }
    return c->object != RY_NO_VALUE
               ? ry_emit_reduce(e, weighted_text(c->head->sigmoid), &everything, false, 3, in)
               : ry_emit_reduce(e, binary_text(c->head->sigmoid), &everything, false, 2, in);
}

static ry_value_id box_loss(ry_emitter *e, const ry_candidates *c, const ry_assignment *a)
{
    const ry_value_id in[] = {c->side[0], c->side[1], c->side[2], c->side[3], a->side[0],
                              a->side[1], a->side[2], a->side[3], a->weight};
    return ry_emit_reduce(
        e,
        "i = max(min(x2, x6) - max(x0, x4), 0) * max(min(x3, x7) - max(x1, x5), 0); "
        "u = max(max(x2 - x0, 0) * max(x3 - x1, 0) + (x6 - x4) * (x7 - x5) - i, 1e-9); "
        "h = max((max(x2, x6) - min(x0, x4)) * (max(x3, x7) - min(x1, x5)), 1e-9); "
        "y0 = sum(select(x8 > 0, x8 * (2 - i / u - u / h), 0))",
        &everything, false, 9, in);
}

ry_value_id ry_emit_detection_loss(ry_emitter *e, const ry_candidates *c, const ry_assignment *a,
                                   double box_weight)
{
    const ry_expr_parameter weight = {"weight", box_weight};
    ry_value_id in[4] = {class_loss(e, c, a), box_loss(e, c, a),
                         ry_emit_reduce(e, "sum(x0)", &everything, false, 1, &a->weight)};
    if (c->object == RY_NO_VALUE) {
        return ry_emit_expr_with(e, "(x0 + weight * x1) / max(x2, 1)", &weight, 1, 3, in);
    }
    const ry_value_id object[] = {c->object, a->weight};
    in[3] = ry_emit_reduce(e, binary_text(c->head->sigmoid), &everything, false, 2, object);
    return ry_emit_expr_with(e, "(x0 + x3 + weight * x1) / max(x2, 1)", &weight, 1, 4, in);
}
