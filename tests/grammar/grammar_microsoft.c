/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes of ONNX Runtime's own operators. */
#include "grammar.h"

/* Adds a quantised tensor with scale and zero point. */
static void add_quantised(grammar *g, grammar_node *node, ry_dtype dtype, int rank,
                          const int64_t *dim)
{
    grammar_add_input(node, grammar_new(g, dtype, rank, dim, CONTENT_NUMBERS, 0));
    grammar_add_input(node, grammar_floats(g, -1, (float[]){0.125F}));
    grammar_add_input(node, grammar_scalar(g, dtype, choose(&g->c, 3)));
}

static void add_scale(grammar *g, grammar_node *node, ry_dtype dtype)
{
    grammar_add_input(node, grammar_floats(g, -1, (float[]){0.25F}));
    if (chance(&g->c, 128)) {
        grammar_add_input(node, grammar_scalar(g, dtype, choose(&g->c, 5)));
    }
}

static ry_dtype byte_type(grammar *g)
{
    return chance(&g->c, 128) ? RY_i8 : RY_u8;
}

static void make_quantised(grammar *g, grammar_node *node)
{
    const int count = node->row->min_inputs > 6 ? 2 : 1;
    const ry_dtype dtype = byte_type(g);
    const int64_t dim[] = {1 + (int64_t)choose(&g->c, 2), grammar_channels(g), grammar_dim(g),
                           grammar_dim(g)};
    for (int i = 0; i < count; i++) {
        add_quantised(g, node, dtype, 4, dim);
    }
    add_scale(g, node, dtype);
}

static void make_average_pool(grammar *g, grammar_node *node)
{
    const ry_dtype dtype = byte_type(g);
    const int64_t dim[] = {1, 3 + (int64_t)choose(&g->c, 5), 3 + (int64_t)choose(&g->c, 5),
                           3 + (int64_t)choose(&g->c, 5)};
    const int64_t kernel[] = {1 + (int64_t)choose(&g->c, 3), 1 + (int64_t)choose(&g->c, 3)};
    add_quantised(g, node, dtype, 4, dim);
    add_scale(g, node, dtype);
    grammar_set_ints(node, "kernel_shape", 2, kernel);
    grammar_set_int(node, "channels_last", choose(&g->c, 2));
    static const char *const absent[] = {"auto_pad", "dilations", "pads", "strides"};
    for (int i = 0; i < 4; i++) {
        grammar_leave_out(node, absent[i]);
    }
}

static void make_softmax(grammar *g, grammar_node *node)
{
    const ry_dtype dtype = byte_type(g);
    const int64_t dim[] = {grammar_dim(g), grammar_dim(g), grammar_channels(g)};
    add_quantised(g, node, dtype, 3, dim);
    grammar_add_input(node, grammar_floats(g, -1, (float[]){0.00390625F}));
    grammar_add_input(node, grammar_scalar(g, dtype, choose(&g->c, 5)));
    grammar_set_int(node, "axis", grammar_axis(g, 3));
    grammar_set_int(node, "opset", 11 + (int64_t)choose(&g->c, 4));
}

static void make_where(grammar *g, grammar_node *node)
{
    const ry_dtype dtype = byte_type(g);
    const int64_t dim[] = {grammar_dim(g), grammar_channels(g), grammar_dim(g)};
    const int64_t few = choose(&g->c, 3); /* first dims that the condition lacks */
    grammar_add_input(node, grammar_new(g, RY_bool, (int)(3 - few), dim + few, CONTENT_COUNTS, 2));
    for (int i = 0; i < 2; i++) {
        add_quantised(g, node, dtype, 3, dim);
    }
    grammar_add_input(node, grammar_floats(g, -1, (float[]){0.25F}));
    grammar_add_input(node, grammar_scalar(g, dtype, choose(&g->c, 5)));
}

static void make_gemm(grammar *g, grammar_node *node)
{
    const ry_dtype left = byte_type(g), right = byte_type(g);
    const int64_t rows = grammar_dim(g), depth = grammar_channels(g), columns = grammar_channels(g);
    const bool trans_a = chance(&g->c, 100), trans_b = chance(&g->c, 100),
               each_column = chance(&g->c, 100);
    const int64_t a[] = {trans_a ? depth : rows, trans_a ? rows : depth},
                  b[] = {trans_b ? columns : depth, trans_b ? depth : columns},
                  c[] = {chance(&g->c, 128) ? rows : 1, columns};
    const int drop = (int)choose(&g->c, 2);
    add_quantised(g, node, left, 2, a);
    grammar_add_input(node, grammar_new(g, right, 2, b, CONTENT_NUMBERS, 0));
    grammar_add_input(node, grammar_new(g, RY_f32, each_column, b + !trans_b, CONTENT_POSITIVE, 0));
    grammar_add_input(node, grammar_new(g, right, each_column, b + !trans_b, CONTENT_COUNTS, 9));
    grammar_add_input(node, chance(&g->c, 128)
                                ? grammar_new(g, RY_i32, 2 - drop, c + drop, CONTENT_COUNTS, 900)
                                : -1);
    if (chance(&g->c, 160)) {
        grammar_add_input(node, grammar_floats(g, -1, (float[]){2}));
        grammar_add_input(node, grammar_scalar(g, left, choose(&g->c, 5)));
    }
    grammar_set_int(node, "transA", trans_a);
    grammar_set_int(node, "transB", trans_b);
}

