/* SPDX-License-Identifier: Apache-2.0 */
/* BatchNormalization of the columns of a matrix product with constant weights goes into the weights
 * and a constant row, also where the product's rows are put together by a reshape before: so
 * exporters spell a Linear layer that is followed by BatchNorm1d. */
#include "graph/derive.h"
#include "graph/rewrite.h"

#include <math.h>
#include <string.h>

static bool readable(const ry_graph *graph, ry_value_id id)
{
    const ry_value *value = id == RY_NO_VALUE ? NULL : &graph->values[id];
    return value && value->constant && value->dtype == RY_f32;
}

/* Constants are anywhere in a file. */
static double number(const void *constant, int64_t index)
{
    float x;
    memcpy(&x, (const char *)constant + index * (int64_t)sizeof x, sizeof x);
    return (double)x;
}

/* The product alone: alpha * a * w, nothing added and no activation. */
static bool plain(const ry_graph *graph, const ry_node *matmul)
{
    for (int i = 2; i < matmul->inputs; i++) {
        if (matmul->in[i] != RY_NO_VALUE) {
            return false;
        }
    }
    return matmul->attrs.matmul.activation == RY_activation_none &&
           readable(graph, matmul->in[1]) && graph->values[matmul->in[1]].shape.rank == 2 &&
           graph->values[matmul->out[0]].dtype == RY_f32;
}

/* The product whose rows the node normalises; *view: the reshape between, or NULL. */
static ry_node *product_behind(const ry_graph *graph, const ry_node *norm, ry_node **view)
{
    const ry_value *x = &graph->values[norm->in[0]];
    *view = ry_rewrite_inner(graph, norm->in[0], RY_OP_reshape);
    ry_node *matmul = ry_rewrite_inner(graph, *view ? (*view)->in[0] : norm->in[0], RY_OP_matmul);
    if (!matmul || x->shape.rank != 2 || !plain(graph, matmul)) {
        return NULL;
    }
    const ry_shape *rows = &graph->values[matmul->out[0]].shape;
    for (int i = 1; i < 5; i++) {
        if (!readable(graph, norm->in[i]) ||
            ry_shape_elements(&graph->values[norm->in[i]].shape) != x->shape.dim[1]) {
            return NULL;
        }
    }
    return rows->rank >= 2 && rows->dim[rows->rank - 1] == x->shape.dim[1] ? matmul : NULL;
}

typedef struct scaling {
    ry_value_id old;
    bool rows;
    const double *scale;
} scaling;

/* Columns of the product, which are rows of a transposed operand. */
static void scale_columns(ry_graph *graph, const void *how, void *to)
{
    const scaling *s = how;
    const ry_value *old = &graph->values[s->old];
    for (int64_t i = 0; i < old->shape.dim[0]; i++) {
        for (int64_t j = 0; j < old->shape.dim[1]; j++) {
            const int64_t at = i * old->shape.dim[1] + j;
            ((float *)to)[at] = (float)(number(old->constant, at) * s->scale[s->rows ? i : j]);
        }
    }
}

static ry_value_id scaled_weights(ry_graph *graph, const ry_node *matmul, const double *scale,
                                  int64_t columns)
{
    const scaling s = {matmul->in[1], matmul->attrs.matmul.trans_b != 0, scale};
    const ry_recipe recipe = {.what = s.rows ? "matmul_norm rows" : "matmul_norm columns",
                              .count = 1,
                              .from = &s.old,
                              .numbers = scale,
                              .numbers_size = (size_t)columns * sizeof *scale};
    const ry_shape shape = graph->values[s.old].shape;
    return ry_graph_add_derived(graph, &recipe, RY_f32, &shape, scale_columns, &s);
}

static rynd_status absorb(ry_graph *graph, ry_node_id norm_id, ry_node_id product_id, ry_node *view,
                          double *scale, ry_error *error)
{
    const ry_node *norm = &graph->nodes[norm_id];
    const int64_t columns = graph->values[norm->in[0]].shape.dim[1];
    const ry_shape row = ry_shape_of(1, &columns);
    const ry_value_id shift = ry_graph_add_constant(graph, NULL, RY_f32, &row, NULL);
    ry_node *matmul = &graph->nodes[product_id];
    if (shift == RY_NO_VALUE || !ry_rewrite_widen(graph, matmul, 3)) {
        return ry_fail_memory(error);
    }
    const void *constants[5] = {0};
    for (int i = 1; i < 5; i++) {
        constants[i] = graph->values[norm->in[i]].constant;
    }
    for (int64_t k = 0; k < columns; k++) {
        scale[k] = number(constants[1], k) /
                   sqrt(number(constants[4], k) + norm->attrs.batch_norm.epsilon);
        ((float *)ry_graph_constant_data(graph, shift))[k] =
            (float)(number(constants[2], k) - number(constants[3], k) * scale[k]);
    }
    const ry_value_id weights = scaled_weights(graph, matmul, scale, columns);
    if (weights == RY_NO_VALUE) {
        return ry_fail_memory(error);
    }
    ry_graph_set_input(graph, matmul, 1, weights);
    ry_graph_set_input(graph, matmul, 2, shift);
    matmul->attrs.matmul.beta = 1;
    const ry_value_id out = norm->out[0];
    ry_graph_remove_node(graph, norm_id);
    ry_node *last = view ? view : matmul;
    last->out[0] = out;
    graph->values[out].producer = (ry_node_id)(last - graph->nodes);
    return RYND_OK;
}

rynd_status ry_rewrite_matmul_norm(ry_graph *graph, bool *changed, ry_error *error)
{
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        const ry_node *norm = &graph->nodes[n];
        ry_node *view, *matmul = norm->op == RY_OP_batch_norm && norm->inputs == 5
                                     ? product_behind(graph, norm, &view)
                                     : NULL;
        if (!matmul) {
            continue;
        }
        const int64_t columns = graph->values[norm->in[0]].shape.dim[1];
        if (!ry_graph_spend(graph, ry_shape_bytes(&graph->values[matmul->in[1]].shape, RY_f32) +
                                       columns * (int64_t)sizeof(float))) {
            continue;
        }
        ry_arena scratch;
        ry_arena_init(&scratch, graph->arena.allocator);
        double *scale = RY_TAKE(&scratch, double, columns);
        const rynd_status status =
            scale ? absorb(graph, n, (ry_node_id)(matmul - graph->nodes), view, scale, error)
                  : ry_fail_memory(error);
        ry_arena_free(&scratch);
        RY_TRY(status);
        *changed = true;
    }
    return RYND_OK;
}
