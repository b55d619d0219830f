/* SPDX-License-Identifier: Apache-2.0 */
/* PixelShuffle as PyTorch exported it before DepthToSpace: a reshape that splits the channels, a
 * transpose that brings the parts beside rows and columns, and a reshape that merges them. An
 * activation behind the shuffle goes before it, where the convolution takes it. */
#include "expr/expr.h"
#include "graph/rewrite.h"

typedef struct shuffle {
    int perm[6];
    int block_h, block_w, channels; /* where they are in the split shape */
    bool crd;
} shuffle;

static const shuffle shuffles[] = {
    {{0, 1, 4, 2, 5, 3}, 2, 3, 1, true},  /* N C r r H W -> N C H r W r */
    {{0, 3, 4, 1, 5, 2}, 1, 2, 3, false}, /* N r r C H W -> N C H r W r */
};

static bool perm_is(const ry_ints *perm, const int *wanted)
{
    for (int i = 0; i < 6; i++) {
        if (perm->count != 6 || perm->at[i] != wanted[i]) {
            return false;
        }
    }
    return true;
}

/* x of 4 dims, split into 6, merged to y of 4: do the numbers fit this shuffle? Gives the block. */
static bool fits(const ry_shape *x, const ry_shape *split, const ry_shape *y, const shuffle *s,
                 int64_t *block)
{
    if (x->rank != 4 || split->rank != 6 || y->rank != 4) {
        return false;
    }
    int64_t r = split->dim[s->block_h], c = split->dim[s->channels];
    *block = r;
    return r > 1 && split->dim[s->block_w] == r && split->dim[0] == x->dim[0] &&
           c * r * r == x->dim[1] && split->dim[4] == x->dim[2] && split->dim[5] == x->dim[3] &&
           y->dim[0] == x->dim[0] && y->dim[1] == c && y->dim[2] == x->dim[2] * r &&
           y->dim[3] == x->dim[3] * r;
}

static bool match(ry_graph *graph, ry_node *merge)
{
    const ry_node *transpose = ry_rewrite_inner(graph, merge->in[0], RY_OP_transpose);
    const ry_node *split =
        transpose ? ry_rewrite_inner(graph, transpose->in[0], RY_OP_reshape) : NULL;
    if (!split) {
        return false;
    }
    const ry_value *values = graph->values;
    for (size_t i = 0; i < sizeof shuffles / sizeof *shuffles; i++) {
        int64_t block;
        if (perm_is(&transpose->attrs.transpose.perm, shuffles[i].perm) &&
            fits(&values[split->in[0]].shape, &values[split->out[0]].shape,
                 &values[merge->out[0]].shape, &shuffles[i], &block)) {
            merge->op = RY_OP_depth_to_space;
            merge->attrs = ry_attrs_default(RY_OP_depth_to_space);
            merge->attrs.depth_to_space.block = block;
            merge->attrs.depth_to_space.crd = shuffles[i].crd;
            merge->source = "DepthToSpace";
            ry_graph_set_inputs(graph, merge, 1, merge->in);
            ry_graph_set_input(graph, merge, 0, split->in[0]);
            return true;
        }
    }
    return false;
}

/* For a pointwise function of one value that keeps the dtype: returns the shuffle of a
 * convolution's output that feeds this node alone, else NULL. */
static ry_node *shuffle_before(const ry_graph *graph, const ry_node *node)
{
    if (node->op != RY_OP_expr || node->inputs != 1 || node->outputs != 1 ||
        node->attrs.expr.program->reduces) {
        return NULL;
    }
    ry_node *before = ry_rewrite_inner(graph, node->in[0], RY_OP_depth_to_space);
    const ry_value *in = &graph->values[node->in[0]], *out = &graph->values[node->out[0]];
    return before && ry_rewrite_inner(graph, before->in[0], RY_OP_conv) &&
                   in->dtype == out->dtype && ry_shape_equal(&in->shape, &out->shape)
               ? before
               : NULL;
}

/* The two nodes change places. */
static rynd_status swap(ry_graph *graph, ry_node_id first, ry_node_id second, ry_error *error)
{
    const ry_value unshuffled = graph->values[graph->nodes[first].in[0]];
    const ry_value_id between =
        ry_graph_add_value(graph, NULL, unshuffled.dtype, &unshuffled.shape);
    if (between == RY_NO_VALUE) {
        return ry_fail_memory(error);
    }
    ry_node *before = &graph->nodes[first], *pointwise = &graph->nodes[second], was = *before;
    before->op = pointwise->op;
    before->attrs = pointwise->attrs;
    before->name = pointwise->name;
    before->source = pointwise->source;
    before->out[0] = between;
    graph->values[between].producer = first;
    pointwise->op = was.op;
    pointwise->attrs = was.attrs;
    pointwise->name = was.name;
    pointwise->source = was.source;
    ry_graph_set_input(graph, pointwise, 0, between);
    return RYND_OK;
}

rynd_status ry_rewrite_pixel_shuffle(ry_graph *graph, bool *changed, ry_error *error)
{
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        if (graph->nodes[n].op == RY_OP_reshape && match(graph, &graph->nodes[n])) {
            *changed = true;
        }
        const ry_node *before = shuffle_before(graph, &graph->nodes[n]);
        if (before) {
            RY_TRY(swap(graph, (ry_node_id)(before - graph->nodes), n, error));
            *changed = true;
        }
    }
    return RYND_OK;
}
