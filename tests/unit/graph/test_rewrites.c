/* SPDX-License-Identifier: Apache-2.0 */
/* Each rewrite on a small graph: what becomes of the nodes, and that the outputs stay what they
 * were. */
#include "rewrite_case.h"

static const int64_t image[4] = {2, 3, 6, 7};

static void identities_go(void **state)
{
    (void)state;
    fixture f = begin();
    ry_value_id x = input(&f, 4, image);
    ry_attrs none = ry_attrs_default(RY_OP_identity), perm = ry_attrs_default(RY_OP_transpose);
    perm.transpose.perm = (ry_ints){4, {0, 1, 2, 3}};
    ry_value_id y = node(&f, RY_OP_identity, &none, 1, &x);
    y = node(&f, RY_OP_transpose, &perm, 1, &y);
    rewrite(&f, expr1(&f, "max(x0, 0)", y));
    assert_int_equal(f.graph->node_count, 1);
    end(&f);
}

/* A node that keeps the shape but moves elements stays, and so do its consumers. */
static void what_moves_elements_stays(void **state)
{
    (void)state;
    static const int64_t square[4] = {2, 3, 6, 6};
    ry_attrs flip = ry_attrs_default(RY_OP_slice), shift = ry_attrs_default(RY_OP_pad),
             turn = ry_attrs_default(RY_OP_transpose);
    flip.slice = (ry_slice_attrs){
        {4, {0, 0, 5, 0}}, {4, {2, 3, -7, 6}}, {4, {0, 1, 2, 3}}, {4, {1, 1, -1, 1}}};
    shift.pad.pads = (ry_ints){8, {0, 0, 1, -1, 0, 0, -1, 1}};
    turn.transpose.perm = (ry_ints){4, {0, 1, 3, 2}};
    const struct {
        ry_op op;
        const ry_attrs *attrs;
    } cases[] = {{RY_OP_slice, &flip}, {RY_OP_pad, &shift}, {RY_OP_transpose, &turn}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = begin();
        ry_value_id x = input(&f, 4, square);
        rewrite(&f, expr1(&f, "max(x0, 0)", node(&f, cases[i].op, cases[i].attrs, 1, &x)));
        assert_int_equal(count(f.graph, cases[i].op), 1);
        end(&f);
    }
}

static void batch_norm_goes_into_conv(void **state)
{
    (void)state;
    for (int bias = 0; bias < 2; bias++) {
        fixture f = begin();
        int64_t k = 5;
        ry_value_id y = conv(&f, input(&f, 4, image), 3, k, bias);
        ry_attrs attrs = ry_attrs_default(RY_OP_batch_norm);
        ry_value_id in[5] = {y, constant(&f, 1, &k, 1), constant(&f, 1, &k, 0),
                             constant(&f, 1, &k, 0), constant(&f, 1, &k, 1)};
        rewrite(&f, node(&f, RY_OP_batch_norm, &attrs, 5, in));
        assert_int_equal(f.graph->node_count, 1);
        assert_int_equal(only(f.graph, RY_OP_conv)->inputs, 3);
        end(&f);
    }
}

static void lone_batch_norm_joins_its_activation(void **state)
{
    (void)state;
    fixture f = begin();
    int64_t c = 3;
    ry_attrs attrs = ry_attrs_default(RY_OP_batch_norm);
    ry_value_id in[5] = {input(&f, 4, image), constant(&f, 1, &c, 1), constant(&f, 1, &c, 0),
                         constant(&f, 1, &c, 0), constant(&f, 1, &c, 1)};
    rewrite(&f, expr1(&f, "max(x0, 0)", node(&f, RY_OP_batch_norm, &attrs, 5, in)));
    assert_int_equal(f.graph->node_count, 1);
    assert_int_equal(only(f.graph, RY_OP_expr)->inputs, 3);
    end(&f);
}

static void scale_and_bias_go_into_conv(void **state)
{
    (void)state;
    fixture f = begin();
    int64_t channel[3] = {4, 1, 1};
    ry_value_id y = conv(&f, input(&f, 4, image), 3, 4, true);
    y = expr2(&f, "x0 * x1", y, constant(&f, 3, channel, 1));
    y = expr2(&f, "x0 + x1", constant(&f, 3, channel, 0), y);
    y = expr2(&f, "x0 - x1", y, constant(&f, 0, NULL, 0));
    rewrite(&f, expr2(&f, "x0 / x1", y, constant(&f, 0, NULL, 2)));
    assert_int_equal(f.graph->node_count, 1);
    end(&f);
}

