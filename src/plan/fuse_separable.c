/* SPDX-License-Identifier: Apache-2.0 */
/* A depthwise convolution and the pointwise one behind it: the tensor between them, the largest of
 * a block of MobileNet, need not leave the caches. */
#include "plan/fuse_separable.h"

#include "plan/choose_form.h"
#include "plan/fusing.h"

static bool all_are(const ry_ints *list, int64_t number)
{
    for (int i = 0; i < list->count; i++) {
        if (list->at[i] != number) {
            return false;
        }
    }
    return true;
}

static ry_value_id optional(const ry_node *node, int i)
{
    return i < node->inputs ? node->in[i] : RY_NO_VALUE;
}

/* A forward convolution of floats whose weights and bias are constants. */
static bool is_plain(const ry_graph *graph, const ry_node *node)
{
    return node->op == RY_OP_conv && node->attrs.conv.dir == RY_direction_fwd &&
           graph->values[node->in[0]].dtype == RY_f32 && graph->values[node->in[1]].constant &&
           (optional(node, 2) == RY_NO_VALUE || graph->values[node->in[2]].constant);
}

static bool is_depthwise(const ry_graph *graph, const ry_node *node)
{
    if (!is_plain(graph, node) || optional(node, 3) != RY_NO_VALUE) {
        return false;
    }
    const ry_shape *x = &graph->values[node->in[0]].shape, *w = &graph->values[node->in[1]].shape;
    return x->rank <= 4 && node->attrs.conv.groups == x->dim[1] && w->dim[0] == x->dim[1] &&
           x->dim[1] > 1;
}

static bool is_pointwise(const ry_graph *graph, const ry_node *node)
{
    if (!is_plain(graph, node) || node->attrs.conv.groups != 1 ||
        !all_are(&node->attrs.conv.stride, 1) || !all_are(&node->attrs.conv.pads, 0)) {
        return false;
    }
    const ry_shape *w = &graph->values[node->in[1]].shape;
    for (int i = 2; i < w->rank; i++) {
        if (w->dim[i] != 1) {
            return false;
        }
    }
    return true;
}

/* The depthwise node that a pointwise one reads, if nothing else does. */
static ry_node_id partner(const ry_graph *graph, ry_node_id pointwise)
{
    const ry_node *node = &graph->nodes[pointwise];
    if (!is_pointwise(graph, node)) {
        return RY_NO_NODE;
    }
    const ry_value_id middle = node->in[0];
    const ry_node_id producer = graph->values[middle].producer;
    const bool alone = producer != RY_NO_NODE && graph->nodes[producer].op != RY_OP_dead &&
                       ry_graph_use_count(graph, middle) == 1;
    return alone && is_depthwise(graph, &graph->nodes[producer]) ? producer : RY_NO_NODE;
}

/* Joins the pair to one node, whose inputs are `in`. */
static ry_node join(const ry_node *depthwise, const ry_node *pointwise, ry_value_id in[6])
{
    const ry_conv_attrs *d = &depthwise->attrs.conv, *p = &pointwise->attrs.conv;
    ry_node node = {.op = RY_OP_separable_conv,
                    .name = pointwise->name,
                    .source = pointwise->source,
                    .attrs = ry_attrs_default(RY_OP_separable_conv),
                    .inputs = 6,
                    .outputs = 1,
                    .in = in,
                    .out = pointwise->out};
    in[0] = depthwise->in[0];
    in[1] = depthwise->in[1];
    in[2] = optional(depthwise, 2);
    in[3] = pointwise->in[1];
    in[4] = optional(pointwise, 2);
    in[5] = optional(pointwise, 3);
    node.attrs.separable_conv = (ry_separable_conv_attrs){.stride = d->stride,
                                                          .dilation = d->dilation,
                                                          .pads = d->pads,
                                                          .mid_activation = d->activation,
                                                          .mid_alpha = d->act_alpha,
                                                          .mid_beta = d->act_beta,
                                                          .activation = p->activation,
                                                          .act_alpha = p->act_alpha,
                                                          .act_beta = p->act_beta};
    return node;
}

static void set_layouts(ry_fusing *f, const ry_node *depthwise, const ry_node *pointwise, bool last)
{
    ry_fusing_lay(f, depthwise->in[0], last);
    ry_fusing_lay(f, depthwise->out[0], last);
    ry_fusing_lay(f, pointwise->out[0], last);
    ry_fusing_lay(f, optional(pointwise, 3), last);
}

/* Predicted channels last, where the kernel of both is. */
static rynd_status compare(ry_fusing *f, const ry_node *depthwise, const ry_node *pointwise,
                           const ry_node *joined, double *separate, double *together)
{
    double seconds[2];
    ry_problem problem;
    RY_TRY(ry_fusing_separate(f, depthwise, &seconds[0]));
    RY_TRY(ry_fusing_separate(f, pointwise, &seconds[1]));
    RY_TRY(ry_fusing_problem(f, joined, &problem));
    *separate = seconds[0] + seconds[1];
    return ry_fusing_joined(f, joined, &problem, together);
}

static rynd_status fuse(ry_fusing *f, ry_node_id depthwise, ry_node_id pointwise)
{
    ry_graph *graph = f->b->graph;
    const ry_node first = graph->nodes[depthwise], second = graph->nodes[pointwise];
    ry_value_id in[6];
    const ry_node joined = join(&first, &second, in);
    double separate, together;
    set_layouts(f, &first, &second, true);
    RY_TRY(compare(f, &first, &second, &joined, &separate, &together));
    set_layouts(f, &first, &second, false);
    const double counted = ry_plan_counted(&f->b->plan->whole.form, RY_PLAN_separable, together);
    const bool better = together < separate, taken = counted < separate;
    f->b->plan->whole.asked |= 1u << RY_PLAN_separable;
    if (taken != better) {
        RY_TRY(ry_plan_concern(f->b, first.name, f->error));
        RY_TRY(ry_plan_concern(f->b, second.name, f->error));
    }
    if (!taken) {
        return RYND_OK;
    }
    ry_graph_remove_node(graph, depthwise);
    ry_graph_remove_node(graph, pointwise);
    return ry_graph_add_node(graph, joined.op, joined.name, joined.source, &joined.attrs, 6, in, 1,
                             second.out) == RY_NO_NODE
               ? ry_fail_memory(f->error)
               : RYND_OK;
}

rynd_status ry_plan_fuse_separable(ry_plan_builder *b, ry_error *error)
{
    ry_graph *graph = b->graph;
    ry_fusing f;
    const ry_node_id nodes = (ry_node_id)graph->node_count;
    rynd_status status = ry_fusing_begin(&f, b, error);
    for (ry_node_id n = 0; n < nodes && status == RYND_OK; n++) {
        const ry_node_id depthwise = partner(graph, n);
        if (depthwise != RY_NO_NODE) {
            status = fuse(&f, depthwise, n);
        }
    }
    ry_fusing_end(&f);
    return status == RYND_OK && graph->node_count > nodes ? ry_graph_compact(graph, error) : status;
}
