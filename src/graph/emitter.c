/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes added to a bound graph. */
#include "graph/emitter.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TERMS = 16 }; /* terms of one sum */

rynd_status ry_emit_fail(ry_emitter *emitter, rynd_status status, const char *format, ...)
{
    if (emitter->status == RYND_OK) {
        char text[1024];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        emitter->status = ry_fail(emitter->error, status, "%s", text);
    }
    return emitter->status;
}

static bool fail_memory(ry_emitter *emitter)
{
    if (emitter->status == RYND_OK) {
        emitter->status = ry_fail_memory(emitter->error);
    }
    return false;
}

/* "name", "name/2", "name/3": no other value has it. */
static const char *free_name(ry_emitter *emitter)
{
    ry_graph *graph = emitter->graph;
    const char *name = emitter->name;
    for (size_t k = 2; name && ry_graph_find(graph, name) != RY_NO_VALUE; k++) {
        name = ry_arena_format(&graph->arena, "%s/%zu", emitter->name, k);
    }
    return name;
}

ry_shape ry_emit_shape(const ry_emitter *emitter, ry_value_id value)
{
    return value == RY_NO_VALUE ? (ry_shape){.rank = 0} : emitter->graph->values[value].shape;
}

ry_dtype ry_emit_dtype(const ry_emitter *emitter, ry_value_id value)
{
    return value == RY_NO_VALUE ? RY_NONE : emitter->graph->values[value].dtype;
}

bool ry_emit_into(ry_emitter *emitter, ry_op op, const ry_attrs *attrs, int inputs,
                  const ry_value_id *in, int outputs, const ry_value_id *out)
{
    ry_graph *graph = emitter->graph;
    if (emitter->status != RYND_OK) {
        return false;
    }
    const ry_node_id node =
        ry_graph_add_node(graph, op, NULL, NULL, attrs, inputs, in, outputs, out);
    if (node == RY_NO_NODE) {
        return fail_memory(emitter);
    }
    const ry_infer_result result =
        ry_infer_node(graph, &graph->nodes[node], emitter->error, &emitter->status);
    if (result == RY_INFER_LATER) {
        ry_emit_fail(emitter, RYND_ERROR_UNSUPPORTED,
                     "'%s' (%s): its shape depends on data, which is not supported here",
                     emitter->name, ry_op_name(op));
    }
    return emitter->status == RYND_OK;
}

bool ry_emit_outputs(ry_emitter *emitter, ry_op op, const ry_attrs *attrs, int inputs,
                     const ry_value_id *in, int outputs, const ry_shape *const *shape,
                     ry_value_id *out)
{
    for (int i = 0; i < outputs; i++) {
        out[i] = RY_NO_VALUE;
    }
    for (int i = 0; i < outputs && emitter->status == RYND_OK; i++) {
        const char *name = free_name(emitter);
        out[i] = name ? ry_graph_add_value(emitter->graph, name, RY_NONE, shape ? shape[i] : NULL)
                      : RY_NO_VALUE;
        if (out[i] == RY_NO_VALUE) {
            return fail_memory(emitter);
        }
    }
    return ry_emit_into(emitter, op, attrs, inputs, in, outputs, out);
}

ry_value_id ry_emit(ry_emitter *emitter, ry_op op, const ry_attrs *attrs, int inputs,
                    const ry_value_id *in)
{
    ry_value_id out;
    return ry_emit_outputs(emitter, op, attrs, inputs, in, 1, NULL, &out) ? out : RY_NO_VALUE;
}

const ry_expr *ry_emit_program_with(ry_emitter *emitter, const char *text,
                                    const ry_expr_parameter *parameters, int parameter_count)
{
    const ry_expr *program = NULL;
    if (emitter->status == RYND_OK) {
        emitter->status = ry_expr_parse(text, parameters, parameter_count, &emitter->graph->arena,
                                        &program, emitter->error);
    }
    return emitter->status == RYND_OK ? program : NULL;
}

const ry_expr *ry_emit_program(ry_emitter *emitter, const char *text)
{
    return ry_emit_program_with(emitter, text, NULL, 0);
}

ry_value_id ry_emit_reduce(ry_emitter *emitter, const char *text, const ry_ints *axes,
                           bool keepdims, int inputs, const ry_value_id *in)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    attrs.expr.program = ry_emit_program(emitter, text);
    attrs.expr.axes = *axes;
    attrs.expr.keepdims = keepdims;
    return ry_emit(emitter, RY_OP_expr, &attrs, inputs, in);
}

