/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes of matrix products. */
#include "grammar.h"

#include <string.h>

/* The right factor of x: its second to last dim equals x's last; earlier dims broadcast with x's.
 */
static int right_factor(grammar *g, ry_dtype dtype, const grammar_value *v)
{
    int64_t dim[GRAMMAR_RANK];
    const int64_t inner = v->dim[v->rank - 1];
    if (chance(&g->c, 30)) {
        return grammar_new(g, dtype, 1, &inner, CONTENT_NUMBERS, 0);
    }
    const int batch = v->rank > 2 && chance(&g->c, 128) ? v->rank - 2 : 0;
    for (int i = 0; i < batch; i++) {
        dim[i] = chance(&g->c, 60) ? 1 : v->dim[i];
    }
    dim[batch] = inner;
    dim[batch + 1] = grammar_channels(g);
    return grammar_new(g, dtype, batch + 2, dim, CONTENT_NUMBERS, 0);
}

static void make_matmul(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 1, 4);
    const grammar_value v = *grammar_value_of(g, x);
    grammar_add_input(node, x);
    grammar_add_input(node, right_factor(g, v.dtype, &v));
}

static void make_gemm(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 2, 2);
    const grammar_value v = *grammar_value_of(g, x);
    const bool trans_a = chance(&g->c, 80), trans_b = chance(&g->c, 100);
    const int64_t rows = v.dim[trans_a], inner = v.dim[!trans_a], columns = grammar_channels(g);
    const int64_t b[2] = {trans_b ? columns : inner, trans_b ? inner : columns};
    const int64_t c[2] = {chance(&g->c, 100) ? rows : 1, chance(&g->c, 60) ? 1 : columns};
    grammar_set_int(node, "transA", trans_a);
    grammar_set_int(node, "transB", trans_b);
    grammar_add_input(node, x);
    grammar_add_input(node, grammar_new(g, v.dtype, 2, b, CONTENT_NUMBERS, 0));
    if (node->row->min_inputs > 2 || chance(&g->c, 160)) {
        const int drop = (int)choose(&g->c, 3);
        grammar_add_input(node, grammar_new(g, v.dtype, 2 - drop, c + drop, CONTENT_NUMBERS, 0));
    }
}

static void make_matmul_integer(grammar *g, grammar_node *node)
{
    const bool scaled = strcmp(node->row->name, "QLinearMatMul") == 0;
    const int x = grammar_operand(g, node->row->types, 2, 3);
    const grammar_value v = *grammar_value_of(g, x);
    const ry_dtype right = chance(&g->c, 128) ? RY_u8 : RY_i8,
                   result = chance(&g->c, 128) ? RY_u8 : RY_i8;
    const int64_t rows[1] = {v.dim[v.rank - 2]};
    const bool each_row = v.rank == 2 && chance(&g->c, 40);
    grammar_add_input(node, x);
    if (scaled) {
        grammar_add_input(node, grammar_scalar(g, RY_f32, 0.25));
        grammar_add_input(node, grammar_new(g, v.dtype, 0, NULL, CONTENT_COUNTS, 9));
    }
    const int y = right_factor(g, right, &v);
    const int64_t columns[1] = {grammar_value_of(g, y)->rank
                                    ? grammar_value_of(g, y)->dim[grammar_value_of(g, y)->rank - 1]
                                    : 1};
    const bool each_column = grammar_value_of(g, y)->rank == 2 && chance(&g->c, 60);
    grammar_add_input(node, y);
    if (scaled) {
        grammar_add_input(node, grammar_new(g, RY_f32, each_column, columns, CONTENT_POSITIVE, 0));
        grammar_add_input(node, grammar_new(g, right, each_column, columns, CONTENT_COUNTS, 9));
        grammar_add_input(node, grammar_scalar(g, RY_f32, 2));
        grammar_add_input(node, grammar_new(g, result, 0, NULL, CONTENT_COUNTS, 9));
    } else if (chance(&g->c, 160)) {
        grammar_add_input(node, grammar_new(g, v.dtype, each_row, rows, CONTENT_COUNTS, 9));
        if (chance(&g->c, 160)) {
            grammar_add_input(node, grammar_new(g, right, each_column, columns, CONTENT_COUNTS, 9));
        }
    }
}

/* Queries, keys and values with heads as their second dim, or within the last one. */
static void make_attention(grammar *g, grammar_node *node)
{
    const int64_t batch = 1 + (int64_t)choose(&g->c, 2), kept = 1 + (int64_t)choose(&g->c, 2),
                  heads = kept * (1 + (int64_t)choose(&g->c, 2));
    const int64_t queries = 1 + grammar_dim(g), keys = 1 + grammar_dim(g),
                  size = 2 * grammar_dim(g) + 2, width = 1 + grammar_dim(g);
    const ry_dtype dtype = grammar_type(g, node->row->types);
    const bool flat = chance(&g->c, 100);
    const int64_t lengths[3] = {queries, keys, keys}, sizes[3] = {size, size, width};
    for (int i = 0; i < 3; i++) {
        const int64_t count = i ? kept : heads;
        const int64_t four[4] = {batch, count, lengths[i], sizes[i]},
                      three[3] = {batch, lengths[i], count * sizes[i]};
        grammar_add_input(
            node, grammar_new(g, dtype, flat ? 3 : 4, flat ? three : four, CONTENT_NUMBERS, 0));
    }
    if (chance(&g->c, 100)) {
        const int64_t mask[2] = {queries, keys};
        grammar_add_input(node, grammar_new(g, chance(&g->c, 128) ? RY_bool : dtype, 2, mask,
                                            CONTENT_NUMBERS, 0));
    }
    if (flat) {
        grammar_set_int(node, "q_num_heads", heads);
        grammar_set_int(node, "kv_num_heads", kept);
    }
    grammar_leave_out(node, "q_num_heads");
    grammar_leave_out(node, "kv_num_heads");
    grammar_leave_out(node, "softmax_precision");
}

/* Terms in letters; each letter gets a size. */
static void make_einsum(grammar *g, grammar_node *node)
{
    static const char *const equations[] = {
        "ij,jk->ik",     "ij->ji",          "ii->i", "ij->",         "i,j->ij",
        "bij,bjk->bik",  "bhwi,hkc->bhwkc", "ij,ij", "...ij->...ji", "ij,jk,kl->il",
        "abcd,ea->ebcd", "bij, bkj -> bik", "i,i->", "ijk,jil->kl",
    };
    const char *equation = equations[choose(&g->c, sizeof equations / sizeof *equations)];
    int64_t size[26];
    for (int i = 0; i < 26; i++) {
        size[i] = grammar_dim(g);
    }
    grammar_set_text(node, "equation", equation);
    const ry_dtype dtype = grammar_type(g, node->row->types);
    for (const char *at = equation; *at && *at != '-';) {
        int64_t dim[GRAMMAR_RANK];
        int rank = 0;
        for (; *at && *at != ',' && *at != '-'; at++) {
            if (*at >= 'a' && *at <= 'z') {
                dim[rank++] = size[*at - 'a'];
            } else if (*at == '.' && at[1] != '.') {
                dim[rank++] = 2;
            }
        }
        at += *at == ',';
        grammar_add_input(node, grammar_new(g, dtype, rank, dim, CONTENT_NUMBERS, 0));
    }
}

const grammar_recipe_row grammar_products[] = {
    {"MatMul", make_matmul},
    {"Gemm", make_gemm},
    {"MatMulInteger", make_matmul_integer},
    {"QLinearMatMul", make_matmul_integer},
    {"Attention", make_attention},
    {"Einsum", make_einsum},
    {NULL, NULL},
};
