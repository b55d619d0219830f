/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations. */
#include "onnx/operators.h"

#include <math.h>

static ry_value_id emit_reduced(ry_import *import, const char *text, ry_value_id x,
                                const ry_ints *axes, bool drop, ry_value_id to)
{
    ry_reduction how = {.axes = axes, .drop = drop};
    return ry_onnx_emit_expr(import, text, NULL, 0, &how, 1, &x, to);
}

/* momentum * old + (1 - momentum) * batch, in the old one's type; nothing when the node does not
 * name the output. */
static void running(ry_import *import, int output, ry_value_id old, ry_value_id batch)
{
    if (ry_import_wants(import, output)) {
        ry_expr_parameter m = {"m", ry_import_float(import, "momentum")};
        ry_value_id in[] = {
            old, ry_onnx_emit_cast(import, batch, ry_import_dtype(import, old), RY_NO_VALUE)};
        ry_onnx_emit_expr(import, "m * x0 + (1 - m) * x1", &m, 1, NULL, 2, in,
                          ry_import_out(import, output));
    }
}

/* The batch's own statistics, over all dims but the channels'. */
static void batch_statistics(ry_import *import, ry_value_id x, ry_value_id *mean,
                             ry_value_id *variance)
{
    ry_ints axes = {0};
    int rank = ry_import_rank(import, x);
    for (int i = 0; i < rank; i++) {
        if (i != 1) {
            axes.at[axes.count++] = i;
        }
    }
    ry_value_id kept = emit_reduced(import, "mean(x0)", x, &axes, false, RY_NO_VALUE);
    ry_value_id centred = ry_onnx_emit_expr2(import, "x0 - x1", x, kept);
    *mean = emit_reduced(import, "mean(x0)", x, &axes, true, RY_NO_VALUE);
    *variance = emit_reduced(import, "mean(x0 * x0)", centred, &axes, true, RY_NO_VALUE);
}

/* The author's number, a decimal that float32 has rounded: 1 - 0.9f gives 0.1, and not 0.10000002.
 */
static double batch_part(ry_import *import)
{
    const double kept = ry_import_float(import, "momentum"), digits = 1e7;
    return kept >= 0 && kept <= 1 ? round((1 - kept) * digits) / digits : RY_NORM_MOMENTUM;
}

/* Keeps momentum and running statistics for training, in the node that makes y. running NULL: the
 * node's inputs are the running statistics. */
static void note_training(ry_import *import, ry_value_id y, const ry_value_id *running)
{
    if (ry_import_failed(import) || y == RY_NO_VALUE) {
        return;
    }
    ry_graph *graph = import->graph;
    ry_node *node = &graph->nodes[graph->values[y].producer];
    node->norm_momentum = batch_part(import);
    for (int i = 0; running && i < 2; i++) {
        node->running[i] = running[i];
    }
}

/* All of one type: scale and statistics may be of a wider type than x. running: NULL, or the
 * running statistics, where `in` has the batch's. */
static void emit_batch_norm(ry_import *import, ry_value_id *in, const ry_value_id *running)
{
    ry_attrs attrs = ry_import_attrs(import, RY_OP_batch_norm);
    ry_dtype dtype = ry_import_dtype(import, in[0]);
    bool same = true;
    for (int i = 1; i < 5; i++) {
        same = same && ry_import_dtype(import, in[i]) == dtype;
    }
    if (same) {
        note_training(
            import, ry_onnx_emit(import, RY_OP_batch_norm, &attrs, 5, in, ry_import_out(import, 0)),
            running);
        return;
    }
    for (int i = 0; i < 5; i++) {
        in[i] = ry_onnx_emit_cast(import, in[i], dtype == RY_f64 ? RY_f64 : RY_f32, RY_NO_VALUE);
    }
    ry_value_id y = ry_onnx_emit(import, RY_OP_batch_norm, &attrs, 5, in, RY_NO_VALUE);
    ry_onnx_emit_cast(import, y, dtype, ry_import_out(import, 0));
}

/* Training was told by outputs below opset 14: the running statistics are outputs 1 and 2, the
 * batch's 3 and 4. */
void ry_import_batch_norm(ry_import *import)
{
    ry_value_id in[5], running_in[2];
    for (int i = 0; i < 5; i++) {
        in[i] = ry_import_in(import, i);
    }
    bool named = false;
    for (int i = 1; i < import->node->outputs; i++) {
        named = named || ry_import_wants(import, i);
    }
    if (import->node->opset >= 14 ? ry_import_int(import, "training_mode") != 0 : named) {
        ry_value_id mean, variance;
        batch_statistics(import, in[0], &mean, &variance);
        running(import, 1, in[3], mean);
        running(import, 2, in[4], variance);
        ry_onnx_emit_identity(import, mean, 3);
        ry_onnx_emit_identity(import, variance, 4);
        running_in[0] = in[3];
        running_in[1] = in[4];
        in[3] = mean;
        in[4] = variance;
        emit_batch_norm(import, in, running_in);
        return;
    }
    if (named) {
        ry_import_fail(import, RYND_ERROR_FORMAT,
                       "it gives statistics although training_mode is 0");
    }
    emit_batch_norm(import, in, NULL);
}

