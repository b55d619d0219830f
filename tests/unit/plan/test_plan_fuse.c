/* SPDX-License-Identifier: Apache-2.0 */
/* A depthwise and a pointwise convolution become one node if nothing else reads the value between
 * them; results stay the same. */
#include "small_net.h"

#include "plan/fuse_separable.h"

static int count(const small_net *n, ry_op op)
{
    int found = 0;
    for (ry_node_id i = 0; i < n->builder.graph->node_count; i++) {
        found += n->builder.graph->nodes[i].op == op;
    }
    return found;
}

/* Fuses, compares, and says how many pairs became one. */
static int fuse(small_net *n)
{
    float x[CHANNELS * SIDE * SIDE];
    small_net_noise(x);
    void *inputs[] = {x};
    graph_run_result before = graph_run(n->builder.graph, inputs);
    assert_int_equal(ry_plan_fuse_separable(&n->builder, &n->error), RYND_OK);
    graph_run_result after = graph_run(n->builder.graph, inputs);
    small_net_same(n, &before, &after);
    graph_run_free(&before);
    graph_run_free(&after);
    return count(n, RY_OP_separable_conv);
}

static ry_node *producer(const small_net *n, ry_value_id v)
{
    return &n->builder.graph->nodes[n->builder.graph->values[v].producer];
}

static void pairs_become_one(void **state)
{
    (void)state;
    small_net n;
    small_net_begin(&n, 1e9);
    ry_value_id v = small_net_convolve(&n, small_net_input(&n), 3, CHANNELS);
    producer(&n, v)->attrs.conv.activation = RY_activation_relu;
    v = small_net_convolve(&n, v, 1, 1);
    producer(&n, v)->attrs.conv.activation = RY_activation_silu;
    v = small_net_convolve(&n, v, 5, CHANNELS);
    assert_true(ry_graph_add_output(n.builder.graph, small_net_convolve(&n, v, 1, 1)));
    assert_int_equal(fuse(&n), 2);
    assert_int_equal(count(&n, RY_OP_conv), 0);
    small_net_end(&n);
}

static void others_stay(void **state)
{
    (void)state;
    small_net n;
    small_net_begin(&n, 1e9);
    const ry_value_id x = small_net_input(&n), twice = small_net_convolve(&n, x, 3, CHANNELS);
    assert_true(ry_graph_add_output(n.builder.graph, small_net_convolve(&n, twice, 1, 1)));
    assert_true(ry_graph_add_output(n.builder.graph, small_net_convolve(&n, twice, 1, 1)));
    const ry_value_id seen = small_net_convolve(&n, x, 3, CHANNELS);
    assert_true(ry_graph_add_output(n.builder.graph, seen));
    assert_true(ry_graph_add_output(n.builder.graph, small_net_convolve(&n, seen, 1, 1)));
    assert_true(ry_graph_add_output(
        n.builder.graph, small_net_convolve(&n, small_net_convolve(&n, x, 3, CHANNELS), 3, 1)));
    assert_true(ry_graph_add_output(n.builder.graph,
                                    small_net_convolve(&n, small_net_convolve(&n, x, 3, 2), 1, 1)));
    assert_int_equal(fuse(&n), 0);
    small_net_end(&n);
}

static void residuals_and_dilation(void **state)
{
    (void)state;
    small_net n;
    small_net_begin(&n, 1e12);
    const ry_value_id x = small_net_input(&n);
    ry_value_id v = small_net_convolve(&n, x, 3, CHANNELS);
    v = small_net_convolve(&n, v, 1, 1);
    ry_node *node = producer(&n, v);
    const ry_value_id in[] = {node->in[0], node->in[1], RY_NO_VALUE, x};
    const ry_value_id sum = small_net_node(&n, RY_OP_conv, &node->attrs, 4, in);
    ry_graph_remove_node(n.builder.graph, n.builder.graph->values[v].producer);
    v = small_net_convolve(&n, sum, 3, CHANNELS);
    ry_conv_attrs *a = &producer(&n, v)->attrs.conv;
    a->dilation = (ry_ints){2, {2, 2}};
    a->pads = (ry_ints){4, {2, 2, 2, 2}};
    v = small_net_convolve(&n, v, 1, 1);
    assert_true(ry_graph_add_output(n.builder.graph, v));
    assert_int_equal(fuse(&n), 2);
    small_net_end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_become_one),
                                       cmocka_unit_test(others_stay),
                                       cmocka_unit_test(residuals_and_dilation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
