/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of sums of products: matmul by numpy's rules, einsum by its equation. */
#include "graph/infer_table.h"
#include "problem/einsum.h"

/* The two matrix dims of an operand; a vector is a row on the left and a column on the right. */
static void matrix_dims(const ry_shape *shape, bool left, bool transposed, int64_t dims[2])
{
    if (shape->rank == 1) {
        dims[0] = left ? 1 : shape->dim[0];
        dims[1] = left ? shape->dim[0] : 1;
        return;
    }
    dims[transposed] = shape->dim[shape->rank - 2];
    dims[!transposed] = shape->dim[shape->rank - 1];
}

static ry_shape batch_dims(const ry_shape *shape)
{
    return ry_shape_of(shape->rank > 2 ? shape->rank - 2 : 0, shape->dim);
}

/* Inputs that are added to y must broadcast to it. */
static ry_infer_result check_added(ry_infer *infer, int i, const ry_shape *y)
{
    if (!ry_infer_has(infer, i)) {
        return RY_INFER_DONE;
    }
    RY_INFER_TRY(ry_infer_check_same_type(infer, i, 0));
    const ry_shape *c = &ry_infer_in(infer, i)->shape;
    bool fits = c->rank <= y->rank;
    for (int d = 1; fits && d <= c->rank; d++) {
        fits = c->dim[c->rank - d] == 1 || ry_infer_agree(c->dim[c->rank - d], y->dim[y->rank - d]);
    }
    char text[200];
    return fits ? RY_INFER_DONE
                : ry_infer_bad(infer, i, "does not broadcast to the output's %s",
                               ry_shape_text(infer->graph, y, text, sizeof text));
}

ry_infer_result ry_infer_op_matmul(ry_infer *infer)
{
    const ry_matmul_attrs *a = &infer->node->attrs.matmul;
    RY_INFER_TRY(ry_infer_check_rank(infer, 0, 1, RY_MAX_RANK));
    RY_INFER_TRY(ry_infer_check_rank(infer, 1, 1, RY_MAX_RANK));
    RY_INFER_TRY(ry_infer_check_same_type(infer, 1, 0));
    const ry_shape *left = &ry_infer_in(infer, 0)->shape, *right = &ry_infer_in(infer, 1)->shape;
    int64_t m[2], n[2];
    matrix_dims(left, true, a->trans_a != 0, m);
    matrix_dims(right, false, a->trans_b != 0, n);
    if (!ry_infer_agree(m[1], n[0])) {
        return ry_infer_bad(infer, 1,
                            "has %lld rows to sum over, input 0, value '%s', has %lld columns",
                            (long long)n[0], ry_infer_in(infer, 0)->name, (long long)m[1]);
    }
    ry_shape left_batch = batch_dims(left), right_batch = batch_dims(right), y;
    if (!ry_infer_broadcast(infer->graph, &left_batch, &right_batch, &y)) {
        return ry_infer_bad(
            infer, 1, "has batch dims that do not broadcast with those of input 0, value '%s'",
            ry_infer_in(infer, 0)->name);
    }
    if (left->rank > 1) {
        y.dim[y.rank++] = m[0];
    }
    if (right->rank > 1) {
        y.dim[y.rank++] = n[1];
    }
    RY_INFER_TRY(check_added(infer, 2, &y));
    RY_INFER_TRY(check_added(infer, 3, &y));
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &y);
    return RY_INFER_DONE;
}

/* Dims of the labels that have been read. */
typedef struct label_dims {
    int64_t dim[RY_EINSUM_LABELS];
    bool seen[RY_EINSUM_LABELS];
} label_dims;

static ry_infer_result bad_equation(ry_infer *infer, const ry_einsum_reader *reader)
{
    const char *equation = infer->node->attrs.einsum.equation;
    const int operand = reader->operands - 1;
    return reader->rank_error
               ? ry_infer_bad(infer, operand,
                              "has rank %d, but its term of equation '%s' has %d letters",
                              ry_infer_in(infer, operand)->shape.rank, equation, reader->letters)
               : ry_infer_fail(infer, RYND_ERROR_SHAPE, "equation '%s': %s", equation,
                               reader->error);
}

static bool join_dim(ry_infer *infer, label_dims *dims, int label, int64_t dim)
{
    if (!dims->seen[label]) {
        dims->seen[label] = true;
        dims->dim[label] = dim;
        return true;
    }
    return ry_infer_broadcast_dim(infer->graph, dims->dim[label], dim, &dims->dim[label]);
}

/* Joins the dims of the next operand with the dims of their labels. */
static ry_infer_result add_operand(ry_infer *infer, ry_einsum_reader *reader, label_dims *dims)
{
    const int operand = reader->operands;
    ry_einsum_term term;
    RY_INFER_TRY(ry_infer_check_same_type(infer, operand, 0));
    if (!ry_einsum_operand(reader, ry_infer_in(infer, operand)->shape.rank, &term)) {
        return bad_equation(infer, reader);
    }
    for (int d = 0; d < term.count; d++) {
        if (!join_dim(infer, dims, term.label[d], ry_infer_in(infer, operand)->shape.dim[d])) {
            return ry_infer_bad(infer, operand,
                                "disagrees in dim %d with an earlier operand of equation '%s'", d,
                                infer->node->attrs.einsum.equation);
        }
    }
    return RY_INFER_DONE;
}

ry_infer_result ry_infer_op_einsum(ry_infer *infer)
{
    label_dims dims = {.seen = {false}};
    ry_einsum_term output;
    if (!infer->node->attrs.einsum.equation) {
        return ry_infer_fail(infer, RYND_ERROR_FORMAT, "the equation is missing");
    }
    ry_einsum_reader reader = ry_einsum_begin(infer->node->attrs.einsum.equation);
    for (int i = 0; i < infer->node->inputs; i++) {
        if (!ry_infer_has(infer, i)) {
            return ry_infer_fail(infer, RYND_ERROR_SHAPE, "input %d is absent", i);
        }
        RY_INFER_TRY(add_operand(infer, &reader, &dims));
    }
    if (!ry_einsum_output(&reader, &output)) {
        return bad_equation(infer, &reader);
    }
    ry_shape y = {.rank = output.count};
    for (int d = 0; d < output.count; d++) {
        y.dim[d] = dims.dim[output.label[d]];
    }
    ry_infer_set(infer, 0, ry_infer_in(infer, 0)->dtype, &y);
    return RY_INFER_DONE;
}
