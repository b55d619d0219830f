/* SPDX-License-Identifier: Apache-2.0 */
/* A product of a vector and a matrix that is no constant, in types without a kernel for vectors, is
 * a sum of products: it reads the matrix once, where a product by tiles packs it before. */
#include "graph/rewrite.h"
#include "graph/rewrite_rule.h"

/* The matrix of a product and the vector beside it. */
typedef struct operands {
    int matrix, vector; /* inputs */
    bool sums_rows;     /* the sum is along the matrix's rows, its last dim */
    int64_t depth;
    ry_shape shape; /* the matrix's */
} operands;

static const ry_shape *shape_of(const ry_graph *graph, const ry_node *node, int input)
{
    return &graph->values[node->in[input]].shape;
}

/* Does input `vector` have one row (input 0) or one column (input 1), and is the other one a matrix
 * of as many images as the output? */
static bool read_operands(const ry_graph *graph, const ry_node *node, int vector, operands *o)
{
    const bool trans[] = {node->attrs.matmul.trans_a != 0, node->attrs.matmul.trans_b != 0};
    const ry_shape *v = shape_of(graph, node, vector), *m = shape_of(graph, node, 1 - vector);
    if (v->rank < 1 || m->rank < 2 || graph->values[node->in[1 - vector]].constant) {
        return false;
    }
    /* the dim along the sum is the last of input 0, and the one before of input 1, or the other */
    *o = (operands){.matrix = 1 - vector, .vector = vector, .shape = *m};
    o->sums_rows = (o->matrix == 0) != trans[o->matrix];
    o->depth = m->dim[m->rank - (o->sums_rows ? 1 : 2)];
    const int beside = v->rank - ((vector == 0) != trans[vector] ? 2 : 1);
    const int64_t images = ry_shape_elements(&graph->values[node->out[0]].shape) /
                           m->dim[m->rank - (o->sums_rows ? 2 : 1)];
    return o->depth > 0 && (v->rank == 1 || v->dim[beside] == 1) &&
           images * m->dim[m->rank - 1] * m->dim[m->rank - 2] == ry_shape_elements(m);
}

static bool find_operands(const ry_graph *graph, const ry_node *node, operands *o)
{
    return read_operands(graph, node, 0, o) || read_operands(graph, node, 1, o);
}

static ry_value_id sum_of_products(ry_rule_call *n)
{
    ry_emitter *e = &n->emitter;
    const ry_shape y = e->graph->values[n->node.out[0]].shape;
    operands o = {0};
    find_operands(e->graph, &n->node, &o);
    /* the vector's images, then its elements along the sum */
    const ry_shape given = *shape_of(e->graph, &n->node, o.vector);
    ry_shape v = {.rank = given.rank < 2 ? 2 : given.rank};
    for (int i = 0; i < v.rank - 2; i++) {
        v.dim[i] = given.dim[i];
    }
    v.dim[v.rank - 1] = o.sums_rows ? o.depth : 1;
    v.dim[v.rank - 2] = o.sums_rows ? 1 : o.depth;
    const ry_ints axes = {
        1, {(v.rank > o.shape.rank ? v.rank : o.shape.rank) - (o.sums_rows ? 1 : 2)}};
    const ry_value_id in[] = {n->node.in[o.matrix], ry_emit_reshape(e, n->node.in[o.vector], &v)};
    const ry_value_id sum = ry_emit_reduce(e, "sum(x0 * x1)", &axes, false, 2, in);
    if (!ry_rule_has_input(&n->node, 2)) {
        return sum;
    }
    return ry_rule_expr(n, "x0 + x1", 2,
                        (ry_value_id[]){ry_emit_reshape(e, sum, &y), n->node.in[2]});
}

static bool has_kernel_for_vectors(ry_dtype dtype)
{
    return dtype == RY_f32 || dtype == RY_f16 || dtype == RY_bf16 || dtype == RY_bool;
}

static ry_rule rule_of(const ry_graph *graph, const ry_node *node)
{
    const ry_matmul_attrs *a = &node->attrs.matmul;
    operands o;
    if (node->op != RY_OP_matmul || !ry_rule_has_input(node, 1) || ry_rule_has_input(node, 3) ||
        a->alpha != 1 || (ry_rule_has_input(node, 2) && a->beta != 1) ||
        a->activation != RY_activation_none) {
        return NULL;
    }
    const ry_dtype dtype = graph->values[node->out[0]].dtype;
    bool one_type = !has_kernel_for_vectors(dtype);
    for (int i = 0; i < node->inputs; i++) {
        one_type =
            one_type && (!ry_rule_has_input(node, i) || graph->values[node->in[i]].dtype == dtype);
    }
    return one_type && ry_shape_elements(&graph->values[node->out[0]].shape) > 0 &&
                   find_operands(graph, node, &o)
               ? sum_of_products
               : NULL;
}

rynd_status ry_rewrite_vector_product(ry_graph *graph, bool *changed, ry_error *error)
{
    return ry_rewrite_by_rules(graph, rule_of, changed, error);
}
