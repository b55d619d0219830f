/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of gradients: what goes by indices or along an axis, and einsum. */
#ifndef TESTS_SUPPORT_GRADIENT_CASES_INDEX_H
#define TESTS_SUPPORT_GRADIENT_CASES_INDEX_H

#include "gradient_case.h"

static inline ry_value_id case_indices(gradient_case *c, int rank, const int64_t *dim,
                                       const int64_t *numbers)
{
    const ry_shape shape = ry_shape_of(rank, dim);
    const ry_value_id v = ry_graph_add_constant(c->graph, NULL, RY_i64, &shape, NULL);
    memcpy(ry_graph_constant_data(c->graph, v), numbers,
           (size_t)ry_shape_elements(&shape) * sizeof *numbers);
    return v;
}

static inline ry_value_id scatter(gradient_case *c, ry_op op, ry_scatter_reduction reduction,
                                  const int64_t *numbers)
{
    const bool nd = op == RY_OP_scatter_nd;
    ry_attrs attrs = ry_attrs_default(op);
    if (nd) {
        attrs.scatter_nd.reduction = reduction;
    } else {
        attrs.scatter_elements.axis = 1;
        attrs.scatter_elements.reduction = reduction;
    }
    ry_value_id in[3];
    in[0] = gradient_input(c, DIMS(2, 5));
    in[1] = nd ? case_indices(c, DIMS(3, 2), numbers) : case_indices(c, DIMS(2, 3), numbers);
    in[2] = nd ? gradient_input(c, DIMS(3)) : gradient_input(c, DIMS(2, 3));
    return gradient_node(c, op, &attrs, 3, in);
}

static inline ry_value_id scatter_elements(gradient_case *c)
{
    return scatter(c, RY_OP_scatter_elements, RY_scatter_reduction_none,
                   (int64_t[]){4, 0, 2, 1, -1, 0});
}

static inline ry_value_id scatter_elements_adds(gradient_case *c)
{
    return scatter(c, RY_OP_scatter_elements, RY_scatter_reduction_add,
                   (int64_t[]){4, 0, 4, 1, 1, 1});
}

static inline ry_value_id scatter_nd(gradient_case *c)
{
    return scatter(c, RY_OP_scatter_nd, RY_scatter_reduction_none, (int64_t[]){0, 4, 1, 2, -2, 1});
}

static inline ry_value_id scatter_nd_adds(gradient_case *c)
{
    return scatter(c, RY_OP_scatter_nd, RY_scatter_reduction_add, (int64_t[]){0, 4, 0, 4, 1, 1});
}

static inline ry_value_id max_unpool(gradient_case *c)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_max_unpool);
    attrs.max_unpool.kernel = attrs.max_unpool.stride = (ry_ints){2, {2, 2}};
    const ry_value_id x = gradient_input(c, DIMS(1, 2, 2, 2)),
                      at = case_indices(c, DIMS(1, 2, 2, 2),
                                        (int64_t[]){1, 2, 8, 15, 16, 19, 28, 31});
    return gradient_node(c, RY_OP_max_unpool, &attrs, 2, (ry_value_id[]){x, at});
}

static inline ry_value_id topk(gradient_case *c)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_topk);
    attrs.topk.axis = 1;
    attrs.topk.k = 3;
    const ry_value_id x = gradient_input(c, DIMS(2, 6, 2));
    ry_value_id out[2];
    gradient_nodes(c, RY_OP_topk, &attrs, 1, &x, 2, out);
    return out[0];
}

static inline ry_value_id running_sum(gradient_case *c, bool exclusive, bool reverse)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_cumsum);
    attrs.cumsum.exclusive = exclusive;
    attrs.cumsum.reverse = reverse;
    const ry_value_id x = gradient_input(c, DIMS(2, 5, 3)),
                      axis = gradient_i64s(c, 1, (int64_t[]){-2});
    return gradient_node(c, RY_OP_cumsum, &attrs, 2, (ry_value_id[]){x, axis});
}

static inline ry_value_id cumsum(gradient_case *c)
{
    return running_sum(c, false, false);
}

static inline ry_value_id cumsum_exclusive(gradient_case *c)
{
    return running_sum(c, true, false);
}

static inline ry_value_id cumsum_reverse(gradient_case *c)
{
    return running_sum(c, true, true);
}

static inline ry_value_id trilu(gradient_case *c)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_trilu);
    attrs.trilu.upper = 0;
    const ry_value_id x = gradient_input(c, DIMS(2, 4, 5)), k = gradient_i64s(c, 1, (int64_t[]){1});
    return gradient_node(c, RY_OP_trilu, &attrs, 2, (ry_value_id[]){x, k});
}

static inline ry_value_id reverse_sequence(gradient_case *c)
{
    const ry_value_id x = gradient_input(c, DIMS(4, 3, 2)),
                      lengths = gradient_i64s(c, 3, (int64_t[]){4, 1, 3});
    return gradient_node(c, RY_OP_reverse_sequence, NULL, 2, (ry_value_id[]){x, lengths});
}

static inline ry_value_id einsum(gradient_case *c, const char *equation, int count,
                                 const ry_value_id *in)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_einsum);
    attrs.einsum.equation = equation;
    return gradient_node(c, RY_OP_einsum, &attrs, count, in);
}

static inline ry_value_id einsum_product(gradient_case *c)
{
    const ry_value_id a = gradient_input(c, DIMS(2, 3, 4)), b = gradient_input(c, DIMS(2, 5, 4));
    return einsum(c, "bij, bkj -> bki", 2, (ry_value_id[]){a, b});
}

/* Without an arrow: y has what stands once. */
static inline ry_value_id einsum_implied(gradient_case *c)
{
    const ry_value_id a = gradient_input(c, DIMS(3, 2)), b = gradient_input(c, DIMS(2, 4));
    return einsum(c, "cA,Ab", 2, (ry_value_id[]){a, b});
}

/* The first operand alone has k, which is summed. */
static inline ry_value_id einsum_alone(gradient_case *c)
{
    const ry_value_id a = gradient_input(c, DIMS(3, 2, 4)), b = gradient_input(c, DIMS(3)),
                      d = gradient_input(c, DIMS(2, 3));
    return einsum(
        c, "ikj,i,ji->j", 3,
        (ry_value_id[]){a, b,
                        gradient_node(c, RY_OP_tile, NULL, 2,
                                      (ry_value_id[]){d, gradient_i64s(c, 2, (int64_t[]){2, 1})})});
}

/* Ellipses of different ranks in the middle, and a dim of 1 that is broadcast. */
static inline ry_value_id einsum_ellipsis(gradient_case *c)
{
    const ry_value_id a = gradient_input(c, DIMS(3, 2, 4, 5)), b = gradient_input(c, DIMS(5, 1, 6));
    return einsum(c, "i...j,j...k->...ki", 2, (ry_value_id[]){a, b});
}

/* As many labels as a tensor may have dims. */
static inline ry_value_id einsum_deepest(gradient_case *c)
{
    const ry_value_id a = gradient_input(c, DIMS(2, 1, 1, 1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 1, 1, 2)),
                      b = gradient_input(c, DIMS(2, 2));
    return einsum(c, "abcdefghijklmnop,pa->hbcdefgijklmnoap", 2, (ry_value_id[]){a, b});
}

#endif
