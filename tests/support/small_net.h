/* SPDX-License-Identifier: Apache-2.0 */
/* Small networks for the planner's passes: graphs of CHANNELS x SIDE x SIDE tensors on a made-up
 * machine. */
#ifndef TESTS_SUPPORT_SMALL_NET_H
#define TESTS_SUPPORT_SMALL_NET_H

#include "graph_run.h"

#include "expr/expr.h"
#include "machine/machine.h"
#include "plan/plan_builder.h"

#include <math.h>

enum { CHANNELS = 24, SIDE = 10 };

typedef struct small_net {
    int64_t batch; /* 1; to be set before the input is made */
    ry_plan plan;
    ry_plan_options options;
    ry_plan_builder builder; /* makes `plan` */
    ry_device device;
    ry_machine machine;
    ry_error error;
} small_net;

static inline void small_net_begin(small_net *n, double bandwidth)
{
    *n = (small_net){.batch = 1};
    ry_cpu_info cpu;
    ry_cpu_detect(&cpu);
    ry_machine_built_in(&cpu, cpu.isa, &n->machine);
    n->machine.level[RYND_LEVEL_L2].bandwidth.one = n->machine.level[RYND_LEVEL_L3].bandwidth.one =
        bandwidth;
    n->device = (ry_device){
        .isa = cpu.isa, .machine = &n->machine, .host = &n->device, .host_memory = true};
    n->plan.device = &n->device;
    n->plan.whole.form = ry_plan_form_predicted();
    n->options.accuracy = RY_ACCURACY_near32;
    n->builder.plan = &n->plan;
    n->builder.options = &n->options;
    ry_arena_init(&n->plan.arena, &ry_system_allocator);
    const ry_target target = {RY_DEVICE_cpu, cpu.isa, &n->machine, 0, NULL};
    ry_choices_init(&n->builder.choices, &ry_system_allocator, &target, NULL);
    assert_int_equal(ry_graph_create(&ry_system_allocator, &n->builder.graph, &n->error), RYND_OK);
    n->plan.graph = n->builder.graph;
}

static inline void small_net_end(small_net *n)
{
    ry_choices_free(&n->builder.choices);
    ry_graph_destroy(n->builder.graph);
    ry_arena_free(&n->plan.arena);
}

static inline ry_value_id small_net_input(small_net *n)
{
    const ry_shape shape = ry_shape_of(4, (int64_t[]){n->batch, CHANNELS, SIDE, SIDE});
    const ry_value_id v = ry_graph_add_value(n->builder.graph, NULL, RY_f32, &shape);
    assert_true(ry_graph_add_input(n->builder.graph, v));
    return v;
}

static inline ry_value_id small_net_node(small_net *n, ry_op op, const ry_attrs *attrs, int inputs,
                                         const ry_value_id *in)
{
    const ry_shape unknown = {.rank = -1};
    const ry_value_id out = ry_graph_add_value(n->builder.graph, NULL, RY_NONE, &unknown);
    const ry_node_id id =
        ry_graph_add_node(n->builder.graph, op, NULL, "Test", attrs, inputs, in, 1, &out);
    rynd_status status;
    assert_int_equal(
        ry_infer_node(n->builder.graph, &n->builder.graph->nodes[id], &n->error, &status),
        RY_INFER_DONE);
    return out;
}

/* A same-size convolution from CHANNELS to CHANNELS. */
static inline ry_value_id small_net_convolve(small_net *n, ry_value_id x, int64_t window,
                                             int64_t groups)
{
    const ry_shape shape = ry_shape_of(4, (int64_t[]){CHANNELS, CHANNELS / groups, window, window});
    const ry_value_id w = ry_graph_add_constant(n->builder.graph, NULL, RY_f32, &shape, NULL);
    float *data = ry_graph_constant_data(n->builder.graph, w);
    for (int64_t i = 0; i < ry_shape_elements(&shape); i++) {
        data[i] = (float)(rand() % 201 - 100) / 300.0f;
    }
    ry_attrs attrs = ry_attrs_default(RY_OP_conv);
    attrs.conv.groups = groups;
    attrs.conv.pads = (ry_ints){.count = 4, .at = {window / 2, window / 2, window / 2, window / 2}};
    const ry_value_id in[] = {x, w};
    return small_net_node(n, RY_OP_conv, &attrs, 2, in);
}

static inline ry_value_id small_net_pool(small_net *n, ry_value_id x)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_pool);
    attrs.pool.kernel = (ry_ints){.count = 2, .at = {3, 3}};
    attrs.pool.pads = (ry_ints){.count = 4, .at = {1, 1, 1, 1}};
    return small_net_node(n, RY_OP_pool, &attrs, 1, &x);
}

static inline ry_value_id small_net_expression(small_net *n, const char *program, int inputs,
                                               const ry_value_id *in)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    assert_int_equal(
        ry_expr_parse(program, NULL, 0, &n->builder.graph->arena, &attrs.expr.program, &n->error),
        RYND_OK);
    return small_net_node(n, RY_OP_expr, &attrs, inputs, in);
}

/* There and back as a row: its memory is a view's. */
static inline ry_value_id small_net_view(small_net *n, ry_value_id x)
{
    const ry_shape row = ry_shape_of(2, (int64_t[]){n->batch, CHANNELS * SIDE * SIDE});
    const ry_shape box = ry_shape_of(4, (int64_t[]){n->batch, CHANNELS, SIDE, SIDE});
    const ry_value_id flat = ry_graph_add_value(n->builder.graph, NULL, RY_f32, &row);
    const ry_value_id dims = ry_graph_add_i64s(n->builder.graph, NULL, 4, box.dim);
    const ry_value_id back = ry_graph_add_value(n->builder.graph, NULL, RY_f32, &box);
    assert_int_not_equal(
        ry_graph_add_node(n->builder.graph, RY_OP_flatten, NULL, "Test", NULL, 1, &x, 1, &flat),
        RY_NO_NODE);
    assert_int_not_equal(ry_graph_add_node(n->builder.graph, RY_OP_reshape, NULL, "Test", NULL, 2,
                                           (ry_value_id[]){flat, dims}, 1, &back),
                         RY_NO_NODE);
    return back;
}

/* Compares the graph's outputs, all of x's shape, with those of an earlier run. */
static inline void small_net_same(const small_net *n, const graph_run_result *before,
                                  const graph_run_result *after)
{
    const ry_graph *graph = n->builder.graph;
    for (size_t o = 0; o < graph->output_count; o++) {
        const float *was = before->data[graph->outputs[o]], *is = after->data[graph->outputs[o]];
        for (int i = 0; i < CHANNELS * SIDE * SIDE; i++) {
            assert_true(fabsf(was[i] - is[i]) <= 1e-4f * (1 + fabsf(was[i])));
        }
    }
}

static inline void small_net_noise(float x[CHANNELS * SIDE * SIDE])
{
    for (int i = 0; i < CHANNELS * SIDE * SIDE; i++) {
        x[i] = (float)(rand() % 2001 - 1000) / 500.0f;
    }
}

#endif
