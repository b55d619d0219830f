/* SPDX-License-Identifier: Apache-2.0 */
/* Imports operators of ONNX Runtime's own domain, com.microsoft, as its optimizer and quantiser
 * write them. Quantised ones are computed in float32, as there. */
#include "onnx/operators.h"

#include <inttypes.h>
#include <string.h>

/* An activation by name; a and b are its parameters. */
typedef struct activation {
    const char *name, *text;
    double a, b;
} activation;

static const activation activations[] = {
    {"Relu", "max(x0, 0)", 0, 0},         {"Tanh", "tanh(x0)", 0, 0},
    {"Sigmoid", "sigmoid(x0)", 0, 0},     {"LeakyRelu", "select(x0 < 0, x0 * a, x0)", 0.01, 0},
    {"Clip", "min(max(x0, a), b)", 0, 6}, {"HardSigmoid", "min(max(x0 * a + b, 0), 1)", 0.2, 0.5},
};

static void activate(ry_import *import, ry_value_id x, ry_value_id to)
{
    const char *name = ry_import_text(import, "activation");
    const ry_floats given = ry_import_floats(import, "activation_params");
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++) {
        const activation *row = &activations[i];
        if (strcmp(row->name, name) == 0) {
            const ry_expr_parameter parameters[] = {{"a", given.count > 0 ? given.at[0] : row->a},
                                                    {"b", given.count > 1 ? given.at[1] : row->b}};
            ry_onnx_emit_expr(import, row->text, parameters, 2, NULL, 1, &x, to);
            return;
        }
    }
    ry_import_fail(import, RYND_ERROR_UNSUPPORTED, "its activation '%s' is unknown", name);
}

/* Input 3 is added before the activation. */
void ry_import_fused_conv(ry_import *import)
{
    ry_attrs attrs = ry_import_attrs(import, RY_OP_conv);
    const bool plain = !ry_import_attribute(import, "activation");
    const ry_value_id y = ry_onnx_emit(import, RY_OP_conv, &attrs, import->node->inputs, import->in,
                                       plain ? ry_import_out(import, 0) : RY_NO_VALUE);
    if (!plain) {
        activate(import, y, ry_import_out(import, 0));
    }
}

void ry_import_fused_matmul(ry_import *import)
{
    ry_attrs attrs = ry_import_attrs(import, RY_OP_matmul);
    if (ry_import_int(import, "transBatchA") || ry_import_int(import, "transBatchB")) {
        ry_import_fail(import, RYND_ERROR_UNSUPPORTED,
                       "transBatchA and transBatchB must be 0: the batch comes first");
    }
    ry_onnx_emit(import, RY_OP_matmul, &attrs, 2, import->in, ry_import_out(import, 0));
}

/* The row's expression of the sum of the inputs. */
void ry_import_of_sum(ry_import *import)
{
    ry_value_id x = ry_import_in(import, 0);
    if (ry_import_has(import, 1)) {
        x = ry_onnx_emit_expr2(import, "x0 + x1", x, ry_import_in(import, 1));
    }
    ry_onnx_emit_expr(import, import->row->text, NULL, 0, NULL, 1, &x, ry_import_out(import, 0));
}

/* Layer normalisation of a sum. Inputs: x, skip, scale, then the row's others: with a mean beta and
 * bias, without one the bias. Outputs: y, mean, 1 / deviation, the sum. */
void ry_import_skip_layer_norm(ry_import *import)
{
    ry_attrs attrs = ry_import_attrs(import, RY_OP_layer_norm);
    const int bias = attrs.layer_norm.rms ? 3 : 4;
    if (!(attrs.layer_norm.epsilon >= 0)) {
        ry_import_fail(import, RYND_ERROR_FORMAT, "epsilon is %g, expected 0 or more",
                       attrs.layer_norm.epsilon);
        return;
    }
    ry_value_id sum =
        ry_onnx_emit_expr2(import, "x0 + x1", ry_import_in(import, 0), ry_import_in(import, 1));
    if (ry_import_has(import, bias)) {
        sum = ry_onnx_emit_expr2(import, "x0 + x1", sum, ry_import_in(import, bias));
    }
    const ry_value_id beta = bias == 4 ? ry_import_in(import, 3) : RY_NO_VALUE;
    const ry_value_id in[] = {sum, ry_import_in(import, 2), beta};
    const ry_value_id out[] = {ry_import_out(import, 0), ry_import_out(import, 1),
                               ry_import_out(import, 2)};
    ry_onnx_emit_many(import, RY_OP_layer_norm, &attrs, beta == RY_NO_VALUE ? 2 : 3, in,
                      import->node->outputs > 2   ? 3
                      : import->node->outputs > 1 ? 2
                                                  : 1,
                      out);
    ry_onnx_emit_identity(import, sum, 3);
}

/* (x - zero) * scale; the inputs x, scale and zero begin at `first`. */
static ry_value_id dequantise(ry_import *import, int first)
{
    const ry_value_id in[] = {ry_import_in(import, first), ry_import_in(import, first + 1),
                              ry_import_in(import, first + 2)};
    return ry_onnx_emit_dequantise(import, in, RY_f32, RY_NO_VALUE);
}

