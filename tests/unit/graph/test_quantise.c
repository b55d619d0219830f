/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised models become nodes of bytes. */
#include "quantise_case.h"

static void convolutions(void **state)
{
    (void)state;
    const int64_t w[4] = {5, 3, 3, 3}, k = 5;
    static const char *const activations[] = {NULL, "max(x0, 0)", "min(max(x0, -0.5), 1.5)"};
    for (int type = 0; type < 2; type++) {
        for (size_t i = 0; i < sizeof activations / sizeof *activations; i++) {
            fixture f = begin();
            const numbers steps = {0.02 * 0.006, 0, RY_i32};
            const ry_value_id bias =
                i == 0   ? RY_NO_VALUE
                : i == 1 ? constant(&f, 1, &k, 0)
                         : dequantise(&f, integers(&f, RY_i32, 1, &k, -4000, 4000), &steps);
            ry_value_id y =
                convolve(&f, start(&f, type),
                         weights(&f, 4, w, type ? RY_i8 : RY_u8, type ? 0 : 128), bias, true);
            y = activations[i] ? expr1(&f, activations[i], y) : y;
            compare(&f, quantise(&f, y, &y_numbers[type]), 1);
            only(f.graph, RY_OP_qconv);
            assert_int_equal(count(f.graph, RY_OP_conv), 0);
            end(&f);
        }
    }
}

/* Who reads floats gets them from the sums. */
static void floats_come_from_sums(void **state)
{
    (void)state;
    const int64_t w[4] = {5, 3, 1, 1};
    fixture f = begin();
    const ry_value_id y =
        convolve(&f, start(&f, 1), weights(&f, 4, w, RY_i8, 0), RY_NO_VALUE, false);
    compare(&f, expr1(&f, "tanh(x0)", y), 1e-3);
    assert_int_equal(only(f.graph, RY_OP_qconv)->attrs.qconv.dequantise, 1);
    end(&f);
}

/* Weights that int8 cannot hold without their zero point stay floats. */
static void wide_weights_stay(void **state)
{
    (void)state;
    const int64_t w[4] = {5, 3, 1, 1};
    const numbers wide = {0.004, 10, RY_u8};
    fixture f = begin();
    const ry_value_id taps = dequantise(&f, integers(&f, RY_u8, 4, w, 0, 255), &wide);
    const ry_value_id y = convolve(&f, start(&f, 0), taps, RY_NO_VALUE, false);
    compare(&f, quantise(&f, y, &y_numbers[0]), 1);
    assert_int_equal(count(f.graph, RY_OP_qconv), 0);
    end(&f);
}

/* A residual is added inside the later convolution, and a pool between works on bytes. */
static void residuals_and_pools(void **state)
{
    (void)state;
    const int64_t first[4] = {8, 3, 3, 3}, second[4] = {8, 8, 3, 3};
    for (int type = 0; type < 2; type++) {
        fixture f = begin();
        ry_attrs pool = ry_attrs_default(RY_OP_pool);
        pool.pool.kernel = (ry_ints){2, {3, 3}};
        pool.pool.pads = (ry_ints){4, {1, 1, 1, 1}};
        const numbers *q = &y_numbers[type], sum = {0.05, type ? -20 : 108, q->dtype};
        ry_value_id a =
            convolve(&f, start(&f, type), weights(&f, 4, first, RY_i8, 0), RY_NO_VALUE, true);
        a = dequantise(&f, quantise(&f, expr1(&f, "max(x0, 0)", a), q), q);
        a = dequantise(&f, quantise(&f, node(&f, RY_OP_pool, &pool, 1, &a), q), q);
        ry_value_id b = convolve(&f, a, weights(&f, 4, second, RY_i8, 0), RY_NO_VALUE, true);
        b = dequantise(&f, quantise(&f, b, q), q);
        const ry_value_id y = expr1(&f, "max(x0, 0)", expr2(&f, "x0 + x1", a, b));
        /* floats may round the first convolution otherwise: a step there is a few behind the second */
        compare(&f, quantise(&f, y, &sum), 3);
        assert_int_equal(count(f.graph, RY_OP_qconv), 2);
        assert_int_equal(count(f.graph, RY_OP_pool), 1);
        assert_int_equal(f.graph->values[only(f.graph, RY_OP_pool)->in[0]].dtype, RY_u8);
        /* what is left quantises the input, and for int8 gives y and the input their types */
        assert_int_equal(count(f.graph, RY_OP_expr), type ? 3 : 1);
        end(&f);
    }
}

