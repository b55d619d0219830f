/* SPDX-License-Identifier: Apache-2.0 */
/* Where to cut a graph: what crosses each place, and the choice of a few. */
#include "graph/graph_part.h"

#include "problem/problem.h"

enum {
    SHARES = 256, /* equal shares of the work, at most one candidate in each */
    FLOP_PER_BYTE = 8,
};

bool ry_graph_lifetimes(const ry_graph *graph, ry_arena *arena, ry_lifetimes *lifetimes)
{
    ry_lifetimes l = {graph, RY_TAKE(arena, ry_node_id, graph->value_count)};
    if (!l.last_read) {
        return false;
    }
    for (size_t v = 0; v < graph->value_count; v++) {
        l.last_read[v] = RY_NO_NODE;
    }
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        for (int i = 0; i < graph->nodes[n].inputs; i++) {
            const ry_value_id id = graph->nodes[n].in[i];
            if (id != RY_NO_VALUE) {
                l.last_read[id] = n;
            }
        }
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        l.last_read[graph->outputs[i]] = (ry_node_id)graph->node_count;
    }
    *lifetimes = l;
    return true;
}

/* Is a value made, or given, before a node, and read from it on? */
static bool crosses(const ry_lifetimes *l, ry_value_id id, ry_node_id node)
{
    const ry_value *value = &l->graph->values[id];
    const bool input = value->producer == RY_NO_NODE;
    return !value->constant && l->last_read[id] != RY_NO_NODE && l->last_read[id] >= node &&
           (input || value->producer < node);
}

static double bytes_of(const ry_graph *graph, ry_value_id id)
{
    const ry_value *value = &graph->values[id];
    const int64_t bytes = ry_shape_bytes(&value->shape, value->dtype);
    return bytes < 0 ? 0 : (double)bytes;
}

double ry_graph_crossing(const ry_lifetimes *lifetimes, ry_node_id node)
{
    double bytes = 0;
    for (ry_value_id v = 0; v < lifetimes->graph->value_count; v++) {
        bytes += crosses(lifetimes, v, node) ? bytes_of(lifetimes->graph, v) : 0;
    }
    return bytes;
}

static bool list_add(ry_value_list *list, ry_arena *arena, size_t *capacity, ry_value_id id)
{
    ry_value_id *items = ry_arena_grow(arena, list->items, list->count, capacity, sizeof *items);
    if (items) {
        list->items = items;
        items[list->count++] = id;
    }
    return items != NULL;
}

bool ry_graph_boundary(const ry_lifetimes *lifetimes, ry_node_id first, ry_node_id end,
                       ry_arena *arena, ry_value_list *inputs, ry_value_list *outputs)
{
    const ry_graph *graph = lifetimes->graph;
    size_t input_room = 0, output_room = 0;
    bool *listed = RY_TAKE(arena, bool, graph->value_count);
    bool good = listed != NULL;
    *inputs = *outputs = (ry_value_list){0};
    for (ry_node_id n = first; good && n < end; n++) {
        const ry_node *node = &graph->nodes[n];
        for (int i = 0; good && i < node->inputs; i++) {
            const ry_value_id id = node->in[i];
            if (id != RY_NO_VALUE && crosses(lifetimes, id, first) && !listed[id]) {
                listed[id] = true;
                good = list_add(inputs, arena, &input_room, id);
            }
        }
        for (int i = 0; good && i < node->outputs; i++) {
            const ry_value_id id = node->out[i];
            if (id != RY_NO_VALUE && crosses(lifetimes, id, end)) {
                good = list_add(outputs, arena, &output_room, id);
            }
        }
    }
    return good;
}

/* A measure of a node's time, for balance only. */
static double work_of(const ry_graph *graph, const ry_node *node, ry_tensor *in, ry_tensor *out)
{
    for (int i = 0; i < node->inputs; i++) {
        in[i] = ry_graph_tensor(graph, node->in[i]);
    }
    double bytes = 0;
    for (int i = 0; i < node->outputs; i++) {
        out[i] = ry_graph_tensor(graph, node->out[i]);
        bytes += node->out[i] == RY_NO_VALUE ? 0 : bytes_of(graph, node->out[i]);
    }
    const ry_problem problem = {.op = node->op,
                                .attrs = node->attrs,
                                .inputs = node->inputs,
                                .outputs = node->outputs,
                                .in = in,
                                .out = out};
    return ry_problem_flop(&problem) + FLOP_PER_BYTE * bytes;
}

