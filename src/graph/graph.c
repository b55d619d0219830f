/* SPDX-License-Identifier: Apache-2.0 */
/* Building, changing and looking at a graph. */
#include "graph/graph.h"

#include "graph/graph_names.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

rynd_status ry_graph_create(const ry_allocator *allocator, ry_graph **graph, ry_error *error)
{
    ry_graph *g = ry_allocate_array(allocator, 1, sizeof *g);
    if (!g) {
        return ry_fail_memory(error);
    }
    ry_arena_init(&g->arena, allocator);
    g->name = "";
    *graph = g;
    return RYND_OK;
}

static void drop_derivations(ry_graph *graph)
{
    for (const ry_derivation *d = graph->derivations; d; d = d->next) {
        if (d->open) {
            ry_kept_abandon(graph->derived, d->lot);
            ry_release(graph->arena.allocator, d->content);
        }
        ry_kept_drop(graph->derived, d->lot);
    }
}

void ry_graph_destroy(ry_graph *graph)
{
    if (graph) {
        const ry_allocator *allocator = graph->arena.allocator;
        drop_derivations(graph);
        ry_arena_free(&graph->arena);
        ry_release(allocator, graph);
    }
}

/* "value/7": no other value has it. */
static const char *make_name(ry_graph *graph)
{
    for (size_t k = graph->value_count > graph->next_name ? graph->value_count : graph->next_name;;
         k++) {
        const char *name = ry_arena_format(&graph->arena, "value/%zu", k);
        if (!name || ry_graph_find(graph, name) == RY_NO_VALUE) {
            graph->next_name = k + 1;
            return name;
        }
    }
}

ry_value_id ry_graph_add_value(ry_graph *graph, const char *name, ry_dtype dtype,
                               const ry_shape *shape)
{
    if (graph->value_count >= RY_NO_VALUE) {
        return RY_NO_VALUE;
    }
    const char *copy = name ? ry_arena_string(&graph->arena, name, strlen(name)) : make_name(graph);
    ry_value *values = ry_arena_grow(&graph->arena, graph->values, graph->value_count,
                                     &graph->value_capacity, sizeof *values);
    if (!values) {
        return RY_NO_VALUE;
    }
    graph->values = values;
    ry_value_id id = (ry_value_id)graph->value_count;
    if (!copy || !ry_names_add(&graph->value_names, &graph->arena, copy, id)) {
        return RY_NO_VALUE;
    }
    values[id] =
        (ry_value){.name = copy, .dtype = dtype, .shape = {.rank = -1}, .producer = RY_NO_NODE};
    if (shape) {
        values[id].shape = *shape;
    }
    graph->value_count++;
    return id;
}

ry_value_id ry_graph_add_constant(ry_graph *graph, const char *name, ry_dtype dtype,
                                  const ry_shape *shape, const void *data)
{
    if (!data) {
        int64_t bytes = ry_shape_bytes(shape, dtype);
        if (bytes < 0) {
            ry_memory_refuse(SIZE_MAX);
            return RY_NO_VALUE;
        }
        data = ry_arena_take(&graph->arena, (size_t)bytes, 1);
        if (!data) {
            return RY_NO_VALUE;
        }
    }
    ry_value_id id = ry_graph_add_value(graph, name, dtype, shape);
    if (id != RY_NO_VALUE) {
        graph->values[id].constant = data;
    }
    return id;
}

bool ry_graph_spend(ry_graph *graph, int64_t bytes)
{
    if (!graph->allowance.given) {
        return bytes >= 0;
    }
    if (bytes < 0 || bytes > graph->allowance.bytes) {
        return false;
    }
    graph->allowance.bytes -= bytes;
    return true;
}

void *ry_graph_constant_data(ry_graph *graph, ry_value_id value)
{
    return (void *)(uintptr_t)graph->values[value].constant;
}

ry_value_id ry_graph_add_i64s(ry_graph *graph, const char *name, int64_t count,
                              const int64_t *numbers)
{
    ry_shape shape = {.rank = count < 0 ? 0 : 1, .dim = {count}};
    size_t bytes = (size_t)(count < 0 ? 1 : count) * sizeof *numbers;
    ry_value_id id = ry_graph_add_constant(graph, name, RY_i64, &shape, NULL);
    if (id != RY_NO_VALUE && bytes) {
        memcpy(ry_graph_constant_data(graph, id), numbers, bytes);
    }
    return id;
}

