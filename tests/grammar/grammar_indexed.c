/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes of operators with indices, and of those whose extent depends on data. */
#include "grammar.h"

#include <string.h>

static int axis_of(int64_t axis, int rank)
{
    return axis >= -rank && axis < rank ? (int)(axis < 0 ? axis + rank : axis) : 0;
}

static ry_dtype index_type(grammar *g)
{
    return chance(&g->c, 80) ? RY_i32 : RY_i64;
}

static void make_gather(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 1, 4);
    const grammar_value v = *grammar_value_of(g, x);
    const int64_t axis = grammar_axis(g, v.rank), dim[2] = {grammar_dim(g), grammar_dim(g)};
    grammar_set_int(node, "axis", axis);
    grammar_add_input(node, x);
    grammar_add_input(node, grammar_new(g, index_type(g), (int)choose(&g->c, 3), dim,
                                        CONTENT_INDICES, v.dim[axis_of(axis, v.rank)]));
}

/* Dims of indices into x: no larger but along the axis. */
static void choose_index_dims(grammar *g, const grammar_value *v, int axis, int64_t *dim)
{
    for (int i = 0; i < v->rank; i++) {
        dim[i] = i == axis ? grammar_dim(g) : v->dim[i] - (v->dim[i] > 1 && chance(&g->c, 60));
    }
}

static void make_gather_elements(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 1, 4);
    const grammar_value v = *grammar_value_of(g, x);
    const int64_t axis = grammar_axis(g, v.rank);
    int64_t dim[GRAMMAR_RANK];
    choose_index_dims(g, &v, axis_of(axis, v.rank), dim);
    grammar_set_int(node, "axis", axis);
    grammar_add_input(node, x);
    grammar_add_input(node, grammar_new(g, index_type(g), v.rank, dim, CONTENT_INDICES,
                                        v.dim[axis_of(axis, v.rank)]));
    if (node->row->min_inputs > 2) {
        grammar_add_input(node, grammar_like(g, x, v.rank, dim, CONTENT_NUMBERS));
    }
}

/* Tuples of `depth` indices each; all stay below the smallest of the dims that they index. */
static int make_tuples(grammar *g, const grammar_value *v, int batch, int depth)
{
    int64_t dim[GRAMMAR_RANK], bound = INT32_MAX;
    int rank = 0;
    for (; rank < batch; rank++) {
        dim[rank] = v->dim[rank];
    }
    for (int i = batch; i < batch + depth; i++) {
        bound = v->dim[i] < bound ? v->dim[i] : bound;
    }
    for (int i = (int)choose(&g->c, 2); i >= 0; i--) {
        dim[rank++] = grammar_dim(g);
    }
    dim[rank++] = depth;
    return grammar_new(g, RY_i64, rank, dim, CONTENT_INDICES, bound);
}

static void make_gather_nd(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 1, 4);
    const grammar_value v = *grammar_value_of(g, x);
    const int batch = (int)choose(&g->c, (unsigned)v.rank);
    grammar_set_int(node, "batch_dims", batch);
    grammar_add_input(node, x);
    grammar_add_input(
        node, make_tuples(g, &v, batch, 1 + (int)choose(&g->c, (unsigned)(v.rank - batch))));
}

static void make_scatter_nd(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 1, 4);
    const grammar_value v = *grammar_value_of(g, x);
    const int depth = 1 + (int)choose(&g->c, (unsigned)v.rank);
    const int indices = make_tuples(g, &v, 0, depth);
    const grammar_value tuples = *grammar_value_of(g, indices);
    int64_t dim[GRAMMAR_RANK];
    memcpy(dim, tuples.dim, (size_t)(tuples.rank - 1) * sizeof *dim);
    memcpy(dim + tuples.rank - 1, v.dim + depth, (size_t)(v.rank - depth) * sizeof *dim);
    grammar_add_input(node, x);
    grammar_add_input(node, indices);
    grammar_add_input(node,
                      grammar_like(g, x, tuples.rank - 1 + v.rank - depth, dim, CONTENT_NUMBERS));
}

static void make_compress(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 1, 4);
    const grammar_value v = *grammar_value_of(g, x);
    const int64_t axis = grammar_axis(g, v.rank);
    const bool flat = chance(&g->c, 80);
    const int64_t length = flat ? grammar_elements(&v) : v.dim[axis_of(axis, v.rank)];
    if (!flat) {
        grammar_set_int(node, "axis", axis);
    }
    grammar_add_input(node, x);
    grammar_add_input(node, grammar_new(g, RY_bool, 1, &length, CONTENT_COUNTS, 2));
}

static void make_one_hot(grammar *g, grammar_node *node)
{
    const int64_t dim[3] = {grammar_dim(g), grammar_dim(g), grammar_dim(g)},
                  depth[1] = {grammar_dim(g)}, two = 2;
    const int rank = (int)choose(&g->c, 4);
    const ry_dtype dtype = chance(&g->c, 200) ? RY_i64 : grammar_type(g, node->row->types);
    grammar_add_input(node, grammar_new(g, dtype, rank, dim, CONTENT_COUNTS, depth[0]));
    grammar_add_input(node, grammar_list(g, chance(&g->c, 128) ? -1 : 1, depth));
    grammar_add_input(
        node, grammar_new(g, grammar_type(g, node->row->types), 1, &two, CONTENT_NUMBERS, 0));
    grammar_set_int(node, "axis", choose_between(&g->c, -rank - 1, rank));
}

static void make_reverse_sequence(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 2, 4);
    const grammar_value v = *grammar_value_of(g, x);
    const int batch = (int)choose(&g->c, 2);
    grammar_set_int(node, "batch_axis", batch);
    grammar_set_int(node, "time_axis", 1 - batch);
    grammar_add_input(node, x);
    grammar_add_input(
        node, grammar_new(g, RY_i64, 1, &v.dim[batch], CONTENT_COUNTS, v.dim[1 - batch] + 1));
}

const grammar_recipe_row grammar_indexed[] = {
    {"Gather", make_gather},
    {"GatherElements", make_gather_elements},
    {"GatherND", make_gather_nd},
    {"Scatter", make_gather_elements},
    {"ScatterElements", make_gather_elements},
    {"ScatterND", make_scatter_nd},
    {"Compress", make_compress},
    {"OneHot", make_one_hot},
    {"ReverseSequence", make_reverse_sequence},
    {NULL, NULL},
};
