/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes of elementwise and reducing operators, of normalisation and quantisation. */
#include "grammar.h"

static const ry_dtype_set FLOATS = 1u << RY_f32 | 1u << RY_f16 | 1u << RY_bf16 | 1u << RY_f64;

/* Dims that broadcast with x: fewer of them, and some are 1. */
static int broadcast_partner(grammar *g, int x, ry_dtype dtype, grammar_content content)
{
    const grammar_value v = *grammar_value_of(g, x);
    int64_t dim[GRAMMAR_RANK];
    const int drop = chance(&g->c, 70) ? (int)choose(&g->c, (unsigned)v.rank + 1) : 0;
    for (int i = drop; i < v.rank; i++) {
        dim[i - drop] = chance(&g->c, 60) ? 1 : v.dim[i];
    }
    return dtype == v.dtype ? grammar_like(g, x, v.rank - drop, dim, content)
                            : grammar_new(g, dtype, v.rank - drop, dim, content, 0);
}

static void make_binary(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 0, 5);
    const grammar_value v = *grammar_value_of(g, x);
    grammar_add_input(node, x);
    if (!grammar_row_has(node, "broadcast")) {
        grammar_add_input(node, broadcast_partner(g, x, v.dtype, CONTENT_NUMBERS));
        if (chance(&g->c, 60)) { /* the wider of the two may stand behind */
            node->in[0] = node->in[1];
            node->in[1] = x;
        }
        return;
    }
    const int first = v.rank ? (int)choose(&g->c, (unsigned)v.rank) : 0;
    const int count = v.rank ? 1 + (int)choose(&g->c, (unsigned)(v.rank - first)) : 0;
    const bool broadcast = v.rank > 0 && chance(&g->c, 160);
    grammar_add_input(node, broadcast ? grammar_like(g, x, count, v.dim + first, CONTENT_NUMBERS)
                                      : grammar_like(g, x, v.rank, v.dim, CONTENT_NUMBERS));
    if (broadcast) {
        grammar_set_int(node, "broadcast", 1);
        grammar_set_int(node, "axis", first);
    } else {
        grammar_leave_out(node, "broadcast");
        grammar_leave_out(node, "axis");
    }
}

static void make_shift(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 0, 4);
    const grammar_value v = *grammar_value_of(g, x);
    grammar_add_input(node, x);
    grammar_add_input(
        node, grammar_new(g, v.dtype, v.rank, v.dim, CONTENT_COUNTS, chance(&g->c, 64) ? 70 : 8));
}

static void make_prelu(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 1, 4);
    const grammar_value v = *grammar_value_of(g, x);
    const int64_t dim[4] = {v.rank > 1 ? v.dim[1] : 1, 1, 1, 1};
    /* the old one takes a vector */
    const int slopes = v.rank > 1 && node->row->last >= 7 ? v.rank - 1 : 1;
    grammar_add_input(node, x);
    grammar_add_input(node, grammar_new(g, v.dtype, slopes, dim, CONTENT_POSITIVE, 0));
}

static void make_where(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, UINT32_MAX, 0, 4);
    grammar_add_input(node, broadcast_partner(g, x, RY_bool, CONTENT_NUMBERS));
    grammar_add_input(node, x);
    grammar_add_input(node,
                      broadcast_partner(g, x, grammar_value_of(g, x)->dtype, CONTENT_NUMBERS));
}

static void make_variadic(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 0, 4);
    const grammar_value v = *grammar_value_of(g, x);
    const int count = 1 + (int)choose(&g->c, 4);
    grammar_add_input(node, x);
    for (int i = 1; i < count; i++) {
        grammar_add_input(node, g->opset < 8 ? grammar_like(g, x, v.rank, v.dim, CONTENT_NUMBERS)
                                             : broadcast_partner(g, x, v.dtype, CONTENT_NUMBERS));
    }
}

static void make_clip(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 0, 4);
    const ry_dtype dtype = grammar_value_of(g, x)->dtype;
    grammar_add_input(node, x);
    if (node->row->max_inputs > 1) {
        grammar_add_input(
            node,
            chance(&g->c, 80)
                ? -1
                : grammar_scalar(g, dtype, ry_dtype_get_kind(dtype) == RY_KIND_UNSIGNED ? 1 : -1));
        if (!chance(&g->c, 80)) {
            grammar_add_input(node, grammar_scalar(g, dtype, 1 + (double)choose(&g->c, 3)));
        }
    }
}