/* round(x / scale) + zero in the type of the input `quantised`. */
static void quantise(ry_import *import, ry_value_id x, int quantised, int scale, int zero)
{
    const ry_value_id in[] = {x, ry_import_in(import, scale), ry_import_in(import, zero)};
    const ry_dtype dtype = ry_import_dtype(import, ry_import_in(import, quantised));
    ry_onnx_emit_quantise(import, in, dtype, ry_import_out(import, 0));
}

/* Inputs: a, its scale and zero point, those of b, of y. */
void ry_import_qlinear_binary(ry_import *import)
{
    const ry_value_id a = dequantise(import, 0), b = dequantise(import, 3);
    quantise(import, ry_onnx_emit_expr2(import, import->row->text, a, b), 0, 6, 7);
}

/* Inputs: x, its scale and zero point, those of y. */
void ry_import_qlinear_unary(ry_import *import)
{
    const ry_expr_parameter alpha = {"alpha", ry_import_float(import, "alpha")};
    const ry_value_id x = dequantise(import, 0);
    quantise(import,
             ry_onnx_emit_expr(import, import->row->text, &alpha, 1, NULL, 1, &x, RY_NO_VALUE), 0,
             3, 4);
}

void ry_import_qlinear_global_average_pool(ry_import *import)
{
    const int rank = ry_import_rank(import, ry_import_in(import, 0));
    const int first = ry_import_int(import, "channels_last") ? 1 : 2;
    ry_ints axes = {0};
    for (int i = first; i < rank - 2 + first; i++) {
        axes.at[axes.count++] = i;
    }
    if (rank < 3) {
        ry_import_fail(import, RYND_ERROR_SHAPE,
                       "its input has %d dimensions; at least 3 are needed", rank);
    }
    const ry_reduction how = {.axes = &axes};
    const ry_value_id x = dequantise(import, 0);
    quantise(import, ry_onnx_emit_expr(import, "mean(x0)", NULL, 0, &how, 1, &x, RY_NO_VALUE), 0, 3,
             4);
}

/* Inputs: the scale and zero point of y, then each x with its own. */
void ry_import_qlinear_concat(ry_import *import)
{
    const int count = (import->node->inputs - 2) / 3;
    ry_attrs attrs = ry_import_attrs(import, RY_OP_concat);
    ry_value_id *part = RY_TAKE(import->reader->source.arena, ry_value_id, count);
    if (!part) {
        import->status = ry_fail_memory(import->reader->error);
        return;
    }
    if (count < 1 || import->node->inputs != 2 + 3 * count) {
        ry_import_fail(import, RYND_ERROR_FORMAT,
                       "it has %d inputs; it takes two, and three for each tensor",
                       import->node->inputs);
        return;
    }
    for (int i = 0; i < count; i++) {
        part[i] = dequantise(import, 2 + 3 * i);
    }
    quantise(import, ry_onnx_emit(import, RY_OP_concat, &attrs, count, part, RY_NO_VALUE), 2, 0, 1);
}

/* Inputs: x, its scale and zero point, those of y. Before opset 13 the dims from `axis` on are one.
 */
void ry_import_qlinear_softmax(ry_import *import)
{
    ry_attrs attrs = ry_import_attrs(import, RY_OP_softmax);
    attrs.softmax.flatten = ry_import_int(import, "opset") < 13;
    const ry_value_id x = dequantise(import, 0);
    quantise(import, ry_onnx_emit(import, RY_OP_softmax, &attrs, 1, &x, RY_NO_VALUE), 0, 3, 4);
}

/* Moves dim `from` to the place `to`. */
static ry_value_id move_dim(ry_import *import, ry_value_id x, int rank, int from, int to)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_transpose);
    ry_ints *perm = &attrs.transpose.perm;
    perm->count = rank;
    for (int i = 0, other = 0; i < rank; i++) {
        other += other == from;
        perm->at[i] = i == to ? from : other++;
    }
    return ry_onnx_emit(import, RY_OP_transpose, &attrs, 1, &x, RY_NO_VALUE);
}

void ry_import_qlinear_average_pool(ry_import *import)
{
    const ry_attrs attrs = ry_import_attrs(import, RY_OP_pool);
    const bool channels_last = ry_import_int(import, "channels_last");
    const int rank = ry_import_rank(import, ry_import_in(import, 0));
    ry_value_id x = dequantise(import, 0);
    x = channels_last ? move_dim(import, x, rank, rank - 1, 1) : x;
    x = ry_onnx_emit(import, RY_OP_pool, &attrs, 1, &x, RY_NO_VALUE);
    quantise(import, channels_last ? move_dim(import, x, rank, 1, rank - 1) : x, 0, 3, 4);
}

/* Inputs: the condition; a, its scale and zero point, those of b, of y. */
void ry_import_qlinear_where(ry_import *import)
{
    const ry_value_id in[] = {ry_import_in(import, 0), dequantise(import, 1),
                              dequantise(import, 4)};
    quantise(import,
             ry_onnx_emit_expr(import, "select(x0, x1, x2)", NULL, 0, NULL, 3, in, RY_NO_VALUE), 1,
             7, 8);
}
