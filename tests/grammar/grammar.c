/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a model: node after node, each of any operator of the model's opset. What a node's outputs
 * are like, the library's own inference says: where it refuses the model so far, the model ends
 * with the node that it refuses. */
#include "grammar.h"

#include "onnx/onnx.h"

#include <stdlib.h>
#include <string.h>

static const grammar_recipe_row *const recipes[] = {
    grammar_elementwise, grammar_windows, grammar_products, grammar_samples,
    grammar_moves,       grammar_indexed, grammar_control,  grammar_microsoft,
};

static grammar_recipe find_recipe(const char *name)
{
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        for (const grammar_recipe_row *row = recipes[i]; row->name; row++) {
            if (strcmp(row->name, name) == 0) {
                return row->recipe;
            }
        }
    }
    return NULL;
}

/* A row of the table says what the first input may be, and how many there are. */
static void make_by_row(grammar *g, grammar_node *node)
{
    for (int i = 0; i < node->row->min_inputs; i++) {
        grammar_add_input(node, grammar_operand(g, node->row->types, 0, 5));
    }
}

void grammar_add_input(grammar_node *node, int value)
{
    if (node->inputs < GRAMMAR_INPUTS) {
        node->in[node->inputs++] = value;
    }
}

static void choose_opset(grammar *g)
{
    g->opset = chance(&g->c, 150) ? 1 + (int64_t)choose(&g->c, RY_OPSET_NEWEST) : RY_OPSET_NEWEST;
    g->ir_version = slip(&g->c) ? choose_edge(&g->c) : RY_IR_VERSION_NEWEST;
}

/* Any row: where the opset is outside of it, the model's opset moves if this is the first node;
 * else the search goes on. */
static const ry_operator *choose_row(grammar *g)
{
    size_t at = choose(&g->c, (unsigned)ry_operator_count);
    if (g->node_count == 0) {
        const ry_operator *row = &ry_operators[at];
        g->opset = g->opset < row->first ? row->first : g->opset > row->last ? row->last : g->opset;
    }
    for (size_t i = 0; i < ry_operator_count; i++, at++) {
        const ry_operator *row = &ry_operators[at % ry_operator_count];
        if (g->opset >= row->first && g->opset <= row->last) {
            return row;
        }
    }
    return &ry_operators[at % ry_operator_count];
}

static void add_outputs(grammar *g, grammar_node *node)
{
    const int count = node->outputs < 1 ? 1 : node->outputs;
    node->outputs = 0;
    for (int i = 0; i < count && i < GRAMMAR_OUTPUTS && g->value_count < GRAMMAR_VALUES; i++) {
        const int id = g->value_count++;
        g->values[id] = (grammar_value){.rank = -1, .source = SOURCE_NODE};
        snprintf(g->values[id].name, sizeof g->values[id].name, "v%d", id);
        node->out[node->outputs++] = i > 0 && chance(&g->c, 30) ? -1 : id;
    }
}

static void spoil_inputs(grammar *g, grammar_node *node)
{
    if (node->inputs && slip(&g->c)) {
        const int which = (int)choose(&g->c, (unsigned)node->inputs);
        switch (choose(&g->c, 4)) {
        case 0: node->in[which] = -1; break;
        case 1: node->in[which] = -2; break;
        case 2: node->inputs--; break;
        default: grammar_add_input(node, node->in[which]); break;
        }
    }
}

/* Ends the node behind the last one, whose inputs are set. `before`: number of values before it. */
static void end_node(grammar *g, int before)
{
    grammar_node *node = &g->nodes[g->node_count];
    grammar_fill_attributes(g, node);
    for (int i = before; i < g->value_count; i++) {
        grammar_spoil_value(g, i);
    }
    spoil_inputs(g, node);
    for (int i = 0; i < node->inputs; i++) {
        if (node->in[i] >= 0) {
            g->values[node->in[i]].used = true;
        }
    }
    add_outputs(g, node);
    g->node_count++;
}

static void append_node(grammar *g, const ry_operator *row)
{
    grammar_node *node = &g->nodes[g->node_count];
    *node = (grammar_node){.row = row};
    const int before = g->value_count;
    const grammar_recipe recipe = find_recipe(row->name);
    (recipe ? recipe : make_by_row)(g, node);
    end_node(g, before);
}

