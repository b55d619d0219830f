/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts inside a network: a graph computes the same whatever is chosen, ends stay row-major, and convolutions of many channels get channels last. */
#include "graph_run.h"

#include "expr/expr.h"
#include "plan/layouts.h"
#include "wisdom/profile.h"

#include <math.h>

enum { CHANNELS = 24, SIDE = 10 };

typedef struct net {
    ry_plan plan;
    ry_device device;
    ry_profile profile;
    ry_error error;
} net;

static void begin(net *n, double bandwidth)
{
    *n = (net){0};
    ry_cpu_info cpu;
    ry_cpu_detect(&cpu);
    ry_profile_built_in(&cpu, cpu.isa, &n->profile);
    n->profile.read[RY_LEVEL_L3].one = bandwidth;
    n->device = (ry_device){.isa = cpu.isa, .profile = &n->profile};
    n->plan.device = &n->device;
    ry_arena_init(&n->plan.arena, &ry_system_allocator);
    assert_int_equal(ry_graph_create(&ry_system_allocator, &n->plan.graph, &n->error), RYND_OK);
}

static void end(net *n)
{
    ry_graph_destroy(n->plan.graph);
    ry_arena_free(&n->plan.arena);
}

static ry_value_id input(net *n)
{
    const ry_shape shape = ry_shape_of(4, (int64_t[]){1, CHANNELS, SIDE, SIDE});
    const ry_value_id v = ry_graph_add_value(n->plan.graph, NULL, RY_f32, &shape);
    assert_true(ry_graph_add_input(n->plan.graph, v));
    return v;
}

static ry_value_id node(net *n, ry_op op, const ry_attrs *attrs, int inputs, const ry_value_id *in)
{
    const ry_shape unknown = {.rank = -1};
    const ry_value_id out = ry_graph_add_value(n->plan.graph, NULL, RY_NONE, &unknown);
    const ry_node_id id = ry_graph_add_node(n->plan.graph, op, NULL, "Test", attrs, inputs, in, 1, &out);
    rynd_status status;
    assert_int_equal(ry_infer_node(n->plan.graph, &n->plan.graph->nodes[id], &n->error, &status), RY_INFER_DONE);
    return out;
}

/* A same-size convolution from CHANNELS to CHANNELS. */
static ry_value_id convolve(net *n, ry_value_id x, int64_t window, int64_t groups)
{
    const ry_shape shape = ry_shape_of(4, (int64_t[]){CHANNELS, CHANNELS / groups, window, window});
    const ry_value_id w = ry_graph_add_constant(n->plan.graph, NULL, RY_f32, &shape, NULL);
    float *data = ry_graph_constant_data(n->plan.graph, w);
    for (int64_t i = 0; i < ry_shape_elements(&shape); i++) {
        data[i] = (float)(rand() % 201 - 100) / 300.0f;
    }
    ry_attrs attrs = ry_attrs_default(RY_OP_conv);
    attrs.conv.groups = groups;
    attrs.conv.pads = (ry_ints){.count = 4, .at = {window / 2, window / 2, window / 2, window / 2}};
    const ry_value_id in[] = {x, w};
    return node(n, RY_OP_conv, &attrs, 2, in);
}

static ry_value_id pool(net *n, ry_value_id x)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_pool);
    attrs.pool.kernel = (ry_ints){.count = 2, .at = {3, 3}};
    attrs.pool.pads = (ry_ints){.count = 4, .at = {1, 1, 1, 1}};
    return node(n, RY_OP_pool, &attrs, 1, &x);
}

static ry_value_id expression(net *n, const char *program, int inputs, const ry_value_id *in)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    assert_int_equal(ry_expr_parse(program, NULL, 0, &n->plan.graph->arena, &attrs.expr.program, &n->error), RYND_OK);
    return node(n, RY_OP_expr, &attrs, inputs, in);
}

/* There and back as a row: its memory is a view's. */
static ry_value_id view(net *n, ry_value_id x)
{
    const ry_shape row = ry_shape_of(2, (int64_t[]){1, CHANNELS * SIDE * SIDE}), box = ry_shape_of(4, (int64_t[]){1, CHANNELS, SIDE, SIDE});
    const ry_value_id flat = ry_graph_add_value(n->plan.graph, NULL, RY_f32, &row);
    const ry_value_id back = ry_graph_add_value(n->plan.graph, NULL, RY_f32, &box);
    assert_int_not_equal(ry_graph_add_node(n->plan.graph, RY_OP_flatten, NULL, "Test", NULL, 1, &x, 1, &flat), RY_NO_NODE);
    assert_int_not_equal(ry_graph_add_node(n->plan.graph, RY_OP_reshape, NULL, "Test", NULL, 1, &flat, 1, &back), RY_NO_NODE);
    return back;
}

