/* SPDX-License-Identifier: Apache-2.0 */
/* Opsets, and sorting nodes. */
#include "onnx/nodes.h"

#include "graph/graph_names.h"

#include <inttypes.h>
#include <onnx.pb.h>
#include <stdio.h>
#include <string.h>

rynd_status ry_opsets_read(ry_reader *reader, const ry_slices *imports, ry_opsets *opsets)
{
    size_t count = imports->count ? imports->count : 1;
    *opsets =
        (ry_opsets){.at = RY_TAKE(reader->source.arena, ry_opset_import, count), .count = count};
    if (!opsets->at) {
        return ry_fail_memory(reader->error);
    }
    opsets->at[0] = (ry_opset_import){"", 1};
    for (size_t i = 0; i < imports->count; i++) {
        ry_onnx_OperatorSetIdProto import;
        RY_TRY(RY_READER_DECODE(reader, OperatorSetIdProto, imports->at[i], &import));
        RY_TRY(ry_reader_text(reader, import.domain, &opsets->at[i].domain));
        opsets->at[i].version = import.version;
        if (strcmp(opsets->at[i].domain, "ai.onnx") == 0) {
            opsets->at[i].domain = "";
        }
        if (!*opsets->at[i].domain && import.version > RY_OPSET_NEWEST) {
            return ry_fail(
                reader->error, RYND_ERROR_UNSUPPORTED,
                "the model uses opset %" PRId64
                " of ONNX; the newest that rynd knows is %d. Export the model with an older opset",
                import.version, RY_OPSET_NEWEST);
        }
        if (import.version < 1) {
            return ry_fail(reader->error, RYND_ERROR_FORMAT,
                           "opset %" PRId64 " of domain '%s' does not exist", import.version,
                           opsets->at[i].domain);
        }
    }
    for (size_t i = 0; i < count; i++) {
        const int64_t before = ry_opsets_find(opsets, opsets->at[i].domain);
        if (before && before != opsets->at[i].version) {
            return ry_fail(reader->error, RYND_ERROR_FORMAT,
                           "domain '%s' is imported as opset %" PRId64 " and as opset %" PRId64,
                           opsets->at[i].domain, before, opsets->at[i].version);
        }
        if (!ry_names_add(&opsets->domains, reader->source.arena, opsets->at[i].domain,
                          (uint32_t)i)) {
            return ry_fail_memory(reader->error);
        }
    }
    return RYND_OK;
}

int64_t ry_opsets_find(const ry_opsets *opsets, const char *domain)
{
    const uint32_t index = ry_names_find(&opsets->domains, domain);
    return index == RY_NO_NAME ? 0 : opsets->at[index].version;
}

typedef enum mark { UNSEEN, OPEN, DONE } mark;

typedef struct frame {
    uint32_t node;
    int input; /* the next to look at */
} frame;

typedef struct sorter {
    ry_reader *reader;
    const ry_node_list *list;
    const ry_names *known;
    ry_names producers;
    uint8_t *marks;
    frame *stack;
    size_t depth, done;
    uint32_t *order;
} sorter;

static rynd_status add_producers(sorter *s)
{
    for (size_t n = 0; n < s->list->count; n++) {
        const ry_node_record *node = &s->list->at[n];
        for (int i = 0; i < node->outputs; i++) {
            if (!*node->out[i]) {
                continue;
            }
            uint32_t other = ry_names_find(&s->producers, node->out[i]);
            if (other != RY_NO_NAME || ry_names_find(s->known, node->out[i]) != RY_NO_NAME) {
                return ry_fail(s->reader->error, RYND_ERROR_FORMAT,
                               "node '%s' (%s): its output '%s' is also made by %s%s%s", node->name,
                               node->op, node->out[i],
                               other == RY_NO_NAME ? "an input or initializer" : "node '",
                               other == RY_NO_NAME ? "" : s->list->at[other].name,
                               other == RY_NO_NAME ? "" : "'");
            }
            if (!ry_names_add(&s->producers, s->reader->source.arena, node->out[i], (uint32_t)n)) {
                return ry_fail_memory(s->reader->error);
            }
        }
    }
    return RYND_OK;
}

static rynd_status fail_cycle(const sorter *s, uint32_t node)
{
    char text[sizeof s->reader->error->text] = "";
    size_t used = 0, from = 0;
    while (s->stack[from].node != node) {
        from++;
    }
    for (size_t i = from; i < s->depth && used + 200 < sizeof text; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s'%.80s'", i > from ? ", " : "",
                                 s->list->at[s->stack[i].node].name);
    }
    return ry_fail(s->reader->error, RYND_ERROR_FORMAT,
                   "the nodes %s form a cycle: each needs an output of another", text);
}

/* The node that makes input i, or what a graph in an attribute reads; RY_NO_NAME: none has to. */
static rynd_status find_producer(const sorter *s, const ry_node_record *node, int i,
                                 uint32_t *producer)
{
    const char *name = i < node->inputs ? node->in[i] : node->capture[i - node->inputs].value;
    *producer = RY_NO_NAME;
    if (!*name || ry_names_find(s->known, name) != RY_NO_NAME) {
        return RYND_OK;
    }
    *producer = ry_names_find(&s->producers, name);
    if (*producer == RY_NO_NAME) {
        return ry_fail(s->reader->error, RYND_ERROR_FORMAT,
                       "node '%s' (%s): its input '%s' is missing: no node makes it, and it is no "
                       "input and no initializer",
                       node->name, node->op, name);
    }
    return RYND_OK;
}

/* Depth first, with a stack of our own: what a node needs comes before it. */
static rynd_status visit(sorter *s, uint32_t root)
{
    s->depth = 0;
    s->stack[s->depth++] = (frame){root, 0};
    s->marks[root] = OPEN;
    while (s->depth) {
        frame *top = &s->stack[s->depth - 1];
        const ry_node_record *node = &s->list->at[top->node];
        if (top->input == node->inputs + node->captures) {
            s->marks[top->node] = DONE;
            s->order[s->done++] = top->node;
            s->depth--;
            continue;
        }
        uint32_t producer;
        RY_TRY(find_producer(s, node, top->input++, &producer));
        if (producer == RY_NO_NAME || s->marks[producer] == DONE) {
            continue;
        }
        if (s->marks[producer] == OPEN) {
            return fail_cycle(s, producer);
        }
        s->marks[producer] = OPEN;
        s->stack[s->depth++] = (frame){producer, 0};
    }
    return RYND_OK;
}

rynd_status ry_nodes_sort(ry_reader *reader, ry_node_list *list, const ry_names *known)
{
    sorter s = {.reader = reader, .list = list, .known = known};
    s.order = RY_TAKE(reader->source.arena, uint32_t, list->count);
    s.marks = RY_TAKE(reader->source.arena, uint8_t, list->count);
    s.stack = RY_TAKE(reader->source.arena, frame, list->count);
    if (!s.order || !s.marks || !s.stack) {
        return ry_fail_memory(reader->error);
    }
    RY_TRY(add_producers(&s));
    for (uint32_t n = 0; n < list->count; n++) {
        if (s.marks[n] == UNSEEN) {
            RY_TRY(visit(&s, n));
        }
    }
    list->order = s.order;
    return RYND_OK;
}
