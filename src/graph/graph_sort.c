/* SPDX-License-Identifier: Apache-2.0 */
/* Compaction: a depth-first walk from the graph's outputs finds what lives; a second one, in the
 * old order, puts producers before users. */
#include "graph/graph.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { UNSEEN, OPEN, DONE };

/* One node of a depth-first walk and the next of its inputs to look at. */
typedef struct frame {
    ry_node_id node;
    int input;
} frame;

typedef struct walk {
    ry_graph *graph;
    unsigned char *state; /* indexed by node */
    bool *first;          /* indexed by node: leads to one of the first outputs */
    frame *stack;         /* node_count frames: a node is open at most once */
    ry_node_id *order;    /* node_count: nodes when done */
    size_t depth, done;
    ry_error *error;
} walk;

static rynd_status fail_cycle(const walk *w, ry_node_id again)
{
    char names[600];
    size_t used = 0, first = w->depth;
    names[0] = 0;
    while (first > 0 && w->stack[first - 1].node != again) {
        first--;
    }
    for (size_t i = first ? first - 1 : 0; i < w->depth && used < sizeof names; i++) {
        used += (size_t)snprintf(names + used, sizeof names - used, "'%s' -> ",
                                 w->graph->nodes[w->stack[i].node].name);
    }
    return ry_fail(w->error, RYND_ERROR_FORMAT,
                   "the graph has a cycle (each node needs the next): %s'%s'", names,
                   w->graph->nodes[again].name);
}

/* The node whose result `value` is; RY_NO_NODE for inputs and constants. */
static ry_node_id source_of(const ry_graph *graph, ry_value_id value)
{
    return value == RY_NO_VALUE || graph->values[value].constant ? RY_NO_NODE
                                                                 : graph->values[value].producer;
}

static rynd_status visit(walk *w, ry_node_id root)
{
    if (root == RY_NO_NODE || w->state[root] == DONE) {
        return RYND_OK;
    }
    w->stack[w->depth++] = (frame){root, 0};
    w->state[root] = OPEN;
    while (w->depth) {
        frame *top = &w->stack[w->depth - 1];
        const ry_node *node = &w->graph->nodes[top->node];
        if (top->input == node->inputs) {
            w->state[top->node] = DONE;
            w->order[w->done++] = top->node;
            w->depth--;
            continue;
        }
        ry_node_id next = source_of(w->graph, node->in[top->input++]);
        if (next == RY_NO_NODE || w->state[next] == DONE) {
            continue;
        }
        if (w->state[next] == OPEN) {
            return fail_cycle(w, next);
        }
        w->state[next] = OPEN;
        w->stack[w->depth++] = (frame){next, 0};
    }
    return RYND_OK;
}

/* Producers follow from the nodes alone, so that whoever edits node->out need not keep them. */
static rynd_status set_producers(ry_graph *graph, ry_error *error)
{
    for (size_t v = 0; v < graph->value_count; v++) {
        graph->values[v].producer = RY_NO_NODE;
    }
    for (size_t n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        for (int i = 0; node->op != RY_OP_dead && i < node->outputs; i++) {
            ry_value *value = node->out[i] == RY_NO_VALUE ? NULL : &graph->values[node->out[i]];
            if (!value || value->constant) {
                continue;
            }
            if (value->producer != RY_NO_NODE) {
                return ry_fail(error, RYND_ERROR_FORMAT,
                               "value '%s' is an output of two nodes, '%s' and '%s'", value->name,
                               graph->nodes[value->producer].name, node->name);
            }
            value->producer = (ry_node_id)n;
        }
    }
    return RYND_OK;
}

/* What the walk has reached so far leads to the first outputs. */
static void note_first(walk *w)
{
    for (size_t n = 0; n < w->graph->node_count; n++) {
        w->first[n] = w->state[n] == DONE;
    }
}

/* Expressions of constants, as dequantised weights before they are folded, come right before their
 * first reader: a part of the graph has its own. */
static bool waits_for_reader(const ry_graph *graph, const ry_node *node)
{
    bool constant = node->op == RY_OP_expr && node->inputs > 0;
    for (int i = 0; i < node->inputs; i++) {
        constant = constant && node->in[i] != RY_NO_VALUE && graph->values[node->in[i]].constant;
    }
    return constant;
}