void ry_import_instance_norm(ry_import *import)
{
    ry_attrs attrs = ry_import_attrs(import, RY_OP_group_norm);
    attrs.group_norm.groups = ry_import_dim(import, ry_import_in(import, 1), 0);
    ry_onnx_emit(import, RY_OP_group_norm, &attrs, 3, import->in, ry_import_out(import, 0));
}

/* Opset 18 to 20: scale and bias have a number for each group; they are repeated for the group's
 * channels. */
static ry_value_id repeat_for_channels(ry_import *import, ry_value_id numbers, int64_t groups,
                                       int64_t channels)
{
    ry_ints shape = {.count = 2, .at = {groups, channels / groups}};
    ry_value_id in[] = {ry_onnx_emit_reshape(import, numbers, 2, (int64_t[]){groups, 1}),
                        ry_onnx_emit_i64s(import, &shape)};
    ry_value_id wide = ry_onnx_emit(import, RY_OP_expand, NULL, 2, in, RY_NO_VALUE);
    return ry_onnx_emit_reshape(import, wide, 1, &channels);
}

void ry_import_group_norm_18(ry_import *import)
{
    ry_attrs attrs = ry_import_attrs(import, RY_OP_group_norm);
    int64_t groups = attrs.group_norm.groups,
            channels = ry_import_dim(import, ry_import_in(import, 0), 1);
    if (groups < 1 || channels % groups) {
        ry_import_fail(import, RYND_ERROR_SHAPE, "%lld channels cannot be divided into %lld groups",
                       (long long)channels, (long long)groups);
        return;
    }
    ry_value_id in[3] = {ry_import_in(import, 0)};
    for (int i = 1; i < 3; i++) {
        in[i] = repeat_for_channels(import, ry_import_in(import, i), groups, channels);
    }
    ry_onnx_emit(import, RY_OP_group_norm, &attrs, 3, in, ry_import_out(import, 0));
}

/* The result has the scale's type. */
void ry_import_rms_norm(ry_import *import)
{
    ry_attrs attrs = ry_import_attrs(import, RY_OP_layer_norm);
    ry_value_id in[2] = {ry_import_in(import, 0), ry_import_in(import, 1)};
    ry_dtype dtype = ry_import_dtype(import, in[1]);
    if (ry_import_dtype(import, in[0]) == dtype) {
        ry_onnx_emit(import, RY_OP_layer_norm, &attrs, 2, in, ry_import_out(import, 0));
        return;
    }
    ry_dtype wide = dtype == RY_f64 || ry_import_dtype(import, in[0]) == RY_f64 ? RY_f64 : RY_f32;
    for (int i = 0; i < 2; i++) {
        in[i] = ry_onnx_emit_cast(import, in[i], wide, RY_NO_VALUE);
    }
    ry_value_id y = ry_onnx_emit(import, RY_OP_layer_norm, &attrs, 2, in, RY_NO_VALUE);
    ry_onnx_emit_cast(import, y, dtype, ry_import_out(import, 0));
}

/* (x - mean) / (deviation + 1e-9), as ONNX's function defines it. */
void ry_import_mean_variance_norm(ry_import *import)
{
    ry_ints axes = ry_import_ints(import, "axes");
    if (!ry_import_attribute(import, "axes")) {
        axes = (ry_ints){.count = 3, .at = {0, 2, 3}};
    }
    ry_value_id x = ry_import_in(import, 0);
    ry_value_id mean = emit_reduced(import, "mean(x0)", x, &axes, false, RY_NO_VALUE);
    ry_value_id centred = ry_onnx_emit_expr2(import, "x0 - x1", x, mean);
    ry_value_id deviation =
        emit_reduced(import, "sqrt(mean(x0 * x0))", centred, &axes, false, RY_NO_VALUE);
    ry_value_id in[] = {centred, deviation};
    ry_onnx_emit_expr(import, "x0 / (x1 + 1e-9)", NULL, 0, NULL, 2, in, ry_import_out(import, 0));
}

/* A vector of zeros stays one, as ONNX's text says, which older releases left open. */
void ry_import_lp_norm(ry_import *import)
{
    int64_t p = ry_import_int(import, "p");
    if (p != 1 && p != 2) {
        ry_import_fail(import, RYND_ERROR_UNSUPPORTED, "its p is %lld; it must be 1 or 2",
                       (long long)p);
    }
    ry_ints axes = {.count = 1, .at = {ry_import_int(import, "axis")}};
    ry_value_id in[] = {ry_import_in(import, 0), RY_NO_VALUE};
    in[1] = emit_reduced(import, p == 1 ? "sum(abs(x0))" : "sqrt(sum(x0 * x0))", in[0], &axes,
                         false, RY_NO_VALUE);
    ry_onnx_emit_expr(import, "select(x1 == 0, 0, x0 / x1)", NULL, 0, NULL, 2, in,
                      ry_import_out(import, 0));
}
