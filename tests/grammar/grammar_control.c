/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes of control flow, whose bodies read a value from outside, and of recurrent layers. */
#include "grammar.h"

#include <string.h>

/* A graph: "inputs|nodes|outputs", a node "Op:inputs:output". `@` is the value from outside. */
static void set_body(grammar *g, grammar_node *node, const char *name, const char *text,
                     int outside)
{
    grammar_attribute *a = grammar_add_attribute(node, name);
    size_t used = 0;
    for (; a && *text && used + 1 < sizeof a->body; text++) {
        const char *part = *text == '@' ? g->values[outside].name : (const char[]){*text, 0};
        const size_t left = sizeof a->body - 1 - used, length = strlen(part);
        memcpy(a->body + used, part, length < left ? length : left);
        used += length < left ? length : left;
    }
    g->values[outside].used = true;
}

static int any_operand(grammar *g)
{
    static const ry_dtype_set SIGNED_NUMBERS =
        1u << RY_f32 | 1u << RY_f16 | 1u << RY_f64 | 1u << RY_i32 | 1u << RY_i64;
    return grammar_operand(g, SIGNED_NUMBERS, 1, 3);
}

static void make_if(grammar *g, grammar_node *node)
{
    const int x = any_operand(g);
    const bool known = chance(&g->c, 128);
    grammar_add_input(node, known ? grammar_scalar(g, RY_bool, choose(&g->c, 2))
                                  : grammar_new(g, RY_bool, 0, (int64_t[]){0}, CONTENT_NUMBERS, 0));
    set_body(g, node, "then_branch", "|Neg:@:b|b", x);
    set_body(g, node, "else_branch", chance(&g->c, 128) ? "|Abs:@:b|b" : "||@", x);
    node->outputs = 1;
}

static void make_loop(grammar *g, grammar_node *node)
{
    const int x = any_operand(g);
    grammar_add_input(node, grammar_scalar(g, RY_i64, 1 + choose(&g->c, 4)));
    grammar_add_input(node, chance(&g->c, 128) ? -1 : grammar_scalar(g, RY_bool, 1));
    grammar_add_input(node, x);
    node->outputs = 1 + (int)choose(&g->c, 2);
    set_body(g, node, "body",
             node->outputs == 1 ? "i,go,v|Identity:go:more;Sub:v,@:w|more,w"
                                : "i,go,v|Identity:go:more;Sub:v,@:w;Abs:w:l|more,w,l",
             x);
}

/* The state has the dims of what is scanned, without the first. */
static void make_scan(grammar *g, grammar_node *node)
{
    const int x = any_operand(g);
    const grammar_value v = *grammar_value_of(g, x);
    grammar_add_input(node, grammar_like(g, x, v.rank - 1, v.dim + 1, CONTENT_NUMBERS));
    grammar_add_input(node, x);
    set_body(g, node, "body", "h,a|Sub:a,h:n;Neg:n:l|n,l", x);
    grammar_set_int(node, "num_scan_inputs", 1);
    grammar_set_ints(node, "scan_input_axes", 1, (int64_t[]){0});
    grammar_set_ints(node, "scan_output_axes", 1, (int64_t[]){0});
    grammar_set_ints(node, "scan_input_directions", 1, (int64_t[]){choose(&g->c, 2)});
    grammar_set_ints(node, "scan_output_directions", 1, (int64_t[]){choose(&g->c, 2)});
    node->outputs = 2;
}

static void make_recurrent(grammar *g, grammar_node *node)
{
    static const char *const words[] = {"forward", "reverse", "bidirectional"};
    const bool lstm = strcmp(node->row->name, "LSTM") == 0, gru = node->row->name[0] == 'G';
    const unsigned direction = choose(&g->c, 3);
    const int64_t directions = direction == 2 ? 2 : 1, batch = 1 + (int64_t)choose(&g->c, 3),
                  size = 1 + (int64_t)choose(&g->c, 5), hidden = 1 + (int64_t)choose(&g->c, 9),
                  rows = hidden * (lstm  ? 4
                                   : gru ? 3
                                         : 1),
                  time = 1 + (int64_t)choose(&g->c, 5);
    const bool first = chance(&g->c, 60);
    const ry_dtype dtype = grammar_type(g, node->row->types);
    const int64_t x[] = {first ? batch : time, first ? time : batch, size},
                  w[] = {directions, rows, size}, r[] = {directions, rows, hidden},
                  bias[] = {directions, 2 * rows},
                  state[] = {first ? batch : directions, first ? directions : batch, hidden},
                  peepholes[] = {directions, 3 * hidden};
    const int64_t *const dims[] = {x, w, r, bias, &batch, state, state, peepholes};
    static const int ranks[] = {3, 3, 3, 2, 1, 3, 3, 2};
    const int inputs = 3 + (int)choose(&g->c, lstm ? 6 : 4);
    for (int i = 0; i < inputs; i++) {
        const bool absent = i > 2 && chance(&g->c, 100);
        grammar_add_input(node, absent ? -1
                                : i == 4
                                    ? grammar_new(g, RY_i32, 1, dims[i], CONTENT_COUNTS, time + 1)
                                    : grammar_new(g, dtype, ranks[i], dims[i], CONTENT_UNIT, 0));
    }
    grammar_set_text(node, "direction", words[direction]);
    grammar_set_int(node, "layout", first);
    grammar_leave_out(node, "activations");
    grammar_leave_out(node, "activation_alpha");
    grammar_leave_out(node, "activation_beta");
    node->outputs = 1 + (int)choose(&g->c, lstm ? 3 : 2);
}

const grammar_recipe_row grammar_control[] = {
    {"If", make_if},          {"Loop", make_loop},     {"Scan", make_scan}, {"RNN", make_recurrent},
    {"LSTM", make_recurrent}, {"GRU", make_recurrent}, {NULL, NULL},
};
