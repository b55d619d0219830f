/* SPDX-License-Identifier: Apache-2.0 */
/* Deep copies of graphs: everything but the constants' data moves into the copy's arena. */
#include "graph/graph.h"

#include "expr/expr.h"
#include "graph/graph_symbols.h"

#include <string.h>

static void *copy_bytes(ry_arena *arena, const void *from, size_t count, size_t size)
{
    void *copy = ry_arena_take(arena, count, size);
    if (copy && count) {
        memcpy(copy, from, count * size);
    }
    return copy;
}

static const ry_expr *copy_expr(ry_arena *arena, const ry_expr *from)
{
    ry_expr *copy = copy_bytes(arena, from, 1, sizeof *from);
    if (!copy) {
        return NULL;
    }
    copy->code = copy_bytes(arena, from->code, (size_t)from->count, sizeof *from->code);
    copy->result = copy_bytes(arena, from->result, (size_t)from->outputs, sizeof *from->result);
    copy->reduced = copy_bytes(arena, from->reduced, (size_t)from->count, sizeof *from->reduced);
    return copy->code && copy->result && copy->reduced ? copy : NULL;
}

/* Attributes that are pointers: texts and programs. */
static bool copy_attrs(ry_arena *arena, ry_node *node)
{
    int count = 0;
    const ry_field *fields = ry_op_fields(node->op, &count);
    for (int i = 0; i < count; i++) {
        char *at = (char *)&node->attrs + fields[i].offset;
        if (fields[i].kind == RY_FIELD_TEXT) {
            const char **text = (const char **)(void *)at;
            if (*text && !(*text = ry_arena_string(arena, *text, strlen(*text)))) {
                return false;
            }
        } else if (fields[i].kind == RY_FIELD_EXPR) {
            const ry_expr **program = (const ry_expr **)(void *)at;
            if (*program && !(*program = copy_expr(arena, *program))) {
                return false;
            }
        }
    }
    return true;
}

static bool copy_node(ry_graph *copy, const ry_node *from, ry_node *node)
{
    *node = *from;
    node->name = ry_arena_string(&copy->arena, from->name, strlen(from->name));
    node->source = ry_arena_string(&copy->arena, from->source, strlen(from->source));
    node->in = copy_bytes(&copy->arena, from->in, (size_t)from->inputs, sizeof *from->in);
    node->out = copy_bytes(&copy->arena, from->out, (size_t)from->outputs, sizeof *from->out);
    return node->name && node->source && node->in && node->out && copy_attrs(&copy->arena, node);
}

static bool copy_symbols(const ry_graph *graph, ry_graph *copy)
{
    for (size_t i = 0; i < graph->symbol_count; i++) {
        if (!ry_graph_symbol(copy, graph->symbols[i], strlen(graph->symbols[i]))) {
            return false;
        }
    }
    if (graph->symbol_count) {
        memcpy(copy->forms, graph->forms, graph->symbol_count * sizeof *graph->forms);
    }
    return true;
}

static bool copy_values(const ry_graph *graph, ry_graph *copy)
{
    for (size_t i = 0; i < graph->value_count; i++) {
        const ry_value *from = &graph->values[i];
        ry_value_id id = ry_graph_add_value(copy, from->name, from->dtype, &from->shape);
        if (id == RY_NO_VALUE) {
            return false;
        }
        const char *name = copy->values[id].name;
        copy->values[id] = *from;
        copy->values[id].name = name;
    }
    return true;
}

static bool copy_all(const ry_graph *graph, ry_graph *copy)
{
    copy->name = ry_arena_string(&copy->arena, graph->name, strlen(graph->name));
    copy->nodes = RY_TAKE(&copy->arena, ry_node, graph->node_count);
    copy->inputs =
        copy_bytes(&copy->arena, graph->inputs, graph->input_count, sizeof *graph->inputs);
    copy->outputs =
        copy_bytes(&copy->arena, graph->outputs, graph->output_count, sizeof *graph->outputs);
    copy->states =
        copy_bytes(&copy->arena, graph->states, graph->state_count, sizeof *graph->states);
    if (!copy->name || !copy->nodes || !copy->inputs || !copy->outputs || !copy->states ||
        !copy_symbols(graph, copy) || !copy_values(graph, copy)) {
        return false;
    }
    copy->allowance = graph->allowance;
    copy->derived = graph->derived;
    copy->first_outputs = graph->first_outputs;
    copy->first_inputs = graph->first_inputs;
    copy->next_name = graph->next_name;
    copy->next_unknown = graph->next_unknown;
    copy->node_count = copy->node_capacity = graph->node_count;
    copy->input_count = copy->input_capacity = graph->input_count;
    copy->output_count = copy->output_capacity = graph->output_count;
    copy->state_count = copy->state_capacity = graph->state_count;
    for (size_t i = 0; i < graph->node_count; i++) {
        if (!copy_node(copy, &graph->nodes[i], &copy->nodes[i])) {
            return false;
        }
    }
    return true;
}

rynd_status ry_graph_clone(const ry_graph *graph, ry_graph **copy, ry_error *error)
{
    RY_TRY(ry_graph_create(graph->arena.allocator, copy, error));
    if (!copy_all(graph, *copy)) {
        ry_graph_destroy(*copy);
        *copy = NULL;
        return ry_fail_memory(error);
    }
    return RYND_OK;
}