ry_value_id ry_emit_expr_with(ry_emitter *emitter, const char *text,
                              const ry_expr_parameter *parameters, int parameter_count, int inputs,
                              const ry_value_id *in)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    attrs.expr.program = ry_emit_program_with(emitter, text, parameters, parameter_count);
    return ry_emit(emitter, RY_OP_expr, &attrs, inputs, in);
}

ry_value_id ry_emit_expr(ry_emitter *emitter, const char *text, int inputs, const ry_value_id *in)
{
    return ry_emit_expr_with(emitter, text, NULL, 0, inputs, in);
}

/* At most MAX_TERMS of them. */
static ry_value_id sum_few(ry_emitter *emitter, int count, const ry_value_id *values)
{
    char text[8 * MAX_TERMS] = "x0";
    for (int i = 1; i < count; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), " + x%d", i);
    }
    return count == 1 ? values[0] : ry_emit_expr(emitter, text, count, values);
}

ry_value_id ry_emit_sum(ry_emitter *emitter, size_t count, const ry_value_id *values)
{
    ry_value_id terms[MAX_TERMS];
    int used = 0;
    for (size_t i = 0; i < count; i++) {
        if (used == MAX_TERMS) {
            terms[0] = sum_few(emitter, used, terms);
            used = 1;
        }
        if (values[i] != RY_NO_VALUE) {
            terms[used++] = values[i];
        }
    }
    return used == 0 ? RY_NO_VALUE : sum_few(emitter, used, terms);
}

ry_value_id ry_emit_sum_to(ry_emitter *emitter, ry_value_id value, const ry_shape *shape)
{
    const ry_shape from = ry_emit_shape(emitter, value);
    const int missing = from.rank - shape->rank;
    ry_ints axes = {.count = 0};
    for (int d = 0; d < from.rank && emitter->status == RYND_OK; d++) {
        if (d < missing || shape->dim[d - missing] != from.dim[d]) {
            axes.at[axes.count++] = d;
        }
    }
    if (axes.count > 0) {
        value = ry_emit_reduce(emitter, "sum(x0)", &axes, true, 1, &value);
    }
    return ry_emit_reshape(emitter, value, shape);
}

ry_value_id ry_emit_expand(ry_emitter *emitter, ry_value_id value, const ry_shape *shape)
{
    const ry_shape from = ry_emit_shape(emitter, value);
    if (emitter->status == RYND_OK && ry_shape_equal(&from, shape)) {
        return value;
    }
    return ry_emit(emitter, RY_OP_expand, NULL, 2,
                   (ry_value_id[]){value, ry_emit_i64s(emitter, shape->rank, shape->dim)});
}

ry_value_id ry_emit_reshape(ry_emitter *emitter, ry_value_id value, const ry_shape *shape)
{
    const ry_shape from = ry_emit_shape(emitter, value);
    if (emitter->status == RYND_OK && ry_shape_equal(&from, shape)) {
        return value;
    }
    ry_attrs attrs = ry_attrs_default(RY_OP_reshape);
    attrs.reshape.allow_zero = 1;
    attrs.reshape.shape.count = shape->rank;
    for (int d = 0; d < shape->rank; d++) {
        attrs.reshape.shape.at[d] = shape->dim[d];
    }
    return ry_emit(emitter, RY_OP_reshape, &attrs, 1, &value);
}

ry_value_id ry_emit_transpose(ry_emitter *emitter, ry_value_id value, const ry_ints *perm)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_transpose);
    attrs.transpose.perm = *perm;
    return ry_emit(emitter, RY_OP_transpose, &attrs, 1, &value);
}

static ry_value_id check_made(ry_emitter *emitter, ry_value_id value)
{
    if (value == RY_NO_VALUE) {
        fail_memory(emitter);
    }
    return value;
}

ry_value_id ry_emit_scalar(ry_emitter *emitter, ry_dtype dtype, double number)
{
    return emitter->status == RYND_OK
               ? check_made(emitter, ry_graph_add_scalar(emitter->graph, dtype, number))
               : RY_NO_VALUE;
}

ry_value_id ry_emit_filled(ry_emitter *emitter, ry_dtype dtype, const ry_shape *shape,
                           double number)
{
    return ry_emit_expand(emitter, ry_emit_scalar(emitter, dtype, number), shape);
}

ry_value_id ry_emit_i64s(ry_emitter *emitter, int count, const int64_t *numbers)
{
    return emitter->status == RYND_OK
               ? check_made(emitter, ry_graph_add_i64s(emitter->graph, NULL, count, numbers))
               : RY_NO_VALUE;
}
