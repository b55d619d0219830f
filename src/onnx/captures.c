/* SPDX-License-Identifier: Apache-2.0 */
/* What the graphs in a node's attributes (the branches of an If, the body of a Loop) read from
 * outside: inputs of the node that its list does not name. */
#include "graph/graph_names.h"
#include "onnx/nodes.h"

#include <onnx.pb.h>

/* Graphs in graphs. */
enum { MAX_DEPTH = 16 };

/* The names of a graph, and of those around it up to the node's own. */
typedef struct names_inside {
    const struct names_inside *outer; /* NULL: the graph in the node's attribute */
    ry_names names;
    int depth;
} names_inside;

typedef struct collector {
    ry_reader *reader;
    ry_node_record *node;
    size_t capacity;
    ry_names found; /* names of the captures */
} collector;

static rynd_status know(collector *c, names_inside *inside, ry_slice name)
{
    const char *text;
    RY_TRY(ry_reader_text(c->reader, name, &text));
    return ry_names_add(&inside->names, c->reader->source.arena, text, 0)
               ? RYND_OK
               : ry_fail_memory(c->reader->error);
}

/* Inputs and initializers are ValueInfoProtos and TensorProtos; both have a name. */
static rynd_status know_declared(collector *c, names_inside *inside,
                                 const ry_onnx_GraphProto *graph)
{
    for (size_t i = 0; i < graph->input.count; i++) {
        ry_onnx_ValueInfoProto input;
        RY_TRY(RY_READER_DECODE(c->reader, ValueInfoProto, graph->input.at[i], &input));
        RY_TRY(know(c, inside, input.name));
    }
    for (size_t i = 0; i < graph->initializer.count; i++) {
        ry_onnx_TensorProto tensor;
        RY_TRY(RY_READER_DECODE(c->reader, TensorProto, graph->initializer.at[i], &tensor));
        RY_TRY(know(c, inside, tensor.name));
    }
    return RYND_OK;
}

static rynd_status capture(collector *c, const names_inside *inside, const char *name)
{
    for (const names_inside *at = inside; at; at = at->outer) {
        if (ry_names_find(&at->names, name) != RY_NO_NAME) {
            return RYND_OK;
        }
    }
    if (!*name || ry_names_find(&c->found, name) != RY_NO_NAME) {
        return RYND_OK;
    }
    ry_capture *grown = ry_arena_grow(c->reader->source.arena, c->node->capture,
                                      (size_t)c->node->captures, &c->capacity, sizeof *grown);
    if (!grown || !ry_names_add(&c->found, c->reader->source.arena, name, 0)) {
        return ry_fail_memory(c->reader->error);
    }
    c->node->capture = grown;
    grown[c->node->captures++] = (ry_capture){name, name};
    return RYND_OK;
}

static rynd_status collect(collector *c, ry_slice bytes, const names_inside *outer);

static rynd_status collect_node(collector *c, const names_inside *inside,
                                const ry_node_record *node)
{
    for (int i = 0; i < node->inputs; i++) {
        RY_TRY(capture(c, inside, node->in[i]));
    }
    for (int i = 0; i < node->attributes; i++) {
        if (node->attribute[i].type == RY_ATTRIBUTE_graph) {
            RY_TRY(collect(c, node->attribute[i].graph, inside));
        }
    }
    return RYND_OK;
}

/* Recursion is at most MAX_DEPTH deep. */
static rynd_status collect(collector *c, ry_slice bytes, const names_inside *outer)
{
    names_inside inside = {.outer = outer, .depth = outer ? outer->depth + 1 : 1};
    ry_onnx_GraphProto graph;
    if (inside.depth > MAX_DEPTH) {
        return ry_fail(c->reader->error, RYND_ERROR_UNSUPPORTED,
                       "node '%s' (%s): graphs in its attributes are more than %d deep",
                       c->node->name, c->node->op, MAX_DEPTH);
    }
    RY_TRY(RY_READER_DECODE(c->reader, GraphProto, bytes, &graph));
    ry_node_record *nodes = RY_TAKE(c->reader->source.arena, ry_node_record, graph.node.count);
    if (!nodes) {
        return ry_fail_memory(c->reader->error);
    }
    RY_TRY(know_declared(c, &inside, &graph));
    for (size_t n = 0; n < graph.node.count; n++) {
        RY_TRY(ry_reader_node(c->reader, graph.node.at[n], &nodes[n]));
        for (int i = 0; i < nodes[n].outputs; i++) {
            if (!ry_names_add(&inside.names, c->reader->source.arena, nodes[n].out[i], 0)) {
                return ry_fail_memory(c->reader->error);
            }
        }
    }
    for (size_t n = 0; n < graph.node.count; n++) {
        RY_TRY(collect_node(c, &inside, &nodes[n]));
    }
    for (size_t i = 0; i < graph.output.count; i++) {
        ry_onnx_ValueInfoProto output;
        const char *name;
        RY_TRY(RY_READER_DECODE(c->reader, ValueInfoProto, graph.output.at[i], &output));
        RY_TRY(ry_reader_text(c->reader, output.name, &name));
        RY_TRY(capture(c, &inside, name));
    }
    return RYND_OK;
}

rynd_status ry_captures_find(ry_reader *reader, ry_node_record *node)
{
    collector c = {.reader = reader, .node = node};
    for (int i = 0; i < node->attributes; i++) {
        if (node->attribute[i].type == RY_ATTRIBUTE_graph) {
            reader->settles = true;
            RY_TRY(collect(&c, node->attribute[i].graph, NULL));
        }
    }
    return RYND_OK;
}