static void scale_along_rows_stays(void **state)
{
    (void)state;
    fixture f = begin();
    int64_t row[1] = {7};
    ry_value_id y = conv(&f, input(&f, 4, image), 3, 7, false);
    rewrite(&f, expr2(&f, "x0 * x1", y, constant(&f, 1, row, 1)));
    assert_int_equal(f.graph->node_count, 2);
    end(&f);
}

static void residual_and_activation_go_into_conv(void **state)
{
    (void)state;
    fixture f = begin();
    ry_value_id x = input(&f, 4, image);
    ry_value_id shortcut = conv(&f, x, 3, 4, true), y = conv(&f, x, 3, 4, true);
    rewrite(&f, expr1(&f, "max(x0, 0)", expr2(&f, "x0 + x1", y, shortcut)));
    assert_int_equal(f.graph->node_count, 2);
    const ry_node *last = &f.graph->nodes[1];
    assert_int_equal(last->attrs.conv.activation, RY_activation_relu);
    assert_int_equal(last->inputs, 4);
    end(&f);
}

/* What is stored rounded is read rounded. */
static void what_is_stored_stays(void **state)
{
    (void)state;
    for (int stored = 0; stored < 2; stored++) {
        fixture f = begin();
        const ry_value_id narrow = expr1(&f, "cast(x0, bf16)", input(&f, 4, image));
        f.graph->values[narrow].stored = stored;
        rewrite(&f, expr1(&f, "cast(x0, f32) + 1", expr1(&f, "cast(x0, f32)", narrow)));
        assert_int_equal(f.graph->node_count, stored ? 2 : 1);
        end(&f);
    }
}

static void shared_result_keeps_its_activation_apart(void **state)
{
    (void)state;
    fixture f = begin();
    ry_value_id y = conv(&f, input(&f, 4, image), 3, 4, true);
    rewrite(&f, expr2(&f, "x0 * x1", expr1(&f, "tanh(x0)", y), y));
    assert_int_equal(only(f.graph, RY_OP_conv)->attrs.conv.activation, RY_activation_none);
    assert_int_equal(count(f.graph, RY_OP_expr), 1);
    end(&f);
}

static void spelled_activations_reach_the_epilogue(void **state)
{
    (void)state;
    const struct {
        const char *first, *second, *last;
        ry_activation activation;
    } cases[] = {
        {"min(max(x0 + 3, 0), 6)", "x0 * x1", "x0 / 6", RY_activation_hard_swish},
        {"sigmoid(x0)", "x0 * x1", NULL, RY_activation_silu},
        {"1 + erf(x0 / 1.4142135623730951)", "x0 * x1", "x0 * 0.5", RY_activation_gelu},
        {"1 + erf(x0 * 0.70710677)", "x1 * 0.5 * x0", NULL, RY_activation_gelu},
        {"1 + tanh(0.7978846 * (x0 + 0.044715 * pow(x0, 3)))", "0.5 * x1 * x0", NULL,
         RY_activation_gelu_tanh},
        {"tanh(0.7978845608028654 * (x0 + 0.044715 * x0 * x0 * x0))", "x1 * (1 + x0)", "0.5 * x0",
         RY_activation_gelu_tanh},
        {"tanh(softplus(x0))", "x0 * x1", NULL, RY_activation_mish},
        {"1 + exp(-x0)", "x1 / x0", NULL, RY_activation_silu},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = begin();
        ry_value_id y = conv(&f, input(&f, 4, image), 3, 4, true);
        ry_value_id z = expr2(&f, cases[i].second, expr1(&f, cases[i].first, y), y);
        rewrite(&f, cases[i].last ? expr1(&f, cases[i].last, z) : z);
        assert_int_equal(f.graph->node_count, 1);
        assert_int_equal(only(f.graph, RY_OP_conv)->attrs.conv.activation, cases[i].activation);
        end(&f);
    }
}