static rynd_status sort(walk *w)
{
    ry_graph *graph = w->graph;
    RY_TRY(set_producers(graph, w->error));
    for (size_t i = 0; i < graph->output_count; i++) {
        if (i == graph->first_outputs) {
            note_first(w);
        }
        RY_TRY(visit(w, source_of(graph, graph->outputs[i])));
    }
    /* Now the living are DONE. Walking them again in the old order, instead of keeping the order of
     * the outputs' walk, leaves a sorted graph as it is. */
    for (size_t n = 0; n < graph->node_count; n++) {
        if (w->state[n] == UNSEEN) {
            graph->nodes[n].op = RY_OP_dead;
        }
        w->state[n] = UNSEEN;
    }
    w->done = 0;
    for (int rest = 0; rest < 3; rest++) {
        for (size_t n = 0; n < graph->node_count; n++) {
            if (graph->nodes[n].op != RY_OP_dead && (rest || w->first[n]) &&
                (rest == 2 || !waits_for_reader(graph, &graph->nodes[n]))) {
                RY_TRY(visit(w, (ry_node_id)n));
            }
        }
    }
    return RYND_OK;
}

static void count_uses(ry_graph *graph)
{
    for (size_t v = 0; v < graph->value_count; v++) {
        graph->values[v].uses = graph->values[v].outputs;
    }
    for (size_t n = 0; n < graph->node_count; n++) {
        for (int i = 0; i < graph->nodes[n].inputs; i++) {
            if (graph->nodes[n].in[i] != RY_NO_VALUE) {
                graph->values[graph->nodes[n].in[i]].uses++;
            }
        }
    }
}

#ifndef NDEBUG
/* Whoever changed node->in kept the counts: both sides have the same sum of numbers that stand for
 * the values. */
static bool uses_hold(const ry_graph *graph)
{
    const uint64_t odd = 0x9e3779b97f4a7c15u;
    uint64_t difference = 0;
    for (uint64_t v = 0; v < graph->value_count; v++) {
        difference += (graph->values[v].uses - graph->values[v].outputs) * (v * v * odd + v);
    }
    for (size_t n = 0; n < graph->node_count; n++) {
        for (int i = 0; i < graph->nodes[n].inputs; i++) {
            const uint64_t v = graph->nodes[n].in[i];
            difference -= v == RY_NO_VALUE ? 0 : v * v * odd + v;
        }
    }
    return difference == 0;
}
#endif

static void reorder(walk *w, ry_node *sorted)
{
    ry_graph *graph = w->graph;
    for (size_t i = 0; i < w->done; i++) {
        sorted[i] = graph->nodes[w->order[i]];
    }
    if (w->done) {
        memcpy(graph->nodes, sorted, w->done * sizeof *sorted);
    }
    graph->node_count = w->done;
    for (size_t v = 0; v < graph->value_count; v++) {
        graph->values[v].producer = RY_NO_NODE;
    }
    for (size_t n = 0; n < graph->node_count; n++) {
        for (int i = 0; i < graph->nodes[n].outputs; i++) {
            ry_value_id out = graph->nodes[n].out[i];
            if (out != RY_NO_VALUE && !graph->values[out].constant) {
                graph->values[out].producer = (ry_node_id)n;
            }
        }
    }
    count_uses(graph);
}

rynd_status ry_graph_compact(ry_graph *graph, ry_error *error)
{
    ry_arena scratch;
    ry_arena_init(&scratch, graph->arena.allocator);
    assert(uses_hold(graph));
    walk w = {.graph = graph, .error = error};
    w.state = RY_TAKE(&scratch, unsigned char, graph->node_count);
    w.first = RY_TAKE(&scratch, bool, graph->node_count);
    w.stack = RY_TAKE(&scratch, frame, graph->node_count);
    w.order = RY_TAKE(&scratch, ry_node_id, graph->node_count);
    ry_node *sorted = RY_TAKE(&scratch, ry_node, graph->node_count);
    rynd_status status =
        w.state && w.first && w.stack && w.order && sorted ? sort(&w) : ry_fail_memory(error);
    if (status == RYND_OK) {
        reorder(&w, sorted);
    }
    ry_arena_free(&scratch);
    return status;
}