static void make_cast(grammar *g, grammar_node *node)
{
    static const char *const words[] = {"FLOAT", "FLOAT16", "DOUBLE", "INT8",   "INT32",
                                        "INT64", "UINT8",   "BOOL",   "uint16", "float"};
    grammar_add_input(node, grammar_operand(g, node->row->types, 0, 4));
    grammar_attribute *to = grammar_add_attribute(node, "to");
    if (to) {
        to->i = ry_dtype_to_onnx((ry_dtype)(1 + choose(&g->c, RY_DTYPES - 1)));
        to->text = words[choose(&g->c, sizeof words / sizeof *words)];
    }
}

static void make_cast_like(grammar *g, grammar_node *node)
{
    grammar_add_input(node, grammar_operand(g, node->row->types, 0, 4));
    grammar_add_input(node, grammar_operand(g, node->row->types, 0, 4));
}

static void make_dropout(grammar *g, grammar_node *node)
{
    grammar_add_input(node, grammar_operand(g, node->row->types, 0, 4));
    if (node->row->max_inputs > 1 && chance(&g->c, 128)) {
        grammar_add_input(node, grammar_scalar(g, RY_f32, (double)choose(&g->c, 4) * 0.25));
        if (chance(&g->c, 128)) {
            grammar_add_input(node, grammar_scalar(g, RY_bool, choose(&g->c, 2)));
        }
    }
    node->outputs = 1 + (int)choose(&g->c, 2);
}

static void make_reduce(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 0, 5);
    const int rank = grammar_value_of(g, x)->rank;
    grammar_add_input(node, x);
    if (node->row->max_inputs > 1 && chance(&g->c, 180)) {
        int64_t axes[GRAMMAR_RANK];
        int count = 0;
        for (int i = 0; i < rank; i++) {
            if (chance(&g->c, 128)) {
                axes[count++] = chance(&g->c, 80) ? i - rank : i;
            }
        }
        grammar_add_input(node, grammar_list(g, count, axes));
    }
}

static void make_topk(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 1, 4);
    const grammar_value v = *grammar_value_of(g, x);
    const int64_t axis = grammar_axis(g, v.rank);
    const int64_t along =
        axis >= -v.rank && axis < v.rank ? v.dim[axis < 0 ? axis + v.rank : axis] : 1;
    const int64_t k[1] = {choose_between(&g->c, 0, along < 60 ? along : 60)};
    grammar_add_input(node, x);
    if (node->row->max_inputs > 1) {
        grammar_add_input(node, grammar_list(g, 1, k));
    }
    grammar_set_int(node, "k", k[0]);
    grammar_set_int(node, "axis", axis);
    node->outputs = 2;
}

static void make_cumsum(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 1, 4);
    const int64_t axis[1] = {grammar_axis(g, grammar_value_of(g, x)->rank)};
    grammar_add_input(node, x);
    grammar_add_input(node, grammar_list(g, chance(&g->c, 128) ? 1 : -1, axis));
}

/* x, and vectors as long as it has channels. */
static void make_channel_norm(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 2, 5);
    const grammar_value v = *grammar_value_of(g, x);
    int64_t length = v.dim[1];
    if (grammar_row_has(node, "num_groups")) {
        int64_t groups = 1 + choose(&g->c, 4);
        while (length % groups) {
            groups--;
        }
        grammar_set_int(node, "num_groups", groups);
        length = g->opset < 21 ? groups : length;
    }
    grammar_add_input(node, x);
    for (int i = 1; i < node->row->min_inputs; i++) {
        grammar_add_input(
            node,
            grammar_like(g, x, 1, &length, i == 1 || i == 4 ? CONTENT_POSITIVE : CONTENT_NUMBERS));
    }
    if (grammar_row_has(node, "spatial")) {
        grammar_set_int(node, "spatial", 1);
    }
    if (node->row->max_outputs > 1 && chance(&g->c, 30)) {
        grammar_set_int(node, "training_mode", 1);
        node->outputs = node->row->max_outputs;
    }
}

static void make_layer_norm(grammar *g, grammar_node *node)
{
    const int x = grammar_operand(g, node->row->types, 1, 4);
    const grammar_value v = *grammar_value_of(g, x);
    const int axis = (int)choose(&g->c, (unsigned)v.rank);
    grammar_set_int(node, "axis", chance(&g->c, 128) ? axis : axis - v.rank);
    grammar_add_input(node, x);
    grammar_add_input(node, grammar_like(g, x, v.rank - axis, v.dim + axis, CONTENT_POSITIVE));
    if (node->row->max_inputs > 2 && chance(&g->c, 128)) {
        grammar_add_input(node, grammar_like(g, x, v.rank - axis, v.dim + axis, CONTENT_NUMBERS));
    }
    node->outputs = 1 + (int)choose(&g->c, (unsigned)node->row->max_outputs);
}