static ry_value_id resized(fixture *f, ry_value_id x)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_resize);
    attrs.resize.coordinates = RY_resize_coordinates_asymmetric;
    attrs.resize.nearest = RY_resize_nearest_floor;
    attrs.resize.scales = (ry_floats){4, {1, 1, 2, 2}};
    attrs.resize.roi = (ry_floats){8, {0, 0, 0, 0, 1, 1, 1, 1}};
    return node(f, RY_OP_resize, &attrs, 1, &x);
}

static ry_value_id padded(fixture *f, ry_value_id x, double fill)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_pad);
    attrs.pad.pads = (ry_ints){8, {0, 0, 1, 0, 0, 0, 2, 1}};
    attrs.pad.value = fill;
    return node(f, RY_OP_pad, &attrs, 1, &x);
}

/* A concatenation takes bytes of its result's scale, and what moves elements has bytes on both
 * sides, whether its result is quantised or not. */
static void moves_have_bytes(void **state)
{
    (void)state;
    for (int type = 0; type < 2; type++) {
        fixture f = begin();
        const numbers *q = &y_numbers[type];
        ry_attrs join = ry_attrs_default(RY_OP_concat);
        join.concat.axis = 1;
        const ry_value_id a = start(&f, type),
                          b = dequantise(&f, quantise(&f, expr1(&f, "x0 * 1.5", a), q), q),
                          both[2] = {a, b};
        ry_value_id y = quantise(&f, node(&f, RY_OP_concat, &join, 2, both), q);
        y = quantise(&f, resized(&f, dequantise(&f, y, q)), q);
        compare(&f, padded(&f, dequantise(&f, y, q), 0), 0);
        const ry_op moved[] = {RY_OP_concat, RY_OP_resize, RY_OP_pad};
        for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
            const ry_node *move = only(f.graph, moved[i]);
            assert_int_equal(f.graph->values[move->out[0]].dtype, RY_u8);
        }
        assert_int_equal(f.graph->values[only(f.graph, RY_OP_concat)->in[0]].dtype, RY_u8);
        end(&f);
    }
}

/* No byte stands for the number that the pad fills with. */
static void pads_of_other_numbers_stay(void **state)
{
    (void)state;
    fixture f = begin();
    compare(&f, padded(&f, start(&f, 0), 0.013), 0);
    assert_int_equal(f.graph->values[only(f.graph, RY_OP_pad)->out[0]].dtype, RY_f32);
    end(&f);
}

/* Each expression reads the bytes, though one DequantizeLinear gives both their floats. */
static void shared_floats_are_not_stored(void **state)
{
    (void)state;
    fixture f = begin();
    const ry_value_id x = start(&f, 0);
    const ry_value_id y = expr2(&f, "x0 * x1", expr1(&f, "sigmoid(x0)", x), x);
    compare(&f, quantise(&f, y, &y_numbers[0]), 0);
    for (ry_value_id v = 0; v < f.graph->value_count; v++) {
        assert_true(f.graph->values[v].dtype != RY_f32 || f.graph->values[v].uses < 2 ||
                    f.graph->values[v].constant);
    }
    end(&f);
}

static void products(void **state)
{
    (void)state;
    const int64_t rows[2] = {4, 20}, w[2] = {9, 20}, k = 9;
    fixture f = begin();
    ry_attrs attrs = ry_attrs_default(RY_OP_matmul);
    attrs.matmul.trans_b = 1;
    const ry_value_id x =
        dequantise(&f, quantise(&f, input(&f, 2, rows), &x_numbers[0]), &x_numbers[0]);
    const ry_value_id in[3] = {x, weights(&f, 2, w, RY_i8, 0), constant(&f, 1, &k, 0)};
    compare(&f, quantise(&f, node(&f, RY_OP_matmul, &attrs, 3, in), &y_numbers[1]), 1);
    only(f.graph, RY_OP_qconv);
    assert_int_equal(count(f.graph, RY_OP_matmul), 0);
    end(&f);
}