static void padding_goes_into_conv(void **state)
{
    (void)state;
    fixture f = begin();
    ry_attrs attrs = ry_attrs_default(RY_OP_pad);
    attrs.pad.pads = (ry_ints){8, {0, 0, 1, 2, 0, 0, 3, 0}};
    ry_value_id x = input(&f, 4, image);
    rewrite(&f, conv(&f, node(&f, RY_OP_pad, &attrs, 1, &x), 3, 4, true));
    const ry_node *c = only(f.graph, RY_OP_conv);
    assert_int_equal(f.graph->node_count, 1);
    assert_int_equal(c->attrs.conv.pads.at[0], 2);
    assert_int_equal(c->attrs.conv.pads.at[1], 3);
    assert_int_equal(c->attrs.conv.pads.at[2], 4);
    assert_int_equal(c->attrs.conv.pads.at[3], 1);
    end(&f);
}

/* Every second row from `row` on, of them every second column from `column` on. */
static ry_value_id every_second(fixture *f, ry_value_id x, int64_t row, int64_t column)
{
    ry_attrs rows = ry_attrs_default(RY_OP_slice), columns = rows;
    rows.slice = (ry_slice_attrs){
        {4, {0, 0, row, 0}}, {4, {2, 3, 8, 10}}, {4, {0, 1, 2, 3}}, {4, {1, 1, 2, 1}}};
    columns.slice = (ry_slice_attrs){
        {4, {0, 0, 0, column}}, {4, {2, 3, 4, 10}}, {4, {0, 1, 2, 3}}, {4, {1, 1, 1, 2}}};
    const ry_value_id half = node(f, RY_OP_slice, &rows, 1, &x);
    return node(f, RY_OP_slice, &columns, 1, &half);
}

static ry_value_id joined(fixture *f, int last_column)
{
    const int64_t even[4] = {2, 3, 8, 10};
    ry_value_id x = input(f, 4, even);
    const ry_value_id slices[4] = {every_second(f, x, 0, 0), every_second(f, x, 1, 0),
                                   every_second(f, x, 0, 1), every_second(f, x, 1, last_column)};
    ry_attrs attrs = ry_attrs_default(RY_OP_concat);
    attrs.concat.axis = 1;
    return node(f, RY_OP_concat, &attrs, 4, slices);
}

static void space_to_depth_goes_into_conv(void **state)
{
    (void)state;
    fixture f = begin();
    rewrite(&f, conv(&f, joined(&f, 1), 12, 5, true));
    const ry_node *c = only(f.graph, RY_OP_conv);
    assert_int_equal(f.graph->node_count, 1);
    assert_int_equal(c->in[0], f.graph->inputs[0]);
    assert_int_equal(f.graph->values[c->in[1]].shape.dim[1], 3);
    assert_int_equal(f.graph->values[c->in[1]].shape.dim[3], 6);
    assert_int_equal(c->attrs.conv.stride.at[1], 2);
    end(&f);
}

/* A pixel twice, and another one not at all. */
static void other_slices_stay(void **state)
{
    (void)state;
    fixture f = begin();
    rewrite(&f, conv(&f, joined(&f, 0), 12, 5, true));
    assert_int_equal(count(f.graph, RY_OP_concat), 1);
    assert_int_equal(f.graph->values[only(f.graph, RY_OP_conv)->in[1]].shape.dim[1], 12);
    end(&f);
}

static void reflected_padding_stays(void **state)
{
    (void)state;
    fixture f = begin();
    ry_attrs attrs = ry_attrs_default(RY_OP_pad);
    attrs.pad.pads = (ry_ints){8, {0, 0, 1, 1, 0, 0, 1, 1}};
    attrs.pad.mode = RY_pad_mode_reflect;
    ry_value_id x = input(&f, 4, image);
    rewrite(&f, conv(&f, node(&f, RY_OP_pad, &attrs, 1, &x), 3, 4, true));
    assert_int_equal(f.graph->node_count, 2);
    end(&f);
}

static ry_value_id reshape(fixture *f, ry_value_id x, int rank, const int64_t *dim)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_reshape);
    ry_value_id in[2] = {x, ry_graph_add_i64s(f->graph, NULL, rank, dim)};
    return node(f, RY_OP_reshape, &attrs, 2, in);
}