/* done[n]: the work in front of node n; done[node_count]: all. */
static bool sum_work(const ry_graph *graph, ry_arena *arena, double *done)
{
    int inputs = 0, outputs = 0;
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        inputs = graph->nodes[n].inputs > inputs ? graph->nodes[n].inputs : inputs;
        outputs = graph->nodes[n].outputs > outputs ? graph->nodes[n].outputs : outputs;
    }
    ry_tensor *in = RY_TAKE(arena, ry_tensor, inputs), *out = RY_TAKE(arena, ry_tensor, outputs);
    for (ry_node_id n = 0; in && out && n < graph->node_count; n++) {
        done[n + 1] = done[n] + work_of(graph, &graph->nodes[n], in, out);
    }
    return in && out;
}

/* crossing[n]: bytes in front of node n; each value adds to the nodes between its ends. */
static void sum_crossing(const ry_lifetimes *l, double *crossing)
{
    const ry_graph *graph = l->graph;
    for (ry_value_id v = 0; v < graph->value_count; v++) {
        const ry_value *value = &graph->values[v];
        if (value->constant || l->last_read[v] == RY_NO_NODE) {
            continue;
        }
        const ry_node_id from = value->producer == RY_NO_NODE ? 0 : value->producer + 1;
        crossing[from] += bytes_of(graph, v);
        crossing[l->last_read[v] + 1] -= bytes_of(graph, v);
    }
    for (size_t n = 1; n <= graph->node_count; n++) {
        crossing[n] += crossing[n - 1];
    }
}

/* What planning would fuse into the node before it, or lets share its memory. */
static bool joins(const ry_graph *graph, const ry_node *node)
{
    const ry_value_id first = node->inputs ? node->in[0] : RY_NO_VALUE;
    return (node->op == RY_OP_expr || node->op == RY_OP_batch_norm ||
            ry_op_get_class(node->op) == RY_CLASS_VIEW) &&
           first != RY_NO_VALUE && graph->values[first].producer != RY_NO_NODE;
}

/* Lists, for each share of the work, the cut with the fewest crossing bytes. */
static size_t list_candidates(const ry_graph *graph, const double *done, const double *crossing,
                              ry_node_id *cuts)
{
    const double share = done[graph->node_count] / SHARES;
    double end = 0;
    size_t count = 0;
    for (ry_node_id n = 1; n < graph->node_count; n++) {
        if (joins(graph, &graph->nodes[n]) || done[n] == 0 || done[n] == done[graph->node_count]) {
            continue;
        }
        if (count == 0 || done[n] >= end) {
            cuts[count++] = n;
            end = done[n] + share;
        } else if (crossing[n] <= crossing[cuts[count - 1]]) {
            cuts[count - 1] = n;
        }
    }
    return count;
}

/* How much a cut costs for what it gives: bytes, and how little work it leaves in the smaller part
 * beside it. */
static double badness(const double *done, const double *crossing, ry_node_id before,
                      ry_node_id here, ry_node_id after)
{
    const double left = done[here] - done[before], right = done[after] - done[here];
    return (FLOP_PER_BYTE * crossing[here] + 1) / (left < right ? left : right);
}

/* Takes the worst away until as many are left as are wanted. */
static size_t drop_worst(const ry_graph *graph, const double *done, const double *crossing,
                         size_t most, ry_node_id *cuts, size_t count)
{
    while (count > most) {
        size_t worst = 0;
        double highest = -1;
        for (size_t i = 0; i < count; i++) {
            const ry_node_id before = i ? cuts[i - 1] : 0,
                             after = i + 1 < count ? cuts[i + 1] : (ry_node_id)graph->node_count;
            const double bad = badness(done, crossing, before, cuts[i], after);
            if (bad > highest) {
                highest = bad;
                worst = i;
            }
        }
        for (size_t i = worst; i + 1 < count; i++) {
            cuts[i] = cuts[i + 1];
        }
        count--;
    }
    return count;
}

rynd_status ry_graph_choose_cuts(const ry_graph *graph, size_t most, ry_arena *arena,
                                 ry_node_id *cuts, size_t *count, ry_error *error)
{
    ry_lifetimes lifetimes;
    double *done = ry_arena_take(arena, graph->node_count + 2, sizeof *done);
    double *crossing = ry_arena_take(arena, graph->node_count + 2, sizeof *crossing);
    ry_node_id *candidates = ry_arena_take(arena, SHARES + 2, sizeof *candidates);
    *count = 0;
    if (!done || !crossing || !candidates || !ry_graph_lifetimes(graph, arena, &lifetimes) ||
        !sum_work(graph, arena, done)) {
        return ry_fail_memory(error);
    }
    sum_crossing(&lifetimes, crossing);
    size_t found = list_candidates(graph, done, crossing, candidates);
    found = drop_worst(graph, done, crossing, most - 1, candidates, found);
    for (size_t i = 0; i < found; i++) {
        cuts[i] = candidates[i];
    }
    *count = found;
    return RYND_OK;
}
