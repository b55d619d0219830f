/* SPDX-License-Identifier: Apache-2.0 */
/* A small graph, built value by value, before and after the rewrites: its outputs must stay what
 * they were.
 *
 *   fixture f = begin();
 *   ry_value_id y = conv(&f, input(&f, 4, dims), 3, 5, true);        3 to 5 channels, with a bias
 *   rewrite(&f, expr1(&f, "max(x0, 0)", y));    runs, rewrites, runs again, compares
 *   assert_int_equal(f.graph->node_count, 1);
 *   end(&f); */
#ifndef TESTS_SUPPORT_REWRITE_CASE_H
#define TESTS_SUPPORT_REWRITE_CASE_H

#include "graph_run.h"

#include "machine/machine.h"

#include "expr/expr.h"
#include "graph/rewrite.h"

#include <math.h>

typedef struct fixture {
    ry_graph *graph;
    ry_error error;
} fixture;

static inline fixture begin(void)
{
    fixture f = {0};
    assert_int_equal(ry_graph_create(&ry_system_allocator, &f.graph, &f.error), RYND_OK);
    return f;
}

static inline ry_value_id input(fixture *f, int rank, const int64_t *dim)
{
    ry_shape shape = ry_shape_of(rank, dim);
    ry_value_id v = ry_graph_add_value(f->graph, NULL, RY_f32, &shape);
    assert_true(ry_graph_add_input(f->graph, v));
    return v;
}

static inline float noise(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (float)(*seed >> 8) / 16777216.0f * 2 - 1;
}

static inline ry_value_id constant(fixture *f, int rank, const int64_t *dim, float offset)
{
    ry_shape shape = ry_shape_of(rank, dim);
    ry_value_id v = ry_graph_add_constant(f->graph, NULL, RY_f32, &shape, NULL);
    float *data = ry_graph_constant_data(f->graph, v);
    uint32_t seed = v + 1;
    for (int64_t i = 0; i < ry_shape_elements(&shape); i++) {
        data[i] = noise(&seed) * 0.5f + offset;
    }
    return v;
}

static inline ry_value_id node(fixture *f, ry_op op, const ry_attrs *attrs, int inputs,
                               const ry_value_id *in)
{
    ry_shape unknown = {.rank = -1};
    ry_value_id out = ry_graph_add_value(f->graph, NULL, RY_NONE, &unknown);
    ry_node_id id = ry_graph_add_node(f->graph, op, NULL, "Test", attrs, inputs, in, 1, &out);
    rynd_status status;
    assert_int_equal(ry_infer_node(f->graph, &f->graph->nodes[id], &f->error, &status),
                     RY_INFER_DONE);
    return out;
}

static inline ry_value_id expr_axes(fixture *f, const char *text, int inputs, const ry_value_id *in,
                                    int axes, const int64_t *axis)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    assert_int_equal(ry_expr_parse(text, NULL, 0, &f->graph->arena, &attrs.expr.program, &f->error),
                     RYND_OK);
    attrs.expr.axes.count = axes;
    for (int i = 0; i < axes; i++) {
        attrs.expr.axes.at[i] = axis[i];
    }
    return node(f, RY_OP_expr, &attrs, inputs, in);
}

static inline ry_value_id expr1(fixture *f, const char *text, ry_value_id a)
{
    return expr_axes(f, text, 1, &a, 0, NULL);
}

static inline ry_value_id expr2(fixture *f, const char *text, ry_value_id a, ry_value_id b)
{
    return expr_axes(f, text, 2, (ry_value_id[]){a, b}, 0, NULL);
}

static inline ry_value_id conv(fixture *f, ry_value_id x, int64_t c, int64_t k, bool bias)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_conv);
    attrs.conv.pads = (ry_ints){4, {1, 1, 1, 1}};
    ry_value_id in[3] = {x, constant(f, 4, (int64_t[]){k, c, 3, 3}, 0),
                         bias ? constant(f, 1, &k, 0) : RY_NO_VALUE};
    return node(f, RY_OP_conv, &attrs, 3, in);
}

static inline int count(const ry_graph *graph, ry_op op)
{
    int n = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        n += graph->nodes[i].op == op;
    }
    return n;
}

static inline const ry_node *only(const ry_graph *graph, ry_op op)
{
    const ry_node *found = NULL;
    for (size_t i = 0; i < graph->node_count; i++) {
        if (graph->nodes[i].op == op) {
            assert_null(found);
            found = &graph->nodes[i];
        }
    }
    assert_non_null(found);
    return found;
}

/* Runs, rewrites, runs again, compares, leaves the rewritten graph. */
static inline void rewrite(fixture *f, ry_value_id output)
{
    assert_true(ry_graph_add_output(f->graph, output));
    float *data[4] = {0};
    for (size_t i = 0; i < f->graph->input_count; i++) {
        ry_tensor t = ry_graph_tensor(f->graph, f->graph->inputs[i]);
        data[i] = malloc(ry_tensor_bytes(&t));
        uint32_t seed = (uint32_t)i + 99;
        for (int64_t e = 0; e < ry_tensor_count(&t); e++) {
            data[i][e] = noise(&seed) * 4;
        }
    }
    graph_run_result before = graph_run(f->graph, (void *const *)data);
    ry_tensor t = ry_graph_tensor(f->graph, f->graph->outputs[0]);
    int64_t elements = ry_tensor_count(&t);
    float *wanted = before.data[f->graph->outputs[0]];
    bool *later;
    ry_cpu_info cpu;
    ry_machine machine;
    ry_cpu_detect(&cpu);
    ry_machine_built_in(&cpu, RY_ISA_generic, &machine);
    const ry_target target = {RY_DEVICE_cpu, RY_ISA_generic, &machine, 0, NULL};
    assert_int_equal(ry_graph_compact(f->graph, &f->error), RYND_OK);
    if (ry_graph_rewrite(f->graph, NULL, &f->error) != RYND_OK ||
        ry_plan_fold(f->graph, &target, &later, &f->error) != RYND_OK ||
        ry_graph_compact(f->graph, &f->error) != RYND_OK) {
        fail_msg("%s", f->error.text);
    }
    assert_int_equal(ry_graph_verify(f->graph, &f->error), RYND_OK);
    graph_run_result after = graph_run(f->graph, (void *const *)data);
    const float *got = after.data[f->graph->outputs[0]];
    float largest = 1;
    for (int64_t i = 0; i < elements; i++) {
        largest = fmaxf(largest, fabsf(wanted[i]));
    }
    for (int64_t i = 0; i < elements; i++) {
        if (!(fabsf(wanted[i] - got[i]) <= 2e-5f * largest)) {
            fail_msg("element %lld: %g before, %g after", (long long)i, (double)wanted[i],
                     (double)got[i]);
        }
    }
    graph_run_free(&before);
    graph_run_free(&after);
    for (int i = 0; i < 4; i++) {
        free(data[i]);
    }
}

static inline void end(fixture *f)
{
    ry_graph_destroy(f->graph);
}

#endif
