/* SPDX-License-Identifier: Apache-2.0 */
/* Adding graph nodes for an ONNX node; shapes are inferred at once, so that the next row can ask
 * for them. */
#include "graph/infer.h"
#include "onnx/operators.h"

#include <string.h>

static void out_of_memory(ry_import *import)
{
    if (import->status == RYND_OK) {
        import->status = ry_fail_memory(import->reader->error);
    }
}

/* "conv1_out/2": the model has no such name. */
ry_value_id ry_onnx_emit_temporary(ry_import *import)
{
    if (import->status != RYND_OK) {
        return RY_NO_VALUE;
    }
    const char *name;
    do {
        name = ry_arena_format(import->reader->source.arena, "%s/%d",
                               import->node->outputs ? import->node->out[0] : "", ++import->made);
    } while (name && ry_graph_find(import->graph, name) != RY_NO_VALUE);
    ry_value_id value = name ? ry_graph_add_value(import->graph, name, RY_NONE, NULL) : RY_NO_VALUE;
    if (value == RY_NO_VALUE) {
        out_of_memory(import);
    }
    return value;
}

void ry_onnx_emit_many(ry_import *import, ry_op op, const ry_attrs *attrs, int inputs,
                       const ry_value_id *in, int outputs, const ry_value_id *out)
{
    if (import->status != RYND_OK) {
        return;
    }
    for (int i = 0; import->reader->settles && i < inputs; i++) {
        ry_import_settle(import, in[i]);
    }
    ry_node_id id = ry_graph_add_node(import->graph, op, import->node->name, import->node->op,
                                      attrs, inputs, in, outputs, out);
    if (id == RY_NO_NODE) {
        out_of_memory(import);
        return;
    }
    rynd_status status = RYND_OK;
    if (ry_infer_node(import->graph, &import->graph->nodes[id], import->reader->error, &status) ==
        RY_INFER_FAILED) {
        import->status = status;
    }
}

ry_value_id ry_onnx_emit(ry_import *import, ry_op op, const ry_attrs *attrs, int inputs,
                         const ry_value_id *in, ry_value_id to)
{
    ry_value_id out = to == RY_NO_VALUE ? ry_onnx_emit_temporary(import) : to;
    ry_onnx_emit_many(import, op, attrs, inputs, in, 1, &out);
    return import->status == RYND_OK ? out : RY_NO_VALUE;
}

ry_value_id ry_onnx_emit_expr(ry_import *import, const char *text,
                              const ry_expr_parameter *parameters, int parameter_count,
                              const ry_reduction *reduction, int inputs, const ry_value_id *in,
                              ry_value_id to)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    if (import->status != RYND_OK) {
        return RY_NO_VALUE;
    }
    rynd_status status = ry_expr_parse(text, parameters, parameter_count, &import->graph->arena,
                                       &attrs.expr.program, import->reader->error);
    if (status != RYND_OK) {
        ry_error_prefix(import->reader->error, "node '%s' (%s): ", import->node->name,
                        import->node->op);
        import->status = status;
        return RY_NO_VALUE;
    }
    if (reduction) {
        attrs.expr.keepdims = !reduction->drop;
        attrs.expr.axes_input = reduction->axes_input;
        attrs.expr.noop_empty = reduction->noop_empty;
        attrs.expr.axes = reduction->axes ? *reduction->axes : (ry_ints){0};
    }
    return ry_onnx_emit(import, RY_OP_expr, &attrs, inputs, in, to);
}

ry_value_id ry_onnx_emit_expr1(ry_import *import, const char *text, ry_value_id x0)
{
    return ry_onnx_emit_expr(import, text, NULL, 0, NULL, 1, &x0, RY_NO_VALUE);
}

ry_value_id ry_onnx_emit_expr2(ry_import *import, const char *text, ry_value_id x0, ry_value_id x1)
{
    ry_value_id in[] = {x0, x1};
    return ry_onnx_emit_expr(import, text, NULL, 0, NULL, 2, in, RY_NO_VALUE);
}

ry_value_id ry_onnx_emit_cast(ry_import *import, ry_value_id x, ry_dtype dtype, ry_value_id to)
{
    if (import->status != RYND_OK) {
        return RY_NO_VALUE;
    }
    if (ry_import_dtype(import, x) == dtype) {
        return to == RY_NO_VALUE ? x : ry_onnx_emit(import, RY_OP_identity, NULL, 1, &x, to);
    }
    const char *text =
        ry_arena_format(import->reader->source.arena, "cast(x0, %s)", ry_dtype_name(dtype));
    if (!text) {
        out_of_memory(import);
        return RY_NO_VALUE;
    }
    return ry_onnx_emit_expr(import, text, NULL, 0, NULL, 1, &x, to);
}

ry_value_id ry_onnx_emit_constant(ry_import *import, ry_dtype dtype, const ry_shape *shape,
                                  const void *data)
{
    if (import->status != RYND_OK) {
        return RY_NO_VALUE;
    }
    ry_value_id value = ry_graph_add_constant(import->graph, NULL, dtype, shape, NULL);
    if (value == RY_NO_VALUE) {
        out_of_memory(import);
        return RY_NO_VALUE;
    }
    int64_t bytes = ry_shape_bytes(shape, dtype);
    if (bytes > 0) {
        memcpy(ry_graph_constant_data(import->graph, value), data, (size_t)bytes);
    }
    return value;
}

ry_value_id ry_onnx_emit_i64s(ry_import *import, const ry_ints *numbers)
{
    ry_shape shape = {.rank = 1, .dim = {numbers->count}};
    return ry_onnx_emit_constant(import, RY_i64, &shape, numbers->at);
}

ry_value_id ry_onnx_emit_scalar(ry_import *import, ry_dtype dtype, double number)
{
    ry_shape shape = {.rank = 0};
    uint64_t data = 0;
    ry_set_f64(dtype, &data, 0, number);
    return ry_onnx_emit_constant(import, dtype, &shape, &data);
}

ry_value_id ry_onnx_emit_reshape(ry_import *import, ry_value_id x, int rank, const int64_t *dim)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_reshape);
    attrs.reshape.shape.count = rank;
    memcpy(attrs.reshape.shape.at, dim, (size_t)rank * sizeof *dim);
    return ry_onnx_emit(import, RY_OP_reshape, &attrs, 1, &x, RY_NO_VALUE);
}

void ry_onnx_emit_identity(ry_import *import, ry_value_id x, int output)
{
    if (ry_import_wants(import, output)) {
        ry_onnx_emit(import, RY_OP_identity, NULL, 1, &x, ry_import_out(import, output));
    }
}