ry_value_id ry_graph_add_scalar(ry_graph *graph, ry_dtype dtype, double number)
{
    ry_shape shape = {.rank = 0};
    ry_value_id id = ry_graph_add_constant(graph, NULL, dtype, &shape, NULL);
    if (id != RY_NO_VALUE) {
        ry_set_f64(dtype, ry_graph_constant_data(graph, id), 0, number);
    }
    return id;
}

void ry_graph_warn(ry_graph *graph, const char *format, ...)
{
    enum { MAX_WARNINGS = 20 };
    char text[1024] = "further warnings are left out";
    if (graph->warning_count > MAX_WARNINGS) {
        return;
    }
    if (graph->warning_count < MAX_WARNINGS) {
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
    }
    const char *copy = ry_arena_string(&graph->arena, text, strlen(text));
    const char **grown = ry_arena_grow(&graph->arena, graph->warnings, graph->warning_count,
                                       &graph->warning_capacity, sizeof *grown);
    if (copy && grown) { /* else memory is out, which the next step tells */
        graph->warnings = grown;
        grown[graph->warning_count++] = copy;
    }
}

static void count_uses(ry_graph *graph, int count, const ry_value_id *ids, uint32_t change)
{
    for (int i = 0; i < count; i++) {
        if (ids[i] != RY_NO_VALUE) {
            graph->values[ids[i]].uses += change;
        }
    }
}

static ry_value_id *copy_ids(ry_graph *graph, int count, const ry_value_id *ids)
{
    ry_value_id *copy = RY_TAKE(&graph->arena, ry_value_id, count);
    if (copy && count) {
        memcpy(copy, ids, (size_t)count * sizeof *ids);
    }
    return copy;
}

static const char *first_output_name(const ry_graph *graph, int outputs, const ry_value_id *out)
{
    for (int i = 0; i < outputs; i++) {
        if (out[i] != RY_NO_VALUE) {
            return graph->values[out[i]].name;
        }
    }
    return "";
}

ry_node_id ry_graph_add_node(ry_graph *graph, ry_op op, const char *name, const char *source,
                             const ry_attrs *attrs, int inputs, const ry_value_id *in, int outputs,
                             const ry_value_id *out)
{
    if (graph->node_count >= RY_NO_NODE) {
        return RY_NO_NODE;
    }
    ry_node *nodes = ry_arena_grow(&graph->arena, graph->nodes, graph->node_count,
                                   &graph->node_capacity, sizeof *nodes);
    if (!nodes) {
        return RY_NO_NODE;
    }
    graph->nodes = nodes;
    if (!name || !*name) {
        name = first_output_name(graph, outputs, out);
    }
    source = source ? source : ry_op_name(op);
    ry_node node = {.op = op,
                    .attrs = attrs ? *attrs : ry_attrs_default(op),
                    .inputs = inputs,
                    .outputs = outputs,
                    .norm_momentum = RY_NORM_MOMENTUM,
                    .running = {RY_NO_VALUE, RY_NO_VALUE}};
    node.name = ry_arena_string(&graph->arena, name, strlen(name));
    node.source = ry_arena_string(&graph->arena, source, strlen(source));
    node.in = copy_ids(graph, inputs, in);
    node.out = copy_ids(graph, outputs, out);
    if (!node.name || !node.source || !node.in || !node.out) {
        return RY_NO_NODE;
    }
    ry_node_id id = (ry_node_id)graph->node_count++;
    nodes[id] = node;
    count_uses(graph, inputs, in, 1);
    for (int i = 0; i < outputs; i++) {
        if (out[i] != RY_NO_VALUE) {
            graph->values[out[i]].producer = id;
        }
    }
    return id;
}

static bool add_id(ry_graph *graph, ry_value_id **list, size_t *count, size_t *capacity,
                   ry_value_id value)
{
    ry_value_id *grown = ry_arena_grow(&graph->arena, *list, *count, capacity, sizeof **list);
    if (!grown) {
        return false;
    }
    *list = grown;
    grown[(*count)++] = value;
    return true;
}

bool ry_graph_add_input(ry_graph *graph, ry_value_id value)
{
    return add_id(graph, &graph->inputs, &graph->input_count, &graph->input_capacity, value);
}