static void pixel_shuffle_is_recognised(void **state)
{
    (void)state;
    const struct {
        int64_t split[6], perm[6];
        bool crd;
    } cases[] = {{{2, 2, 3, 3, 4, 5}, {0, 1, 4, 2, 5, 3}, true},
                 {{2, 3, 3, 2, 4, 5}, {0, 3, 4, 1, 5, 2}, false}};
    for (size_t i = 0; i < 2; i++) {
        fixture f = begin();
        ry_value_id x = input(&f, 4, (int64_t[]){2, 18, 4, 5});
        ry_attrs perm = ry_attrs_default(RY_OP_transpose);
        perm.transpose.perm.count = 6;
        memcpy(perm.transpose.perm.at, cases[i].perm, sizeof cases[i].perm);
        ry_value_id y = reshape(&f, x, 6, cases[i].split);
        y = node(&f, RY_OP_transpose, &perm, 1, &y);
        rewrite(&f, reshape(&f, y, 4, (int64_t[]){2, 2, 12, 15}));
        assert_int_equal(f.graph->node_count, 1);
        assert_int_equal(only(f.graph, RY_OP_depth_to_space)->attrs.depth_to_space.block, 3);
        assert_int_equal(only(f.graph, RY_OP_depth_to_space)->attrs.depth_to_space.crd,
                         cases[i].crd);
        end(&f);
    }
}

static void layer_norm_is_recognised(void **state)
{
    (void)state;
    fixture f = begin();
    int64_t shape[3] = {2, 5, 8}, last = 2, dim = 8;
    ry_value_id x = input(&f, 3, shape);
    ry_value_id d = expr2(&f, "x0 - x1", x, expr_axes(&f, "mean(x0)", 1, &x, 1, &last));
    ry_value_id two = ry_graph_add_scalar(f.graph, RY_f32, 2),
                epsilon = ry_graph_add_scalar(f.graph, RY_f32, 1e-5);
    ry_value_id square = expr2(&f, "pow(x0, x1)", d, two);
    ry_value_id variance = expr_axes(&f, "mean(x0)", 1, &square, 1, &last);
    ry_value_id y =
        expr2(&f, "x0 / x1", d, expr1(&f, "sqrt(x0)", expr2(&f, "x0 + x1", variance, epsilon)));
    y = expr2(&f, "x0 * x1", y, constant(&f, 1, &dim, 1));
    rewrite(&f, expr2(&f, "x0 + x1", y, constant(&f, 1, &dim, 0)));
    assert_int_equal(f.graph->node_count, 1);
    assert_int_equal(only(f.graph, RY_OP_layer_norm)->inputs, 3);
    end(&f);
}

static void chains_become_one_pass(void **state)
{
    (void)state;
    fixture f = begin();
    ry_value_id x = input(&f, 4, image), z = input(&f, 4, image);
    ry_value_id y = expr2(&f, "x0 * x1", expr1(&f, "sigmoid(x0)", x), expr2(&f, "x0 + x1", x, z));
    rewrite(&f, expr1(&f, "tanh(x0)", y));
    assert_int_equal(f.graph->node_count, 1);
    assert_int_equal(only(f.graph, RY_OP_expr)->inputs, 2);
    end(&f);
}

static void small_operand_is_computed_once(void **state)
{
    (void)state;
    fixture f = begin();
    ry_value_id x = input(&f, 4, image), gate = input(&f, 4, (int64_t[]){2, 3, 1, 1});
    rewrite(&f, expr2(&f, "x0 * x1", x, expr1(&f, "sigmoid(x0)", gate)));
    assert_int_equal(f.graph->node_count, 2);
    end(&f);
}

static void matmul_takes_its_bias_and_activation(void **state)
{
    (void)state;
    fixture f = begin();
    ry_attrs attrs = ry_attrs_default(RY_OP_matmul);
    int64_t columns = 6;
    ry_value_id in[2] = {input(&f, 2, (int64_t[]){3, 4}), constant(&f, 2, (int64_t[]){4, 6}, 0)};
    ry_value_id y =
        expr2(&f, "x0 + x1", node(&f, RY_OP_matmul, &attrs, 2, in), constant(&f, 1, &columns, 0));
    rewrite(&f, expr1(&f, "max(x0, 0)", y));
    assert_int_equal(f.graph->node_count, 1);
    assert_int_equal(only(f.graph, RY_OP_matmul)->attrs.matmul.activation, RY_activation_relu);
    end(&f);
}

