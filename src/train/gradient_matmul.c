/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of matmul: y = alpha op(a) op(b) + beta c, by numpy's rules for vectors and for
 * broadcast batches. */
#include "train/gradient.h"

/* The node with vectors as matrices. */
typedef struct product {
    ry_emitter e;
    ry_value_id a, b, dy;
    ry_shape a_shape, b_shape; /* as the node has them */
    bool trans_a, trans_b;
    double alpha;
} product;

/* A vector is a row on the left and a column on the right. */
static ry_value_id as_matrix(ry_emitter *e, ry_value_id v, bool left)
{
    const ry_shape shape = ry_emit_shape(e, v);
    const ry_shape matrix = {.rank = 2, .dim = {left ? 1 : shape.dim[0], left ? shape.dim[0] : 1}};
    return shape.rank == 1 ? ry_emit_reshape(e, v, &matrix) : v;
}

/* dy with the dims that vectors have not. */
static ry_value_id with_matrix_dims(ry_emitter *e, ry_value_id dy, bool row, bool column)
{
    ry_shape shape = ry_emit_shape(e, dy);
    if (row) {
        const int at = column ? shape.rank : shape.rank - 1;
        shape.dim[shape.rank] = at < shape.rank ? shape.dim[at] : 1;
        shape.dim[at] = 1;
        shape.rank++;
    }
    if (column) {
        shape.dim[shape.rank++] = 1;
    }
    return ry_emit_reshape(e, dy, &shape);
}

static ry_value_id times(product *p, ry_value_id left, bool trans_left, ry_value_id right,
                         bool trans_right)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_matmul);
    attrs.matmul.trans_a = trans_left;
    attrs.matmul.trans_b = trans_right;
    attrs.matmul.alpha = p->alpha;
    return ry_emit(&p->e, RY_OP_matmul, &attrs, 2, (ry_value_id[]){left, right});
}

/* Sums over broadcast batches, where the matrix has fewer. */
static ry_value_id fit(product *p, ry_value_id gradient, ry_value_id matrix, const ry_shape *shape)
{
    const ry_shape own = ry_emit_shape(&p->e, matrix);
    return ry_emit_reshape(&p->e, ry_emit_sum_to(&p->e, gradient, &own), shape);
}

static ry_value_id left_gradient(product *p)
{
    const ry_value_id da = p->trans_a ? times(p, p->b, p->trans_b, p->dy, true)
                                      : times(p, p->dy, false, p->b, !p->trans_b);
    return fit(p, da, p->a, &p->a_shape);
}

/* Joins all batches to the rows of one matrix. */
static ry_value_id rows(ry_emitter *e, ry_value_id v)
{
    const ry_shape shape = ry_emit_shape(e, v);
    const int64_t columns = shape.rank ? shape.dim[shape.rank - 1] : 1;
    const ry_shape matrix = {.rank = 2,
                             .dim = {columns ? ry_shape_elements(&shape) / columns : 0, columns}};
    return ry_emit_reshape(e, v, &matrix);
}

static ry_value_id right_gradient(product *p)
{
    ry_value_id a = p->a, dy = p->dy;
    if (ry_emit_shape(&p->e, p->b).rank == 2 && !p->trans_a) {
        a = rows(&p->e, a);
        dy = rows(&p->e, dy);
    }
    const ry_value_id db =
        p->trans_b ? times(p, dy, true, a, p->trans_a) : times(p, a, !p->trans_a, dy, false);
    return fit(p, db, p->b, &p->b_shape);
}

/* What was added to the product, times a factor. */
static ry_value_id added_gradient(ry_emitter *e, ry_value_id dy, ry_value_id added, double factor)
{
    const ry_shape shape = ry_emit_shape(e, added);
    ry_value_id sum = ry_emit_sum_to(e, dy, &shape);
    if (factor != 1) {
        sum = ry_emit_expr_with(e, "x0 * f", &(ry_expr_parameter){"f", factor}, 1, 1, &sum);
    }
    return sum;
}

rynd_status ry_gradient_matmul(const ry_gradient_call *call)
{
    const ry_node node = ry_gradient_node(call);
    const ry_matmul_attrs *attrs = &node.attrs.matmul;
    product p = {.e = ry_gradient_emitter(call), .alpha = attrs->alpha};
    const double factor[4] = {0, 0, attrs->beta, 1};
    if (attrs->activation != RY_activation_none) {
        return ry_gradient_refuse(call, "it has an activation, and no gradient with it: "
                                        "differentiate the graph before it is rewritten");
    }
    for (int i = 2; i < node.inputs; i++) {
        if (call->wanted[i]) {
            call->dx[i] = added_gradient(&p.e, call->dy[0], node.in[i], factor[i]);
        }
    }
    if (!call->wanted[0] && !call->wanted[1]) {
        return p.e.status;
    }
    p.a_shape = ry_emit_shape(&p.e, node.in[0]);
    p.b_shape = ry_emit_shape(&p.e, node.in[1]);
    p.trans_a = attrs->trans_a && p.a_shape.rank > 1;
    p.trans_b = attrs->trans_b && p.b_shape.rank > 1;
    p.a = as_matrix(&p.e, node.in[0], true);
    p.b = as_matrix(&p.e, node.in[1], false);
    p.dy = with_matrix_dims(&p.e, call->dy[0], p.a_shape.rank == 1, p.b_shape.rank == 1);
    if (call->wanted[0]) {
        call->dx[0] = left_gradient(&p);
    }
    if (call->wanted[1]) {
        call->dx[1] = right_gradient(&p);
    }
    return p.e.status;
}