static void make_concat(grammar *g, grammar_node *node)
{
    const ry_dtype dtype = byte_type(g);
    const int64_t dim[] = {grammar_dim(g), grammar_dim(g)};
    grammar_add_input(node, grammar_floats(g, -1, (float[]){0.25F}));
    grammar_add_input(node, grammar_scalar(g, dtype, choose(&g->c, 5)));
    for (int i = 0; i < 2; i++) {
        add_quantised(g, node, dtype, 2, dim);
    }
    grammar_set_int(node, "axis", choose(&g->c, 2));
}

static void make_skip_norm(grammar *g, grammar_node *node)
{
    const ry_dtype dtype = grammar_type(g, node->row->types);
    const int64_t dim[] = {1 + (int64_t)choose(&g->c, 2), grammar_dim(g), grammar_channels(g)};
    const int inputs =
        node->row->min_inputs +
        (int)choose(&g->c, (unsigned)(1 + node->row->max_inputs - node->row->min_inputs));
    for (int i = 0; i < inputs; i++) {
        grammar_add_input(node, grammar_new(g, dtype, i < 2 ? 3 : 1, i < 2 ? dim : dim + 2,
                                            i == 2 ? CONTENT_POSITIVE : CONTENT_NUMBERS, 0));
    }
    node->outputs = 1 + (int)choose(&g->c, 4);
}

static void make_fused_conv(grammar *g, grammar_node *node)
{
    static const char *const words[] = {"Relu",      "Tanh", "Sigmoid",
                                        "LeakyRelu", "Clip", "HardSigmoid"};
    const ry_dtype dtype = grammar_type(g, node->row->types);
    const int64_t k = grammar_channels(g), x[] = {1, grammar_channels(g), 5, 6},
                  w[] = {k, x[1], 3, 2}, y[] = {1, k, 3, 5};
    grammar_add_input(node, grammar_new(g, dtype, 4, x, CONTENT_NUMBERS, 0));
    grammar_add_input(node, grammar_new(g, dtype, 4, w, CONTENT_NUMBERS, 0));
    if (chance(&g->c, 128)) {
        grammar_add_input(node, grammar_new(g, dtype, 1, &k, CONTENT_NUMBERS, 0));
        grammar_add_input(node, grammar_new(g, dtype, 4, y, CONTENT_NUMBERS, 0));
    }
    grammar_set_text(node, "activation", words[choose(&g->c, 6)]);
    static const char *const absent[] = {"activation_params", "auto_pad", "dilations", "group",
                                         "kernel_shape",      "pads",     "strides"};
    for (int i = 0; i < 7; i++) {
        grammar_leave_out(node, absent[i]);
    }
}

static void make_fused_matmul(grammar *g, grammar_node *node)
{
    const ry_dtype dtype = grammar_type(g, node->row->types);
    const int64_t n = grammar_dim(g), batch = 1 + (int64_t)choose(&g->c, 2),
                  square[] = {batch, n, n};
    for (int i = 0; i < 2; i++) {
        grammar_add_input(node, grammar_new(g, dtype, 3, square, CONTENT_NUMBERS, 0));
    }
    grammar_set_int(node, "transBatchA", 0);
    grammar_set_int(node, "transBatchB", 0);
}

static void make_biased(grammar *g, grammar_node *node)
{
    const ry_dtype dtype = grammar_type(g, node->row->types);
    const int64_t dim[] = {grammar_dim(g), grammar_channels(g)};
    grammar_add_input(node, grammar_new(g, dtype, 2, dim, CONTENT_NUMBERS, 0));
    if (node->row->min_inputs > 1 || chance(&g->c, 128)) {
        grammar_add_input(node, grammar_new(g, dtype, 1, dim + 1, CONTENT_NUMBERS, 0));
    }
}

const grammar_recipe_row grammar_microsoft[] = {
    {"BiasGelu", make_biased},
    {"FastGelu", make_biased},
    {"FusedConv", make_fused_conv},
    {"FusedMatMul", make_fused_matmul},
    {"QGemm", make_gemm},
    {"QLinearAdd", make_quantised},
    {"QLinearAveragePool", make_average_pool},
    {"QLinearConcat", make_concat},
    {"QLinearGlobalAveragePool", make_quantised},
    {"QLinearLeakyRelu", make_quantised},
    {"QLinearMul", make_quantised},
    {"QLinearSigmoid", make_quantised},
    {"QLinearSoftmax", make_softmax},
    {"QLinearWhere", make_where},
    {"SkipLayerNormalization", make_skip_norm},
    {"SkipSimplifiedLayerNormalization", make_skip_norm},
    {NULL, NULL},
};
