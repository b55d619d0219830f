/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution and the pixel shuffle behind it as one transposed convolution, whose phases write
 * where the shuffle would move them to. Both have the same products, but phases of few channels
 * fill vectors badly: the predicted times decide.
 *
 * Where they stay two, the channels come in the order that moves them in the longest runs: inside a
 * network, where they mostly are next to each other, those of one position (DCR); on the way to an
 * output, which is row by row, those that become neighbours in a row (CRD). A shuffle of channels
 * last of 108 channels in blocks of 3 took 0.70 ms in the second order and 0.16 ms in the first. */
#include "plan/fuse_shuffle.h"

#include "graph/rewrite.h"
#include "graph/shuffle_conv.h"
#include "plan/choose_form.h"
#include "plan/fold.h"
#include "plan/fusing.h"

#include <math.h>

/* Seconds of the pair as one node. Its weights and bias are not packed in their forms yet. */
static rynd_status joined_seconds(ry_fusing *f, const ry_shuffle_conv *pair, double *seconds)
{
    ry_value_id in[3];
    const ry_node node = ry_shuffle_conv_node(f->b->graph, pair, in);
    ry_problem problem;
    RY_TRY(ry_fusing_problem(f, &node, &problem));
    ry_tensor *tensors = (ry_tensor *)problem.in;
    tensors[1] = ry_tensor_row_major((ry_dtype)tensors[1].dtype, &pair->weights, NULL);
    if (node.inputs > 2) {
        tensors[2] = ry_tensor_row_major((ry_dtype)tensors[2].dtype, &pair->bias, NULL);
    }
    return ry_fusing_joined(f, &node, &problem, seconds);
}

static void set_layouts(ry_fusing *f, const ry_node *conv, const ry_node *shuffle, bool last)
{
    ry_fusing_lay(f, conv->in[0], last);
    ry_fusing_lay(f, conv->out[0], last);
    ry_fusing_lay(f, shuffle->out[0], last);
}

/* Compares the two ways, each in its faster layout. */
static rynd_status is_faster_joined(ry_fusing *f, const ry_shuffle_conv *pair, bool *faster)
{
    const ry_node *conv = &f->b->graph->nodes[pair->conv],
                  *shuffle = &f->b->graph->nodes[pair->shuffle];
    double separate = INFINITY, together = INFINITY;
    for (int last = 0; last < 2; last++) {
        double convolving = 0, shuffling = 0, joined = 0;
        set_layouts(f, conv, shuffle, last);
        RY_TRY(ry_fusing_separate(f, conv, &convolving));
        RY_TRY(ry_fusing_separate(f, shuffle, &shuffling));
        RY_TRY(joined_seconds(f, pair, &joined));
        separate = fmin(separate, convolving + shuffling);
        together = fmin(together, joined);
    }
    set_layouts(f, conv, shuffle, false);
    f->b->plan->whole.asked |= 1u << RY_PLAN_shuffles;
    *faster = ry_plan_counted(&f->b->plan->whole.form, RY_PLAN_shuffles, together) < separate;
    if (*faster != (together < separate)) {
        RY_TRY(ry_plan_concern(f->b, conv->name, f->error));
        RY_TRY(ry_plan_concern(f->b, shuffle->name, f->error));
    }
    return RYND_OK;
}

static rynd_status join_pairs(ry_fusing *f, bool *any)
{
    ry_graph *graph = f->b->graph;
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        ry_shuffle_conv pair;
        bool faster = false;
        if (!ry_shuffle_conv_of(graph, n, &pair)) {
            continue;
        }
        RY_TRY(is_faster_joined(f, &pair, &faster));
        if (faster) {
            RY_TRY(ry_shuffle_conv_join(graph, &pair, any, f->error));
        } else {
            RY_TRY(ry_shuffle_conv_reorder(
                graph, &pair, ry_graph_is_output(graph, graph->nodes[n].out[0]), f->error));
        }
    }
    return RYND_OK;
}

rynd_status ry_plan_fuse_shuffles(ry_plan_builder *b, ry_error *error)
{
    ry_fusing f;
    bool any = false;
    rynd_status status = ry_fusing_begin(&f, b, error);
    if (status == RYND_OK) {
        status = join_pairs(&f, &any);
    }
    ry_fusing_end(&f);
    if (status != RYND_OK || !any) {
        return status;
    }
    bool *later;
    RY_TRY(ry_graph_compact(b->graph, error));
    RY_TRY(ry_graph_rewrite(b->graph, NULL, error));
    const ry_target here = ry_target_here(b->plan->device->host);
    RY_TRY(ry_plan_fold(b->graph, &here, &later, error));
    return ry_graph_compact(b->graph, error);
}
