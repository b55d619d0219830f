/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts inside a network: a graph computes the same whatever is chosen, ends stay row-major, and
 * convolutions of many channels get channels last. */
#include "small_net.h"

#include "plan/layouts.h"

static void check_ends(const small_net *n)
{
    const ry_graph *graph = n->builder.graph;
    for (size_t i = 0; i < graph->input_count; i++) {
        assert_false(n->builder.layouts.channels_last[graph->inputs[i]]);
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        assert_false(n->builder.layouts.channels_last[graph->outputs[i]]);
    }
    for (ry_node_id i = 0; i < graph->node_count; i++) {
        if (ry_op_get_class(graph->nodes[i].op) == RY_CLASS_VIEW) {
            assert_false(n->builder.layouts.channels_last[graph->nodes[i].in[0]] ||
                         n->builder.layouts.channels_last[graph->nodes[i].out[0]]);
        }
    }
}

/* Predicted seconds of a node whose values are stored as channels_last says; copies with their
 * meeting of threads. */
static double node_seconds(small_net *n, const ry_node *node, const bool *channels_last)
{
    ry_arena arena;
    ry_problem problem;
    ry_choice choice;
    ry_arena_init(&arena, &ry_system_allocator);
    assert_int_equal(ry_plan_problem(n->builder.graph, node, RY_ACCURACY_near32,
                                     &(ry_value_layouts){.channels_last = channels_last}, 0, &arena,
                                     &problem, &n->error),
                     RYND_OK);
    assert_int_equal(ry_choices_find(&n->builder.choices, &problem,
                                     ry_plan_constants(n->builder.graph, node), NULL, &choice,
                                     &n->error),
                     RYND_OK);
    ry_arena_free(&arena);
    return choice.seconds + (node->op == RY_OP_copy ? RY_STEP_SECONDS : 0);
}

static double total_seconds(small_net *n, const bool *channels_last)
{
    double all = 0;
    for (ry_node_id i = 0; i < n->builder.graph->node_count; i++) {
        const ry_node *node = &n->builder.graph->nodes[i];
        all +=
            ry_op_get_class(node->op) == RY_CLASS_VIEW ? 0 : node_seconds(n, node, channels_last);
    }
    return all;
}

/* Lays the graph out, which takes no longer than to leave it row-major, and compares what it
 * computes; returns how many values are stored channels last. */
static int lay_out(small_net *n)
{
    ry_graph *graph = n->builder.graph;
    float x[CHANNELS * SIDE * SIDE];
    small_net_noise(x);
    void *inputs[] = {x};
    graph_run_result before = graph_run(graph, inputs);
    const double row_major = total_seconds(n, NULL);
    assert_int_equal(ry_plan_choose_layouts(&n->builder, &n->error), RYND_OK);
    assert_true(total_seconds(n, n->builder.layouts.channels_last) <= row_major * (1 + 1e-6));
    check_ends(n);
    graph_run_result after = graph_run_laid_out(graph, inputs, n->builder.layouts.channels_last);
    small_net_same(n, &before, &after);
    int last = 0;
    for (ry_value_id v = 0; v < graph->value_count; v++) {
        last += n->builder.layouts.channels_last[v];
    }
    graph_run_free(&before);
    graph_run_free(&after);
    return last;
}

static void convolutions_get_channels_last(void **state)
{
    (void)state;
    small_net n;
    small_net_begin(&n, 1e12);
    ry_value_id v = small_net_convolve(&n, small_net_input(&n), 3, 1);
    v = small_net_pool(&n, v);
    v = small_net_convolve(&n, v, 1, 1);
    v = small_net_expression(&n, "max(x0, 0)", 1, &v);
    assert_true(ry_graph_add_output(n.builder.graph, small_net_convolve(&n, v, 3, 1)));
    assert_int_equal(lay_out(&n), 4);
    small_net_end(&n);
}

/* Where copies cost next to nothing each node works in the layout that it likes best, however many
 * copies the nodes before it needed. */
