/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of gradients: operators that move, repeat or leave out elements. */
#ifndef TESTS_SUPPORT_GRADIENT_CASES_MOVE_H
#define TESTS_SUPPORT_GRADIENT_CASES_MOVE_H

#include "gradient_case.h"

/* An index that comes twice, and one from the end. */
static inline ry_value_id gather_case(gradient_case *c, int64_t axis)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_gather);
    attrs.gather.axis = axis;
    static const int64_t numbers[4] = {2, 0, -1, 0};
    const ry_shape shape = ry_shape_of(DIMS(2, 2));
    const ry_value_id x = gradient_input(c, DIMS(3, 4, 3)),
                      indices = ry_graph_add_constant(c->graph, NULL, RY_i64, &shape, numbers);
    return gradient_node(c, RY_OP_gather, &attrs, 2, (ry_value_id[]){x, indices});
}

static inline ry_value_id gather_first(gradient_case *c)
{
    return gather_case(c, 0);
}

static inline ry_value_id gather_middle(gradient_case *c)
{
    return gather_case(c, 1);
}

static inline ry_value_id gather_one(gradient_case *c)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_gather);
    attrs.gather.axis = 1;
    const ry_value_id x = gradient_input(c, DIMS(3, 4));
    return gradient_node(c, RY_OP_gather, &attrs, 2,
                         (ry_value_id[]){x, ry_graph_add_scalar(c->graph, RY_i64, 2)});
}

static inline ry_value_id gather_elements(gradient_case *c)
{
    static const int64_t numbers[6] = {2, 0, 1, 1, 2, 1};
    ry_attrs attrs = ry_attrs_default(RY_OP_gather_elements);
    attrs.gather_elements.axis = 1;
    const ry_shape shape = ry_shape_of(DIMS(2, 3));
    const ry_value_id x = gradient_input(c, DIMS(2, 3)),
                      indices = ry_graph_add_constant(c->graph, NULL, RY_i64, &shape, numbers);
    return gradient_node(c, RY_OP_gather_elements, &attrs, 2, (ry_value_id[]){x, indices});
}

static inline ry_value_id gather_nd(gradient_case *c)
{
    static const int64_t numbers[6] = {2, 0, 1, 1, 2, 0};
    const ry_shape shape = ry_shape_of(DIMS(3, 2));
    const ry_value_id x = gradient_input(c, DIMS(3, 2, 2)),
                      indices = ry_graph_add_constant(c->graph, NULL, RY_i64, &shape, numbers);
    return gradient_node(c, RY_OP_gather_nd, NULL, 2, (ry_value_id[]){x, indices});
}

/* One of them twice. */
static inline ry_value_id concat(gradient_case *c)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_concat);
    attrs.concat.axis = 1;
    const ry_value_id a = gradient_input(c, DIMS(2, 3, 2)), b = gradient_input(c, DIMS(2, 1, 2));
    return gradient_node(c, RY_OP_concat, &attrs, 3, (ry_value_id[]){a, b, a});
}

/* The middle of three parts goes nowhere. */
static inline ry_value_id split(gradient_case *c)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_split), join = ry_attrs_default(RY_OP_concat);
    ry_value_id out[3];
    attrs.split.axis = join.concat.axis = 1;
    const ry_value_id x = gradient_input(c, DIMS(2, 6, 2));
    gradient_nodes(c, RY_OP_split, &attrs, 2,
                   (ry_value_id[]){x, gradient_i64s(c, 3, (int64_t[]){1, 2, 3})}, 3, out);
    return gradient_node(c, RY_OP_concat, &join, 2, (ry_value_id[]){out[2], out[0]});
}

static inline ry_value_id slice_case(gradient_case *c, int count, const int64_t *starts,
                                     const int64_t *ends, const int64_t *axes, const int64_t *steps)
{
    const ry_value_id in[5] = {gradient_input(c, DIMS(5, 7, 3)), gradient_i64s(c, count, starts),
                               gradient_i64s(c, count, ends), gradient_i64s(c, count, axes),
                               gradient_i64s(c, count, steps)};
    return gradient_node(c, RY_OP_slice, NULL, 5, in);
}

static inline ry_value_id slice(gradient_case *c)
{
    return slice_case(c, 2, (int64_t[]){1, 2}, (int64_t[]){4, -1}, (int64_t[]){0, 1},
                      (int64_t[]){1, 1});
}

static inline ry_value_id slice_steps(gradient_case *c)
{
    return slice_case(c, 3, (int64_t[]){0, -1, 1}, (int64_t[]){5, 0, 3}, (int64_t[]){0, 1, 2},
                      (int64_t[]){2, -3, 5});
}

