/* SPDX-License-Identifier: Apache-2.0 */
/* What moves into convolutions, and what looks like it but must not. */
#include "rewrite_case.h"

#include <stdio.h>

static const int64_t image[4] = {2, 4, 6, 7};

/* Two groups of two input channels and three output channels each: channels 0 to 2 are the first
 * group's. */
static ry_value_id transposed(fixture *f, ry_value_id x)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_convt);
    attrs.convt.groups = 2;
    attrs.convt.stride = (ry_ints){2, {2, 1}};
    ry_value_id in[3] = {x, constant(f, 4, (int64_t[]){4, 3, 3, 2}, 0),
                         constant(f, 1, (int64_t[]){6}, 0)};
    return node(f, RY_OP_convt, &attrs, 3, in);
}

static void scale_goes_into_groups_of_a_transposed_convolution(void **state)
{
    (void)state;
    fixture f = begin();
    ry_value_id y = transposed(&f, input(&f, 4, image));
    rewrite(&f, expr2(&f, "x0 * x1", y, constant(&f, 3, (int64_t[]){6, 1, 1}, 1)));
    assert_int_equal(f.graph->node_count, 1);
    assert_int_equal(only(f.graph, RY_OP_convt)->attrs.convt.groups, 2);
    end(&f);
}

static void batch_norm_goes_into_groups_of_a_transposed_convolution(void **state)
{
    (void)state;
    fixture f = begin();
    const int64_t k = 6;
    ry_value_id y = transposed(&f, input(&f, 4, image));
    ry_attrs attrs = ry_attrs_default(RY_OP_batch_norm);
    ry_value_id in[5] = {y, constant(&f, 1, &k, 1), constant(&f, 1, &k, 0), constant(&f, 1, &k, 0),
                         constant(&f, 1, &k, 1)};
    rewrite(&f, node(&f, RY_OP_batch_norm, &attrs, 5, in));
    assert_int_equal(f.graph->node_count, 1);
    assert_int_equal(only(f.graph, RY_OP_convt)->attrs.convt.groups, 2);
    end(&f);
}

/* Until opset 10 the number is an attribute. */
static void padding_with_a_number_stays(void **state)
{
    (void)state;
    for (int value = 0; value <= 2; value++) {
        fixture f = begin();
        ry_attrs attrs = ry_attrs_default(RY_OP_pad);
        attrs.pad.pads = (ry_ints){8, {0, 0, 1, 2, 0, 0, 2, 0}};
        attrs.pad.value = value;
        ry_value_id x = input(&f, 4, image);
        rewrite(&f, conv(&f, node(&f, RY_OP_pad, &attrs, 1, &x), 4, 3, true));
        assert_int_equal(count(f.graph, RY_OP_pad), value != 0);
        assert_int_equal(only(f.graph, RY_OP_conv)->attrs.conv.pads.at[0], value ? 1 : 2);
        end(&f);
    }
}

static ry_value_id number(fixture *f, float value)
{
    const ry_shape scalar = {.rank = 0};
    ry_value_id v = ry_graph_add_constant(f->graph, NULL, RY_f32, &scalar, NULL);
    *(float *)ry_graph_constant_data(f->graph, v) = value;
    return v;
}

/* max(x, slope x) in two nodes with a constant, as models spell it, and in one; in every order. */
static ry_value_id leaky(fixture *f, ry_value_id x, float slope, int order)
{
    const char *const products[] = {"x0 * x1", "x1 * x0"}, *const bounds[] = {"max(x0, x1)",
                                                                              "max(x1, x0)"};
    if (order == 4) {
        char text[64];
        snprintf(text, sizeof text, "max(x0, x0 * %.9g)", (double)slope);
        return expr1(f, text, x);
    }
    return expr2(f, bounds[order / 2], x, expr2(f, products[order % 2], x, number(f, slope)));
}

static void leaky_relu_is_recognised_by_its_slope(void **state)
{
    (void)state;
    const struct {
        float slope;
        bool is_leaky;
    } cases[] = {{0.1f, true},     {0.3f, true}, {1e-6f, true}, {0, false},
                 {1.0001f, false}, {2, false},   {-0.5f, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int order = 0; order < 5; order++) {
            fixture f = begin();
            rewrite(&f,
                    leaky(&f, conv(&f, input(&f, 4, image), 4, 5, true), cases[i].slope, order));
            const ry_conv_attrs *c = &only(f.graph, RY_OP_conv)->attrs.conv;
            assert_int_equal(count(f.graph, RY_OP_expr), !cases[i].is_leaky);
            assert_int_equal(c->activation,
                             cases[i].is_leaky ? RY_activation_leaky_relu : RY_activation_none);
            assert_true(!cases[i].is_leaky || (float)c->act_alpha == cases[i].slope);
            end(&f);
        }
    }
}

/* Numbers that are constants of one element: of any rank up to the tensor's, and of no use where
 * there is one a channel. */
