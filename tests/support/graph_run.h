/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a graph node by node with the kernels of plain C, for tests: what a graph means, whatever
 * the planner does to it. */
#ifndef TESTS_SUPPORT_GRAPH_RUN_H
#define TESTS_SUPPORT_GRAPH_RUN_H

#include "every_kernel.h"
#include "graph/graph.h"
#include "graph/infer.h"
#include "plan/fold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The values of all of a graph's values after a run; inputs are taken from `inputs` (in the graph's
 * order). Freed by graph_run_free. */
typedef struct graph_run_result {
    void **data;
    size_t count;
} graph_run_result;

/* channels_last: for each value, whether it is stored channels last; NULL: all row-major. */
static inline graph_run_result graph_run_laid_out(const ry_graph *graph, void *const *inputs,
                                                  const bool *channels_last)
{
    graph_run_result r = {calloc(graph->value_count, sizeof(void *)), graph->value_count};
    ry_error error = {""};
    ry_arena scratch;
    ry_arena_init(&scratch, &ry_system_allocator);
    for (size_t v = 0; v < graph->value_count; v++) {
        const ry_value *value = &graph->values[v];
        if (value->dtype == RY_NONE || ry_shape_bytes(&value->shape, value->dtype) < 0) {
            continue;
        }
        size_t bytes = (size_t)ry_shape_bytes(&value->shape, value->dtype);
        r.data[v] = calloc(bytes + 64, 1);
        if (value->constant) {
            memcpy(r.data[v], value->constant, bytes);
        }
    }
    for (size_t i = 0; i < graph->input_count; i++) {
        ry_tensor t = ry_graph_tensor(graph, graph->inputs[i]);
        memcpy(r.data[graph->inputs[i]], inputs[i], ry_tensor_bytes(&t));
    }
    for (size_t n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        if (node->op == RY_OP_dead) {
            continue;
        }
        ry_problem problem;
        assert_int_equal(ry_plan_problem(graph, node, RY_ACCURACY_strict,
                                         &(ry_value_layouts){.channels_last = channels_last}, 0,
                                         &scratch, &problem, &error),
                         RYND_OK);
        const void *in[16] = {0};
        void *out[16] = {0};
        assert_true(node->inputs <= 16 && node->outputs <= 16);
        for (int i = 0; i < node->inputs; i++) {
            in[i] = node->in[i] == RY_NO_VALUE ? NULL : r.data[node->in[i]];
        }
        for (int i = 0; i < node->outputs; i++) {
            out[i] = node->out[i] == RY_NO_VALUE ? NULL : r.data[node->out[i]];
        }
        if (ry_op_get_class(node->op) == RY_CLASS_VIEW) {
            memcpy(out[0], in[0], ry_tensor_bytes(&problem.out[0]));
            continue;
        }
        const ry_kernel *kernel = every_kernel_first(&problem, RY_ISA_generic);
        assert_non_null(kernel);
        assert_int_equal(
            every_kernel_execute(kernel, &problem, in, out, NULL, &ry_system_allocator, &error),
            RYND_OK);
    }
    ry_arena_free(&scratch);
    return r;
}

static inline graph_run_result graph_run(const ry_graph *graph, void *const *inputs)
{
    return graph_run_laid_out(graph, inputs, NULL);
}

static inline void graph_run_free(graph_run_result *r)
{
    for (size_t v = 0; v < r->count; v++) {
        free(r->data[v]);
    }
    free(r->data);
}

#endif