bool ry_graph_add_output(ry_graph *graph, ry_value_id value)
{
    if (!add_id(graph, &graph->outputs, &graph->output_count, &graph->output_capacity, value)) {
        return false;
    }
    graph->values[value].uses++;
    graph->values[value].outputs++;
    return true;
}

bool ry_graph_add_state(ry_graph *graph, ry_value_id input, ry_value_id output, const void *initial)
{
    ry_state *grown = ry_arena_grow(&graph->arena, graph->states, graph->state_count,
                                    &graph->state_capacity, sizeof *grown);
    if (!grown) {
        return false;
    }
    graph->states = grown;
    grown[graph->state_count++] = (ry_state){.input = (uint32_t)graph->input_count,
                                             .output = (uint32_t)graph->output_count,
                                             .initial = initial};
    return ry_graph_add_input(graph, input) && ry_graph_add_output(graph, output);
}

void ry_graph_clear_outputs(ry_graph *graph)
{
    for (size_t i = 0; i < graph->output_count; i++) {
        graph->values[graph->outputs[i]].uses--;
        graph->values[graph->outputs[i]].outputs--;
    }
    graph->outputs = NULL;
    graph->output_count = graph->output_capacity = 0;
}

void ry_graph_remove_node(ry_graph *graph, ry_node_id node)
{
    ry_node *n = &graph->nodes[node];
    for (int i = 0; i < n->outputs; i++) {
        if (n->out[i] != RY_NO_VALUE && graph->values[n->out[i]].producer == node) {
            graph->values[n->out[i]].producer = RY_NO_NODE;
        }
    }
    count_uses(graph, n->inputs, n->in, UINT32_MAX);
    n->op = RY_OP_dead;
    n->inputs = n->outputs = 0;
}

bool ry_graph_rename_value(ry_graph *graph, ry_value_id value, const char *name)
{
    const char *copy = ry_arena_string(&graph->arena, name, strlen(name));
    if (!copy) {
        return false;
    }
    ry_names_remove(&graph->value_names, graph->values[value].name, value);
    graph->values[value].name = copy;
    return ry_names_add(&graph->value_names, &graph->arena, copy, value);
}

void ry_graph_set_input(ry_graph *graph, ry_node *node, int i, ry_value_id value)
{
    count_uses(graph, 1, &node->in[i], UINT32_MAX);
    node->in[i] = value;
    count_uses(graph, 1, &value, 1);
}

void ry_graph_set_inputs(ry_graph *graph, ry_node *node, int count, ry_value_id *in)
{
    count_uses(graph, node->inputs, node->in, UINT32_MAX);
    node->in = in;
    node->inputs = count;
    count_uses(graph, count, in, 1);
}

void ry_graph_replace_values(ry_graph *graph, const ry_value_id *with)
{
    for (size_t n = 0; n < graph->node_count; n++) {
        ry_node *node = &graph->nodes[n];
        for (int i = 0; i < node->inputs; i++) {
            if (node->in[i] != RY_NO_VALUE && with[node->in[i]] != node->in[i]) {
                ry_graph_set_input(graph, node, i, with[node->in[i]]);
            }
        }
        for (int i = 0; i < 2; i++) {
            node->running[i] =
                node->running[i] == RY_NO_VALUE ? RY_NO_VALUE : with[node->running[i]];
        }
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        ry_value *old = &graph->values[graph->outputs[i]];
        old->uses--;
        old->outputs--;
        graph->outputs[i] = with[graph->outputs[i]];
        graph->values[graph->outputs[i]].uses++;
        graph->values[graph->outputs[i]].outputs++;
    }
}

ry_value_id ry_graph_find(const ry_graph *graph, const char *name)
{
    return ry_names_find(&graph->value_names, name);
}

bool ry_graph_is_output(const ry_graph *graph, ry_value_id value)
{
    return graph->values[value].outputs > 0;
}

int ry_graph_use_count(const ry_graph *graph, ry_value_id value)
{
    return (int)graph->values[value].uses;
}

ry_tensor ry_graph_tensor(const ry_graph *graph, ry_value_id value)
{
    if (value == RY_NO_VALUE) {
        return (ry_tensor){.dtype = RYND_DTYPE_NONE};
    }
    const ry_value *v = &graph->values[value];
    return ry_tensor_row_major(v->dtype, &v->shape, (void *)(uintptr_t)v->constant);
}
