/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of batch normalisation in training, of pooling and of resizing, for test_gradients.c. */
#ifndef TESTS_SUPPORT_GRADIENT_CASES_WINDOW_H
#define TESTS_SUPPORT_GRADIENT_CASES_WINDOW_H

#include "gradient_case.h"

static inline ry_value_id trained_norm(gradient_case *c, ry_activation activation, bool residual)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_batch_norm_train);
    attrs.batch_norm_train.activation = activation;
    attrs.batch_norm_train.act_alpha = -0.5;
    attrs.batch_norm_train.act_beta = 0.7;
    const ry_value_id in[] = {gradient_input(c, DIMS(3, 4, 3, 2)),
                              gradient_input(c, DIMS(4)),
                              gradient_input(c, DIMS(4)),
                              gradient_constant(c, -1, 1, DIMS(4)),
                              gradient_constant(c, 1, 2, DIMS(4)),
                              residual ? gradient_input(c, DIMS(3, 4, 3, 2)) : RY_NO_VALUE};
    ry_value_id out[5];
    gradient_nodes(c, RY_OP_batch_norm_train, &attrs, residual ? 6 : 5, in, 5, out);
    return out[0];
}

static inline ry_value_id trained_norm_plain(gradient_case *c)
{
    return trained_norm(c, RY_activation_none, false);
}

static inline ry_value_id trained_norm_relu(gradient_case *c)
{
    return trained_norm(c, RY_activation_relu, true);
}

static inline ry_value_id trained_norm_clip(gradient_case *c)
{
    return trained_norm(c, RY_activation_clip, false);
}

static inline ry_value_id trained_norm_residual(gradient_case *c)
{
    return trained_norm(c, RY_activation_none, true);
}

static inline ry_value_id pooled(gradient_case *c, ry_pool_kind kind, int64_t include_pad)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_pool);
    attrs.pool.kind = kind;
    attrs.pool.kernel = (ry_ints){2, {3, 2}};
    attrs.pool.stride = (ry_ints){2, {2, 2}};
    attrs.pool.pads = (ry_ints){4, {1, 0, 1, 1}};
    attrs.pool.ceil_mode = 1;
    attrs.pool.count_include_pad = include_pad;
    const ry_value_id x = gradient_input(c, DIMS(2, 3, 6, 5));
    return gradient_node(c, RY_OP_pool, &attrs, 1, &x);
}

static inline ry_value_id pool_largest(gradient_case *c)
{
    return pooled(c, RY_pool_kind_max, 0);
}

static inline ry_value_id pool_average(gradient_case *c)
{
    return pooled(c, RY_pool_kind_average, 0);
}

static inline ry_value_id pool_average_with_pad(gradient_case *c)
{
    return pooled(c, RY_pool_kind_average, 1);
}

static inline ry_value_id pool_norm(gradient_case *c)
{
    return pooled(c, RY_pool_kind_lp, 0);
}

/* auto_pad becomes pads before a gradient is asked for. */
static inline ry_value_id pool_same(gradient_case *c)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_pool);
    attrs.pool.kernel = (ry_ints){1, {3}};
    attrs.pool.stride = (ry_ints){1, {2}};
    attrs.pool.auto_pad = RY_auto_pad_same_upper;
    const ry_value_id x = gradient_input(c, DIMS(2, 3, 8));
    return gradient_node(c, RY_OP_pool, &attrs, 1, &x);
}

static inline ry_value_id resized(gradient_case *c, ry_resize_mode mode,
                                  ry_resize_coordinates coordinates)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_resize);
    attrs.resize.mode = mode;
    attrs.resize.coordinates = coordinates;
    const ry_value_id in[] = {gradient_input(c, DIMS(1, 2, 4, 5)), RY_NO_VALUE, RY_NO_VALUE,
                              gradient_i64s(c, 4, (int64_t[]){1, 2, 8, 7})};
    return gradient_node(c, RY_OP_resize, &attrs, 4, in);
}

static inline ry_value_id resize_nearest(gradient_case *c)
{
    return resized(c, RY_resize_mode_nearest, RY_resize_coordinates_asymmetric);
}

static inline ry_value_id resize_linear(gradient_case *c)
{
    return resized(c, RY_resize_mode_linear, RY_resize_coordinates_half_pixel);
}

static inline ry_value_id resize_cubic(gradient_case *c)
{
    return resized(c, RY_resize_mode_cubic, RY_resize_coordinates_align_corners);
}

#endif
