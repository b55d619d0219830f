/* SPDX-License-Identifier: Apache-2.0 */
/* Values of 16 bits between products become float32. */
#include "rewrite_case.h"

static const int64_t image[4] = {2, 3, 6, 7};

/* Small integers: exact in 16 bits, and so are sums of some products of them. */
static ry_value_id half_constant(fixture *f, int rank, const int64_t *dim)
{
    const ry_shape shape = ry_shape_of(rank, dim);
    const ry_value_id v = ry_graph_add_constant(f->graph, NULL, RY_f16, &shape, NULL);
    for (int64_t i = 0; i < ry_shape_elements(&shape); i++) {
        ry_set_f64(RY_f16, ry_graph_constant_data(f->graph, v), i, (double)((i * 7 + v) % 5) - 2);
    }
    return v;
}

static ry_value_id half_conv(fixture *f, ry_value_id x, int64_t c, int64_t k)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_conv);
    attrs.conv.pads = (ry_ints){4, {1, 1, 1, 1}};
    ry_value_id in[] = {x, half_constant(f, 4, (int64_t[]){k, c, 3, 3}), half_constant(f, 1, &k)};
    return node(f, RY_OP_conv, &attrs, 3, in);
}

static int half_values(const ry_graph *graph)
{
    int n = 0;
    for (ry_node_id i = 0; i < graph->node_count; i++) {
        for (int o = 0; o < graph->nodes[i].outputs; o++) {
            n += graph->values[graph->nodes[i].out[o]].dtype == RY_f16;
        }
    }
    return n;
}

static void half_network_runs_in_float32(void **state)
{
    (void)state;
    fixture f = begin();
    ry_value_id x = expr1(&f, "cast(floor(x0), f16)", input(&f, 4, image));
    ry_value_id y = expr1(&f, "max(x0, 0)", half_conv(&f, x, 3, 4));
    ry_value_id scaled =
        expr2(&f, "x0 * x1", half_conv(&f, y, 4, 2), half_constant(&f, 1, (int64_t[]){1}));
    rewrite(&f, expr1(&f, "cast(x0, f32)", scaled));
    /* what the model's own Cast rounds is read in the same pass */
    assert_int_equal(half_values(f.graph), 0);
    for (ry_node_id n = 0; n < f.graph->node_count; n++) {
        assert_true(f.graph->nodes[n].op != RY_OP_conv ||
                    f.graph->values[f.graph->nodes[n].in[1]].dtype == RY_f32);
    }
    end(&f);
}

/* Inputs and outputs of the graph keep their types, also an output that other nodes read, and what
 * comes of a comparison. */
static void half_inputs_and_outputs_stay(void **state)
{
    (void)state;
    fixture f = begin();
    const ry_shape shape = ry_shape_of(4, image);
    ry_value_id x = ry_graph_add_value(f.graph, NULL, RY_f16, &shape);
    assert_true(ry_graph_add_input(f.graph, x));
    ry_value_id y = half_conv(&f, x, 3, 3), z = half_conv(&f, y, 3, 3),
                above = expr2(&f, "x0 > x1", z, x);
    const ry_value_id out[] = {y, z, above};
    for (int i = 0; i < 3; i++) {
        assert_true(ry_graph_add_output(f.graph, out[i]));
    }
    assert_int_equal(ry_graph_rewrite(f.graph, NULL, &f.error), RYND_OK);
    assert_int_equal(ry_graph_verify(f.graph, &f.error), RYND_OK);
    assert_int_equal(f.graph->values[f.graph->inputs[0]].dtype, RY_f16);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(f.graph->outputs[i], out[i]);
        assert_int_equal(f.graph->values[out[i]].dtype, i < 2 ? RY_f16 : RY_bool);
        assert_true(ry_shape_equal(&f.graph->values[out[i]].shape, &shape));
    }
    assert_int_equal(half_values(f.graph), 2);
    assert_int_equal(count(f.graph, RY_OP_expr), 4); /* one Cast in, two out, the comparison */
    end(&f);
}

/* The extent of what Compress makes is known from Compress alone. */
static void half_of_unknown_extent_stays(void **state)
{
    (void)state;
    fixture f = begin();
    ry_value_id x = expr1(&f, "cast(floor(x0), f16)", input(&f, 4, image));
    ry_value_id y = half_conv(&f, half_conv(&f, x, 3, 4), 4, 3);
    const ry_shape shape = ry_shape_of(1, (int64_t[]){image[1]});
    const ry_value_id chosen = ry_graph_add_value(f.graph, NULL, RY_bool, &shape);
    assert_true(ry_graph_add_input(f.graph, chosen));
    ry_attrs attrs = ry_attrs_default(RY_OP_compress);
    attrs.compress.axis = 1;
    ry_value_id in[] = {y, chosen};
    assert_true(ry_graph_add_output(f.graph, node(&f, RY_OP_compress, &attrs, 2, in)));
    assert_int_equal(ry_graph_rewrite(f.graph, NULL, &f.error), RYND_OK);
    assert_int_equal(ry_graph_verify(f.graph, &f.error), RYND_OK);
    const ry_value *value = &f.graph->values[f.graph->outputs[0]];
    assert_true(value->bounded);
    assert_int_equal(value->dtype, RY_f16);
    assert_int_equal(f.graph->nodes[value->producer].op, RY_OP_compress);
    assert_int_equal(half_values(f.graph), 2); /* what Compress reads, and makes */
    end(&f);
}

static void lone_half_product_stays(void **state)
{
    (void)state;
    fixture f = begin();
    ry_value_id x = expr1(&f, "cast(floor(x0), f16)", input(&f, 4, image));
    rewrite(&f, expr1(&f, "cast(x0, f32)", half_conv(&f, x, 3, 4)));
    assert_int_equal(f.graph->values[only(f.graph, RY_OP_conv)->in[0]].dtype, RY_f16);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_network_runs_in_float32),
        cmocka_unit_test(half_inputs_and_outputs_stay),
        cmocka_unit_test(half_of_unknown_extent_stays),
        cmocka_unit_test(lone_half_product_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