static void copies_leave_later_choices_alone(void **state)
{
    (void)state;
    small_net n;
    small_net_begin(&n, 1e15);
    n.machine.f32.one /= 1000;
    n.machine.f32.all /= 1000;
    for (int kind = 0; kind < RYND_KINDS; kind++) {
        n.machine.kind[kind].one /= 1000;
        n.machine.kind[kind].all /= 1000;
    }
    ry_value_id v = small_net_input(&n);
    for (int i = 0; i < 6; i++) {
        v = small_net_convolve(&n, v, 3, i % 2 ? 1 : CHANNELS);
        v = small_net_convolve(&n, v, 1, 1);
        v = small_net_view(&n, small_net_pool(&n, v));
    }
    assert_true(ry_graph_add_output(n.builder.graph, v));
    assert_true(lay_out(&n) > 6);
    const ry_graph *graph = n.builder.graph;
    bool *last = calloc(graph->value_count, sizeof *last);
    for (ry_value_id id = 0; id < graph->value_count; id++) {
        last[id] = !graph->values[id].constant;
    }
    for (ry_node_id i = 0; i < graph->node_count; i++) {
        const ry_node *node = &graph->nodes[i];
        if (node->op == RY_OP_copy) {
            assert_int_not_equal(n.builder.layouts.channels_last[node->in[0]],
                                 n.builder.layouts.channels_last[node->out[0]]);
        } else if (ry_op_get_class(node->op) != RY_CLASS_VIEW) {
            const double least = fmin(node_seconds(&n, node, NULL), node_seconds(&n, node, last));
            assert_true(node_seconds(&n, node, n.builder.layouts.channels_last) <=
                        least + 4 * RY_STEP_SECONDS);
        }
    }
    free(last);
    small_net_end(&n);
}

static void nothing_is_free(void **state)
{
    (void)state;
    small_net n;
    small_net_begin(&n, 1e12);
    assert_true(
        ry_graph_add_output(n.builder.graph, small_net_convolve(&n, small_net_input(&n), 3, 1)));
    assert_int_equal(lay_out(&n), 0);
    small_net_end(&n);
}

/* Any operators in any order, with conversions that cost nothing, something, or too much. */
static void random_networks(void **state)
{
    (void)state;
    static const double bandwidth[] = {1e15, 2e11, 1e6};
    int last[3] = {0}, copies = 0;
    srand(5);
    for (int round = 0; round < 90; round++) {
        small_net n;
        small_net_begin(&n, bandwidth[round % 3]);
        /* so slow at sums that on any machine what a layout saves shows beside what a copy costs */
        n.machine.f32.one /= 30;
        n.machine.f32.all /= 30;
        ry_value_id known[16] = {small_net_input(&n)};
        const int length = 2 + rand() % 10;
        for (int i = 0; i < length; i++) {
            const ry_value_id x = known[rand() % (i + 1)], pair[] = {known[i], x};
            const int kind = rand() % 7;
            known[i + 1] = kind == 0   ? small_net_convolve(&n, known[i], 3, CHANNELS)
                           : kind == 1 ? small_net_pool(&n, known[i])
                           : kind == 2 ? small_net_expression(&n, "0.5 * x0 - max(x1, 0)", 2, pair)
                           : kind == 3 ? small_net_view(&n, known[i])
                           : kind == 4 ? small_net_convolve(&n, x, 3, 1)
                                       : small_net_convolve(&n, known[i], 1, 1);
        }
        assert_true(ry_graph_add_output(n.builder.graph, known[length]));
        assert_true(ry_graph_add_output(n.builder.graph, known[length / 2 + 1]));
        last[round % 3] += lay_out(&n);
        for (ry_node_id i = 0; i < n.builder.graph->node_count; i++) {
            copies += n.builder.graph->nodes[i].op == RY_OP_copy;
        }
        small_net_end(&n);
    }
    assert_true(last[0] > 30 && copies > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(convolutions_get_channels_last),
                                       cmocka_unit_test(copies_leave_later_choices_alone),
                                       cmocka_unit_test(nothing_is_free),
                                       cmocka_unit_test(random_networks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