static void make_lrn(grammar *g, grammar_node *node)
{
    grammar_add_input(node, grammar_operand(g, node->row->types, 2, 4));
    grammar_set_int(node, "size", 1 + choose(&g->c, 6));
}

static void make_mean_variance(grammar *g, grammar_node *node)
{
    grammar_add_input(node, grammar_operand(g, node->row->types, 4, 4));
}

/* Scale and zero point: one of each, or one for each index of an axis. */
static void make_quantize(grammar *g, grammar_node *node)
{
    static const ry_dtype quantized[] = {RY_u8, RY_i8, RY_u16, RY_i16};
    const int x = grammar_operand(g, node->row->types, 1, 4);
    const grammar_value v = *grammar_value_of(g, x);
    const bool quantize = ry_dtype_is_float(v.dtype) || node->row->name[0] == 'Q';
    const bool along = chance(&g->c, 100);
    const int axis = (int)choose(&g->c, (unsigned)v.rank);
    const int64_t length = v.dim[axis];
    if (along) {
        grammar_set_int(node, "axis", axis);
    }
    grammar_leave_out(node, "output_dtype");
    const ry_dtype scale = quantize && ry_dtype_is_float(v.dtype) ? v.dtype : RY_f32;
    const ry_dtype zero = quantize ? quantized[choose(&g->c, g->opset < 21 ? 2 : 4)] : v.dtype;
    grammar_add_input(node, x);
    grammar_add_input(node, grammar_new(g, scale, along, &length, CONTENT_POSITIVE, 0));
    if (chance(&g->c, 160)) {
        grammar_add_input(
            node, grammar_new(g, zero, along, &length, CONTENT_COUNTS, zero == RY_i32 ? 1 : 9));
    }
}

static void make_dynamic_quantize(grammar *g, grammar_node *node)
{
    grammar_add_input(node, grammar_operand(g, FLOATS & node->row->types, 0, 4));
    node->outputs = 3;
}

const grammar_recipe_row grammar_elementwise[] = {
    {"Add", make_binary},
    {"Sub", make_binary},
    {"Mul", make_binary},
    {"Div", make_binary},
    {"And", make_binary},
    {"Or", make_binary},
    {"Xor", make_binary},
    {"Equal", make_binary},
    {"Greater", make_binary},
    {"Less", make_binary},
    {"GreaterOrEqual", make_binary},
    {"LessOrEqual", make_binary},
    {"BitwiseAnd", make_binary},
    {"BitwiseOr", make_binary},
    {"BitwiseXor", make_binary},
    {"Mod", make_binary},
    {"Pow", make_binary},
    {"SwiGLU", make_binary},
    {"BitShift", make_shift},
    {"PRelu", make_prelu},
    {"Where", make_where},
    {"Max", make_variadic},
    {"Min", make_variadic},
    {"Sum", make_variadic},
    {"Mean", make_variadic},
    {"Clip", make_clip},
    {"Cast", make_cast},
    {"CastLike", make_cast_like},
    {"Dropout", make_dropout},
    {"ReduceL1", make_reduce},
    {"ReduceL2", make_reduce},
    {"ReduceLogSum", make_reduce},
    {"ReduceLogSumExp", make_reduce},
    {"ReduceMax", make_reduce},
    {"ReduceMean", make_reduce},
    {"ReduceMin", make_reduce},
    {"ReduceProd", make_reduce},
    {"ReduceSum", make_reduce},
    {"ReduceSumSquare", make_reduce},
    {"TopK", make_topk},
    {"CumSum", make_cumsum},
    {"CumProd", make_cumsum},
    {"BatchNormalization", make_channel_norm},
    {"InstanceNormalization", make_channel_norm},
    {"GroupNormalization", make_channel_norm},
    {"LayerNormalization", make_layer_norm},
    {"RMSNormalization", make_layer_norm},
    {"LRN", make_lrn},
    {"MeanVarianceNormalization", make_mean_variance},
    {"QuantizeLinear", make_quantize},
    {"DequantizeLinear", make_quantize},
    {"DynamicQuantizeLinear", make_dynamic_quantize},
    {NULL, NULL},
};