static void activations_with_constant_numbers_reach_the_epilogue(void **state)
{
    (void)state;
    for (int of_channels = 0; of_channels < 2; of_channels++) {
        fixture f = begin();
        ry_value_id y = conv(&f, input(&f, 4, image), 4, 5, true);
        ry_value_id sum = expr2(&f, "x0 + x1", y, number(&f, 3));
        ry_value_id bound =
            expr2(&f, "min(x0, x1)", expr2(&f, "max(x0, x1)", sum, number(&f, 0)), number(&f, 6));
        ry_value_id six = constant(&f, 4, (int64_t[]){1, of_channels ? 5 : 1, 1, 1}, 6);
        *(float *)ry_graph_constant_data(f.graph, six) = 6;
        rewrite(&f, expr2(&f, "x0 / x1", expr2(&f, "x0 * x1", y, bound), six));
        assert_int_equal(count(f.graph, RY_OP_expr), of_channels);
        assert_int_equal(only(f.graph, RY_OP_conv)->attrs.conv.activation,
                         of_channels ? RY_activation_none : RY_activation_hard_swish);
        end(&f);
    }
}

static void bounds_with_constant_numbers_reach_the_epilogue(void **state)
{
    (void)state;
    fixture f = begin();
    ry_value_id y = conv(&f, input(&f, 4, image), 4, 5, true);
    rewrite(&f, expr2(&f, "min(x0, x1)", expr2(&f, "max(x0, x1)", y, number(&f, -0.5f)),
                      number(&f, 1.5f)));
    const ry_conv_attrs *c = &only(f.graph, RY_OP_conv)->attrs.conv;
    assert_int_equal(f.graph->node_count, 1);
    assert_int_equal(c->activation, RY_activation_clip);
    assert_true(c->act_alpha == -0.5 && c->act_beta == 1.5);
    end(&f);
}

/* A gradient's output has a stated shape. */
static ry_value_id gradient(fixture *f, ry_direction direction, ry_value_id a, ry_value_id b,
                            const int64_t *dim)
{
    const ry_shape shape = ry_shape_of(4, dim);
    ry_attrs attrs = ry_attrs_default(RY_OP_conv);
    attrs.conv.dir = direction;
    attrs.conv.stride = (ry_ints){2, {2, 2}};
    attrs.conv.pads = (ry_ints){4, {1, 0, 0, 1}};
    const ry_value_id out = ry_graph_add_value(f->graph, NULL, RY_f32, &shape);
    const ry_node_id id = ry_graph_add_node(f->graph, RY_OP_conv, NULL, "Test", &attrs, 2,
                                            (ry_value_id[]){a, b}, 1, &out);
    rynd_status status;
    assert_int_equal(ry_infer_node(f->graph, &f->graph->nodes[id], &f->error, &status),
                     RY_INFER_DONE);
    return out;
}

static void data_gradient_is_a_transposed_convolution(void **state)
{
    (void)state;
    fixture f = begin();
    const ry_value_id dy = input(&f, 4, (int64_t[]){2, 5, 3, 4}),
                      w = constant(&f, 4, (int64_t[]){5, 4, 3, 2}, 0);
    rewrite(&f, gradient(&f, RY_direction_bwd_data, dy, w, (int64_t[]){2, 4, 7, 8}));
    const ry_convt_attrs *a = &only(f.graph, RY_OP_convt)->attrs.convt;
    assert_int_equal(f.graph->node_count, 1);
    assert_int_equal(a->output_padding.at[0], 1);
    assert_int_equal(a->output_padding.at[1], 1);
    end(&f);
}

static void padding_moves_into_a_weight_gradient(void **state)
{
    (void)state;
    fixture f = begin();
    ry_attrs attrs = ry_attrs_default(RY_OP_pad);
    attrs.pad.pads = (ry_ints){8, {0, 0, 1, 0, 0, 0, 0, 1}};
    ry_value_id x = input(&f, 4, (int64_t[]){2, 4, 6, 7}),
                dy = input(&f, 4, (int64_t[]){2, 5, 3, 4});
    x = node(&f, RY_OP_pad, &attrs, 1, &x);
    rewrite(&f, gradient(&f, RY_direction_bwd_weights, x, dy, (int64_t[]){5, 4, 3, 2}));
    assert_int_equal(f.graph->node_count, 1);
    assert_int_equal(only(f.graph, RY_OP_conv)->attrs.conv.pads.at[0], 2);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scale_goes_into_groups_of_a_transposed_convolution),
        cmocka_unit_test(batch_norm_goes_into_groups_of_a_transposed_convolution),
        cmocka_unit_test(padding_with_a_number_stays),
        cmocka_unit_test(leaky_relu_is_recognised_by_its_slope),
        cmocka_unit_test(activations_with_constant_numbers_reach_the_epilogue),
        cmocka_unit_test(bounds_with_constant_numbers_reach_the_epilogue),
        cmocka_unit_test(data_gradient_is_a_transposed_convolution),
        cmocka_unit_test(padding_moves_into_a_weight_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