static inline ry_value_id slice_flipped(gradient_case *c)
{
    return slice_case(c, 1, (int64_t[]){-2}, (int64_t[]){INT64_MIN}, (int64_t[]){1},
                      (int64_t[]){-1});
}

static inline ry_value_id pad_case(gradient_case *c, ry_pad_mode mode, const int64_t *pads)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_pad);
    attrs.pad.mode = mode;
    const ry_value_id x = gradient_input(c, DIMS(3, 4, 5));
    return gradient_node(c, RY_OP_pad, &attrs, 2, (ry_value_id[]){x, gradient_i64s(c, 6, pads)});
}

static inline ry_value_id pad_constant(gradient_case *c)
{
    return pad_case(c, RY_pad_mode_constant, (int64_t[]){1, -1, 0, 0, 2, -2});
}

static inline ry_value_id pad_reflect(gradient_case *c)
{
    return pad_case(c, RY_pad_mode_reflect, (int64_t[]){0, 1, 3, 0, 2, 1});
}

static inline ry_value_id pad_edge(gradient_case *c)
{
    return pad_case(c, RY_pad_mode_edge, (int64_t[]){0, 1, 6, 2, 0, 1});
}

static inline ry_value_id pad_wrap(gradient_case *c)
{
    return pad_case(c, RY_pad_mode_wrap, (int64_t[]){0, 1, 3, 2, 0, 1});
}

static inline ry_value_id tile(gradient_case *c)
{
    const ry_value_id x = gradient_input(c, DIMS(2, 3, 2));
    return gradient_node(c, RY_OP_tile, NULL, 2,
                         (ry_value_id[]){x, gradient_i64s(c, 3, (int64_t[]){2, 1, 3})});
}

static inline ry_value_id expand(gradient_case *c)
{
    const ry_value_id x = gradient_input(c, DIMS(3, 1, 2));
    return gradient_node(c, RY_OP_expand, NULL, 2,
                         (ry_value_id[]){x, gradient_i64s(c, 4, (int64_t[]){2, 3, 4, 2})});
}

static inline ry_value_id transpose(gradient_case *c)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_transpose);
    attrs.transpose.perm = (ry_ints){4, {2, 0, 3, 1}};
    const ry_value_id x = gradient_input(c, DIMS(2, 3, 4, 1));
    return gradient_node(c, RY_OP_transpose, &attrs, 1, &x);
}

static inline ry_value_id depth_to_space(gradient_case *c)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_depth_to_space);
    attrs.depth_to_space = (ry_depth_to_space_attrs){.block = 2, .crd = 1};
    const ry_value_id x = gradient_input(c, DIMS(2, 8, 2, 3));
    return gradient_node(c, RY_OP_depth_to_space, &attrs, 1, &x);
}

static inline ry_value_id space_to_depth(gradient_case *c)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_space_to_depth);
    attrs.space_to_depth.block = 3;
    const ry_value_id x = gradient_input(c, DIMS(2, 2, 3, 6));
    return gradient_node(c, RY_OP_space_to_depth, &attrs, 1, &x);
}

static inline ry_value_id reshape(gradient_case *c)
{
    const ry_value_id x = gradient_input(c, DIMS(2, 3, 4));
    return gradient_node(c, RY_OP_reshape, NULL, 2,
                         (ry_value_id[]){x, gradient_i64s(c, 2, (int64_t[]){6, -1})});
}

static inline ry_value_id plain(gradient_case *c, ry_op op)
{
    const ry_value_id x = gradient_input(c, DIMS(2, 1, 3));
    return gradient_node(c, op, NULL, 1, &x);
}

static inline ry_value_id flatten(gradient_case *c)
{
    return plain(c, RY_OP_flatten);
}

static inline ry_value_id squeeze(gradient_case *c)
{
    return plain(c, RY_OP_squeeze);
}

static inline ry_value_id unsqueeze(gradient_case *c)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_unsqueeze);
    attrs.unsqueeze.axes = (ry_ints){2, {1, 3}};
    const ry_value_id x = gradient_input(c, DIMS(2, 3));
    return gradient_node(c, RY_OP_unsqueeze, &attrs, 1, &x);
}

static inline ry_value_id identity(gradient_case *c)
{
    return plain(c, RY_OP_identity);
}

static inline ry_value_id copy(gradient_case *c)
{
    return plain(c, RY_OP_copy);
}

#endif