/* QLinearConv and ConvInteger, as they are imported. */
static void integers_become_quantised(void **state)
{
    (void)state;
    const int64_t w[4] = {5, 3, 3, 3}, k = 5, scales[3] = {5, 1, 1};
    for (int requantised = 0; requantised < 2; requantised++) {
        fixture f = begin();
        const ry_value_id bytes = quantise(&f, input(&f, 4, image), &x_numbers[1]),
                          x = expr2(&f, "cast(x0, i32) - cast(x1, i32)", bytes,
                                    scalar(&f, RY_i8, -9)),
                          taps = expr1(&f, "cast(x0, i32)", integers(&f, RY_i8, 4, w, -128, 127));
        ry_value_id y = convolve(&f, x, taps, integers(&f, RY_i32, 1, &k, -4000, 4000), true);
        if (requantised) {
            const ry_value_id in[5] = {y, scalar(&f, RY_f32, 0.02), constant(&f, 3, scales, 1),
                                       scalar(&f, RY_f32, 9), scalar(&f, RY_u8, 100)};
            y = expr_axes(&f,
                          "saturate(round(cast(x0, f32) * (cast(x1, f32) * cast(x2, f32) / "
                          "cast(x3, f32))) + cast(x4, f32), u8)",
                          5, in, 0, NULL);
        }
        compare(&f, y, requantised ? 0.5 : 0);
        const ry_node *node = only(f.graph, RY_OP_qconv);
        assert_int_equal(f.graph->values[node->out[0]].dtype, requantised ? RY_u8 : RY_i32);
        end(&f);
    }
}

/* The bytes of an input, channels last, so that no expression before them joins theirs. */
static ry_value_id turned_bytes(fixture *f, int type)
{
    ry_attrs turn = ry_attrs_default(RY_OP_transpose);
    turn.transpose.perm = (ry_ints){4, {0, 2, 3, 1}};
    const ry_value_id bytes = quantise(f, input(f, 4, image), &x_numbers[type]);
    return node(f, RY_OP_transpose, &turn, 1, &bytes);
}

/* The node that gives the operand of the cast behind it. */
static const ry_node *before_cast(const fixture *f)
{
    const ry_node *cast = ry_rewrite_producer(f->graph, f->graph->outputs[0]);
    return ry_rewrite_producer(f->graph, cast->in[0]);
}

/* Scales and zero points go into the program of one tensor of bytes, which then is a table. */
static void numbers_go_into_byte_programs(void **state)
{
    (void)state;
    for (int type = 0; type < 2; type++) {
        fixture f = begin();
        const ry_value_id bytes = turned_bytes(&f, type),
                          x = expr1(&f, "sigmoid(x0)", dequantise(&f, bytes, &x_numbers[type]));
        const numbers y = {0.004, type ? -128 : 0, type ? RY_i8 : RY_u8};
        rewrite(&f, expr1(&f, "cast(x0, f32)", quantise(&f, x, &y)));
        const ry_node *table = before_cast(&f);
        assert_int_equal(table->inputs, 1);
        assert_int_equal(table->in[0], bytes);
        assert_int_equal(count(f.graph, RY_OP_expr), 3);
        end(&f);
    }
}

/* A scale of each channel, or a second tensor of bytes, leaves no table. */
static void other_byte_programs_keep_their_numbers(void **state)
{
    (void)state;
    const int64_t channels = 3;
    for (int second = 0; second < 2; second++) {
        fixture f = begin();
        const ry_value_id x = dequantise(&f, turned_bytes(&f, 0), &x_numbers[0]),
                          other = second ? dequantise(&f, turned_bytes(&f, 0), &x_numbers[0])
                                         : constant(&f, 1, &channels, 1);
        const ry_value_id y = quantise(&f, expr2(&f, "x0 * x1", x, other), &y_numbers[0]);
        rewrite(&f, expr1(&f, "cast(x0, f32)", y));
        const ry_node *all = ry_rewrite_producer(f.graph, f.graph->outputs[0]);
        assert_int_equal(all->inputs, second ? 8 : 6);
        end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions),
        cmocka_unit_test(floats_come_from_sums),
        cmocka_unit_test(wide_weights_stay),
        cmocka_unit_test(residuals_and_pools),
        cmocka_unit_test(products),
        cmocka_unit_test(integers_become_quantised),
        cmocka_unit_test(moves_have_bytes),
        cmocka_unit_test(pads_of_other_numbers_stay),
        cmocka_unit_test(shared_floats_are_not_stored),
        cmocka_unit_test(numbers_go_into_byte_programs),
        cmocka_unit_test(other_byte_programs_keep_their_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
