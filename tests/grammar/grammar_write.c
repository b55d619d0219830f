/* SPDX-License-Identifier: Apache-2.0 */
/* A model of the grammar as ONNX and as text. Numbers of fields: onnx.proto. */
#include "grammar.h"

#include <inttypes.h>
#include <string.h>

static const char *name_of(const grammar *g, int value)
{
    return value == -1 ? "" : value < 0 ? "nobody" : g->values[value].name;
}

static onnx_bytes make_data(const grammar_value *v, const char *name)
{
    onnx_bytes m = make_tensor(name, ry_dtype_to_onnx(v->dtype), v->rank, v->dim);
    if (v->data) {
        put_bytes(&m, 9, v->data, (size_t)grammar_elements(v) * ry_dtype_size(v->dtype));
    }
    return m;
}

/* A symbol is named after its size, so that equal symbols have equal sizes. */
static onnx_bytes make_dim(const grammar_value *v, int i)
{
    onnx_bytes dim = {0};
    if (v->symbolic >> i & 1u) {
        char symbol[32];
        snprintf(symbol, sizeof symbol, "s%" PRId64, v->dim[i]);
        put_text(&dim, 2, symbol);
    } else {
        put_int(&dim, 1, v->dim[i]);
    }
    return dim;
}

static onnx_bytes make_info(const grammar_value *v, bool with_shape)
{
    onnx_bytes m = {0}, type = {0}, tensor = {0}, shape = {0};
    for (int i = 0; with_shape && i < v->rank; i++) {
        put_message(&shape, 1, make_dim(v, i));
    }
    put_int(&tensor, 1, v->dtype ? ry_dtype_to_onnx(v->dtype) : 0);
    if (with_shape && v->rank >= 0) {
        put_message(&tensor, 2, shape);
    }
    put_message(&type, 1, tensor);
    put_text(&m, 1, v->name);
    put_message(&m, 2, type);
    return m;
}

/* Cuts a word off a text, up to one of the ends; NULL: nothing is left. */
static char *next_word(char **text, char end)
{
    char *word = *text, *stop = word ? strchr(word, end) : NULL;
    *text = stop ? stop + 1 : NULL;
    if (stop) {
        *stop = 0;
    }
    return word && *word ? word : NULL;
}

static onnx_bytes write_body(const grammar_attribute *a)
{
    char text[sizeof a->body];
    memcpy(text, a->body, sizeof text);
    char *rest = text, *inputs = next_word(&rest, '|'), *nodes = next_word(&rest, '|'),
         *outputs = rest;
    onnx_bytes m = {0};
    for (char *name; (name = next_word(&inputs, ',')) != NULL;) {
        add_input(&m, make_value(name, -1, NULL));
    }
    for (char *node; (node = next_word(&nodes, ';')) != NULL;) {
        char *op = next_word(&node, ':'), *in = next_word(&node, ':');
        add_node(&m, make_node(op ? op : "", in ? in : "", node ? node : ""));
    }
    for (char *name; (name = next_word(&outputs, ',')) != NULL;) {
        add_output(&m, make_value(name, -1, NULL));
    }
    return m;
}

static void write_attribute(const grammar *g, const grammar_attribute *a, onnx_bytes *node)
{
    onnx_bytes m = {0};
    put_text(&m, 1, a->name);
    switch (a->type) {
    case RY_ATTRIBUTE_float: put_float(&m, 2, a->f); break;
    case RY_ATTRIBUTE_int: put_int(&m, 3, a->i); break;
    case RY_ATTRIBUTE_string: put_text(&m, 4, a->text); break;
    case RY_ATTRIBUTE_tensor: put_message(&m, 5, make_data(&g->values[a->tensor], NULL)); break;
    case RY_ATTRIBUTE_graph: put_message(&m, 6, write_body(a)); break;
    case RY_ATTRIBUTE_floats:
        for (int i = 0; i < a->count; i++) {
            put_float(&m, 7, a->floats[i]);
        }
        break;
    case RY_ATTRIBUTE_ints:
        for (int i = 0; i < a->count; i++) {
            put_int(&m, 8, a->ints[i]);
        }
        break;
    default: break;
    }
    put_int(&m, 20, (int64_t)a->type);
    put_message(node, 5, m);
}

static onnx_bytes write_node(const grammar *g, const grammar_node *node)
{
    onnx_bytes m = {0};
    for (int i = 0; i < node->inputs; i++) {
        put_text(&m, 1, name_of(g, node->in[i]));
    }
    for (int i = 0; i < node->outputs; i++) {
        put_text(&m, 2, name_of(g, node->out[i]));
    }
    put_text(&m, 4, node->row->name);
    put_text(&m, 7, node->row->domain);
    for (int i = 0; i < node->attributes; i++) {
        if (node->attribute[i].type != RY_ATTRIBUTE_none) {
            write_attribute(g, &node->attribute[i], &m);
        }
    }
    return m;
}

