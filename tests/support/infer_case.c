/* SPDX-License-Identifier: Apache-2.0 */
/* Runs cases of shape inference that are written as text. */
#include "infer_case.h"

#include "graph/infer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 40 };

static int64_t read_dim(ry_graph *graph, const char **at)
{
    size_t length = strcspn(*at, "x: ");
    char *end;
    int64_t number = strtoll(*at, &end, 10);
    int64_t dim = end == *at + length ? number : ry_graph_symbol(graph, *at, length);
    *at += length;
    return dim;
}

static ry_value_id read_input(ry_graph *graph, const char **at)
{
    if (**at == '-') {
        (*at)++;
        return RY_NO_VALUE;
    }
    bool bounded = **at == '~';
    *at += bounded;
    ry_shape shape = {.rank = 0};
    if (**at == '?') {
        shape.rank = -1;
        (*at)++;
    } else if (strncmp(*at, "scalar", 6) == 0) {
        *at += 6;
    } else {
        while (**at != ':') {
            shape.dim[shape.rank++] = read_dim(graph, at);
            *at += **at == 'x';
        }
    }
    assert_int_equal(*(*at)++, ':');
    size_t length = strcspn(*at, " =");
    ry_dtype dtype = ry_dtype_parse(*at, length);
    assert_true(dtype != RY_NONE);
    *at += length;
    if (**at != '=') {
        ry_value_id id = ry_graph_add_value(graph, NULL, dtype, &shape);
        graph->values[id].bounded = bounded;
        return id;
    }
    ry_value_id id = ry_graph_add_constant(graph, NULL, dtype, &shape, NULL);
    for (int64_t i = 0; **at == '=' || **at == ','; i++) {
        char *end;
        const char *number = ++*at;
        assert_true(i < ry_shape_elements(&shape));
        if (ry_dtype_is_float(dtype)) {
            ry_set_f64(dtype, ry_graph_constant_data(graph, id), i, strtod(number, &end));
        } else {
            ry_set_i64(dtype, ry_graph_constant_data(graph, id), i, strtoll(number, &end, 10));
        }
        *at = end;
    }
    return id;
}

static int read_inputs(ry_graph *graph, const char *text, ry_value_id *in)
{
    int count = 0;
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        assert_true(count < MOST);
        in[count++] = read_input(graph, &text);
    }
    return count;
}

/* The outputs of a node as the text of a case. */
static void print_outputs(const ry_graph *graph, const ry_node *node, ry_infer_result result,
                          char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s", result == RY_INFER_LATER ? "later" : "");
    for (int i = 0; i < node->outputs; i++) {
        const ry_value *out = &graph->values[node->out[i]];
        used += (size_t)snprintf(text + used, size - used, "%s%s%s", used ? " " : "",
                                 out->bounded ? "~" : "",
                                 out->shape.rank < 0 ? "?"
                                 : out->shape.rank   ? ""
                                                     : "scalar");
        for (int d = 0; d < out->shape.rank; d++) {
            used += (size_t)snprintf(text + used, size - used, "%s", d ? "x" : "");
            if (ry_dim_is_unknown(graph, out->shape.dim[d])) {
                used += (size_t)snprintf(text + used, size - used, "_");
            } else if (out->shape.dim[d] < 0) {
                used += (size_t)snprintf(text + used, size - used, "%s",
                                         ry_graph_symbol_text(graph, out->shape.dim[d]));
            } else {
                used += (size_t)snprintf(text + used, size - used, "%lld",
                                         (long long)out->shape.dim[d]);
            }
        }
        used += (size_t)snprintf(text + used, size - used, ":%s", ry_dtype_name(out->dtype));
    }
}

static int count_outputs(const char *text)
{
    if (*text == '!') {
        return (int)strspn(text, "!");
    }
    int count = 0;
    for (; *text; count++) {
        text += strcspn(text, " ");
        text += strspn(text, " ");
    }
    return count;
}

static bool has_attrs(const ry_graph *graph, const ry_node *node, const char *attrs)
{
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    ry_tensor y = {.dtype = RYND_DTYPE_F32};
    ry_tensor x = ry_graph_tensor(graph, node->in[0]);
    ry_problem problem = {.op = node->op,
                          .accuracy = RY_ACCURACY_near32,
                          .attrs = node->attrs,
                          .inputs = x.rank > 0,
                          .outputs = 1,
                          .in = &x,
                          .out = &y};
    const char *text = ry_problem_print(&problem, &arena);
    bool found = text && strstr(text, attrs);
    if (!found) {
        print_error("    attributes: %s\n    expected:   %s\n", text ? text : "none", attrs);
    }
    ry_arena_free(&arena);
    return found;
}

static bool run_case(const infer_case *c, ry_graph *graph, ry_arena *arena)
{
    ry_error error = {""};
    ry_problem problem;
    char attributes[600], got[600];
    ry_value_id in[MOST], out[MOST];
    size_t name = strcspn(c->node, " ");
    snprintf(attributes, sizeof attributes, "%.*s y0=scalar:f32%s", (int)name, c->node,
             c->node + name);
    if (ry_problem_parse(attributes, arena, &problem, &error) != RYND_OK) {
        fail_msg("'%s': %s", c->node, error.text);
    }
    bool later = strncmp(c->outputs, "later ", 6) == 0;
    int inputs = read_inputs(graph, c->inputs, in),
        outputs = count_outputs(c->outputs + (later ? 6 : 0));
    for (int i = 0; i < outputs; i++) {
        out[i] = ry_graph_add_value(graph, NULL, RY_NONE, NULL);
    }
    ry_node_id id = ry_graph_add_node(graph, problem.op, "it", "Test", &problem.attrs, inputs, in,
                                      outputs, out);
    bool good = true;
    for (int round = 0; round < 2 && good; round++) {
        rynd_status status;
        ry_infer_result result = ry_infer_node(graph, &graph->nodes[id], &error, &status);
        assert_int_equal(result == RY_INFER_FAILED, status != RYND_OK);
        if (result == RY_INFER_FAILED) {
            good = c->outputs[0] == '!' &&
                   strstr(error.text, c->outputs + strspn(c->outputs, "!")) &&
                   strstr(error.text, "'it'");
            snprintf(got, sizeof got, "!%.500s", error.text);
        } else {
            print_outputs(graph, &graph->nodes[id], result, got, sizeof got);
            good = strcmp(got, c->outputs) == 0;
            good = good && (!c->attrs || has_attrs(graph, &graph->nodes[id], c->attrs));
        }
    }
    if (!good) {
        print_error("%s  (%s)\n    got:      %s\n    expected: %s\n", c->node, c->inputs, got,
                    c->outputs);
    }
    return good;
}

void infer_cases(const infer_case *cases, size_t count)
{
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        ry_graph *graph;
        ry_arena arena;
        ry_arena_init(&arena, &ry_system_allocator);
        assert_int_equal(ry_graph_create(&ry_system_allocator, &graph, NULL), RYND_OK);
        wrong += !run_case(&cases[i], graph, &arena);
        ry_graph_destroy(graph);
        ry_arena_free(&arena);
    }
    assert_int_equal(wrong, 0);
}