static void take_value(grammar_value *value, const ry_value *inferred)
{
    value->dtype = inferred->dtype;
    value->rank = inferred->shape.rank;
    value->known = value->dtype != RY_NONE && value->rank >= 0;
    for (int i = 0; i < value->rank; i++) {
        value->dim[i] = inferred->shape.dim[i];
        value->known = value->known && value->dim[i] >= 0;
    }
}

/* What the last node gives; false where the library refuses the model. */
static bool look_at_outputs(grammar *g)
{
    uint32_t symbolic[GRAMMAR_VALUES];
    for (int i = 0; i < g->value_count; i++) {
        symbolic[i] = g->values[i].symbolic;
        g->values[i].symbolic = 0;
    }
    onnx_bytes bytes = grammar_write(g);
    ry_onnx_model model = {0};
    const bool loaded = ry_onnx_load_memory(bytes.data, bytes.size, NULL, &ry_system_allocator,
                                            &model, NULL) == RYND_OK;
    const grammar_node *node = &g->nodes[g->node_count - 1];
    for (int i = 0; loaded && i < node->outputs; i++) {
        const ry_value_id id = node->out[i] < 0
                                   ? RY_NO_VALUE
                                   : ry_graph_find(model.graph, g->values[node->out[i]].name);
        if (id != RY_NO_VALUE) {
            take_value(&g->values[node->out[i]], &model.graph->values[id]);
        }
    }
    if (loaded) {
        ry_onnx_free(&model);
    }
    onnx_bytes_free(&bytes);
    for (int i = 0; i < g->value_count; i++) {
        g->values[i].symbolic = symbolic[i];
    }
    return loaded;
}

int grammar_append(grammar *g, const char *name, int inputs, const int *in)
{
    return grammar_append_with(g, name, inputs, in, NULL, 0);
}

int grammar_append_with(grammar *g, const char *name, int inputs, const int *in,
                        const char *attribute, int64_t number)
{
    const ry_operator *nearest, *row = ry_operator_find(name, "", g->opset, &nearest);
    grammar_node *node = &g->nodes[g->node_count];
    *node = (grammar_node){.row = row};
    for (int i = 0; i < inputs && row; i++) {
        grammar_add_input(node, in[i]);
    }
    if (!row) {
        return -1;
    }
    if (attribute) {
        grammar_set_int(node, attribute, number);
    }
    for (const ry_attribute_spec *a = row->attributes; a && a->name; a++) {
        grammar_leave_out(node, a->name);
    }
    end_node(g, g->value_count);
    return look_at_outputs(g) ? node->out[0] : -1;
}

/* Adds one node of any operator; DequantizeLinear may bring more nodes. False: the library refuses
 * the model. */
static bool go_on(grammar *g)
{
    const ry_operator *row = choose_row(g);
    if (strcmp(row->name, "DequantizeLinear") == 0 &&
        g->node_count + GRAMMAR_QUANTISED <= GRAMMAR_NODES && chance(&g->c, 128)) {
        return grammar_make_quantised(g);
    }
    append_node(g, row);
    return look_at_outputs(g);
}

/* What nobody reads, and now and then what somebody does. */
static void choose_outputs(grammar *g)
{
    for (int n = 0; n < g->node_count; n++) {
        for (int i = 0; i < g->nodes[n].outputs; i++) {
            const int id = g->nodes[n].out[i];
            if (id >= 0) {
                g->is_output[id] = !g->values[id].used || chance(&g->c, 30);
            }
        }
    }
}

void grammar_make(grammar *g, const uint8_t *bytes, size_t size)
{
    *g = (grammar){.c = choices_begin(bytes, size)};
    choose_opset(g);
    const int count = chance(&g->c, 128) ? 1 + (int)choose(&g->c, GRAMMAR_NODES) : 1;
    bool right = true;
    while (g->node_count < count && right && g->value_count + 24 < GRAMMAR_VALUES) {
        right = go_on(g);
    }
    if (slip(&g->c)) {
        g->opset = chance(&g->c, 128) ? choose_edge(&g->c)
                                      : 1 + (int64_t)choose(&g->c, RY_OPSET_NEWEST + 2);
    }
    choose_outputs(g);
}

void grammar_free(grammar *g)
{
    for (int i = 0; i < g->value_count; i++) {
        free(g->values[i].data);
    }
}