onnx_bytes grammar_write(const grammar *g)
{
    onnx_bytes graph = {0};
    put_text(&graph, 2, "grammar");
    for (int i = 0; i < g->node_count; i++) {
        add_node(&graph, write_node(g, &g->nodes[i]));
    }
    for (int i = 0; i < g->value_count; i++) {
        const grammar_value *v = &g->values[i];
        if (v->source == SOURCE_INPUT && v->used) {
            add_input(&graph, make_info(v, true));
        } else if (v->source == SOURCE_INITIALIZER && v->used) {
            add_initializer(&graph, make_data(v, v->name));
        } else if (v->source == SOURCE_NODE && (g->is_output[i] || !v->used)) {
            /* The shape is the library's to infer. */
            add_output(&graph, make_info(v, false));
        }
    }
    onnx_bytes model = make_model(g->ir_version, g->opset, graph), domain = {0};
    put_text(&domain, 1, RY_DOMAIN_MICROSOFT);
    put_int(&domain, 2, 1);
    put_message(&model, 8, domain);
    return model;
}

static void print_value(const grammar_value *v, FILE *file)
{
    fprintf(file, "%s:%s[", v->name, ry_dtype_name(v->dtype));
    for (int i = 0; i < v->rank; i++) {
        fprintf(file, "%s%s%" PRId64, i ? "," : "", v->symbolic >> i & 1u ? "s" : "", v->dim[i]);
    }
    fprintf(file, "]%s", v->rank < 0 ? "?" : "");
}

static void print_content(const grammar_value *v, FILE *file)
{
    enum { MOST = 12 };
    const int64_t count = v->data ? grammar_elements(v) : 0;
    for (int64_t i = 0; i < count && i < MOST; i++) {
        if (ry_dtype_is_float(v->dtype)) {
            fprintf(file, " %.9g", ry_get_f64(v->dtype, v->data, i));
        } else {
            fprintf(file, " %" PRId64, ry_get_i64(v->dtype, v->data, i));
        }
    }
    fprintf(file, "%s\n", count > MOST ? " ..." : "");
}

static void print_attribute(const grammar *g, const grammar_attribute *a, FILE *file)
{
    fprintf(file, " %s=", a->name);
    switch (a->type) {
    case RY_ATTRIBUTE_float: fprintf(file, "%gf", (double)a->f); break;
    case RY_ATTRIBUTE_int: fprintf(file, "%" PRId64, a->i); break;
    case RY_ATTRIBUTE_string: fprintf(file, "'%s'", a->text); break;
    case RY_ATTRIBUTE_graph: fprintf(file, "'%s'", a->body); break;
    case RY_ATTRIBUTE_tensor: print_value(&g->values[a->tensor], file); break;
    case RY_ATTRIBUTE_floats:
    case RY_ATTRIBUTE_ints:
        for (int i = 0; i < a->count; i++) {
            const double number =
                a->type == RY_ATTRIBUTE_ints ? (double)a->ints[i] : (double)a->floats[i];
            fprintf(file, "%s%.17g", i ? "," : "[", number);
        }
        fprintf(file, a->count ? "]" : "[]");
        break;
    default: fprintf(file, "(type %d)", (int)a->type); break;
    }
}

void grammar_print(const grammar *g, FILE *file)
{
    fprintf(file, "opset %" PRId64 ", IR version %" PRId64 "\n", g->opset, g->ir_version);
    for (int i = 0; i < g->value_count; i++) {
        const grammar_value *v = &g->values[i];
        if (v->source != SOURCE_NODE && (v->used || g->attribute_value[i])) {
            fprintf(file, "  %s ", v->source == SOURCE_INPUT ? "input      " : "initializer");
            print_value(v, file);
            print_content(v, file);
        }
    }
    for (int n = 0; n < g->node_count; n++) {
        const grammar_node *node = &g->nodes[n];
        fprintf(file, " ");
        for (int i = 0; i < node->outputs; i++) {
            fprintf(file, " ");
            if (node->out[i] >= 0) {
                print_value(&g->values[node->out[i]], file);
                fprintf(file, "%s", g->is_output[node->out[i]] ? "*" : "");
            }
        }
        fprintf(file, " = %s(", node->row->name);
        for (int i = 0; i < node->inputs; i++) {
            fprintf(file, "%s%s", i ? ", " : "", name_of(g, node->in[i]));
        }
        fprintf(file, ")");
        for (int i = 0; i < node->attributes; i++) {
            if (node->attribute[i].type != RY_ATTRIBUTE_none) {
                print_attribute(g, &node->attribute[i], file);
            }
        }
        fprintf(file, "\n");
    }
}