static void check_ends(const net *n)
{
    const ry_graph *graph = n->plan.graph;
    for (size_t i = 0; i < graph->input_count; i++) {
        assert_false(n->plan.channels_last[graph->inputs[i]]);
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        assert_false(n->plan.channels_last[graph->outputs[i]]);
    }
    for (ry_node_id i = 0; i < graph->node_count; i++) {
        if (ry_op_get_class(graph->nodes[i].op) == RY_CLASS_VIEW) {
            assert_false(n->plan.channels_last[graph->nodes[i].in[0]] || n->plan.channels_last[graph->nodes[i].out[0]]);
        }
    }
}

/* Lays the graph out and compares what it computes; returns how many values lie channels last. */
static int lay_out(net *n)
{
    ry_graph *graph = n->plan.graph;
    float x[CHANNELS * SIDE * SIDE];
    for (int i = 0; i < CHANNELS * SIDE * SIDE; i++) {
        x[i] = (float)(rand() % 2001 - 1000) / 500.0f;
    }
    void *inputs[] = {x};
    graph_run_result before = graph_run(graph, inputs);
    assert_int_equal(ry_plan_choose_layouts(&n->plan, RY_ACCURACY_near32, &n->error), RYND_OK);
    check_ends(n);
    graph_run_result after = graph_run_laid_out(graph, inputs, n->plan.channels_last);
    for (size_t o = 0; o < graph->output_count; o++) {
        const float *was = before.data[graph->outputs[o]], *is = after.data[graph->outputs[o]];
        for (int i = 0; i < CHANNELS * SIDE * SIDE; i++) {
            assert_true(fabsf(was[i] - is[i]) <= 1e-4f * (1 + fabsf(was[i])));
        }
    }
    int last = 0;
    for (ry_value_id v = 0; v < graph->value_count; v++) {
        last += n->plan.channels_last[v];
    }
    graph_run_free(&before);
    graph_run_free(&after);
    return last;
}

static void convolutions_get_channels_last(void **state)
{
    (void)state;
    net n;
    begin(&n, 1e12);
    ry_value_id v = convolve(&n, input(&n), 3, 1);
    v = pool(&n, v);
    v = convolve(&n, v, 1, 1);
    v = expression(&n, "max(x0, 0)", 1, &v);
    assert_true(ry_graph_add_output(n.plan.graph, convolve(&n, v, 3, 1)));
    assert_int_equal(lay_out(&n), 4);
    end(&n);
}

static void nothing_is_free(void **state)
{
    (void)state;
    net n;
    begin(&n, 1e12);
    assert_true(ry_graph_add_output(n.plan.graph, convolve(&n, input(&n), 3, 1)));
    assert_int_equal(lay_out(&n), 0);
    end(&n);
}

/* Any operators in any order, with conversions that cost nothing, something, or too much. */
static void random_networks(void **state)
{
    (void)state;
    static const double bandwidth[] = {1e15, 2e11, 1e6};
    int last[3] = {0}, copies = 0;
    srand(5);
    for (int round = 0; round < 90; round++) {
        net n;
        begin(&n, bandwidth[round % 3]);
        ry_value_id known[16] = {input(&n)};
        const int length = 2 + rand() % 10;
        for (int i = 0; i < length; i++) {
            const ry_value_id x = known[rand() % (i + 1)], pair[] = {known[i], x};
            const int kind = rand() % 7;
            known[i + 1] = kind == 0   ? convolve(&n, known[i], 3, CHANNELS)
                           : kind == 1 ? pool(&n, known[i])
                           : kind == 2 ? expression(&n, "0.5 * x0 - max(x1, 0)", 2, pair)
                           : kind == 3 ? view(&n, known[i])
                           : kind == 4 ? convolve(&n, x, 3, 1)
                                       : convolve(&n, known[i], 1, 1);
        }
        assert_true(ry_graph_add_output(n.plan.graph, known[length]));
        assert_true(ry_graph_add_output(n.plan.graph, known[length / 2 + 1]));
        last[round % 3] += lay_out(&n);
        for (ry_node_id i = 0; i < n.plan.graph->node_count; i++) {
            copies += n.plan.graph->nodes[i].op == RY_OP_copy;
        }
        end(&n);
    }
    assert_true(last[0] > 30 && copies > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(convolutions_get_channels_last), cmocka_unit_test(nothing_is_free),
                                       cmocka_unit_test(random_networks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