/* As LeViT has it: tokens are put together for the normalisation, and apart again. */
static void batch_norm_goes_into_matmul(void **state)
{
    (void)state;
    for (int trans = 0; trans < 2; trans++) {
        fixture f = begin();
        ry_attrs product = ry_attrs_default(RY_OP_matmul),
                 attrs = ry_attrs_default(RY_OP_batch_norm);
        product.matmul.trans_b = trans;
        const int64_t columns = 6;
        const ry_value_id x = input(&f, 3, (int64_t[]){1, 5, 4});
        const ry_value_id factors[2] = {
            x, constant(&f, 2, trans ? (int64_t[]){6, 4} : (int64_t[]){4, 6}, 0)};
        ry_value_id y =
            reshape(&f, node(&f, RY_OP_matmul, &product, 2, factors), 2, (int64_t[]){5, 6});
        const ry_value_id in[5] = {y, constant(&f, 1, &columns, 1), constant(&f, 1, &columns, 0),
                                   constant(&f, 1, &columns, 0), constant(&f, 1, &columns, 1)};
        y = reshape(&f, node(&f, RY_OP_batch_norm, &attrs, 5, in), 3, (int64_t[]){1, 5, 6});
        rewrite(&f, expr1(&f, "max(x0, 0)", y));
        assert_int_equal(f.graph->node_count, 1);
        assert_int_equal(only(f.graph, RY_OP_matmul)->attrs.matmul.activation, RY_activation_relu);
        end(&f);
    }
}

/* Every sample of a deformable convolution, then a 1x1 convolution of them. */
static void deformable_becomes_columns(void **state)
{
    (void)state;
    static const int64_t dims[] = {2, 6, 7, 9}, weights[] = {4, 3, 3, 2}, shifts[] = {2, 36, 6, 8},
                         masks[] = {2, 18, 6, 8}, biases[] = {4};
    for (int inputs = 3; inputs <= 5; inputs++) {
        fixture f = begin();
        ry_attrs attrs = ry_attrs_default(RY_OP_deform_conv);
        attrs.deform_conv.pads = (ry_ints){4, {1, 0, 0, 0}};
        attrs.deform_conv.groups = 2;
        attrs.deform_conv.offset_groups = 3;
        const ry_value_id in[] = {
            input(&f, 4, dims), constant(&f, 4, weights, 0), input(&f, 4, shifts),
            inputs == 5 ? RY_NO_VALUE : constant(&f, 1, biases, 0), input(&f, 4, masks)};
        ry_attrs pads = attrs;
        rewrite(&f, expr1(&f, "max(x0, 0)", node(&f, RY_OP_deform_conv, &pads, inputs, in)));
        assert_int_equal(count(f.graph, RY_OP_deform_conv), 0);
        assert_int_equal(count(f.graph, RY_OP_deform_columns), 1);
        assert_int_equal(count(f.graph, RY_OP_conv), 1);
        end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deformable_becomes_columns),
        cmocka_unit_test(identities_go),
        cmocka_unit_test(what_moves_elements_stays),
        cmocka_unit_test(batch_norm_goes_into_conv),
        cmocka_unit_test(lone_batch_norm_joins_its_activation),
        cmocka_unit_test(scale_and_bias_go_into_conv),
        cmocka_unit_test(scale_along_rows_stays),
        cmocka_unit_test(residual_and_activation_go_into_conv),
        cmocka_unit_test(what_is_stored_stays),
        cmocka_unit_test(shared_result_keeps_its_activation_apart),
        cmocka_unit_test(spelled_activations_reach_the_epilogue),
        cmocka_unit_test(padding_goes_into_conv),
        cmocka_unit_test(reflected_padding_stays),
        cmocka_unit_test(space_to_depth_goes_into_conv),
        cmocka_unit_test(other_slices_stay),
        cmocka_unit_test(pixel_shuffle_is_recognised),
        cmocka_unit_test(layer_norm_is_recognised),
        cmocka_unit_test(chains_become_one_pass),
        cmocka_unit_test(small_operand_is_computed_once),
        cmocka_unit_test(matmul_takes_its_bias_and_activation),
        cmocka_unit_test(batch_norm_goes_into_matmul),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
