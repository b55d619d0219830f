/* SPDX-License-Identifier: Apache-2.0 */
/* An expression of one tensor of bytes and constants of one element becomes a program of that
 * tensor alone: a kernel then has a table of its 256 results. */
#include "expr/expr.h"
#include "graph/rewrite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_byte(ry_dtype dtype)
{
    return dtype == RY_u8 || dtype == RY_i8;
}

static bool is_number(const ry_graph *graph, ry_value_id id, double *number)
{
    const ry_value *value = &graph->values[id];
    if (!value->constant || ry_shape_elements(&value->shape) != 1 ||
        ry_dtype_size(value->dtype) > 4) {
        return false;
    }
    uint64_t element = 0;
    memcpy(&element, value->constant, ry_dtype_size(value->dtype));
    *number = ry_get_f64(value->dtype, &element, 0);
    return isfinite(*number);
}

bool ry_rewrite_is_table(const ry_graph *graph, const ry_node *node, ry_value_id *tensor)
{
    double number;
    *tensor = RY_NO_VALUE;
    if (node->op != RY_OP_expr || node->outputs != 1 || node->attrs.expr.axes_input ||
        node->attrs.expr.program->reduces || !is_byte(graph->values[node->out[0]].dtype)) {
        return false;
    }
    for (int i = 0; i < node->inputs; i++) {
        if (!is_number(graph, node->in[i], &number)) {
            if (*tensor != RY_NO_VALUE) {
                return false;
            }
            *tensor = node->in[i];
        }
    }
    return *tensor != RY_NO_VALUE && is_byte(graph->values[*tensor].dtype) &&
           ry_shape_equal(&graph->values[*tensor].shape, &graph->values[node->out[0]].shape);
}

bool ry_rewrite_stays_table(const ry_graph *graph, const ry_node *outer, int input,
                            ry_value_id tensor)
{
    double number;
    bool stays = is_byte(graph->values[outer->out[0]].dtype) && outer->outputs == 1 &&
                 !outer->attrs.expr.program->reduces;
    for (int i = 0; i < outer->inputs && stays; i++) {
        stays = i == input || outer->in[i] == tensor || is_number(graph, outer->in[i], &number);
    }
    return stays;
}

/* Puts the number of input `i` into the program. */
static rynd_status put_number(ry_graph *graph, ry_node *node, int i, ry_error *error)
{
    const ry_expr *constant = NULL, *program = NULL;
    double number = 0;
    is_number(graph, node->in[i], &number);
    char text[32];
    snprintf(text, sizeof text, "cast(a, %s)", ry_dtype_name(graph->values[node->in[i]].dtype));
    const ry_expr_parameter parameter = {"a", number};
    RY_TRY(ry_expr_parse(text, &parameter, 1, &graph->arena, &constant, error));
    RY_TRY(
        ry_expr_compose(node->attrs.expr.program, i, constant, 0, &graph->arena, &program, error));
    for (int k = i; k + 1 < node->inputs; k++) {
        ry_graph_set_input(graph, node, k, node->in[k + 1]);
    }
    ry_graph_set_inputs(graph, node, node->inputs - 1, node->in);
    node->attrs.expr.program = program;
    return RYND_OK;
}

rynd_status ry_rewrite_byte_program(ry_graph *graph, bool *changed, ry_error *error)
{
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        ry_node *node = &graph->nodes[n];
        ry_value_id tensor;
        const bool table = ry_rewrite_is_table(graph, node, &tensor);
        for (int i = node->inputs - 1; i >= 0 && table; i--) {
            if (node->in[i] != tensor) {
                RY_TRY(put_number(graph, node, i, error));
                *changed = true;
            }
        }
    }
    return RYND_OK;
}
